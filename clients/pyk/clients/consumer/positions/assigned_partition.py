"""One assigned partition: where it is read, and what keeps it from being read. Pure."""

from __future__ import annotations

from enum import Enum
from uuid import UUID

from pyk.clients.consumer.buffer.partition_buffer import UNKNOWN, PartitionBuffer
from pyk.clients.consumer.positions.progress import Progress
from pyk.clients.consumer.positions.reset_policy import ResetTarget
from pyk.clients.errors import KafkaError
from pyk.clients.offsets import OffsetSpec
from pyk.clients.topic_partition import TopicPartition
from pyk.protocol.fields import ZERO_UUID


class PositionState(Enum):
    """The state of a position; the diagram in :mod:`.positions` shows the moves."""

    COMMITTED = "asks the group where it stopped"
    RESET = "asks the leader for an offset"
    VALIDATE = "asks the new leader whether the log was truncated"
    KNOWN = "is fetched"
    FAILED = "waits for the application to seek"
    IN_DOUBT = "waits for the outcome of a transaction"


KNOWN, FAILED, IN_DOUBT = PositionState.KNOWN, PositionState.FAILED, PositionState.IN_DOUBT


class AssignedPartition:
    """One assigned partition, as the event loop sees it."""

    def __init__(
        self, buffer: PartitionBuffer, state: PositionState, topic_id: UUID | None, now: float
    ) -> None:
        self.buffer = buffer
        self.topic_partition: TopicPartition = buffer.topic_partition
        self.state = state
        self.end: ResetTarget = OffsetSpec.LATEST
        """The end of the log, or the time, that RESET asks for."""
        self.topic_id = topic_id
        """The topic's id, None while it is not known: one that is created again has another."""
        self.is_assigned_by_id = False
        """Whether the group has assigned the topic of this id, and no other of its name."""
        self.is_disputed = False
        """Whether metadata name another topic than the one that the group has assigned."""
        self.first_version = 0
        """The first version of positions in this topic; those before are of a former one."""
        self.noted_offset = UNKNOWN
        """The offset whose commit may tell by its note what is finished of this log, -1 if none."""
        self.noted_end = UNKNOWN
        """The offset from which the log has other records than those of the note, -1 if none."""
        self.seen_version = UNKNOWN
        """The version of the metadata with which the partition was last compared."""
        self.leader: int | None = None
        """The leader in that metadata."""
        self.named_epoch = UNKNOWN
        """The leader's epoch in that metadata, -1 if unknown."""
        self.named_id: UUID = ZERO_UUID
        """The topic's id in that metadata, all zeros if unknown."""
        self.leader_epoch = UNKNOWN
        """The epoch of the leader that was last fetched from, or validated."""
        self.fetched_epoch = UNKNOWN
        """The leader epoch of the last batch that was fetched."""
        self.readable_end = UNKNOWN
        """The end of the readable records: the high watermark, or with ``read_committed`` the last
        stable offset, after which transactions are open."""
        self.high_watermark = UNKNOWN
        """With ``read_committed`` the end of the replicated records, readable or not."""
        self.preferred_node: int | None = None
        self.preferred_until = 0.0
        self.failures = 0
        self.retry_at = 0.0
        self.failing_since: float | None = None
        self.error: KafkaError | None = None
        self.told_at: float | None = None
        """When the application, or the log, was last told that the partition keeps failing."""
        self.progress = Progress(now)

    @property
    def version(self) -> int:
        return self.buffer.version

    def bind(self, topic_id: UUID) -> None:
        """Note the id by which the group has assigned the topic."""
        self.topic_id = self.buffer.assignment.topic_id = topic_id
        self.is_assigned_by_id = True

    @property
    def is_resolving(self) -> bool:
        """Return whether the position is being looked up, or about to be."""
        return self.state not in (KNOWN, FAILED, IN_DOUBT)

    def succeeded(self, now: float) -> None:
        """Record a response without an error."""
        self.ask_at_once()
        self.recovered()
        if not self.is_behind:
            self.progress.made(now)

    def ask_at_once(self) -> None:
        """Forget the failures so far: the node that is asked next did not cause them."""
        self.failures = 0
        self.retry_at = 0.0

    def waits(self, error: KafkaError, now: float) -> None:
        """Record the error that keeps the partition from being read."""
        self.error = error
        if self.failing_since is None:
            self.failing_since = now

    def recovered(self) -> None:
        """Record that no error keeps the partition from being read any more."""
        self.failing_since = self.told_at = None
        self.error = None

    @property
    def is_fetchable(self) -> bool:
        """Return whether records of the partition are wanted now."""
        is_read = self.state is KNOWN and not self.buffer.is_paused
        return is_read and not self.buffer.is_unreadable and self.buffer.has_room

    @property
    def is_left_alone(self) -> bool:
        """Return whether no node is asked about the partition, so that no failure would show."""
        return self.state is KNOWN and not self.is_fetchable

    @property
    def is_behind(self) -> bool:
        """Return whether the leader has records that could be fetched now, as far as is known."""
        return self.is_fetchable and 0 <= self.buffer.fetch_offset < self.readable_end

    def is_stalled(self, now: float) -> bool:
        """Return whether the partition should have got records, or an answer, and did not."""
        return self.is_fetchable and self.progress.is_overdue(now, is_behind=self.is_behind)

    def prefer(self, node_id: int, until: float) -> None:
        """Fetch from that replica, which is nearer, for a while (KIP-392)."""
        self.preferred_node, self.preferred_until = node_id, until

    def node_to_fetch(self, now: float) -> int | None:
        """Return the nearer replica, or the leader; None without a known leader."""
        if self.preferred_node is not None and now < self.preferred_until:
            return self.preferred_node
        self.preferred_node = None
        return self.leader
