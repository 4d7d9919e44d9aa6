"""DeleteRecords: move the beginning of partitions forward."""

from __future__ import annotations

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
)


@struct
class DeleteRecordsPartition(Struct):
    """A partition and the first offset to keep."""

    partition_index: int = int32()
    offset: int = int64()
    """-1 for the high watermark: delete everything."""


@struct
class DeleteRecordsTopic(Struct):
    """A topic to cut."""

    name: str = string()
    partitions: list[DeleteRecordsPartition] = array(DeleteRecordsPartition)


@request(ApiKey.DELETE_RECORDS, versions="0-2", flexible="2+")
class DeleteRecordsRequest(Message):
    """Delete all records below an offset."""

    topics: list[DeleteRecordsTopic] = array(DeleteRecordsTopic)
    timeout_ms: int = int32()


@struct
class DeleteRecordsPartitionResult(Struct):
    """The new start of one partition."""

    partition_index: int = int32()
    low_watermark: int = int64()
    error_code: int = int16()


@struct
class DeleteRecordsTopicResult(Struct):
    """The new starts of the partitions of one topic."""

    name: str = string()
    partitions: list[DeleteRecordsPartitionResult] = array(DeleteRecordsPartitionResult)


@response(ApiKey.DELETE_RECORDS, versions="0-2", flexible="2+")
class DeleteRecordsResponse(Message):
    """Say where partitions begin now."""

    throttle_time_ms: int = int32()
    topics: list[DeleteRecordsTopicResult] = array(DeleteRecordsTopicResult)
