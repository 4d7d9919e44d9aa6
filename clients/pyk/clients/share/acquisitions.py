"""Notice that a leader has delivered records again that this member still works on. Pure.

Then the locks of the first delivery were over: the leader has lost them in a crash, or time ran
out. An acknowledgement of the first delivery that is still to be sent would be taken for one of the
second, which lies in the buffer, and the application would get a record after it heard that the
record is accepted. So what is said of an acquisition that was *overtaken* is not sent.
"""

from __future__ import annotations

from collections.abc import Iterable

from pyk.clients.consumer.group.modern.assignment import TopicIdPartition
from pyk.clients.share.acknowledgements import GAP, RENEW, UNDECIDED, Acknowledgements, Run
from pyk.clients.share.acquired_records import AcquiredRecords


class Acquisitions:
    """What was acquired of each partition, as far as nothing has come of it yet."""

    def __init__(self) -> None:
        self._open: dict[TopicIdPartition, dict[AcquiredRecords, Acknowledgements]] = {}

    def __len__(self) -> int:
        return sum(map(len, self._open.values()))

    def add(self, acquired: AcquiredRecords, ranges: Iterable[tuple[int, int]]) -> None:
        """Add what a leader has delivered; it overtakes what was delivered with it before."""
        offsets = Acknowledgements((first, last, UNDECIDED) for first, last in ranges)
        others = self._open.setdefault(acquired.partition, {})
        for other, theirs in list(others.items()):
            if _have_in_common(theirs.of_kind(UNDECIDED), offsets.of_kind(UNDECIDED)):
                other.is_overtaken = True
                del others[other]
        others[acquired] = offsets

    def end(self, acquired: AcquiredRecords, acknowledged: Iterable[Run]) -> None:
        """Take note that the outcome of acknowledgements is known; renewals end nothing."""
        others = self._open.get(acquired.partition)
        offsets = None if others is None else others.get(acquired)
        if others is None or offsets is None:
            return
        offsets.add_all([(first, last, GAP) for first, last, kind in acknowledged if kind != RENEW])
        if not offsets.of_kind(UNDECIDED):
            del others[acquired]


def _have_in_common(some: list[Run], others: list[Run]) -> bool:
    """Return whether ranges, both in order, have an offset in common."""
    one = other = 0
    while one < len(some) and other < len(others):
        if some[one][1] < others[other][0]:
            one += 1
        elif others[other][1] < some[one][0]:
            other += 1
        else:
            return True
    return False
