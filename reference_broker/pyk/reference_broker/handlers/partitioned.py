"""Requests and responses that consist of partitions of topics, seen as one shape.

Error responses and fault rules need to go through the partitions of any of them: which there are,
without some of them, and with an error for each.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from pyk.protocol.api_keys import ApiKey
from pyk.protocol.errors import ErrorCode
from pyk.protocol.registry import response_class
from pyk.protocol.schema import Message, Struct
from pyk.runtime import slotted


@slotted.frozen
class _Side:
    """The fields in which a message keeps topics, their names, partitions and partition numbers."""

    topics: str
    name: str
    partitions: str
    number: str


@slotted.frozen
class Shape:
    """The two sides of an API that works on partitions."""

    request: _Side
    response: _Side


def _shape(request: str, response: str) -> Shape:
    return Shape(_Side(*request.split()), _Side(*response.split()))


SHAPES: dict[ApiKey, Shape] = {
    ApiKey.PRODUCE: _shape(
        "topic_data name partition_data index", "responses name partition_responses index"
    ),
    ApiKey.FETCH: _shape(
        "topics topic partitions partition", "responses topic partitions partition_index"
    ),
    ApiKey.LIST_OFFSETS: _shape(
        "topics name partitions partition_index", "topics name partitions partition_index"
    ),
    ApiKey.OFFSET_FOR_LEADER_EPOCH: _shape(
        "topics topic partitions partition", "topics topic partitions partition"
    ),
    ApiKey.DELETE_RECORDS: _shape(
        "topics name partitions partition_index", "topics name partitions partition_index"
    ),
    ApiKey.OFFSET_COMMIT: _shape(
        "topics name partitions partition_index", "topics name partitions partition_index"
    ),
    ApiKey.TXN_OFFSET_COMMIT: _shape(
        "topics name partitions partition_index", "topics name partitions partition_index"
    ),
    ApiKey.OFFSET_DELETE: _shape(
        "topics name partitions partition_index", "topics name partitions partition_index"
    ),
    **{
        api_key: _shape(
            "topics topic_id partitions partition_index",
            "responses topic_id partitions partition_index",
        )
        for api_key in (ApiKey.SHARE_FETCH, ApiKey.SHARE_ACKNOWLEDGE)
    },
    **{
        api_key: _shape(
            "topics topic_id partitions partition", "results topic_id partitions partition"
        )
        for api_key in (
            ApiKey.INITIALIZE_SHARE_GROUP_STATE,
            ApiKey.READ_SHARE_GROUP_STATE,
            ApiKey.WRITE_SHARE_GROUP_STATE,
            ApiKey.DELETE_SHARE_GROUP_STATE,
            ApiKey.READ_SHARE_GROUP_STATE_SUMMARY,
        )
    },
}


def error_partitions(api_key: ApiKey, request: Any, code: ErrorCode) -> Message:
    """Return a response that gives every partition of ``request`` the error."""
    shape = SHAPES[api_key]
    response = response_class(api_key)()
    topic_class = element_class(response, shape.response.topics)
    topics: list[Struct] = getattr(response, shape.response.topics)
    for topic in getattr(request, shape.request.topics):
        answered = topic_class()
        setattr(answered, shape.response.name, getattr(topic, shape.request.name))
        if hasattr(answered, "topic_id"):
            answered.topic_id = topic.topic_id
        partition_class = element_class(answered, shape.response.partitions)
        for partition in getattr(topic, shape.request.partitions):
            refused = partition_class(error_code=code)
            setattr(refused, shape.response.number, getattr(partition, shape.request.number))
            getattr(answered, shape.response.partitions).append(refused)
        topics.append(answered)
    _set_defaults(api_key, topics)
    return response


def _set_defaults(api_key: ApiKey, topics: list[Any]) -> None:
    """Give partitions what Kafka gives them where the message's own default says otherwise."""
    if api_key is ApiKey.PRODUCE:
        for topic in topics:
            for partition in topic.partition_responses:
                partition.base_offset = -1
    elif api_key is ApiKey.DELETE_RECORDS:
        for topic in topics:
            for partition in topic.partitions:
                partition.low_watermark = -1
    elif api_key is ApiKey.FETCH:
        for topic in topics:
            for partition in topic.partitions:
                partition.high_watermark = -1


def topics_of(api_key: ApiKey, request: Any) -> Iterator[tuple[Any, list[Any]]]:
    """Yield each topic of a request with its partitions."""
    side = SHAPES[api_key].request
    for topic in getattr(request, side.topics):
        yield topic, getattr(topic, side.partitions)


def partition_number(api_key: ApiKey, partition: Any) -> int:
    """Return the number of a partition in a request."""
    return int(getattr(partition, SHAPES[api_key].request.number))


def topic_name(api_key: ApiKey, topic: Any) -> str:
    """Return the name of a topic in a request, empty where it goes by its id."""
    name = getattr(topic, SHAPES[api_key].request.name)
    return name if isinstance(name, str) else ""


def split(api_key: ApiKey, request: Any, is_wanted: Callable[[Any, Any], bool]) -> tuple[Any, Any]:
    """Return the request with the partitions that ``is_wanted``, and with all others.

    ``is_wanted`` is given a topic and one of its partitions.
    """
    side = SHAPES[api_key].request
    wanted, others = shallow_copy(request), shallow_copy(request)
    for half in (wanted, others):
        setattr(half, side.topics, [])
    for topic in getattr(request, side.topics):
        partitions = getattr(topic, side.partitions)
        chosen = [partition for partition in partitions if is_wanted(topic, partition)]
        for half, part in (
            (wanted, chosen),
            (others, [partition for partition in partitions if partition not in chosen]),
        ):
            if part:
                cut = shallow_copy(topic)
                setattr(cut, side.partitions, part)
                getattr(half, side.topics).append(cut)
    return wanted, others


def merge(api_key: ApiKey, response: Any, more: Any) -> None:
    """Add the topics of ``more`` to ``response``."""
    name = SHAPES[api_key].response.topics
    getattr(response, name).extend(getattr(more, name))


def element_class(struct: Struct, name: str) -> Callable[..., Any]:
    """Return the class of the structs in an array of a message."""
    field = next(field for field in struct.fields if field.name == name)
    element: Callable[..., Any] = field.kind.of.struct  # type: ignore[attr-defined]
    return element


def shallow_copy(struct: Any) -> Any:
    """Return a struct with the same fields."""
    copied = type(struct)()
    for field in struct.fields:
        setattr(copied, field.name, getattr(struct, field.name))
    return copied
