"""CreateTopics, CreatePartitions, DeleteTopics: each topic on its own, the good in one batch."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping

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

from .names import colliding_topic
from .topics import MAX_PARTITIONS_PER_REQUEST, NewTopic, Topics, removal

DescribeTopic = Callable[[Mapping[str, str]], list[ConfigEntry]]
Records = list[Message]


def create_topics(
    topics: Topics, request: CreateTopicsRequest, describe: DescribeTopic
) -> tuple[CreateTopicsResponse, Records]:
    """Return the response to CreateTopics and the records that create what can be."""
    response = CreateTopicsResponse()
    records: Records = []
    created: dict[str, NewTopic] = {}
    times = Counter(topic.name for topic in request.topics)
    for topic in {topic.name: topic for topic in request.topics}.values():
        try:
            _check_named_once(times[topic.name], topic.name, created)
            new = topics.create(topic)
            _check_total(created, new)
        except ApiError as error:
            response.topics.append(_refused(topic, error))
            continue
        created[topic.name] = new
        records += new.records
        response.topics.append(_created(topic, new, describe(new.configs)))
    return response, [] if request.validate_only else records


def _check_named_once(times: int, name: str, created: Mapping[str, NewTopic]) -> None:
    if times > 1:
        raise ApiError(ErrorCode.INVALID_REQUEST, "Duplicate topic name.")
    colliding = colliding_topic(name, created)
    if colliding is not None:
        raise ApiError(
            ErrorCode.INVALID_TOPIC_EXCEPTION,
            f"Topic '{name}' collides with another of this request: {colliding}",
        )


def _check_total(created: Mapping[str, NewTopic], new: NewTopic) -> None:
    total = new.partition_count + sum(each.partition_count for each in created.values())
    if total > MAX_PARTITIONS_PER_REQUEST:
        raise ApiError(
            ErrorCode.POLICY_VIOLATION, "Excessively large number of partitions per request."
        )


def _refused(topic: CreatableTopic, error: ApiError) -> CreatableTopicResult:
    return CreatableTopicResult(
        name=topic.name, error_code=error.code, error_message=error.message, configs=None
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
    topics: Topics, request: CreatePartitionsRequest
) -> tuple[CreatePartitionsResponse, Records]:
    """Return the response to CreatePartitions and the records that add what can be added."""
    response = CreatePartitionsResponse()
    records: Records = []
    times = Counter(topic.name for topic in request.topics)
    for topic in {topic.name: topic for topic in request.topics}.values():
        result = CreatePartitionsTopicResult(name=topic.name, error_message=None)
        response.results.append(result)
        try:
            _check_named_once(times[topic.name], topic.name, {})
            records += topics.add_partitions(topic)
        except ApiError as error:
            result.error_code, result.error_message = error.code, error.message
    return response, [] if request.validate_only else records


def delete_topics(
    topics: Topics, request: DeleteTopicsRequest
) -> tuple[DeleteTopicsResponse, Records]:
    """Return the response to DeleteTopics and the records that delete what can be."""
    wanted = [*request.topics, *(DeleteTopicState(name=name) for name in request.topic_names)]
    response = DeleteTopicsResponse()
    records: Records = []
    times = Counter((state.name, state.topic_id) for state in wanted)
    for (name, topic_id), count in times.items():
        result = DeletableTopicResult(name=name, topic_id=topic_id)
        response.responses.append(result)
        try:
            if count > 1:
                what = "id" if name is None else "name"
                raise ApiError(ErrorCode.INVALID_REQUEST, f"Duplicate topic {what}.")
            topic = topics.find(name, topic_id)
        except ApiError as error:
            result.error_code, result.error_message = error.code, error.message
            continue
        if any(each.name == topic.name for each in response.responses if each is not result):
            result.error_code = ErrorCode.INVALID_REQUEST
            result.error_message = "The provided topic name maps to an ID that was also supplied."
            continue
        result.name, result.topic_id = topic.name, topic.topic_id
        records += removal(topic)
    return response, records
