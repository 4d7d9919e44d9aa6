"""G0, dirty write: transactions of one transactional id are mixed up in a log.

A transactional id has one transaction at a time, and each is over before the next begins. So in
every partition all that one of them wrote stands before all that a later one wrote, whatever became
of them. A cycle of writes between different transactional ids is none of our business: Kafka does
not isolate writes, and logs of two producers interleave as they like.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from pykcheck.anomaly import Anomaly, Facts
from pykcheck.transactions import Transaction


def dirty_write(facts: Facts) -> Iterator[Anomaly]:
    """Find records of a transaction behind those of a later one of the same id."""
    written: dict[tuple[str, str], list[tuple[int, Transaction]]] = defaultdict(list)
    for transaction in facts.transactions.values():
        for send in transaction.sends:
            place = facts.logs.place(send)
            if place is not None:
                key = transaction.begin.transactional_id, place[0]
                written[key].append((place[1], transaction))
    for (transactional_id, partition), records in written.items():
        records.sort(key=lambda each: each[0])
        latest = records[0][1]
        for offset, transaction in records:
            if transaction.begin.order < latest.begin.order:
                yield Anomaly(
                    "G0 dirty write",
                    f"{partition}@{offset} was written by transaction {transaction.name} of "
                    f"{transactional_id} after the later one {latest.name} wrote",
                )
            else:
                latest = transaction
