"""CreateTopics, CreatePartitions, DeleteTopics: each topic on its own, the good in one batch."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Container, Mapping
from uuid import UUID

from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.create_partitions import (
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreatePartitionsTopicResult,
)
from pyk.protocol.messages.create_topics import (
    CreatableTopic,
    CreatableTopicConfigs,
    CreatableTopicResult,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from pyk.protocol.messages.delete_topics import (
    DeletableTopicResult,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
    DeleteTopicState,
)
from pyk.protocol.schema import Message
from pyk.reference_broker.config import ConfigEntry
from pyk.reference_broker.errors import ApiError

from .image import TopicImage
from .names import unified_name
from .topics import Charge, NewTopic, Topics, check_record_limit, removal, uncharged

DescribeTopic = Callable[[Mapping[str, str]], list[ConfigEntry]]
Records = list[Message]


def create_topics(
    topics: Topics,
    request: CreateTopicsRequest,
    describe: DescribeTopic,
    charge: Charge = uncharged,
) -> tuple[CreateTopicsResponse, Records]:
    """Return the response to CreateTopics and the records that create what can be."""
    response = CreateTopicsResponse()
    records: Records = []
    created: dict[str, str] = {}
    try:
        topics.check_total(request.topics)
    except ApiError as error:
        return _all_refused(request, error), []
    times = Counter(topic.name for topic in request.topics)
    for topic in {topic.name: topic for topic in request.topics}.values():
        try:
            _check_named_once(times[topic.name])
            _check_collision(topic.name, created)
            new = topics.create(topic)
            charge(new.partition_count)
        except ApiError as error:
            response.topics.append(_refused(topic, error))
            continue
        created[unified_name(topic.name)] = topic.name
        records += new.records
        response.topics.append(_created(topic, new, describe(new.configs)))
    try:
        check_record_limit(len(records))
    except ApiError as error:
        return _all_refused(request, error), []
    return response, [] if request.validate_only else records


def _all_refused(request: CreateTopicsRequest, error: ApiError) -> CreateTopicsResponse:
    return CreateTopicsResponse(topics=[_refused(topic, error) for topic in request.topics])


def _check_named_once(times: int) -> None:
    if times > 1:
        raise ApiError(ErrorCode.INVALID_REQUEST, "Duplicate topic name.")


def _check_collision(name: str, created: Mapping[str, str]) -> None:
    colliding = created.get(unified_name(name))
    if colliding is not None:
        raise ApiError(
            ErrorCode.INVALID_TOPIC_EXCEPTION,
            f"Topic '{name}' collides with another of this request: {colliding}",
        )


def _refused(topic: CreatableTopic, error: ApiError) -> CreatableTopicResult:
    return CreatableTopicResult(
        name=topic.name, error_code=error.code, error_message=error.message, configs=[]
    )


def _created(
    topic: CreatableTopic, new: NewTopic, entries: list[ConfigEntry]
) -> CreatableTopicResult:
    return CreatableTopicResult(
        name=topic.name,
        topic_id=new.topic_id,
        error_message=None,
        num_partitions=new.partition_count,
        replication_factor=new.replication_factor,
        configs=[
            CreatableTopicConfigs(
                name=entry.name,
                value=entry.value,
                read_only=entry.is_read_only,
                config_source=entry.source,
            )
            for entry in entries
        ],
    )


def create_partitions(
    topics: Topics, request: CreatePartitionsRequest, charge: Charge = uncharged
) -> tuple[CreatePartitionsResponse, Records]:
    """Return the response to CreatePartitions and the records that add what can be added."""
    response = CreatePartitionsResponse()
    records: Records = []
    times = Counter(topic.name for topic in request.topics)
    for topic in {topic.name: topic for topic in request.topics}.values():
        result = CreatePartitionsTopicResult(name=topic.name, error_message=None)
        response.results.append(result)
        try:
            _check_named_once(times[topic.name])
            added = topics.add_partitions(topic)
            charge(len(added))
            records += added
        except ApiError as error:
            result.error_code, result.error_message = error.code, error.message
    return response, [] if request.validate_only else records


def delete_topics(
    topics: Topics, request: DeleteTopicsRequest, charge: Charge = uncharged
) -> tuple[DeleteTopicsResponse, Records]:
    """Return the response to DeleteTopics and the records that delete what can be."""
    wanted = [*request.topics, *(DeleteTopicState(name=name) for name in request.topic_names)]
    response = DeleteTopicsResponse()
    records: Records = []
    deleted: set[UUID] = set()
    times = Counter((state.name, state.topic_id) for state in wanted)
    for (name, topic_id), count in times.items():
        result = DeletableTopicResult(name=name, topic_id=topic_id)
        response.responses.append(result)
        try:
            _check_state_once(count, name)
            topic = topics.find(name, topic_id)
            _check_not_deleted(topic, deleted)
            deleted.add(topic.topic_id)
            result.name, result.topic_id = topic.name, topic.topic_id
            charge(len(topic.partitions))
            records += removal(topic)
        except ApiError as error:
            result.error_code, result.error_message = error.code, error.message
    return response, records


def _check_state_once(times: int, name: str | None) -> None:
    if times > 1:
        what = "id" if name is None else "name"
        raise ApiError(ErrorCode.INVALID_REQUEST, f"Duplicate topic {what}.")


def _check_not_deleted(topic: TopicImage, deleted: Container[UUID]) -> None:
    if topic.topic_id in deleted:
        raise ApiError(
            ErrorCode.INVALID_REQUEST,
            "The provided topic name maps to an ID that was also supplied.",
        )
