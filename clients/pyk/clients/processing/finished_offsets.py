"""Say which offsets handlers have finished: in commits, and as the owner before has left them."""

from __future__ import annotations

import logging
from contextlib import AbstractContextManager

from pyk.clients.consumer.faces.core import ConsumerCore
from pyk.clients.consumer.positions.assigned_partition import AssignedPartition
from pyk.clients.consumer.records.assignment import Assignment
from pyk.clients.processing.gaps import PREFIX, NoteLimit, decode_finished, encode_finished
from pyk.clients.processing.jobs import Jobs
from pyk.clients.processing.pauses import Pauses
from pyk.clients.topic_partition import OffsetAndMetadata

log = logging.getLogger(__name__)


class FinishedOffsets:
    """What the commits of a consumer ask during ``process()``. ``lock`` guards ``jobs``."""

    def __init__(
        self,
        core: ConsumerCore,
        jobs: Jobs,
        lock: AbstractContextManager[object],
        pauses: Pauses,
        *,
        commits_by_itself: bool,
    ) -> None:
        self._core = core
        self._jobs = jobs
        self._lock = lock
        self._pauses = pauses
        self.notes = NoteLimit()
        self.commits_by_itself = commits_by_itself
        """Whether the consumer commits what is finished; otherwise transactions do."""

    def restart_at(self, assignment: Assignment) -> OffsetAndMetadata | None:
        """Return the first unfinished offset of a partition, and a note of what is finished
        after it; None if all before the position is finished."""
        assigned = self._pauses.assigned(assignment)
        if assigned is None:
            return None
        with self._lock:
            partition = self._jobs.of(assignment)
            offset, finished = (None, []) if partition is None else partition.restart()
        # What is not before the position was truncated: other records will be there.
        position = assigned.buffer.position
        if offset is None or offset >= position:
            return None
        finished = [one for one in finished if one < position]
        note = encode_finished(offset, finished, self.notes.max_bytes)
        return OffsetAndMetadata(offset, note, read_epoch(assigned))

    def shorten_notes(self) -> bool:
        """Write shorter notes, as a broker has refused one; return False if there are none left."""
        return self.notes.shorten()

    def done_before(self, assignment: Assignment) -> frozenset[int]:
        """Return what the owner before has finished, as its last commit tells."""
        assigned, group = self._pauses.assigned(assignment), self._core.group
        if assigned is None or group is None:
            return frozenset()
        committed = group.progress.begun_with(assigned)
        if committed is None:
            return frozenset()
        done = decode_finished(committed.offset, committed.metadata)
        if done is not None:
            end = assigned.noted_end
            return done if end < 0 else frozenset(one for one in done if one < end)
        is_ours = committed.metadata.startswith(PREFIX)
        log.log(
            logging.WARNING if is_ours else logging.INFO,
            "The metadata of the committed offset %d of %s %s: all records from there are handled",
            committed.offset,
            assigned.topic_partition,
            "is damaged" if is_ours else "was not written by process()",
        )
        return frozenset()


def read_epoch(assigned: AssignedPartition) -> int | None:
    """Return the leader epoch of the last record that was read, None if it is not known.

    It belongs to a commit, also of an earlier offset: where the log is truncated later, it tells
    the next owner from where on other records are there than those that the note names (KIP-320).
    """
    epoch = assigned.buffer.position_epoch
    return None if epoch < 0 else epoch
