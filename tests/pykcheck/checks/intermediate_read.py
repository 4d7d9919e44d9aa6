"""G1b, intermediate read: a value was read before anybody asked to commit its transaction.

In a database this is the read of a version that its transaction overwrites later. In a log nothing
is overwritten; what is intermediate is a transaction to which more may be added, or which may be
aborted. A transaction must not even read what it sent itself.
"""

from __future__ import annotations

from collections.abc import Iterator

from pykcheck.anomaly import Anomaly, Facts


def intermediate_read(facts: Facts) -> Iterator[Anomaly]:
    """Find reads of transactions that were still open."""
    for poll in facts.polls:
        if not poll.is_read_committed:
            continue
        for partition, offset, value in poll.records:
            send = facts.writers.get(value)
            transaction = None if send is None else facts.transaction(send)
            # One that nobody committed at all is G1a.
            if transaction is None or transaction.is_aborted:
                continue
            if poll.completed < transaction.commit_asked:
                yield Anomaly(
                    "G1b intermediate read",
                    f"{poll.process} read {value!r} at {partition}@{offset} before transaction "
                    f"{transaction.name} was to be committed",
                )
