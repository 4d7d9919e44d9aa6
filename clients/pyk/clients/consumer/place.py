"""One assigned partition: where it is read, how that goes, whether it stands still. Pure."""

from __future__ import annotations

from enum import Enum
from uuid import UUID

import attrs

from pyk.clients.consumer.partition_buffer import UNKNOWN, PartitionBuffer
from pyk.clients.errors import KafkaError
from pyk.clients.offsets import OffsetSpec
from pyk.clients.topic_partition import TopicPartition

# For how long a partition may have records and get none, or be fetched and not be answered for.
STALL_SECONDS = 10.0
# For how long a rebalance may wait until the application hears of it, which works on records.
HELD_SECONDS = 30.0
# How many rounds through all partitions of a node one partition may go without records.
ROUNDS_MISSED = 3


class PlaceState(Enum):
    """What is known of where to read; the diagram above shows the moves."""

    COMMITTED = "asks the group where it stopped"
    RESET = "asks the leader for an offset"
    VALIDATE = "asks the new leader whether the log was truncated"
    KNOWN = "is fetched"
    FAILED = "waits for the application to seek"


@attrs.define
class Turns:
    """How often a node has answered while a partition waited for records.

    With many partitions, or an application that is slow, each has its turn rarely. A partition is
    held up only where others have had theirs more than once.
    """

    node_id: int
    first: int
    """How many answers the node had given when the counting began."""
    are_missed: bool = False


@attrs.define(eq=False)
class Place:
    """One assigned partition, as the event loop sees it."""

    buffer: PartitionBuffer
    state: PlaceState
    end: OffsetSpec = OffsetSpec.LATEST
    """The end of the log that RESET asks for."""
    topic_id: UUID | None = None
    """The topic's id, None while it is not known: one that is created again has another."""
    seen_version: int = UNKNOWN
    """The version of the metadata that the place was last compared with."""
    leader: int | None = None
    """The node that metadata call the leader."""
    leader_epoch: int = UNKNOWN
    """The leader's epoch that was last fetched from, or validated."""
    fetched_epoch: int = UNKNOWN
    """The leader epoch of the last batch that was fetched."""
    readable_end: int = UNKNOWN
    """Where what may be read ends: at the high watermark, or with ``read_committed`` at the last
    stable offset, behind which transactions are open."""
    preferred_node: int | None = None
    preferred_until: float = 0.0
    failures: int = 0
    retry_at: float = 0.0
    failing_since: float | None = None
    error: KafkaError | None = None
    told_at: float | None = None
    """When the application was last told that the partition keeps failing."""
    progressed_at: float = 0.0
    answered_at: float = 0.0
    """Until when answers for the partition are in time: by the last one, or as none is needed."""
    stalls: int = 0
    turns: Turns | None = None
    """The turns of the partition since it last progressed."""
    held_since: float | None = None
    """Since when a rebalance that the application has not heard of keeps it from being read."""

    @property
    def topic_partition(self) -> TopicPartition:
        partition: TopicPartition = self.buffer.topic_partition
        return partition

    @property
    def version(self) -> int:
        return self.buffer.version

    def succeeded(self, now: float) -> None:
        """Take note of an answer that was no error."""
        self.ask_at_once()
        self.recovered()
        if not self.is_behind:
            self.progressed(now)

    def ask_at_once(self) -> None:
        """Forget the failures so far: whoever is asked next has no part in them."""
        self.failures = 0
        self.retry_at = 0.0

    def waits(self, error: KafkaError, now: float) -> None:
        """Take note of what keeps the partition from being read."""
        self.error = error
        if self.failing_since is None:
            self.failing_since = now

    def recovered(self) -> None:
        """Take note that nothing is known to keep the partition from being read."""
        self.failing_since = self.told_at = None
        self.error = None

    def progressed(self, now: float) -> None:
        """Take note of new records, or that there are none."""
        self.progressed_at = now
        self.turns = None
        self.stalls = 0

    @property
    def is_fetchable(self) -> bool:
        """Tell whether records of the partition are wanted now."""
        is_read = self.state is PlaceState.KNOWN and not self.buffer.is_paused
        return is_read and not self.buffer.is_unreadable and self.buffer.has_room

    @property
    def is_left_alone(self) -> bool:
        """Tell whether no node is asked about the partition: nothing says then that it fails."""
        return self.state is PlaceState.KNOWN and not self.is_fetchable

    @property
    def is_behind(self) -> bool:
        """Tell whether the leader has records that could be fetched now, as far as is known."""
        return self.is_fetchable and 0 <= self.buffer.fetch_offset < self.readable_end

    def is_stalled(self, now: float) -> bool:
        """Tell whether the partition should have got records, or an answer, and did not."""
        had_turns = self.turns is not None and self.turns.are_missed
        gets_none = self.is_behind and had_turns and now - self.progressed_at > STALL_SECONDS
        is_left_out = self.is_fetchable and now - self.answered_at > STALL_SECONDS
        return gets_none or is_left_out

    def is_held_for_long(self, now: float) -> bool:
        """Tell whether the application should have heard of a rebalance by now, and has not."""
        return self.held_since is not None and now - self.held_since > HELD_SECONDS

    def note_turns(self, node_id: int, answers: int, partition_count: int) -> None:
        """Take note of how often a node has answered that fetches so many partitions in turns."""
        if self.turns is None or self.turns.node_id != node_id:
            self.turns = Turns(node_id, answers)
        self.turns.are_missed = answers - self.turns.first > ROUNDS_MISSED * partition_count

    def prefer(self, node_id: int, until: float) -> None:
        """Fetch from that replica, which is nearer, for a while (KIP-392)."""
        self.preferred_node, self.preferred_until = node_id, until

    def node_to_fetch(self, leader: int | None, now: float) -> int | None:
        if self.preferred_node is not None and now < self.preferred_until:
            return self.preferred_node
        self.preferred_node = None
        return leader
