"""ListOffsets: find offsets by timestamp, and the ends of a partition."""

from __future__ import annotations

from pyk.protocol.schema import (
    ApiKey,
    Message,
    Struct,
    array,
    int8,
    int16,
    int32,
    int64,
    request,
    response,
    string,
    struct,
)


@struct
class ListOffsetsPartition(Struct):
    """A partition and the point in time to look for."""

    partition_index: int = int32()
    current_leader_epoch: int = int32(versions="4+", default=-1, ignorable=True)
    timestamp: int = int64()
    """Milliseconds; -1 latest, -2 earliest, -3 largest timestamp, -4 earliest local, -5 latest
    tiered, -6 earliest pending upload."""
    max_num_offsets: int = int32(versions="0", default=1)


@struct
class ListOffsetsTopic(Struct):
    """A topic to look in."""

    name: str = string()
    partitions: list[ListOffsetsPartition] = array(ListOffsetsPartition)


@request(ApiKey.LIST_OFFSETS, versions="0-11", flexible="6+")
class ListOffsetsRequest(Message):
    """Ask leaders for the first offset at or after a timestamp, or for a special offset."""

    replica_id: int = int32()
    """The broker id of a follower; -1 for a client."""
    isolation_level: int = int8(versions="2+")
    topics: list[ListOffsetsTopic] = array(ListOffsetsTopic)
    timeout_ms: int = int32(versions="10+", ignorable=True)
    """How long a search in tiered storage may take."""


@struct
class ListOffsetsPartitionResponse(Struct):
    """The offset that was found in a partition."""

    partition_index: int = int32()
    error_code: int = int16()
    old_style_offsets: list[int] = array(int64, versions="0")
    """Segment starts, newest first: all that version 0 could tell."""
    timestamp: int = int64(versions="1+", default=-1)
    offset: int = int64(versions="1+", default=-1)
    """-1 if no record is that new."""
    leader_epoch: int = int32(versions="4+", default=-1)


@struct
class ListOffsetsTopicResponse(Struct):
    """The offsets that were found in a topic."""

    name: str = string()
    partitions: list[ListOffsetsPartitionResponse] = array(ListOffsetsPartitionResponse)


@response(ApiKey.LIST_OFFSETS, versions="0-11", flexible="6+")
class ListOffsetsResponse(Message):
    """Give the offsets asked for."""

    throttle_time_ms: int = int32(versions="2+", ignorable=True)
    topics: list[ListOffsetsTopicResponse] = array(ListOffsetsTopicResponse)
