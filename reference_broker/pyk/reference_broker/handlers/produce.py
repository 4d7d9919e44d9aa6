"""Produce: append batches; with acks=all answer when the high watermarks have passed them."""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from functools import partial
from typing import Protocol
from uuid import UUID

from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.produce import (
    BatchIndexAndErrorMessage,
    LeaderIdAndEpoch,
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
    TopicProduceResponse,
)
from pyk.protocol.records import Compression
from pyk.protocol.records.layout import (
    ATTRIBUTES_AT,
    COMPRESSION_MASK,
    HEADER_BYTES,
    MAGIC,
    MAGIC_AT,
    PRODUCER,
    PRODUCER_ID_AT,
    TRANSACTIONAL,
)
from pyk.protocol.schema import Message
from pyk.protocol.topics import TopicPartition
from pyk.reference_broker.controller.image import MetadataImage
from pyk.reference_broker.deferred import HandlerResult
from pyk.reference_broker.errors import ApiError, ConnectionClosedError
from pyk.reference_broker.partition import Partition
from pyk.reference_broker.replicas import Replicas
from pyk.reference_broker.storage.batch_validation import parse_single_batch
from pyk.reference_broker.storage.errors import (
    LogError,
    NotLeaderError,
    UnsupportedCompressionTypeError,
)
from pyk.reference_broker.waiting_requests import WaitingRequests
from pyk.runtime.timers import Moment

from .context import RequestContext
from .delayed_appends import PendingAppend, is_acknowledged, wait_for_appends
from .error_responses import error_response

FIRST_VERSION_WITH_ZSTD = 7
FIRST_VERSION_WITH_TOPIC_IDS = 13
ALL_REPLICAS = -1


class ProduceServices(Protocol):
    """The services that Produce uses."""

    @property
    def image(self) -> MetadataImage: ...
    @property
    def replicas(self) -> Replicas: ...
    @property
    def internal_topics(self) -> AbstractSet[str]: ...
    @property
    def waiting(self) -> WaitingRequests: ...
    def moment(self) -> Moment: ...
    def note_error(self, error: Exception) -> None: ...


def produce(
    services: ProduceServices, request: ProduceRequest, context: RequestContext
) -> HandlerResult:
    """Append each partition's batch on its own; errors are per partition."""
    if request.acks not in (0, 1, ALL_REPLICAS):
        return _answer(request, _refuse(request, ErrorCode.INVALID_REQUIRED_ACKS))
    producers = _transactional_producers(request)
    if producers and request.transactional_id is None:
        # Kafka treats a missing id as one that no client may use.
        code = ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
        return _answer(request, _refuse(request, code))
    if len(producers) > 1:
        return _answer(request, _refuse(request, ErrorCode.INVALID_PRODUCER_ID_MAPPING))
    response = ProduceResponse()
    pending: list[PendingAppend] = []
    for topic in request.topic_data:
        answered = TopicProduceResponse(name=topic.name, topic_id=topic.topic_id)
        response.responses.append(answered)
        for data in topic.partition_data:
            result, append = _append(services, topic, data, request.acks, context)
            answered.partition_responses.append(result)
            if append is not None:
                pending.append(append)
    if pending and request.acks != 0:
        deadline = services.moment().after(request.timeout_ms)
        return wait_for_appends(services.waiting, response, pending, deadline)
    return _answer(request, response)


def _refuse(request: ProduceRequest, code: ErrorCode) -> Message:
    from pyk.protocol.api_keys import ApiKey

    return error_response(ApiKey.PRODUCE, request, code)


def _transactional_producers(request: ProduceRequest) -> AbstractSet[tuple[int, int]]:
    """Return the producer ids and epochs of the transactional batches: there should be one."""
    found: set[tuple[int, int]] = set()
    for topic in request.topic_data:
        for data in topic.partition_data:
            records = data.records
            if records is None or len(records) < HEADER_BYTES:
                continue
            if records[ATTRIBUTES_AT + 1] & TRANSACTIONAL and records[MAGIC_AT] == MAGIC:
                producer_id, producer_epoch, _ = PRODUCER.unpack_from(records, PRODUCER_ID_AT)
                found.add((producer_id, producer_epoch))
    return found


def _answer(request: ProduceRequest, response: Message) -> Message | None:
    if request.acks != 0:
        return response
    assert isinstance(response, ProduceResponse)
    has_failed = any(
        partition.error_code
        for topic in response.responses
        for partition in topic.partition_responses
    )
    if has_failed:
        # There is no response, so a closed connection is the only way to report it.
        raise ConnectionClosedError
    return None


def _append(
    services: ProduceServices,
    topic: TopicProduceData,
    data: PartitionProduceData,
    acks: int,
    context: RequestContext,
) -> tuple[PartitionProduceResponse, PendingAppend | None]:
    """Return the result of one partition, and what it waits for if that is not safe yet."""
    result = PartitionProduceResponse(index=data.index, error_message=None)
    partition: Partition | None = None
    try:
        uses_topic_ids = context.version >= FIRST_VERSION_WITH_TOPIC_IDS
        name = _topic_name(services, topic.topic_id) if uses_topic_ids else topic.name
        partition = services.replicas.get(name, data.index)
        if name in services.internal_topics:
            raise ApiError(
                ErrorCode.INVALID_TOPIC_EXCEPTION, f"Cannot append to internal topic {name}"
            )
        records = b"" if data.records is None else data.records
        if context.version < FIRST_VERSION_WITH_ZSTD:
            _check_not_zstd(records, partition.topic_partition)
        appended = partition.append(records, needs_all_replicas=acks == ALL_REPLICAS)
    except (ApiError, LogError) as error:
        services.note_error(error)
        return _failed(result, error, partition), None
    result.base_offset = appended.base_offset
    result.log_append_time_ms = appended.log_append_time_ms
    result.log_start_offset = appended.log_start_offset
    next_offset, needs_all_replicas = appended.last_offset + 1, acks == ALL_REPLICAS
    if is_acknowledged(partition, next_offset, needs_all_replicas):
        return result, None
    append = PendingAppend(
        partition, next_offset, needs_all_replicas, partial(_refuse_append, result)
    )
    return result, None if append.try_complete() else append


def _refuse_append(result: PartitionProduceResponse, code: ErrorCode, message: str | None) -> None:
    result.error_code, result.error_message = code, message


def _topic_name(services: ProduceServices, topic_id: UUID) -> str:
    topic = services.image.topics_by_id.get(topic_id)
    if topic is None:
        raise ApiError(ErrorCode.UNKNOWN_TOPIC_ID)
    return topic.name


def _check_not_zstd(records: bytes | memoryview, partition: TopicPartition) -> None:
    """Refuse zstd in a version of Produce that is older than zstd (KIP-110)."""
    batch = parse_single_batch(records, partition)
    if batch.attributes & COMPRESSION_MASK == Compression.ZSTD.codec:
        raise UnsupportedCompressionTypeError(
            f"batch for {partition} refused: Produce has zstd from version "
            f"{FIRST_VERSION_WITH_ZSTD} on"
        )


def _failed(
    result: PartitionProduceResponse,
    error: ApiError | LogError,
    partition: Partition | None,
) -> PartitionProduceResponse:
    result.error_code = error.code
    result.base_offset = -1
    result.error_message = error.message
    if isinstance(error, LogError):
        result.record_errors = [
            BatchIndexAndErrorMessage(batch_index=index, batch_index_error_message=text)
            for index, text in error.record_errors
        ]
    if isinstance(error, NotLeaderError) and partition is not None:
        result.current_leader = LeaderIdAndEpoch(
            leader_id=partition.leader_id, leader_epoch=partition.leader_epoch
        )
    return result
