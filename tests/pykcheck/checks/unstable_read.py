"""Unstable read: a reader of what is committed read past the last stable offset.

The last stable offset is that of the first record of the earliest transaction that is still open.
Who reads a record behind it while that transaction is certainly undecided, will miss the
transaction's own records if it commits: they stand before what was read already.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator

from pykcheck.anomaly import Anomaly, Facts
from pykcheck.transactions import Transaction


def unstable_read(facts: Facts) -> Iterator[Anomaly]:
    """Find reads behind a record of a transaction that was open at the time."""
    openings = {
        partition: _latest_decided(first) for partition, first in _first_offsets(facts).items()
    }
    for poll in facts.polls:
        if not poll.is_read_committed:
            continue
        for partition, offset, value in poll.records:
            if partition not in openings:
                continue
            offsets, latest = openings[partition]
            before = bisect_left(offsets, offset) - 1
            if before < 0 or latest[before].undecided_until <= poll.completed:
                continue
            send = facts.writers.get(value)
            if send is not None and send.transaction == latest[before].name:
                continue  # G1a or G1b
            yield Anomaly(
                "unstable read",
                f"{poll.process} read {value!r} at {partition}@{offset}, behind a record of "
                f"transaction {latest[before].name}, which was open",
            )


def _first_offsets(facts: Facts) -> dict[str, dict[int, Transaction]]:
    """Return where transactions have their first record, by partition."""
    firsts: dict[tuple[str, str], int] = {}
    for send in facts.sends:
        place = facts.logs.place(send)
        if send.transaction is not None and place is not None:
            partition, offset = place
            key = partition, send.transaction
            firsts[key] = min(offset, firsts.get(key, offset))
    by_partition: dict[str, dict[int, Transaction]] = defaultdict(dict)
    for (partition, name), offset in firsts.items():
        by_partition[partition][offset] = facts.transactions[name]
    return by_partition


def _latest_decided(first: dict[int, Transaction]) -> tuple[list[int], list[Transaction]]:
    """Return the first offsets in order, and for each which transaction so far is open longest."""
    offsets = sorted(first)
    latest: list[Transaction] = []
    for offset in offsets:
        transaction = first[offset]
        if latest and latest[-1].undecided_until >= transaction.undecided_until:
            transaction = latest[-1]
        latest.append(transaction)
    return offsets, latest
