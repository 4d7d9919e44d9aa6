"""TxnOffsetCommit: offsets that are committed together with a transaction (KIP-98)."""

from __future__ import annotations

from collections.abc import Iterator

from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitResponse,
    TxnOffsetCommitResponsePartition,
    TxnOffsetCommitResponseTopic,
)
from pyk.reference_broker.controller.image import MetadataImage
from pyk.reference_broker.coordinator.decision import TransactionalProducer
from pyk.reference_broker.coordinator.group.offsets import OffsetToCommit
from pyk.reference_broker.coordinator.group.shard import OffsetResults
from pyk.reference_broker.deferred import HandlerResult

from .ask_group import GroupServices, ask_group
from .context import RequestContext

FIRST_VERSION_THAT_KNOWS_LOADING = 2


def txn_offset_commit(
    services: GroupServices, request: TxnOffsetCommitRequest, context: RequestContext
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
    member = (request.member_id, request.group_instance_id, request.generation_id_or_member_epoch)
    producer = TransactionalProducer(request.producer_id, request.producer_epoch)
    return ask_group(
        services,
        request.group_id,
        lambda shard, moment: shard.commit_transactional_offsets(
            request.group_id, member, offsets, producer, moment
        ),
    ).then(respond)


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
