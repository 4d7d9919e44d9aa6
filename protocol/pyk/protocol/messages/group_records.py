"""Records of ``__consumer_offsets`` about classic groups and their committed offsets."""

from __future__ import annotations

from uuid import UUID

from pyk.protocol.schema import (
    Message,
    Struct,
    array,
    binary,
    coordinator_key,
    coordinator_value,
    int32,
    int64,
    string,
    struct,
    uuid,
)


@coordinator_key(2)
class GroupMetadataKey(Message):
    """Key of the state of a classic group."""

    group: str = string()


@struct
class MemberMetadata(Struct):
    """A member of the group as of this generation."""

    member_id: str = string()
    group_instance_id: str | None = string(
        versions="3+", nullable="3+", default=None, ignorable=True
    )
    client_id: str = string()
    client_host: str = string()
    rebalance_timeout: int = int32(versions="1+", default=-1, ignorable=True)
    session_timeout: int = int32()
    subscription: bytes = binary()
    """For consumers a ConsumerProtocolSubscription."""
    assignment: bytes = binary()
    """For consumers a ConsumerProtocolAssignment."""


@coordinator_value(2, versions="0-4", flexible="4+")
class GroupMetadataValue(Message):
    """A generation of a classic group, written when its assignment is complete.

    A record without value deletes the group.
    """

    protocol_type: str = string()
    generation: int = int32()
    protocol: str | None = string(nullable="0+")
    leader: str | None = string(nullable="0+")
    current_state_timestamp: int = int64(versions="2+", default=-1, ignorable=True)
    """When the group got into its state; an empty group's offsets expire counting from here."""
    members: list[MemberMetadata] = array(MemberMetadata)


@coordinator_key(1)
class OffsetCommitKey(Message):
    """Key of a committed offset."""

    group: str = string()
    topic: str = string()
    partition: int = int32()


@coordinator_value(1, versions="0-4", flexible="4+")
class OffsetCommitValue(Message):
    """The committed offset of one partition. A record without value deletes it."""

    offset: int = int64()
    leader_epoch: int = int32(versions="3+", default=-1, ignorable=True)
    """Epoch of the last record read, -1 unknown."""
    metadata: str = string()
    commit_timestamp: int = int64()
    expire_timestamp: int = int64(versions="1", default=-1, ignorable=True)
    """When to forget the offset; only groups that asked for a retention of their own."""
    topic_id: UUID = uuid(versions="4+", tag=0, ignorable=True)


@coordinator_key(0)
class LegacyOffsetCommitKey(Message):
    """Key of a committed offset from before 0.9; it means the same as OffsetCommitKey."""

    group: str = string()
    topic: str = string()
    partition: int = int32()


@coordinator_value(0, versions="0", flexible="none")
class LegacyOffsetCommitValue(Message):
    """Value of a committed offset in the first format."""

    offset: int = int64()
    metadata: str = string()
    commit_timestamp: int = int64()
