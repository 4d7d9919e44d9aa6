"""OffsetCommit, OffsetFetch, OffsetDelete: the committed offsets of groups."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from uuid import UUID

from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)
from pyk.protocol.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteResponse,
    OffsetDeleteResponsePartition,
    OffsetDeleteResponseTopic,
)
from pyk.protocol.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartition,
    OffsetFetchResponsePartitions,
    OffsetFetchResponseTopic,
    OffsetFetchResponseTopics,
)
from pyk.reference_broker.controller.image import TopicImage
from pyk.reference_broker.coordinator.group.consumer.consumer_group import ConsumerGroup
from pyk.reference_broker.coordinator.group.consumer.offset_checks import check_fetch
from pyk.reference_broker.coordinator.group.offset_requests import OffsetResults
from pyk.reference_broker.coordinator.group.offsets import GroupOffsets, OffsetToCommit
from pyk.reference_broker.coordinator.group.records import CommittedOffset
from pyk.reference_broker.coordinator.group.shard import GroupShard
from pyk.reference_broker.coordinator.group.streams.offset_checks import check_streams_fetch
from pyk.reference_broker.coordinator.group.streams.streams_group import StreamsGroup
from pyk.reference_broker.deferred import Deferred, HandlerResult, gather
from pyk.reference_broker.errors import ApiError

from .ask_group import GroupServices, ask_group, look_at_group
from .context import RequestContext

FIRST_VERSION_WITH_TOPIC_IDS = 10
FIRST_VERSION_WITH_GROUPS = 8
FIRST_VERSION_WITH_GROUP_ERROR = 2
NO_OFFSET = CommittedOffset(offset=-1, commit_timestamp_ms=-1)


def offset_commit(
    services: GroupServices, request: OffsetCommitRequest, context: RequestContext
) -> HandlerResult:
    """Commit the offsets of partitions that exist."""
    uses_topic_ids = context.version >= FIRST_VERSION_WITH_TOPIC_IDS
    topics = [
        _topic(services, topic.name, topic.topic_id, uses_topic_ids=uses_topic_ids)
        for topic in request.topics
    ]
    offsets = list(_offsets_to_commit(request.topics, topics))

    def respond(results: OffsetResults | ErrorCode) -> OffsetCommitResponse:
        return OffsetCommitResponse(
            topics=[
                _commit_result(asked, topic, results)
                for asked, topic in zip(request.topics, topics, strict=True)
            ]
        )

    if not offsets:
        return respond({})
    member = (request.member_id, request.group_instance_id, request.generation_id_or_member_epoch)
    return ask_group(
        services,
        request.group_id,
        lambda shard, moment: shard.offset_requests.commit(
            request.group_id,
            member,
            offsets,
            version=context.version,
            retention_ms=request.retention_time_ms,
            moment=moment,
        ),
    ).then(respond)


def _topic(
    services: GroupServices, name: str, topic_id: UUID, *, uses_topic_ids: bool
) -> TopicImage | ErrorCode:
    """Return a topic, or the error if it does not exist."""
    if uses_topic_ids:
        return services.image.topics_by_id.get(topic_id, ErrorCode.UNKNOWN_TOPIC_ID)
    return services.image.topics.get(name, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)


def _offsets_to_commit(
    asked: Sequence[OffsetCommitRequestTopic], topics: Sequence[TopicImage | ErrorCode]
) -> Iterator[OffsetToCommit]:
    for each, topic in zip(asked, topics, strict=True):
        if isinstance(topic, ErrorCode):
            continue
        for partition in each.partitions:
            if partition.partition_index in topic.partitions:
                yield OffsetToCommit(
                    topic=topic.name,
                    topic_id=topic.topic_id,
                    partition=partition.partition_index,
                    offset=partition.committed_offset,
                    leader_epoch=partition.committed_leader_epoch,
                    metadata=partition.committed_metadata or "",
                )


def _commit_result(
    asked: OffsetCommitRequestTopic,
    topic: TopicImage | ErrorCode,
    results: OffsetResults | ErrorCode,
) -> OffsetCommitResponseTopic:
    answered = OffsetCommitResponseTopic(name=asked.name, topic_id=asked.topic_id)
    for partition in asked.partitions:
        number = partition.partition_index
        if isinstance(topic, ErrorCode):
            code = topic
        elif number not in topic.partitions:
            code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        else:
            code = results if isinstance(results, ErrorCode) else results[topic.name, number]
        answered.partitions.append(
            OffsetCommitResponsePartition(partition_index=number, error_code=code)
        )
    return answered


def offset_fetch(
    services: GroupServices, request: OffsetFetchRequest, context: RequestContext
) -> HandlerResult:
    """Return committed offsets, -1 for partitions without one."""
    if context.version >= FIRST_VERSION_WITH_GROUPS:
        uses_topic_ids = context.version >= FIRST_VERSION_WITH_TOPIC_IDS
        groups = [
            _fetch_group(services, group, request, uses_topic_ids=uses_topic_ids)
            for group in request.groups
        ]
        return gather(groups).then(lambda found: OffsetFetchResponse(groups=found))
    topics = request.topics
    group = OffsetFetchRequestGroup(
        group_id=request.group_id,
        topics=None
        if topics is None
        else [
            OffsetFetchRequestTopics(name=each.name, partition_indexes=each.partition_indexes)
            for each in topics
        ],
    )
    return _fetch_group(services, group, request, uses_topic_ids=False).then(
        lambda found: _single_group(found, request, context)
    )


def _fetch_group(
    services: GroupServices,
    group: OffsetFetchRequestGroup,
    request: OffsetFetchRequest,
    *,
    uses_topic_ids: bool,
) -> Deferred[OffsetFetchResponseGroup]:
    def view(shard: GroupShard) -> list[OffsetFetchResponseTopics] | ErrorCode:
        found = shard.groups.get(group.group_id)
        try:
            if isinstance(found, ConsumerGroup):
                check_fetch(found, group.member_id, group.member_epoch)
            elif isinstance(found, StreamsGroup):
                check_streams_fetch(found, group.member_id, group.member_epoch)
        except ApiError as error:
            return error.code
        offsets = shard.offsets.of_group(group.group_id)
        unstable = shard.offsets.pending.of_group(group.group_id) if request.require_stable else ()
        if group.topics is None:
            return list(_all_offsets(services, offsets, unstable, uses_topic_ids=uses_topic_ids))
        return [
            _topic_offsets(services, offsets, unstable, topic, uses_topic_ids=uses_topic_ids)
            for topic in group.topics
        ]

    def respond(topics: list[OffsetFetchResponseTopics] | ErrorCode) -> OffsetFetchResponseGroup:
        if isinstance(topics, ErrorCode):
            return OffsetFetchResponseGroup(group_id=group.group_id, error_code=topics)
        return OffsetFetchResponseGroup(group_id=group.group_id, topics=topics)

    return look_at_group(services, group.group_id, view).then(respond)


def _topic_offsets(
    services: GroupServices,
    offsets: GroupOffsets,
    unstable: Collection[tuple[str, int]],
    topic: OffsetFetchRequestTopics,
    *,
    uses_topic_ids: bool,
) -> OffsetFetchResponseTopics:
    name, code = topic.name, ErrorCode.NONE
    if uses_topic_ids:
        found = services.image.topics_by_id.get(topic.topic_id)
        name = found.name if found else ""
        code = ErrorCode.NONE if found else ErrorCode.UNKNOWN_TOPIC_ID
    known = _of_topic(services, offsets, name)
    return OffsetFetchResponseTopics(
        name=topic.name,
        topic_id=topic.topic_id,
        partitions=[
            _unstable(number)
            if (name, number) in unstable
            else _fetched(number, known.get(number, NO_OFFSET), code)
            for number in topic.partition_indexes
        ],
    )


def _of_topic(
    services: GroupServices, offsets: GroupOffsets, name: str
) -> Mapping[int, CommittedOffset]:
    """Return a topic's offsets, without those of a deleted one that had its name."""
    found = offsets.get(name, {})
    topic_id = services.image.topic_id(name)
    if topic_id is None:
        return found
    return {number: each for number, each in found.items() if each.belongs_to(topic_id)}


def _all_offsets(
    services: GroupServices,
    offsets: GroupOffsets,
    unstable: Collection[tuple[str, int]],
    *,
    uses_topic_ids: bool,
) -> Iterator[OffsetFetchResponseTopics]:
    for name in offsets:
        topic = services.image.topics.get(name)
        partitions = _of_topic(services, offsets, name)
        if not partitions or (topic is None and uses_topic_ids):
            continue
        answered = OffsetFetchResponseTopics(
            name=name,
            partitions=[
                _unstable(number) if (name, number) in unstable else _fetched(number, committed)
                for number, committed in partitions.items()
            ],
        )
        if topic is not None:
            answered.topic_id = topic.topic_id
        yield answered


def _unstable(number: int) -> OffsetFetchResponsePartitions:
    """Return what a client that requires stable offsets gets until the transaction ends."""
    return _fetched(number, NO_OFFSET, ErrorCode.UNSTABLE_OFFSET_COMMIT)


def _fetched(
    number: int, committed: CommittedOffset, code: ErrorCode = ErrorCode.NONE
) -> OffsetFetchResponsePartitions:
    return OffsetFetchResponsePartitions(
        partition_index=number,
        committed_offset=committed.offset,
        committed_leader_epoch=committed.leader_epoch,
        metadata=committed.metadata,
        error_code=code,
    )


def _single_group(
    group: OffsetFetchResponseGroup, request: OffsetFetchRequest, context: RequestContext
) -> OffsetFetchResponse:
    """Return the response for one group as versions below 8 have it."""
    if group.error_code and context.version < FIRST_VERSION_WITH_GROUP_ERROR:
        group.topics = [
            OffsetFetchResponseTopics(
                name=topic.name,
                partitions=[
                    _fetched(number, NO_OFFSET, ErrorCode(group.error_code))
                    for number in topic.partition_indexes
                ],
            )
            for topic in request.topics or ()
        ]
    return OffsetFetchResponse(
        error_code=group.error_code,
        topics=[
            OffsetFetchResponseTopic(
                name=topic.name,
                partitions=[
                    OffsetFetchResponsePartition(
                        partition_index=each.partition_index,
                        committed_offset=each.committed_offset,
                        committed_leader_epoch=each.committed_leader_epoch,
                        metadata=each.metadata,
                        error_code=each.error_code,
                    )
                    for each in topic.partitions
                ],
            )
            for topic in group.topics
        ],
    )


def offset_delete(
    services: GroupServices, request: OffsetDeleteRequest, context: RequestContext
) -> HandlerResult:
    """Delete committed offsets of topics that the group is not subscribed to."""
    if not request.group_id:
        return OffsetDeleteResponse(error_code=ErrorCode.INVALID_GROUP_ID)
    topics = services.image.topics
    known = [
        (topic.name, partition.partition_index)
        for topic in request.topics
        for partition in topic.partitions
        if topic.name in topics and partition.partition_index in topics[topic.name].partitions
    ]

    return ask_group(
        services,
        request.group_id,
        lambda shard, _: shard.offset_requests.delete(request.group_id, known),
    ).then(lambda results: _delete_response(request, results))


def _delete_response(
    request: OffsetDeleteRequest, results: OffsetResults | ErrorCode
) -> OffsetDeleteResponse:
    if isinstance(results, ErrorCode):
        return OffsetDeleteResponse(error_code=results)
    response = OffsetDeleteResponse()
    for topic in request.topics:
        answered = OffsetDeleteResponseTopic(name=topic.name)
        response.topics.append(answered)
        for asked in topic.partitions:
            number = asked.partition_index
            code = results.get((topic.name, number), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
            answered.partitions.append(
                OffsetDeleteResponsePartition(partition_index=number, error_code=code)
            )
    return response
