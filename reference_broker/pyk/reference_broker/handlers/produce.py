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
from pyk.reference_broker.deferred import Deferred, HandlerResult
from pyk.reference_broker.errors import ApiError, ConnectionClosedError
from pyk.reference_broker.partition import Partition
from pyk.reference_broker.replicas import Replicas
from pyk.reference_broker.storage.batch_validation import parse_single_batch
from pyk.reference_broker.storage.errors import (
    LogError,
    NotLeaderError,
    UnsupportedCompressionTypeError,
)

from .context import RequestContext
from .delayed_appends import PendingAppend, is_acknowledged, wait_for_appends
from .error_responses import error_response
from .transaction_verification import (
    Refusals,
    Unverified,
    Verification,
    VerificationServices,
    needs_verification,
    verify,
)

FIRST_VERSION_WITH_ZSTD = 7
FIRST_VERSION_WITH_ABORTABLE = 11
"""Knows TRANSACTION_ABORTABLE; the next one adds partitions by writing to them (KIP-890)."""
FIRST_VERSION_WITH_TOPIC_IDS = 13
ALL_REPLICAS = -1
_COORDINATOR_PROBLEMS = frozenset(
    (
        ErrorCode.NETWORK_EXCEPTION,
        ErrorCode.BROKER_NOT_AVAILABLE,
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.NOT_COORDINATOR,
        # Another partition of the request is not known to the coordinator, or not any more.
        ErrorCode.OPERATION_NOT_ATTEMPTED,
    )
)


class ProduceServices(VerificationServices, Protocol):
    """The services that Produce uses."""

    @property
    def replicas(self) -> Replicas: ...
    @property
    def internal_topics(self) -> AbstractSet[str]: ...
    def note_error(self, error: Exception) -> None: ...


def produce(
    services: ProduceServices, request: ProduceRequest, context: RequestContext
) -> HandlerResult:
    """Append each partition's batch on its own; errors are per partition."""
    if request.acks not in (0, 1, ALL_REPLICAS):
        return _answer(request, _refuse(request, ErrorCode.INVALID_REQUIRED_ACKS))
    producers = transactional_producers(request)
    if producers and request.transactional_id is None:
        # Kafka treats a missing id as one that no client may use.
        code = ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
        return _answer(request, _refuse(request, code))
    if len(producers) > 1:
        return _answer(request, _refuse(request, ErrorCode.INVALID_PRODUCER_ID_MAPPING))
    for producer in producers:
        unverified = _unverified(services, request, producer, context)
        if unverified.batches:
            return _append_verified(services, request, context, unverified)
    return _append_all(services, request, context, {})


def _unverified(
    services: ProduceServices,
    request: ProduceRequest,
    producer: tuple[int, int],
    context: RequestContext,
) -> Unverified:
    """Return the partitions in which a producer is about to open its transaction."""
    verification = Verification.of_version(context.version, FIRST_VERSION_WITH_ABORTABLE)
    batches = []
    for topic in request.topic_data:
        for data in topic.partition_data:
            if not _is_transactional(data):
                continue
            try:
                name = _name_of(services, topic, context)
                _check_not_internal(services, name)
                partition = services.replicas.get(name, data.index)
            except ApiError:
                continue  # the append will say so
            if needs_verification(services, partition, producer, verification):
                batches.append((partition, _producer_of(data)[2]))
    return Unverified(
        transactional_id=request.transactional_id or "",
        producer=producer,
        batches=batches,
        verification=verification,
    )


def _append_verified(
    services: ProduceServices,
    request: ProduceRequest,
    context: RequestContext,
    unverified: Unverified,
) -> HandlerResult:
    """Append to the partitions that the transaction coordinator knows of, and to all others."""
    answer: Deferred[Message | None] = Deferred()

    def append(refusals: Refusals) -> None:
        try:
            result = _append_all(services, request, context, refusals)
        except ConnectionClosedError:
            result = None  # with acks=0: too late to close the connection by raising
        if isinstance(result, Deferred):
            result.when_done(answer.complete, answer)
        else:
            answer.complete(result)

    verify(services, unverified, append, answer)
    return answer


def _append_all(
    services: ProduceServices,
    request: ProduceRequest,
    context: RequestContext,
    refusals: Refusals,
) -> HandlerResult:
    response = ProduceResponse()
    pending: list[PendingAppend] = []
    for topic in request.topic_data:
        answered = TopicProduceResponse(name=topic.name, topic_id=topic.topic_id)
        response.responses.append(answered)
        for data in topic.partition_data:
            result, append = _append(
                services, topic, data, acks=request.acks, context=context, refusals=refusals
            )
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


def transactional_producers(request: ProduceRequest) -> AbstractSet[tuple[int, int]]:
    """Return the producer ids and epochs of the transactional batches: there should be one."""
    found: set[tuple[int, int]] = set()
    for topic in request.topic_data:
        for data in topic.partition_data:
            if _is_transactional(data):
                producer_id, producer_epoch, _ = _producer_of(data)
                found.add((producer_id, producer_epoch))
    return found


def _producer_of(data: PartitionProduceData) -> tuple[int, int, int]:
    """Return producer id, producer epoch and base sequence of a batch."""
    assert data.records is not None
    producer_id, producer_epoch, base_sequence = PRODUCER.unpack_from(data.records, PRODUCER_ID_AT)
    return producer_id, producer_epoch, base_sequence


def _is_transactional(data: PartitionProduceData) -> bool:
    records = data.records
    if records is None or len(records) < HEADER_BYTES:
        return False
    return bool(records[ATTRIBUTES_AT + 1] & TRANSACTIONAL) and records[MAGIC_AT] == MAGIC


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
    *,
    acks: int,
    context: RequestContext,
    refusals: Refusals,
) -> tuple[PartitionProduceResponse, PendingAppend | None]:
    """Return the result of one partition, and what it waits for if that is not safe yet."""
    result = PartitionProduceResponse(index=data.index, error_message=None)
    partition: Partition | None = None
    try:
        name = _name_of(services, topic, context)
        partition = services.replicas.get(name, data.index)
        _check_not_internal(services, name)
        records = b"" if data.records is None else data.records
        if refusals:
            _check_not_refused(partition, refusals, context)
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


def _name_of(services: ProduceServices, topic: TopicProduceData, context: RequestContext) -> str:
    if context.version >= FIRST_VERSION_WITH_TOPIC_IDS:
        return _topic_name(services, topic.topic_id)
    return topic.name


def _check_not_internal(services: ProduceServices, topic: str) -> None:
    if topic in services.internal_topics:
        raise ApiError(
            ErrorCode.INVALID_TOPIC_EXCEPTION, f"Cannot append to internal topic {topic}"
        )


def _check_not_refused(partition: Partition, refusals: Refusals, context: RequestContext) -> None:
    """Raise if the coordinator of the transaction does not let it write to the partition."""
    code = refusals.get(partition.topic_partition)
    if code is None:
        return
    is_old = context.version <= FIRST_VERSION_WITH_ABORTABLE
    if code in _COORDINATOR_PROBLEMS or (is_old and code is ErrorCode.CONCURRENT_TRANSACTIONS):
        # Producers retry this one, and look for no new leader because of it.
        raise ApiError(
            ErrorCode.NOT_ENOUGH_REPLICAS,
            f"Unable to verify that {partition.topic_partition} is in the transaction: {code.name}",
        )
    raise ApiError(code, f"{partition.topic_partition} is not in the transaction.")


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
