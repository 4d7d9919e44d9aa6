"""Invented: a reader was handed a value that nobody sent, or sent to another partition."""

from __future__ import annotations

from collections.abc import Iterator

from pykcheck.anomaly import Anomaly, Facts


def invented(facts: Facts) -> Iterator[Anomaly]:
    """Find values without a sender."""
    for poll in facts.polls:
        for partition, offset, value in poll.records:
            send = facts.writers.get(value)
            if send is None or send.partition not in (None, partition):
                yield Anomaly(
                    "invented",
                    f"{poll.process} read {value!r} at {partition}@{offset}, where nobody sent it",
                )
