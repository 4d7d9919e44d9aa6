"""G1a, aborted read: a reader was handed a value that was certainly not committed.

1. Its transaction was aborted, or nobody ever asked to commit it, and the reader reads what is
   committed.
2. Its send failed for certain; then no reader at all may see it.
"""

from __future__ import annotations

from collections.abc import Iterator

from pykcheck.anomaly import Anomaly, Facts


def aborted_read(facts: Facts) -> Iterator[Anomaly]:
    """Find reads of what was aborted or refused."""
    for poll in facts.polls:
        for partition, offset, value in poll.records:
            send = facts.writers.get(value)
            if send is None:
                continue
            if send.has_failed:
                why = "whose send was refused"
            elif poll.is_read_committed and not facts.may_be_visible(send):
                why = f"of transaction {send.transaction}, which was not committed"
            else:
                continue
            yield Anomaly(
                "G1a aborted read", f"{poll.process} read {value!r} at {partition}@{offset}, {why}"
            )
