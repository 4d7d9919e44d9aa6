"""One member of a consumer group, as a value."""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum
from uuid import UUID

from pyk.protocol.messages.consumer_group_records import ClassicMemberMetadata
from pyk.runtime import slotted

from .assignment import Assignment

JOINING, LEAVING, LEAVING_STATIC = 0, -1, -2
"""What a heartbeat says instead of an epoch."""

PartitionEpochs = Mapping[UUID, Mapping[int, int]]
"""The member epoch at which each partition was assigned, which commits must have (KIP-1251)."""


class MemberState(IntEnum):
    """How far a member is on its way to its target, with the numbers of Kafka's records."""

    STABLE = 0
    UNREVOKED_PARTITIONS = 1
    """It still has partitions to give up."""
    UNRELEASED_PARTITIONS = 2
    """It waits for partitions that others still have."""
    UNKNOWN = 127
    """A newer broker wrote a state that this one does not know."""

    @classmethod
    def _missing_(cls, _: object) -> MemberState:
        return cls.UNKNOWN


@slotted.frozen(kw_only=True)
class ConsumerMember:
    """What a member has said of itself, and what it is assigned."""

    member_id: str
    instance_id: str | None = None
    rack_id: str | None = None
    client_id: str = ""
    client_host: str = ""
    topic_names: frozenset[str] = frozenset()
    pattern: str = ""
    """The topics it subscribes to by a regular expression; empty if by none."""
    rebalance_timeout_ms: int = -1
    server_assignor: str | None = None
    classic_metadata: ClassicMemberMetadata | None = None
    """What its JoinGroup said, of a member that speaks the classic protocol."""

    epoch: int = JOINING
    previous_epoch: int = JOINING
    """Still taken from a member that did not get the answer with the present one."""
    state: MemberState = MemberState.STABLE
    assigned: PartitionEpochs = slotted.field(factory=dict)
    revoking: PartitionEpochs = slotted.field(factory=dict)
    """The partitions it has been told to give up."""

    @property
    def is_classic(self) -> bool:
        """Whether the member speaks the classic protocol, with its epoch as the generation."""
        return self.classic_metadata is not None

    @property
    def held(self) -> Assignment:
        """The partitions that it may read: what it is assigned, and what it has yet to give up."""
        held: dict[UUID, frozenset[int]] = {}
        for partitions in (self.assigned, self.revoking):
            for topic_id, epochs in partitions.items():
                held[topic_id] = held.get(topic_id, frozenset()) | frozenset(epochs)
        return {topic_id: numbers for topic_id, numbers in held.items() if numbers}

    def is_at(self, epoch: int) -> bool:
        """Return whether the member has all of the target of an epoch."""
        return self.state is MemberState.STABLE and self.epoch == epoch

    def assignment_epoch(self, topic_id: UUID, partition: int) -> int | None:
        """Return the epoch at which a partition was assigned, None if the member has it not."""
        for partitions in (self.assigned, self.revoking):
            epoch = partitions.get(topic_id, {}).get(partition)
            if epoch is not None:
                return epoch
        return None
