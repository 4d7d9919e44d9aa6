"""OffsetDelete: delete committed offsets of topics that a group no longer reads."""

from __future__ import annotations

from pyk.protocol.schema import (
    ApiKey,
    Message,
    Struct,
    array,
    int16,
    int32,
    request,
    response,
    string,
    struct,
)


@struct
class OffsetDeleteRequestPartition(Struct):
    """A partition whose offset is to be deleted."""

    partition_index: int = int32()


@struct
class OffsetDeleteRequestTopic(Struct):
    """A topic whose offsets are to be deleted."""

    name: str = string()
    partitions: list[OffsetDeleteRequestPartition] = array(OffsetDeleteRequestPartition)


@request(ApiKey.OFFSET_DELETE, versions="0", flexible="none")
class OffsetDeleteRequest(Message):
    """Delete committed offsets of topics that no member is subscribed to."""

    group_id: str = string()
    topics: list[OffsetDeleteRequestTopic] = array(OffsetDeleteRequestTopic)


@struct
class OffsetDeleteResponsePartition(Struct):
    """Whether the offset of one partition was deleted."""

    partition_index: int = int32()
    error_code: int = int16()


@struct
class OffsetDeleteResponseTopic(Struct):
    """Whether the offsets of one topic were deleted."""

    name: str = string()
    partitions: list[OffsetDeleteResponsePartition] = array(OffsetDeleteResponsePartition)


@response(ApiKey.OFFSET_DELETE, versions="0", flexible="none")
class OffsetDeleteResponse(Message):
    """Say which offsets were deleted."""

    error_code: int = int16()
    throttle_time_ms: int = int32(ignorable=True)
    topics: list[OffsetDeleteResponseTopic] = array(OffsetDeleteResponseTopic)
