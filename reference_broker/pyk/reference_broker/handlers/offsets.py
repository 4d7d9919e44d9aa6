"""ListOffsets, OffsetForLeaderEpoch, DeleteRecords: where logs and their epochs begin and end."""

from __future__ import annotations

from collections import Counter
from collections.abc import Set as AbstractSet
from typing import Protocol

from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsPartitionResult,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    DeleteRecordsTopicResult,
)
from pyk.protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)
from pyk.protocol.messages.offset_for_leader_epoch import (
    EpochEndOffset,
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
    OffsetForLeaderPartition,
    OffsetForLeaderTopicResult,
)
from pyk.reference_broker.errors import ApiError
from pyk.reference_broker.partition_reader import (
    EARLIEST_LOCAL_TIMESTAMP,
    EARLIEST_TIMESTAMP,
    MAX_TIMESTAMP,
    Isolation,
)
from pyk.reference_broker.replicas import Replicas
from pyk.reference_broker.storage.errors import LogError

from .context import RequestContext

READ_COMMITTED = 1
LATEST_TIERED_TIMESTAMP = -5
EARLIEST_PENDING_UPLOAD_TIMESTAMP = -6
_SINCE_VERSION = {
    MAX_TIMESTAMP: 7,
    EARLIEST_LOCAL_TIMESTAMP: 8,
    LATEST_TIERED_TIMESTAMP: 9,
    EARLIEST_PENDING_UPLOAD_TIMESTAMP: 11,
}


class LogServices(Protocol):
    """The services that requests about logs use."""

    @property
    def replicas(self) -> Replicas: ...
    @property
    def internal_topics(self) -> AbstractSet[str]: ...


def list_offsets(
    services: LogServices, request: ListOffsetsRequest, context: RequestContext
) -> ListOffsetsResponse:
    """Return offsets by timestamp, and where logs start and end."""
    is_committed = request.isolation_level == READ_COMMITTED
    isolation = Isolation.READ_COMMITTED if is_committed else Isolation.READ_UNCOMMITTED
    times = Counter(
        (topic.name, partition.partition_index)
        for topic in request.topics
        for partition in topic.partitions
    )
    response = ListOffsetsResponse()
    for topic in request.topics:
        answered = ListOffsetsTopicResponse(name=topic.name)
        response.topics.append(answered)
        for asked in {each.partition_index: each for each in topic.partitions}.values():
            try:
                if times[topic.name, asked.partition_index] > 1:
                    raise ApiError(ErrorCode.INVALID_REQUEST)
                found = _list_offset(services, topic.name, asked, isolation, context.version)
            except (ApiError, LogError) as error:
                found = ListOffsetsPartitionResponse(error_code=error.code)
            found.partition_index = asked.partition_index
            answered.partitions.append(found)
    return response


def _list_offset(
    services: LogServices,
    topic: str,
    asked: ListOffsetsPartition,
    isolation: Isolation,
    version: int,
) -> ListOffsetsPartitionResponse:
    timestamp = asked.timestamp
    is_known = timestamp >= EARLIEST_PENDING_UPLOAD_TIMESTAMP
    if not is_known or version < _SINCE_VERSION.get(timestamp, 0):
        raise ApiError(ErrorCode.UNSUPPORTED_VERSION)
    partition = services.replicas.get(topic, asked.partition_index)
    if timestamp in (LATEST_TIERED_TIMESTAMP, EARLIEST_PENDING_UPLOAD_TIMESTAMP):
        partition.leadership.check_epoch(asked.current_leader_epoch)
        return ListOffsetsPartitionResponse()  # nothing is ever tiered
    if timestamp == EARLIEST_LOCAL_TIMESTAMP:
        timestamp = EARLIEST_TIMESTAMP
    found = partition.reader.list_offset(
        timestamp, isolation, current_leader_epoch=asked.current_leader_epoch
    )
    if found is None:
        return ListOffsetsPartitionResponse()
    return ListOffsetsPartitionResponse(
        timestamp=found.timestamp,
        offset=found.offset,
        leader_epoch=found.leader_epoch if version >= 4 else -1,
    )


def offset_for_leader_epoch(
    services: LogServices, request: OffsetForLeaderEpochRequest, context: RequestContext
) -> OffsetForLeaderEpochResponse:
    """Return where the records of leader epochs end."""
    response = OffsetForLeaderEpochResponse()
    for topic in request.topics:
        answered = OffsetForLeaderTopicResult(topic=topic.topic)
        response.topics.append(answered)
        for asked in topic.partitions:
            answered.partitions.append(_epoch_end(services, topic.topic, asked))
    return response


def _epoch_end(
    services: LogServices, topic: str, asked: OffsetForLeaderPartition
) -> EpochEndOffset:
    try:
        partition = services.replicas.get(topic, asked.partition)
        end = partition.reader.end_offset_of_epoch(
            asked.leader_epoch, current_leader_epoch=asked.current_leader_epoch
        )
    except (ApiError, LogError) as error:
        return EpochEndOffset(partition=asked.partition, error_code=error.code)
    return EpochEndOffset(
        partition=asked.partition, leader_epoch=end.epoch, end_offset=end.start_offset
    )


def delete_records(
    services: LogServices, request: DeleteRecordsRequest, context: RequestContext
) -> DeleteRecordsResponse:
    """Move the start of logs forward."""
    # As in Kafka, the last offset counts of a partition that is named several times.
    asked = {
        (topic.name, each.partition_index): each
        for topic in request.topics
        for each in topic.partitions
    }
    topics: dict[str, DeleteRecordsTopicResult] = {}
    for (name, _), each in asked.items():
        answered = topics.setdefault(name, DeleteRecordsTopicResult(name=name))
        answered.partitions.append(_delete_records(services, name, each))
    return DeleteRecordsResponse(topics=list(topics.values()))


def _delete_records(
    services: LogServices, topic: str, asked: DeleteRecordsPartition
) -> DeleteRecordsPartitionResult:
    result = DeleteRecordsPartitionResult(partition_index=asked.partition_index, low_watermark=-1)
    try:
        partition = services.replicas.get(topic, asked.partition_index)
        if topic in services.internal_topics:
            raise ApiError(ErrorCode.INVALID_TOPIC_EXCEPTION)
        if not partition.log.config.deletes_old_segments:
            raise ApiError(ErrorCode.POLICY_VIOLATION)
        result.low_watermark = partition.delete_records(asked.offset)
    except (ApiError, LogError) as error:
        result.error_code = error.code
    return result
