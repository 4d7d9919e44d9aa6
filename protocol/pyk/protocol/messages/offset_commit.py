"""OffsetCommit: store the committed offsets of a group."""

from __future__ import annotations

from uuid import UUID

from pyk.protocol.schema import (
    ApiKey,
    Message,
    Struct,
    array,
    int16,
    int32,
    int64,
    request,
    response,
    string,
    struct,
    uuid,
)


@struct
class OffsetCommitRequestPartition(Struct):
    """The offset to commit for one partition."""

    partition_index: int = int32()
    committed_offset: int = int64()
    """The next offset to read."""
    committed_leader_epoch: int = int32(versions="6+", default=-1, ignorable=True)
    """Epoch of the last record read, to notice truncation later; -1 unknown."""
    commit_timestamp: int = int64(versions="1", default=-1)
    committed_metadata: str | None = string(nullable="0+")
    """Whatever the consumer wants to read back with the offset."""


@struct
class OffsetCommitRequestTopic(Struct):
    """The offsets to commit for one topic."""

    name: str = string(versions="0-9", ignorable=True)
    topic_id: UUID = uuid(versions="10+", ignorable=True)
    partitions: list[OffsetCommitRequestPartition] = array(OffsetCommitRequestPartition)


@request(ApiKey.OFFSET_COMMIT, versions="0-10", flexible="8+")
class OffsetCommitRequest(Message):
    """Store the offsets from which the group would go on."""

    group_id: str = string()
    generation_id_or_member_epoch: int = int32(versions="1+", default=-1, ignorable=True)
    """Generation (classic group) or member epoch (KIP-848); -1 outside of a group."""
    member_id: str = string(versions="1+", ignorable=True)
    group_instance_id: str | None = string(versions="7+", nullable="7+", default=None)
    retention_time_ms: int = int64(versions="2-4", default=-1, ignorable=True)
    """How long to keep the offsets; later versions leave it to ``offsets.retention.minutes``."""
    topics: list[OffsetCommitRequestTopic] = array(OffsetCommitRequestTopic)


@struct
class OffsetCommitResponsePartition(Struct):
    """Whether the offset of one partition is stored."""

    partition_index: int = int32()
    error_code: int = int16()


@struct
class OffsetCommitResponseTopic(Struct):
    """Whether the offsets of one topic are stored."""

    name: str = string(versions="0-9", ignorable=True)
    topic_id: UUID = uuid(versions="10+", ignorable=True)
    partitions: list[OffsetCommitResponsePartition] = array(OffsetCommitResponsePartition)


@response(ApiKey.OFFSET_COMMIT, versions="0-10", flexible="8+")
class OffsetCommitResponse(Message):
    """Say which offsets are stored."""

    throttle_time_ms: int = int32(versions="3+", ignorable=True)
    topics: list[OffsetCommitResponseTopic] = array(OffsetCommitResponseTopic)
