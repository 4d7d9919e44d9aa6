"""Records of ``__consumer_offsets`` about consumer groups (KIP-848).

A record without value deletes what its key names.
"""

from __future__ import annotations

from uuid import UUID

from pyk.protocol.schema import (
    Message,
    Struct,
    array,
    binary,
    coordinator_key,
    coordinator_value,
    int8,
    int32,
    int64,
    nested,
    string,
    struct,
    uuid,
)


@coordinator_key(3)
class ConsumerGroupMetadataKey(Message):
    """Key of the epoch of a consumer group."""

    group_id: str = string()


@coordinator_value(3, versions="0", flexible="0+")
class ConsumerGroupMetadataValue(Message):
    """The group has come to this epoch: members, subscriptions or topics have changed."""

    epoch: int = int32()
    metadata_hash: int = int64(tag=0)
    """Of all subscribed topics with partitions and racks (KIP-1101); another hash asks for a
    new epoch."""


@coordinator_key(4)
class ConsumerGroupPartitionMetadataKey(Message):
    """Key of the topics of a consumer group, as brokers before 4.1 kept them."""

    group_id: str = string()


@struct
class PartitionMetadata(Struct):
    """The racks of the replicas of a partition."""

    partition: int = int32()
    racks: list[str] = array(string)


@struct
class TopicMetadata(Struct):
    """A subscribed topic."""

    topic_id: UUID = uuid()
    topic_name: str = string()
    num_partitions: int = int32()
    partition_metadata: list[PartitionMetadata] = array(PartitionMetadata)


@coordinator_value(4, versions="0", flexible="0+")
class ConsumerGroupPartitionMetadataValue(Message):
    """The subscribed topics as of the last epoch, to notice changes.

    Since 4.1 the hash in ConsumerGroupMetadataValue does that (KIP-1101).
    """

    topics: list[TopicMetadata] = array(TopicMetadata)


@coordinator_key(5)
class ConsumerGroupMemberMetadataKey(Message):
    """Key of the description that a member gave of itself."""

    group_id: str = string()
    member_id: str = string()


@struct
class ClassicProtocol(Struct):
    """An assignor that a classic member can use, with its ConsumerProtocolSubscription."""

    name: str = string()
    metadata: bytes = binary()


@struct
class ClassicMemberMetadata(Struct):
    """The fields of a member's JoinGroup that only the classic protocol knows."""

    session_timeout_ms: int = int32()
    supported_protocols: list[ClassicProtocol] = array(ClassicProtocol)


@coordinator_value(5, versions="0", flexible="0+")
class ConsumerGroupMemberMetadataValue(Message):
    """A member of the group, as its heartbeats have described it."""

    instance_id: str | None = string(nullable="0+")
    rack_id: str | None = string(nullable="0+")
    client_id: str = string()
    client_host: str = string()
    subscribed_topic_names: list[str] = array(string)
    subscribed_topic_regex: str | None = string(nullable="0+")
    rebalance_timeout_ms: int = int32(default=-1)
    server_assignor: str | None = string(nullable="0+")
    classic_member_metadata: ClassicMemberMetadata | None = nested(
        ClassicMemberMetadata, nullable="0+", tag=0
    )
    """None for a member that heartbeats; set for a classic one in a group that is being
    migrated. A record that leaves it out means an empty struct: writers say None."""


@coordinator_key(16)
class ConsumerGroupRegularExpressionKey(Message):
    """Key of the topics that a pattern stands for in a consumer group."""

    group_id: str = string()
    regular_expression: str = string()


@coordinator_value(16, versions="0", flexible="0+")
class ConsumerGroupRegularExpressionValue(Message):
    """The topics that a subscribed pattern matched when the coordinator last looked."""

    topics: list[str] = array(string)
    version: int = int64()
    """Offset in the metadata log up to which topics were known then."""
    timestamp: int = int64()
    """When it was resolved, to know when to do so again."""


@coordinator_key(6)
class ConsumerGroupTargetAssignmentMetadataKey(Message):
    """Key of the epoch of a group's target assignment."""

    group_id: str = string()


@coordinator_value(6, versions="0", flexible="0+")
class ConsumerGroupTargetAssignmentMetadataValue(Message):
    """The target assignment of all members is complete for this group epoch."""

    assignment_epoch: int = int32()
    assignment_timestamp: int = int64(tag=0, ignorable=True)
    """When it was made; 0 if the writer did not say."""


@coordinator_key(7)
class ConsumerGroupTargetAssignmentMemberKey(Message):
    """Key of the target assignment of one member."""

    group_id: str = string()
    member_id: str = string()


@struct
class TopicPartition(Struct):
    """Partitions of one topic in a target assignment."""

    topic_id: UUID = uuid()
    partitions: list[int] = array(int32)


@coordinator_value(7, versions="0", flexible="0+")
class ConsumerGroupTargetAssignmentMemberValue(Message):
    """The partitions that a member will have when all members have reconciled."""

    topic_partitions: list[TopicPartition] = array(TopicPartition)


@coordinator_key(8)
class ConsumerGroupCurrentMemberAssignmentKey(Message):
    """Key of what a member has now."""

    group_id: str = string()
    member_id: str = string()


@struct
class TopicPartitions(Struct):
    """Partitions of one topic that a member has."""

    topic_id: UUID = uuid()
    partitions: list[int] = array(int32)
    assignment_epochs: list[int] | None = array(int32, nullable="0+", tag=0)
    """The member epoch at which it got each of ``partitions``, which commits are checked
    against (KIP-1251); empty if the writer did not say."""


@coordinator_value(8, versions="0", flexible="0+")
class ConsumerGroupCurrentMemberAssignmentValue(Message):
    """The progress of a member towards its target assignment."""

    member_epoch: int = int32()
    previous_member_epoch: int = int32()
    """Still accepted from a member that did not get the answer with the new one."""
    state: int = int8()
    """0 stable, 1 has partitions to give up, 2 waits for others to give up partitions."""
    assigned_partitions: list[TopicPartitions] = array(TopicPartitions)
    partitions_pending_revocation: list[TopicPartitions] = array(TopicPartitions)
    """Those it must give up before it gets a new epoch."""
