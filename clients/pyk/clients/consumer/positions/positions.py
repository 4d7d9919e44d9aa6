"""The positions of assigned partitions, and how to resolve them. Pure.

                 assigned to a group member            assigned by hand
                          │                                   │
                      COMMITTED ── nothing committed ──► RESET ◄── offset out of range
                          │ found                     found │ │    seek to beginning or end
                          └────────────► KNOWN ◄────────────┘ │
      leader has another epoch │   ▲ nothing truncated        │ policy "none"
                          VALIDATE ┘                       FAILED ── seek ──► KNOWN

            KNOWN ── a transaction is left open ──► IN_DOUBT ── its outcome ──► KNOWN

Only KNOWN partitions are fetched. The position itself is in the partition's buffer, where the
application moves it. A look-up takes along the buffer's ``version``; an answer that comes
after a seek, or after another assignment, finds another version and changes nothing.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING
from uuid import UUID

from pyk.clients.consumer.buffer.partition_buffer import UNKNOWN
from pyk.clients.consumer.positions.assigned_partition import AssignedPartition, PositionState
from pyk.clients.consumer.positions.position_errors import (
    old_leader_error,
    truncated_error,
    unstable_error,
)
from pyk.clients.consumer.positions.reset_policy import ResetTarget, reset_policy
from pyk.clients.consumer.positions.saved_positions import SavedPositions
from pyk.clients.consumer.records.assignment import Assignment
from pyk.clients.engine.backoff import Backoff
from pyk.clients.errors import (
    KafkaError,
    NoOffsetForPartitionError,
    OffsetOutOfRangeError,
    TopicRecreatedError,
)
from pyk.clients.offsets import OffsetSpec
from pyk.clients.topic_partition import OffsetAndMetadata
from pyk.runtime import slotted

if TYPE_CHECKING:
    from pyk.clients.consumer.buffer.fetch_writer import FetchWriter

log = logging.getLogger(__name__)

# How often to ask a leader again that is in an older epoch than the records: metadata lags.
OLD_LEADER_TRIES = 5


@slotted.frozen
class FoundOffset:
    """An offset that a leader named, the epoch of the record there, and the leader's own."""

    offset: int
    epoch: int = UNKNOWN
    leader_epoch: int = UNKNOWN


class Positions:
    """Sets the positions of assigned partitions, each by itself: from answers, seeks and resets.

    ``chance`` returns numbers from 0 to 1.
    """

    def __init__(
        self,
        writer: FetchWriter,
        auto_offset_reset: str,
        backoff: Backoff,
        chance: Callable[[], float],
    ) -> None:
        self._writer = writer
        self._policy = reset_policy(auto_offset_reset)
        self._reset_name = auto_offset_reset
        self._backoff = backoff
        self._chance = chance
        self.saved = SavedPositions()
        """The positions of partitions that disappeared."""
        self.is_comparison_due = False
        """Whether a partition was added, or its position set, since the last comparison."""

    # -- where partitions begin --------------------------------------------------------------------

    def begin(self, assigned: AssignedPartition, *, is_new: bool) -> None:
        """Choose where a new partition begins without a group.

        With ``is_new``, it was added to a topic while that was read.
        """
        saved = self.saved.take(assigned.topic_partition)
        if saved is not None and saved.is_paused:
            self._writer.pause(assigned.buffer)
        if saved is None and is_new:
            self._reset_to(assigned, OffsetSpec.EARLIEST)
        elif saved is None or saved.offset == UNKNOWN:
            self._reset_by_policy(assigned, NoOffsetForPartitionError, "no group_id is given")
        elif saved.topic_id == assigned.topic_id:
            self._know(assigned, saved.offset, saved.epoch)
        else:
            self._begin_new_topic(assigned, saved.offset)

    def topic_recreated(self, assigned: AssignedPartition, former_id: UUID) -> None:
        """Read a topic that was deleted and created again from its beginning: it is another topic.

        All of its records are new to the consumer, whatever end the policy names. Where a position
        is looked up, the answer may still be about the former topic, and does not count; one that
        waits for a transaction is left to :meth:`settle`.
        """
        assigned.first_version = assigned.version + 1
        buffer, saved = assigned.buffer, self.saved.take(assigned.topic_partition)
        another = Assignment(
            assigned.topic_partition,
            topic_id=assigned.topic_id,
            consumer=buffer.assignment.consumer,
        )
        if saved is not None and saved.topic_id == assigned.topic_id:  # the former id was false
            assigned.first_version = 0
            is_over = saved.assignment.is_lost
            self._writer.reassign(buffer, another if is_over else saved.assignment)
            self._know(assigned, saved.offset, saved.epoch)
        elif assigned.state in (PositionState.KNOWN, PositionState.VALIDATE):
            log.warning(
                "Topic %s was deleted and created again; %s was read up to offset %d",
                assigned.topic_partition.topic,
                assigned.topic_partition,
                buffer.position,
            )
            self.saved.save(buffer, former_id)
            self._writer.reassign(buffer, another)
            self._begin_new_topic(assigned, buffer.position)
        else:
            self._writer.reassign(buffer, another)
            assigned.noted_offset = UNKNOWN
            if assigned.is_resolving:
                self._writer.set_position(buffer, UNKNOWN, UNKNOWN)
                assigned.retry_at = 0.0

    def _begin_new_topic(self, assigned: AssignedPartition, former_offset: int) -> None:
        assigned.readable_end = UNKNOWN
        assigned.preferred_node = None
        if self._policy is not None:
            self._reset_to(assigned, OffsetSpec.EARLIEST)
            return
        reason = "the topic was deleted and created again"
        self._reset_by_policy(assigned, TopicRecreatedError, reason, former_offset)

    # -- answers -----------------------------------------------------------------------------------

    def found_committed(
        self,
        assigned: AssignedPartition,
        version: int,
        committed: OffsetAndMetadata | None,
        now: float,
    ) -> None:
        """Set the position from the offset that the group has committed."""
        if not self._is_current(assigned, version, PositionState.COMMITTED):
            return
        assigned.succeeded(now)
        if committed is not None:
            epoch = UNKNOWN if committed.leader_epoch is None else committed.leader_epoch
            self._know(assigned, committed.offset, epoch)
            return
        assigned.state = PositionState.RESET
        self._reset_by_policy(
            assigned, NoOffsetForPartitionError, "the group has no committed offset"
        )

    def found_unstable(self, assigned: AssignedPartition, version: int, now: float) -> None:
        """Ask again after a while, because an open transaction may still commit an offset.

        That is no failure, however long it takes (KIP-447).
        """
        if self._is_current(assigned, version, PositionState.COMMITTED):
            assigned.recovered()
            assigned.error = unstable_error(assigned.topic_partition)
            assigned.failures += 1
            assigned.retry_at = now + self._backoff.delay(assigned.failures, self._chance())

    def found_offset(
        self, assigned: AssignedPartition, version: int, found: FoundOffset, now: float
    ) -> None:
        """Set the position from the offset that a RESET asked for."""
        if self._is_current(assigned, version, PositionState.RESET):
            assigned.succeeded(now)
            noted_offset, noted_end = assigned.noted_offset, assigned.noted_end
            self._know(assigned, found.offset, found.epoch)
            assigned.leader_epoch, assigned.noted_end = found.leader_epoch, noted_end
            # Otherwise it is a shorter log, or another one.
            assigned.noted_offset = noted_offset if noted_offset <= found.offset else UNKNOWN

    def found_epoch_end(
        self,
        assigned: AssignedPartition,
        version: int,
        end_offset: int | None,
        leader_epoch: int,
        now: float,
    ) -> None:
        """Compare the position with the end of the epoch that was read, in the leader's log.

        With -1 the leader has no such epoch. It may be the former leader, which metadata still
        names; otherwise no log has the records that were read. With None it is too old for the
        question, and is read from all the same.
        """
        if not self._is_current(assigned, version, PositionState.VALIDATE):
            return
        is_missing = end_offset is not None and end_offset < 0
        is_old_leader = is_missing and leader_epoch < assigned.fetched_epoch
        if is_old_leader and assigned.failures < OLD_LEADER_TRIES:
            error = old_leader_error(
                assigned.topic_partition,
                assigned.buffer.fetch_offset,
                assigned.fetched_epoch,
                leader_epoch,
            )
            self.failed(assigned, version, error, now)
            return
        assigned.succeeded(now)
        assigned.leader_epoch = leader_epoch
        assigned.state = PositionState.KNOWN
        self._compare_again(assigned)
        if end_offset is None:
            return
        if end_offset < assigned.buffer.fetch_offset:
            self._truncated(assigned, end_offset)
        elif assigned.noted_end == UNKNOWN or end_offset < assigned.noted_end:
            assigned.noted_end = end_offset

    def failed(
        self, assigned: AssignedPartition, version: int, error: KafkaError, now: float
    ) -> None:
        """Record that a lookup, or a fetch, failed; it is retried."""
        if assigned.version != version:
            return
        assigned.failures += 1
        assigned.retry_at = now + self._backoff.delay(assigned.failures, self._chance())
        assigned.waits(error, now)

    def out_of_range(self, assigned: AssignedPartition, now: float) -> None:
        """Reset the position, or fail, because the log does not have its offset."""
        position = assigned.buffer.position
        log.warning(
            "Offset %d of %s is not in its log, auto_offset_reset=%r says where to read on",
            position,
            assigned.topic_partition,
            self._reset_name,
        )
        assigned.succeeded(now)
        if position != assigned.noted_offset:
            assigned.noted_offset = UNKNOWN
        assigned.state = PositionState.RESET
        self._reset_by_policy(
            assigned, OffsetOutOfRangeError, "the log does not have this offset", position
        )

    # -- what the application wants ----------------------------------------------------------------

    def seek(self, assigned: AssignedPartition, offset: int, epoch: int) -> None:
        """Read on from ``offset``."""
        self.saved.take(assigned.topic_partition)
        is_there = assigned.buffer.position == offset
        is_there &= epoch in (UNKNOWN, assigned.buffer.position_epoch)
        if is_there and assigned.state is PositionState.KNOWN and not assigned.buffer.is_unreadable:
            return  # the fetched records stay useful
        self._know(assigned, offset, epoch)

    def seek_to(self, assigned: AssignedPartition, end: OffsetSpec) -> None:
        """Read on from an end of the log, EARLIEST or LATEST."""
        self.saved.take(assigned.topic_partition)
        self._reset_to(assigned, end)

    # -- transactions ------------------------------------------------------------------------------

    def doubt(self, assigned: AssignedPartition) -> None:
        """Hand out nothing until :meth:`settle` or a seek."""
        self._writer.set_position(assigned.buffer, UNKNOWN, UNKNOWN)
        assigned.state = PositionState.IN_DOUBT
        assigned.recovered()

    def settle(
        self,
        assigned: AssignedPartition,
        version: int,
        offset: int,
        epoch: int,
        topic_id: UUID | None,
    ) -> bool:
        """Read on from ``offset``, or from the end that a RESET asked for before if that is -1.

        Returns False if another position was set since :meth:`doubt`, or if the topic, which had
        the id ``topic_id`` then, was created again.
        """
        if not self._is_current(assigned, version, PositionState.IN_DOUBT):
            return False
        if topic_id not in (None, assigned.topic_id):
            self._begin_new_topic(assigned, offset)
            return False
        if offset == UNKNOWN:
            self._reset_to(assigned, assigned.end)
        else:
            self._know(assigned, offset, epoch)
        return True

    # -- inside ------------------------------------------------------------------------------------

    def _reset_to(self, assigned: AssignedPartition, end: ResetTarget) -> None:
        self._writer.set_position(assigned.buffer, UNKNOWN, UNKNOWN)
        assigned.noted_offset = UNKNOWN
        assigned.state = PositionState.RESET
        assigned.end = end
        assigned.retry_at = 0.0

    def _is_current(self, assigned: AssignedPartition, version: int, state: PositionState) -> bool:
        return assigned.version == version and assigned.state is state

    def _know(self, assigned: AssignedPartition, offset: int, epoch: int) -> None:
        self._writer.set_position(assigned.buffer, offset, epoch)
        assigned.noted_offset, assigned.noted_end = offset, UNKNOWN
        assigned.state = PositionState.KNOWN
        assigned.fetched_epoch = epoch
        assigned.leader_epoch = UNKNOWN
        assigned.retry_at = 0.0
        self._compare_again(assigned)

    def _compare_again(self, assigned: AssignedPartition) -> None:
        """Compare a partition with the metadata again, although that has not changed."""
        assigned.seen_version = UNKNOWN
        self.is_comparison_due = True

    def _reset_by_policy(
        self,
        assigned: AssignedPartition,
        kind: type[KafkaError],
        reason: str,
        offset: int | None = None,
    ) -> None:
        """Ask for the offset that ``auto_offset_reset`` names, or fail if it is ``none``."""
        topic, partition = assigned.topic_partition
        if self._policy is not None:
            self._writer.set_position(assigned.buffer, UNKNOWN, UNKNOWN)
            assigned.end = self._policy
            return
        assigned.state = PositionState.FAILED
        error = kind(
            f"cannot read {assigned.topic_partition}"
            f"{'' if offset is None else f' from offset {offset}'}: {reason}, and "
            "auto_offset_reset='none' does not say where to begin; seek to an offset",
            topic=topic,
            partition=partition,
            offset=offset,
        )
        self._writer.fail(assigned.buffer, error, lasts=True)

    def _truncated(self, assigned: AssignedPartition, end_offset: int) -> None:
        position = assigned.buffer.position
        log.warning(
            "The log of %s was truncated %s; it had been read up to offset %d, in epoch %d",
            assigned.topic_partition,
            f"to offset {end_offset}" if end_offset >= 0 else "to an earlier epoch",
            position,
            assigned.fetched_epoch,
        )
        if end_offset >= position or (end_offset >= 0 and self._policy is not None):
            self._know(assigned, min(position, end_offset), UNKNOWN)
            assigned.noted_offset = UNKNOWN
            return
        if self._policy is not None:
            self._reset_to(assigned, self._policy)
            return
        assigned.state = PositionState.FAILED
        error = truncated_error(assigned.topic_partition, position, end_offset)
        self._writer.fail(assigned.buffer, error, lasts=True)
