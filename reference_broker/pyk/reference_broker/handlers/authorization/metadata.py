"""Metadata: topics that a client may not describe are hidden, or refused if it names them."""

from __future__ import annotations

from typing import Any

from pyk.protocol.acls import CLUSTER_NAME, AclOperation, ResourceType
from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.metadata import MetadataRequestTopic, MetadataResponseTopic
from pyk.protocol.schema import Message
from pyk.reference_broker.deferred import HandlerResult
from pyk.reference_broker.handlers.context import NO_OPERATIONS
from pyk.reference_broker.handlers.metadata import check_cursor

from .call import Call, then
from .topics import name_of, topic_is_visible

TOPIC = ResourceType.TOPIC
REFUSED = ErrorCode.TOPIC_AUTHORIZATION_FAILED


def metadata(call: Call) -> HandlerResult:
    """Describe the topics that the client may describe, and create those that it may create."""
    request = call.request
    if request.topics is None or (call.version == 0 and not request.topics):
        return then(call.proceed(), lambda response: _visible(call, response))
    allowed: list[MetadataRequestTopic] = []
    refused: list[MetadataResponseTopic] = []
    for topic in request.topics:
        result = _refusal(call, topic)
        if result is None:
            allowed.append(topic)
        else:
            refused.append(result)

    def complete(response: Any) -> Message:
        if not allowed:
            response.topics = []  # version 0 takes no topics for all of them
        _tell_operations(call, response)
        response.topics.extend(refused)
        return response  # type: ignore[no-any-return]

    return then(call.with_items("topics", allowed).proceed(), complete)


def _visible(call: Call, response: Any) -> Message:
    response.topics = [topic for topic in response.topics if topic_is_visible(call, topic.name)]
    _tell_operations(call, response)
    return response  # type: ignore[no-any-return]


def _refusal(call: Call, topic: MetadataRequestTopic) -> MetadataResponseTopic | None:
    """Return the result of a topic that the client may not describe, or would have created.

    A topic that was named by its id keeps its name for itself.
    """
    name = name_of(call, topic)
    if name is None:
        return None  # an unknown id, or neither name nor id: the handler says so
    if not call.access.may(AclOperation.DESCRIBE, TOPIC, name):
        told = None if topic.topic_id.int else name
        return MetadataResponseTopic(error_code=REFUSED, name=told, topic_id=topic.topic_id)
    if name in call.services.image.topics or not _creates_topics(call):
        return None
    if call.access.may_on_cluster(AclOperation.CREATE, is_asked_for=False):
        return None
    if call.access.may(AclOperation.CREATE, TOPIC, name):
        return None
    is_internal = name in call.services.internal_topics
    return MetadataResponseTopic(error_code=REFUSED, name=name, is_internal=is_internal)


def _creates_topics(call: Call) -> bool:
    return bool(
        call.request.allow_auto_topic_creation
        and call.services.configs.broker.auto_create_topics_enable
    )


def _tell_operations(call: Call, response: Any) -> None:
    """Replace the operations of a client that may do everything by those of this one."""
    for topic in response.topics:
        if topic.topic_authorized_operations != NO_OPERATIONS and topic.name is not None:
            topic.topic_authorized_operations = call.access.operations(TOPIC, topic.name)
    _tell_cluster_operations(call, response)


def _tell_cluster_operations(call: Call, response: Any) -> None:
    if response.cluster_authorized_operations == NO_OPERATIONS:
        return
    is_told = call.access.may_on_cluster(AclOperation.DESCRIBE)
    response.cluster_authorized_operations = (
        call.access.operations(ResourceType.CLUSTER, CLUSTER_NAME) if is_told else 0
    )


def describe_cluster(call: Call) -> HandlerResult:
    """Tell what the client may do to the cluster."""

    def complete(response: Any) -> Message:
        _tell_cluster_operations(call, response)
        return response  # type: ignore[no-any-return]

    return then(call.proceed(), complete)


def describe_topic_partitions(call: Call) -> HandlerResult:
    """Describe the topics that the client may describe; refuse the others that it names."""
    from pyk.protocol.messages.describe_topic_partitions import (
        DescribeTopicPartitionsRequest,
        DescribeTopicPartitionsResponse,
        DescribeTopicPartitionsResponseTopic,
        TopicRequest,
    )

    request: DescribeTopicPartitionsRequest = call.request
    check_cursor(request)
    first = request.cursor.topic_name if request.cursor is not None else ""
    names = {topic.name for topic in request.topics} or set(call.services.image.topics)
    wants_all = not request.topics
    visible, refused = [], []
    for name in sorted(name for name in names if name >= first):
        if call.access.may(AclOperation.DESCRIBE, TOPIC, name, is_asked_for=not wants_all):
            visible.append(TopicRequest(name=name))
        elif not wants_all:
            refused.append(DescribeTopicPartitionsResponseTopic(error_code=REFUSED, name=name))

    def complete(response: Any) -> Message:
        for topic in response.topics:
            topic.topic_authorized_operations = call.access.operations(TOPIC, topic.name)
        response.topics.extend(refused)
        return response  # type: ignore[no-any-return]

    if not visible:
        return complete(DescribeTopicPartitionsResponse())
    seen = call.with_items("topics", visible)
    if first not in {topic.name for topic in visible}:
        seen.request.cursor = None  # all that is left comes after it
    return then(seen.proceed(), complete)
