"""DescribeShareGroupOffsets: the offsets of share groups (KIP-932)."""

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
class DescribeShareGroupOffsetsRequestTopic(Struct):
    """Partitions of one topic."""

    topic_name: str = string()
    partitions: list[int] = array(int32)


@struct
class DescribeShareGroupOffsetsRequestGroup(Struct):
    """A group whose offsets are asked for."""

    group_id: str = string()
    topics: list[DescribeShareGroupOffsetsRequestTopic] | None = array(
        DescribeShareGroupOffsetsRequestTopic, nullable="0+"
    )
    """None means all topics of the group."""


@request(ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS, versions="0-1", flexible="0+")
class DescribeShareGroupOffsetsRequest(Message):
    """Ask the coordinator of these groups for their start offsets, as an admin client does."""

    groups: list[DescribeShareGroupOffsetsRequestGroup] = array(
        DescribeShareGroupOffsetsRequestGroup
    )


@struct
class DescribeShareGroupOffsetsResponsePartition(Struct):
    """The progress of the group in one partition."""

    partition_index: int = int32()
    start_offset: int = int64()
    """All records before it are finished, and maybe some after it; -1 if unknown."""
    leader_epoch: int = int32()
    lag: int = int64(versions="1+", default=-1, ignorable=True)
    """How many records await delivery or its end (KIP-1226); -1 unknown."""
    error_code: int = int16()
    error_message: str | None = string(nullable="0+", default=None)


@struct
class DescribeShareGroupOffsetsResponseTopic(Struct):
    """The progress of the group in one topic."""

    topic_name: str = string()
    topic_id: UUID = uuid()
    partitions: list[DescribeShareGroupOffsetsResponsePartition] = array(
        DescribeShareGroupOffsetsResponsePartition
    )


@struct
class DescribeShareGroupOffsetsResponseGroup(Struct):
    """The progress of one group."""

    group_id: str = string()
    topics: list[DescribeShareGroupOffsetsResponseTopic] = array(
        DescribeShareGroupOffsetsResponseTopic
    )
    error_code: int = int16()
    error_message: str | None = string(nullable="0+", default=None)


@response(ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS, versions="0-1", flexible="0+")
class DescribeShareGroupOffsetsResponse(Message):
    """Give start offsets of groups."""

    throttle_time_ms: int = int32()
    groups: list[DescribeShareGroupOffsetsResponseGroup] = array(
        DescribeShareGroupOffsetsResponseGroup
    )
