"""AssignReplicasToDirs: in which log directory a broker keeps each replica (KIP-858)."""

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
    struct,
    uuid,
)


@struct
class RequestPartitionData(Struct):
    """A partition whose replica lies in the directory."""

    partition_index: int = int32()


@struct
class RequestTopicData(Struct):
    """Partitions of one topic in the directory."""

    topic_id: UUID = uuid()
    partitions: list[RequestPartitionData] = array(RequestPartitionData)


@struct
class RequestDirectoryData(Struct):
    """A log directory and what lies in it."""

    id: UUID = uuid()
    topics: list[RequestTopicData] = array(RequestTopicData)


@request(ApiKey.ASSIGN_REPLICAS_TO_DIRS, versions="0", flexible="0+")
class AssignReplicasToDirsRequest(Message):
    """Tell the controller where a broker keeps replicas, when they are not where it thinks.

    If a directory fails, the controller must know which partitions need another leader.
    """

    broker_id: int = int32()
    broker_epoch: int = int64(default=-1)
    directories: list[RequestDirectoryData] = array(RequestDirectoryData)


@struct
class ResponsePartitionData(Struct):
    """Whether one assignment was recorded."""

    partition_index: int = int32()
    error_code: int = int16()


@struct
class ResponseTopicData(Struct):
    """Whether assignments of one topic were recorded."""

    topic_id: UUID = uuid()
    partitions: list[ResponsePartitionData] = array(ResponsePartitionData)


@struct
class ResponseDirectoryData(Struct):
    """Whether assignments to one directory were recorded."""

    id: UUID = uuid()
    topics: list[ResponseTopicData] = array(ResponseTopicData)


@response(ApiKey.ASSIGN_REPLICAS_TO_DIRS, versions="0", flexible="0+")
class AssignReplicasToDirsResponse(Message):
    """Say which assignments were recorded."""

    throttle_time_ms: int = int32()
    error_code: int = int16()
    directories: list[ResponseDirectoryData] = array(ResponseDirectoryData)
