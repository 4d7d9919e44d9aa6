"""DescribeShareGroupOffsets, AlterShareGroupOffsets, DeleteShareGroupOffsets (KIP-932)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Protocol
from uuid import UUID

from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.alter_share_group_offsets import (
    AlterShareGroupOffsetsRequest,
    AlterShareGroupOffsetsResponse,
    AlterShareGroupOffsetsResponsePartition,
    AlterShareGroupOffsetsResponseTopic,
)
from pyk.protocol.messages.delete_share_group_offsets import (
    DeleteShareGroupOffsetsRequest,
    DeleteShareGroupOffsetsResponse,
    DeleteShareGroupOffsetsResponseTopic,
)
from pyk.protocol.messages.describe_share_group_offsets import (
    DescribeShareGroupOffsetsRequest,
    DescribeShareGroupOffsetsRequestGroup,
    DescribeShareGroupOffsetsResponse,
    DescribeShareGroupOffsetsResponseGroup,
    DescribeShareGroupOffsetsResponsePartition,
    DescribeShareGroupOffsetsResponseTopic,
)
from pyk.protocol.topics import TopicPartition
from pyk.reference_broker.coordinator.decision import NOTHING, Decision
from pyk.reference_broker.coordinator.group.shard import GroupShard
from pyk.reference_broker.coordinator.group.share.initialization import InitializeStates
from pyk.reference_broker.coordinator.group.share.offsets import TopicsToDelete
from pyk.reference_broker.coordinator.share.share_partition import (
    NOT_INITIALIZED,
    UNKNOWN_COUNT,
    SharePartitionKey,
)
from pyk.reference_broker.deferred import Deferred, HandlerResult, gather
from pyk.reference_broker.errors import ApiError
from pyk.reference_broker.storage.partition_metadata import encode_id
from pyk.runtime.timers import Moment

from .ask_group import ask_group, look_at_group
from .context import RequestContext
from .end_offsets import EndOffset, EndOffsetServices, end_offsets
from .share_group_deletion import DeleteServices, delete_states_of
from .share_groups import has_share_groups

UNEXPECTED = "The server experienced an unexpected error when processing the request."
NO_SUCH_API = "The version of API is not supported."
NO_GROUP_ID = "The group id is invalid."
UNKNOWN_TOPIC = "This server does not host this topic-partition."


class OffsetServices(DeleteServices, EndOffsetServices, Protocol):
    """The services that requests about the offsets of share groups use."""


# -- describe ------------------------------------------------------------------------------------


def describe_share_group_offsets(
    services: OffsetServices, request: DescribeShareGroupOffsetsRequest, context: RequestContext
) -> HandlerResult:
    """Return where groups are in partitions, and how many records they have before them."""
    described = [_describe(services, group) for group in request.groups]
    return gather(described).then(lambda found: DescribeShareGroupOffsetsResponse(groups=found))


def _describe(
    services: OffsetServices, asked: DescribeShareGroupOffsetsRequestGroup
) -> Deferred[DescribeShareGroupOffsetsResponseGroup]:
    described: Deferred[DescribeShareGroupOffsetsResponseGroup] = Deferred()
    group = DescribeShareGroupOffsetsResponseGroup(group_id=asked.group_id)

    def refuse(code: ErrorCode, message: str | None = None) -> None:
        group.error_code, group.error_message = code, message
        described.complete(group)

    def summarize(topics: list[tuple[str, list[int]]] | ErrorCode) -> None:
        if isinstance(topics, ErrorCode):
            refuse(topics)
        else:
            summaries = [_describe_topic(services, asked.group_id, *each) for each in topics]
            gather(summaries).when_done(complete, described)

    def complete(topics: list[DescribeShareGroupOffsetsResponseTopic]) -> None:
        group.topics = topics
        described.complete(group)

    if not has_share_groups(services.image):
        refuse(ErrorCode.UNSUPPORTED_VERSION)
    elif asked.topics is None:
        look_at_group(
            services, asked.group_id, lambda shard: _with_state(shard, asked.group_id)
        ).when_done(summarize, described)
    elif asked.topics and not (asked.group_id and _are_partitions(services, asked.topics)):
        refuse(ErrorCode.UNKNOWN_SERVER_ERROR, UNEXPECTED)  # as in Kafka
    else:
        summarize(_by_topic(asked.topics))
    return described


def _are_partitions(services: OffsetServices, topics: Iterable[Any]) -> bool:
    """Return whether all known topics have partitions, and none of them a negative number."""
    return all(
        min(topic.partitions, default=-1) >= 0 or services.image.topic_id(topic.topic_name) is None
        for topic in topics
    )


def _by_topic(topics: Iterable[Any]) -> list[tuple[str, list[int]]]:
    """Return the partitions of each topic, which may be named several times."""
    numbers: dict[str, dict[int, None]] = {}
    for topic in topics:
        numbers.setdefault(topic.topic_name, {}).update(dict.fromkeys(topic.partitions))
    return [(name, list(each)) for name, each in numbers.items()]


def _with_state(shard: GroupShard, group_id: str) -> list[tuple[str, list[int]]]:
    topics = shard.share_groups.partitions_with_state(group_id)
    return [(each.name, sorted(each.partitions)) for each in topics.values()]


def _describe_topic(
    services: OffsetServices, group_id: str, name: str, numbers: list[int]
) -> Deferred[DescribeShareGroupOffsetsResponseTopic]:
    topic = DescribeShareGroupOffsetsResponseTopic(topic_name=name)
    topic_id = services.image.topic_id(name)
    if topic_id is None:
        unknown: Deferred[DescribeShareGroupOffsetsResponseTopic] = Deferred()
        topic.partitions = [
            DescribeShareGroupOffsetsResponsePartition(
                partition_index=number, start_offset=NOT_INITIALIZED
            )
            for number in numbers
        ]
        unknown.complete(topic)
        return unknown
    topic.topic_id = topic_id
    summaries = gather(
        [
            services.share_persister.summarize(SharePartitionKey(group_id, topic_id, number))
            for number in numbers
        ]
    )
    ends = end_offsets(services, [TopicPartition(name, number) for number in numbers])

    def complete(found: list[Any]) -> DescribeShareGroupOffsetsResponseTopic:
        summarized, ended = found
        topic.partitions = [
            _described(summary, ended[TopicPartition(name, summary.partition)])
            for summary in summarized
        ]
        return topic

    return gather([summaries, ends]).then(complete)


def _described(summary: Any, end: EndOffset) -> DescribeShareGroupOffsetsResponsePartition:
    described = DescribeShareGroupOffsetsResponsePartition(
        partition_index=summary.partition, start_offset=NOT_INITIALIZED
    )
    if summary.error_code:
        return described  # as in Kafka: what is not known is no error
    is_lag_known = (
        summary.start_offset != NOT_INITIALIZED and summary.delivery_complete_count != UNKNOWN_COUNT
    )
    if is_lag_known and isinstance(end, ErrorCode):
        described.start_offset, described.error_code = 0, end
        return described
    described.start_offset = summary.start_offset
    described.leader_epoch = summary.leader_epoch
    if is_lag_known and isinstance(end, int):
        described.lag = end - summary.start_offset - summary.delivery_complete_count
    return described


# -- alter ---------------------------------------------------------------------------------------


def alter_share_group_offsets(
    services: OffsetServices, request: AlterShareGroupOffsetsRequest, context: RequestContext
) -> HandlerResult:
    """Set the start offsets of a group without members."""
    if not has_share_groups(services.image):
        return AlterShareGroupOffsetsResponse(
            error_code=ErrorCode.UNSUPPORTED_VERSION, error_message=NO_SUCH_API
        )
    group_id = request.group_id
    if not group_id:
        return AlterShareGroupOffsetsResponse(
            error_code=ErrorCode.INVALID_GROUP_ID, error_message=NO_GROUP_ID
        )
    offsets: dict[str, dict[int, int]] = {}
    for topic in request.topics:
        starts = {each.partition_index: each.start_offset for each in topic.partitions}
        offsets.setdefault(topic.topic_name, {}).update(starts)
    refused = _refused_numbers(services, group_id, offsets)
    if refused is not None:
        return AlterShareGroupOffsetsResponse(
            error_code=ErrorCode.UNKNOWN_SERVER_ERROR, error_message=refused
        )
    altered: Deferred[AlterShareGroupOffsetsResponse] = Deferred()

    def alter(shard: GroupShard, moment: Moment) -> tuple[InitializeStates | ApiError, Decision]:
        try:
            return shard.share_offsets.alter(group_id, offsets, moment)
        except ApiError as error:
            return error, NOTHING

    def initialize(asked: InitializeStates | ApiError | ErrorCode) -> None:
        if isinstance(asked, InitializeStates):
            _initialize(services, asked).when_done(complete, altered)
        elif isinstance(asked, ApiError):
            altered.complete(
                AlterShareGroupOffsetsResponse(error_code=asked.code, error_message=asked.message)
            )
        else:
            altered.complete(AlterShareGroupOffsetsResponse(error_code=asked))

    def complete(found: dict[tuple[UUID, int], Any] | ErrorCode) -> None:
        if isinstance(found, ErrorCode):
            altered.complete(AlterShareGroupOffsetsResponse(error_code=found))
        else:
            altered.complete(_altered(services, request, found))

    ask_group(services, group_id, alter).when_done(initialize, altered)
    return altered


def _refused_numbers(
    services: OffsetServices, group_id: str, offsets: Mapping[str, Mapping[int, int]]
) -> str | None:
    """Return what Kafka says of a negative partition of a known topic, None if there is none."""
    for name, starts in offsets.items():
        topic_id, lowest = services.image.topic_id(name), min(starts, default=0)
        if topic_id is not None and lowest < 0:
            return (
                "Initialize share group parameters has invalid partitionId - "
                f"{group_id} {encode_id(topic_id)} {lowest}"
            )
    return None


def _initialize(
    services: OffsetServices, asked: InitializeStates
) -> Deferred[dict[tuple[UUID, int], Any] | ErrorCode]:
    """Initialize states, note which are, and return the result of each."""
    from pyk.reference_broker.share_state_initializer import (
        ask_for_states,
        initialized_of,
        names_of,
    )

    names = names_of(asked)
    noted: Deferred[dict[tuple[UUID, int], Any] | ErrorCode] = Deferred()

    def note(results: list[Any]) -> None:
        def written(answer: ErrorCode | None) -> None:
            noted.complete(dict(zip(names, results, strict=True)) if answer is None else answer)

        found = initialized_of(names, results)
        ask_group(
            services,
            asked.group_id,
            lambda shard, _: (None, shard.share_groups.initialized(asked.group_id, found)),
        ).when_done(written, noted)

    ask_for_states(services.share_persister, asked, names).when_done(note, noted)
    return noted


def _altered(
    services: OffsetServices,
    request: AlterShareGroupOffsetsRequest,
    results: Mapping[tuple[UUID, int], Any],
) -> AlterShareGroupOffsetsResponse:
    topics: dict[str, AlterShareGroupOffsetsResponseTopic] = {}
    for topic in request.topics:
        answered = topics.setdefault(
            topic.topic_name, AlterShareGroupOffsetsResponseTopic(topic_name=topic.topic_name)
        )
        topic_id = services.image.topic_id(topic.topic_name)
        answered.topic_id = topic_id or answered.topic_id
        for each in topic.partitions:
            partition = AlterShareGroupOffsetsResponsePartition(
                partition_index=each.partition_index
            )
            answered.partitions.append(partition)
            result = None if topic_id is None else results.get((topic_id, each.partition_index))
            if result is None:
                partition.error_code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
                partition.error_message = UNKNOWN_TOPIC
            else:
                partition.error_code = result.error_code
                partition.error_message = result.error_message
    return AlterShareGroupOffsetsResponse(responses=list(topics.values()))


# -- delete --------------------------------------------------------------------------------------


def delete_share_group_offsets(
    services: OffsetServices, request: DeleteShareGroupOffsetsRequest, context: RequestContext
) -> HandlerResult:
    """Let a group without members forget topics."""
    if not has_share_groups(services.image):
        return DeleteShareGroupOffsetsResponse(
            error_code=ErrorCode.UNSUPPORTED_VERSION, error_message=NO_SUCH_API
        )
    group_id = request.group_id
    if not group_id:
        return DeleteShareGroupOffsetsResponse(
            error_code=ErrorCode.INVALID_GROUP_ID, error_message=NO_GROUP_ID
        )
    deleted: Deferred[DeleteShareGroupOffsetsResponse] = Deferred()
    response = DeleteShareGroupOffsetsResponse()

    def begin(shard: GroupShard, moment: Moment) -> tuple[TopicsToDelete | ApiError, Decision]:
        try:
            names = [topic.topic_name for topic in request.topics]
            return shard.share_offsets.begin_deleting(group_id, names)
        except ApiError as error:
            return error, NOTHING

    def delete_states(begun: TopicsToDelete | ApiError | ErrorCode) -> None:
        if isinstance(begun, ApiError):
            response.error_code, response.error_message = begun.code, begun.message
        elif isinstance(begun, ErrorCode):
            response.error_code = begun
        else:
            response.responses = [_refused(*each) for each in begun.refused.items()]
            if begun.partitions:
                delete_states_of(services, group_id, begun.partitions).when_done(end, deleted)
                return
        deleted.complete(response)

    def end(errors: dict[UUID, ErrorCode]) -> None:
        response.responses += [_deleted(services, *each) for each in errors.items()]
        done = [topic_id for topic_id, code in errors.items() if not code]
        ask_group(
            services, group_id, lambda shard, _: shard.share_offsets.deleted(group_id, done)
        ).when_done(complete, deleted)

    def complete(answer: ErrorCode | None) -> None:
        if answer is not None:
            response.error_code, response.responses = answer, []
        deleted.complete(response)

    ask_group(services, group_id, begin).when_done(delete_states, deleted)
    return deleted


def _refused(name: str, error: ApiError) -> DeleteShareGroupOffsetsResponseTopic:
    message = error.message or UNKNOWN_TOPIC
    return DeleteShareGroupOffsetsResponseTopic(
        topic_name=name, error_code=error.code, error_message=message
    )


def _deleted(
    services: OffsetServices, topic_id: UUID, code: ErrorCode
) -> DeleteShareGroupOffsetsResponseTopic:
    topic = services.image.topics_by_id.get(topic_id)
    return DeleteShareGroupOffsetsResponseTopic(
        topic_id=topic_id, topic_name="" if topic is None else topic.name, error_code=code
    )
