"""TxnOffsetCommit: offsets that are committed together with a transaction (KIP-98)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitResponse,
    TxnOffsetCommitResponsePartition,
    TxnOffsetCommitResponseTopic,
)
from pyk.protocol.topics import TopicPartition
from pyk.reference_broker.controller.image import MetadataImage
from pyk.reference_broker.controller.names import GROUP_METADATA_TOPIC
from pyk.reference_broker.coordinator.decision import TransactionalProducer
from pyk.reference_broker.coordinator.group.offset_requests import OffsetResults
from pyk.reference_broker.coordinator.group.offsets import OffsetToCommit
from pyk.reference_broker.coordinator.shards import partition_for
from pyk.reference_broker.deferred import Deferred, HandlerResult
from pyk.reference_broker.partition import Partition
from pyk.reference_broker.replicas import Replicas
from pyk.reference_broker.storage.producer_entry import NO_SEQUENCE

from .ask_group import GroupServices, ask_group
from .context import RequestContext
from .transaction_verification import (
    Refusals,
    Unverified,
    Verification,
    VerificationServices,
    needs_verification,
    verify,
)

FIRST_VERSION_THAT_KNOWS_LOADING = 2
FIRST_VERSION_WITH_ABORTABLE = 4
"""Knows TRANSACTION_ABORTABLE; the next one adds the group's partition by itself (KIP-890)."""


class OffsetServices(GroupServices, VerificationServices, Protocol):
    """The services that TxnOffsetCommit uses."""

    @property
    def replicas(self) -> Replicas: ...


def txn_offset_commit(
    services: OffsetServices, request: TxnOffsetCommitRequest, context: RequestContext
) -> HandlerResult:
    """Keep the offsets of partitions that exist until the marker of the transaction."""
    offsets = list(_offsets_to_commit(services.image, request))

    def respond(results: OffsetResults | ErrorCode) -> TxnOffsetCommitResponse:
        if isinstance(results, ErrorCode):
            code = _known_code(results, context.version)
            results = {(each.topic, each.partition): code for each in offsets}
        return _response(request, results)

    if not offsets:
        return respond({})
    if not request.group_id:
        return respond(ErrorCode.INVALID_GROUP_ID)
    verified = _verified(services, request, context)
    answer: Deferred[TxnOffsetCommitResponse] = Deferred()

    def commit(refusal: ErrorCode) -> None:
        if refusal:
            answer.complete(respond(refusal))
        else:
            _commit(services, request, offsets).then(respond).when_done(answer.complete, answer)

    verified.when_done(commit, answer)
    return answer


def _commit(
    services: GroupServices, request: TxnOffsetCommitRequest, offsets: list[OffsetToCommit]
) -> Deferred[OffsetResults | ErrorCode]:
    member = (request.member_id, request.group_instance_id, request.generation_id_or_member_epoch)
    producer = TransactionalProducer(request.producer_id, request.producer_epoch)
    return ask_group(
        services,
        request.group_id,
        lambda shard, moment: shard.offset_requests.commit_in_transaction(
            request.group_id, member, offsets, producer, moment
        ),
    )


def _verified(
    services: OffsetServices, request: TxnOffsetCommitRequest, context: RequestContext
) -> Deferred[ErrorCode]:
    """Return NONE once the coordinator of the transaction knows of the group's partition."""
    answer: Deferred[ErrorCode] = Deferred()
    partition = _partition_of(services, request.group_id)
    producer = (request.producer_id, request.producer_epoch)
    verification = Verification.of_version(context.version, FIRST_VERSION_WITH_ABORTABLE)
    if partition is None or not needs_verification(services, partition, producer, verification):
        answer.complete(ErrorCode.NONE)
        return answer
    unverified = Unverified(
        transactional_id=request.transactional_id,
        producer=producer,
        batches=((partition, NO_SEQUENCE),),
        verification=verification,
    )

    def verified(refusals: Refusals) -> None:
        code = refusals.get(partition.topic_partition, ErrorCode.NONE)
        passes = code in (ErrorCode.NETWORK_EXCEPTION, ErrorCode.BROKER_NOT_AVAILABLE)
        if verification is not Verification.ADD:
            passes = passes or code is ErrorCode.CONCURRENT_TRANSACTIONS
        # Producers retry this one without a look for the coordinator of the group.
        answer.complete(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS if passes else code)

    verify(services, unverified, verified, answer)
    return answer


def _partition_of(services: OffsetServices, group_id: str) -> Partition | None:
    """Return the partition with the offsets of a group, None if it is not here."""
    topic = services.image.topics.get(GROUP_METADATA_TOPIC)
    if topic is None:
        return None
    number = partition_for(group_id, len(topic.partitions))
    return services.replicas.find(TopicPartition(GROUP_METADATA_TOPIC, number))


def _offsets_to_commit(
    image: MetadataImage, request: TxnOffsetCommitRequest
) -> Iterator[OffsetToCommit]:
    for asked in request.topics:
        topic = image.topics.get(asked.name)
        for each in asked.partitions if topic is not None else ():
            if topic is not None and each.partition_index in topic.partitions:
                yield OffsetToCommit(
                    topic=topic.name,
                    topic_id=topic.topic_id,
                    partition=each.partition_index,
                    offset=each.committed_offset,
                    leader_epoch=each.committed_leader_epoch,
                    metadata=each.committed_metadata or "",
                )


def _known_code(code: ErrorCode, version: int) -> ErrorCode:
    """Return a code that producers of this version retry: an unknown one is fatal (KAFKA-7296)."""
    is_loading = code is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    if is_loading and version < FIRST_VERSION_THAT_KNOWS_LOADING:
        return ErrorCode.COORDINATOR_NOT_AVAILABLE
    return code


def _response(request: TxnOffsetCommitRequest, results: OffsetResults) -> TxnOffsetCommitResponse:
    """Return the result of each partition; those without one do not exist."""

    def code(topic: str, number: int) -> ErrorCode:
        return results.get((topic, number), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)

    return TxnOffsetCommitResponse(
        topics=[
            TxnOffsetCommitResponseTopic(
                name=topic.name,
                partitions=[
                    TxnOffsetCommitResponsePartition(
                        partition_index=each.partition_index,
                        error_code=code(topic.name, each.partition_index),
                    )
                    for each in topic.partitions
                ],
            )
            for topic in request.topics
        ]
    )
