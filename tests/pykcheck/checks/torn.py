"""Torn: some values of a transaction are visible, and others certainly never will be."""

from __future__ import annotations

from collections.abc import Iterator

from pykcheck.anomaly import Anomaly, Facts


def torn(facts: Facts) -> Iterator[Anomaly]:
    """Find transactions that are visible in part."""
    logs = facts.logs
    for transaction in facts.transactions.values():
        if not transaction.is_committed:
            continue
        missing = [
            send.value
            for send in transaction.sends
            if facts.is_to_be_visible(send) and logs.is_missing(send)
        ]
        if missing and any(map(logs.is_visible, transaction.sends)):
            yield Anomaly(
                "torn", f"transaction {transaction.name} is visible, but without {missing}"
            )
