"""Lost: a value was acknowledged, readers read past its place, and none of them was handed it.

Of a transaction this is said only where none of its values is visible; where some are, it is torn.
"""

from __future__ import annotations

from collections.abc import Iterator

from pykcheck.anomaly import Anomaly, Facts
from pykcheck.history import Send


def lost(facts: Facts) -> Iterator[Anomaly]:
    """Find values that are certainly gone."""
    for send in facts.sends:
        if not facts.is_to_be_visible(send) or not facts.logs.is_missing(send):
            continue
        if not _is_seen_in_part(facts, send):
            yield Anomaly(
                "lost",
                f"{send.value!r} of {send.process} was acknowledged at "
                f"{send.partition}@{send.offset}, and no reader got it",
            )


def _is_seen_in_part(facts: Facts, send: Send) -> bool:
    transaction = facts.transaction(send)
    return transaction is not None and any(map(facts.logs.is_visible, transaction.sends))
