"""Records of ``__consumer_offsets`` about share groups (KIP-932).

A record without value deletes what its key names.
"""

from __future__ import annotations

from uuid import UUID

from pyk.protocol.schema import (
    Message,
    Struct,
    array,
    coordinator_key,
    coordinator_value,
    int8,
    int32,
    int64,
    string,
    struct,
    uuid,
)


@coordinator_key(11)
class ShareGroupMetadataKey(Message):
    """Key of the epoch of a share group."""

    group_id: str = string()


@coordinator_value(11, versions="0", flexible="0+")
class ShareGroupMetadataValue(Message):
    """The group has come to this epoch: members, subscriptions or topics have changed."""

    epoch: int = int32()
    metadata_hash: int = int64()
    """Of all subscribed topics with partitions and racks (KIP-1101); another hash asks for a
    new epoch."""


@coordinator_key(10)
class ShareGroupMemberMetadataKey(Message):
    """Key of the description that a member gave of itself."""

    group_id: str = string()
    member_id: str = string()


@coordinator_value(10, versions="0", flexible="0+")
class ShareGroupMemberMetadataValue(Message):
    """A member of the group, as its heartbeats have described it."""

    rack_id: str | None = string(nullable="0+")
    client_id: str = string()
    client_host: str = string()
    subscribed_topic_names: list[str] = array(string)


@coordinator_key(12)
class ShareGroupTargetAssignmentMetadataKey(Message):
    """Key of the epoch of a group's target assignment."""

    group_id: str = string()


@coordinator_value(12, versions="0", flexible="0+")
class ShareGroupTargetAssignmentMetadataValue(Message):
    """The target assignment of all members is complete for this group epoch."""

    assignment_epoch: int = int32()
    assignment_timestamp: int = int64(tag=0, ignorable=True)
    """When it was made; 0 if the writer did not say."""


@coordinator_key(13)
class ShareGroupTargetAssignmentMemberKey(Message):
    """Key of the target assignment of one member."""

    group_id: str = string()
    member_id: str = string()


@struct
class TopicPartition(Struct):
    """Partitions of one topic in a target assignment."""

    topic_id: UUID = uuid()
    partitions: list[int] = array(int32)


@coordinator_value(13, versions="0", flexible="0+")
class ShareGroupTargetAssignmentMemberValue(Message):
    """The partitions that a member will have from its next heartbeat on."""

    topic_partitions: list[TopicPartition] = array(TopicPartition)


@coordinator_key(14)
class ShareGroupCurrentMemberAssignmentKey(Message):
    """Key of what a member has now."""

    group_id: str = string()
    member_id: str = string()


@struct
class TopicPartitions(Struct):
    """Partitions of one topic that a member has."""

    topic_id: UUID = uuid()
    partitions: list[int] = array(int32)


@coordinator_value(14, versions="0", flexible="0+")
class ShareGroupCurrentMemberAssignmentValue(Message):
    """The partitions that a member has been told to fetch from."""

    member_epoch: int = int32()
    previous_member_epoch: int = int32()
    """Still accepted from a member that did not get the answer with the new one."""
    state: int = int8()
    """0 stable; share groups have no other, since no member waits for another to give up
    partitions."""
    assigned_partitions: list[TopicPartitions] = array(TopicPartitions)


@coordinator_key(15)
class ShareGroupStatePartitionMetadataKey(Message):
    """Key of the partitions whose delivery state a group has at the share coordinator."""

    group_id: str = string()


@struct
class TopicPartitionsInfo(Struct):
    """Partitions of one topic."""

    topic_id: UUID = uuid()
    topic_name: str = string()
    partitions: list[int] = array(int32)


@struct
class TopicInfo(Struct):
    """A topic, all its partitions."""

    topic_id: UUID = uuid()
    topic_name: str = string()


@coordinator_value(15, versions="0", flexible="0+")
class ShareGroupStatePartitionMetadataValue(Message):
    """The state that the group has at the share coordinator, or is about to get or to lose."""

    initializing_topics: list[TopicPartitionsInfo] = array(TopicPartitionsInfo)
    """Asked for with InitializeShareGroupState, not confirmed yet."""
    initialized_topics: list[TopicPartitionsInfo] = array(TopicPartitionsInfo)
    deleting_topics: list[TopicInfo] = array(TopicInfo)
    """Being forgotten with DeleteShareGroupState."""
