"""Groups and their offsets: what a client does not get to see."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from pyk.protocol.acls import AclOperation, ResourceType
from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.offset_fetch import (
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartition,
    OffsetFetchResponsePartitions,
    OffsetFetchResponseTopic,
    OffsetFetchResponseTopics,
)
from pyk.protocol.schema import Message
from pyk.reference_broker.deferred import HandlerResult
from pyk.reference_broker.handlers.context import NO_OPERATIONS
from pyk.reference_broker.handlers.partitioned import shallow_copy

from .call import Call, by_item, then
from .conditions import (
    FIRST_VERSION_OF_FIND_IN_BATCHES,
    coordinator_refusal,
    group_refusal,
)
from .topics import name_of, topic_refusal

FIRST_VERSION_WITH_GROUPS = 8
FIRST_VERSION_WITH_GROUP_ERROR = 2

_DESCRIBED = by_item(
    "groups", "groups", lambda call, group: group_refusal(call, AclOperation.DESCRIBE, group)
)


def describe_groups(call: Call) -> HandlerResult:
    """Refuse groups that the client may not describe; tell what it may do to the others."""

    def complete(response: Any) -> Message:
        for group in response.groups:
            if group.error_code == ErrorCode.GROUP_AUTHORIZATION_FAILED:
                group.error_message = None  # as in Kafka; versions before 6 have no field for one
            if group.authorized_operations != NO_OPERATIONS:
                group.authorized_operations = call.access.operations(
                    ResourceType.GROUP, group.group_id
                )
        return response  # type: ignore[no-any-return]

    return then(_DESCRIBED(call), complete)


_DESCRIBED_MEMBERS = by_item(
    "group_ids", "groups", lambda call, group: group_refusal(call, AclOperation.DESCRIBE, group)
)


def describe_members_without(
    hidden: Callable[[Call, Any], Any],
) -> Callable[[Call], HandlerResult]:
    """Return what refuses groups that the client may not describe.

    ``hidden`` returns what is left of a group without topics that it may not describe.
    """

    def handle(call: Call) -> HandlerResult:
        def complete(response: Any) -> Message:
            response.groups = [hidden(call, group) for group in response.groups]
            for group in response.groups:
                if group.error_code == ErrorCode.GROUP_AUTHORIZATION_FAILED:
                    group.error_message = None  # as in Kafka
                if group.authorized_operations != NO_OPERATIONS:
                    group.authorized_operations = call.access.operations(
                        ResourceType.GROUP, group.group_id
                    )
            return response  # type: ignore[no-any-return]

        return then(_DESCRIBED_MEMBERS(call), complete)

    return handle


def _without_hidden_topics(call: Call, group: Any) -> Any:
    names = {
        topic.topic_name
        for member in group.members
        for assignment in (member.assignment, getattr(member, "target_assignment", None))
        if assignment is not None
        for topic in assignment.topic_partitions
    }.union(*(member.subscribed_topic_names for member in group.members))
    if not any(topic_refusal(call, AclOperation.DESCRIBE, name) for name in sorted(names)):
        return group
    return type(group)(
        group_id=group.group_id,
        error_code=ErrorCode.TOPIC_AUTHORIZATION_FAILED,
        error_message="The group has described topic(s) that the client is not authorized to "
        "describe.",
    )


describe_members = describe_members_without(_without_hidden_topics)
"""Refuse groups that the client may not describe, or whose topics it may not describe."""


def subscribe(call: Call) -> HandlerResult:
    """Refuse a subscription with a topic that the client may not describe."""
    for name in call.request.subscribed_topic_names or ():
        code = topic_refusal(call, AclOperation.DESCRIBE, name)
        if code:
            return call.refuse(code)
    return call.proceed()


_FOUND = by_item("coordinator_keys", "coordinators", coordinator_refusal)


def find_coordinator(call: Call) -> HandlerResult:
    """Refuse keys that the client may not describe; before batches the only key is a condition."""
    is_batch = call.version >= FIRST_VERSION_OF_FIND_IN_BATCHES
    return _FOUND(call) if is_batch else call.proceed()


def list_groups(call: Call) -> HandlerResult:
    """Leave out the groups that the client may not describe."""
    if call.access.may_on_cluster(AclOperation.DESCRIBE, is_asked_for=False):
        return call.proceed()

    def complete(response: Any) -> Message:
        response.groups = [
            group
            for group in response.groups
            if call.access.may(
                AclOperation.DESCRIBE, ResourceType.GROUP, group.group_id, is_asked_for=False
            )
        ]
        return response  # type: ignore[no-any-return]

    return then(call.proceed(), complete)


def offset_fetch(call: Call) -> HandlerResult:
    """Refuse groups, and topics, that the client may not describe."""
    if call.version < FIRST_VERSION_WITH_GROUPS:
        return _offset_fetch_of_group(call)
    results: list[OffsetFetchResponseGroup | None] = []
    refused: list[list[Any]] = []
    allowed: list[Any] = []
    for group in call.request.groups:
        code = group_refusal(call, AclOperation.DESCRIBE, group.group_id)
        if code:
            results.append(OffsetFetchResponseGroup(group_id=group.group_id, error_code=code))
            continue
        results.append(None)
        topics, refused_topics = _split(
            call, group.topics, OffsetFetchResponseTopics, OffsetFetchResponsePartitions
        )
        refused.append(refused_topics)
        allowed.append(_with_topics(group, topics))

    def complete(response: Any) -> Message:
        found = iter(zip(response.groups, allowed, refused, strict=True))
        response.groups = [
            each if each is not None else _completed(call, *next(found)) for each in results
        ]
        return response  # type: ignore[no-any-return]

    if not allowed:
        return complete(OffsetFetchResponse())
    return then(call.with_items("groups", allowed).proceed(), complete)


def _offset_fetch_of_group(call: Call) -> HandlerResult:
    code = group_refusal(call, AclOperation.DESCRIBE, call.request.group_id)
    if code:
        return _refused_group(call, code)
    topics, refused = _split(
        call, call.request.topics, OffsetFetchResponseTopic, OffsetFetchResponsePartition
    )
    request = _with_topics(call.request, topics)
    result = call.with_items("topics", topics) if topics is not None else call
    return then(result.proceed(), lambda response: _completed(call, response, request, refused))


def _refused_group(call: Call, code: ErrorCode) -> Message:
    if call.version >= FIRST_VERSION_WITH_GROUP_ERROR:
        return OffsetFetchResponse(error_code=code)
    return OffsetFetchResponse(
        topics=[
            _refused_topic(topic, code, OffsetFetchResponseTopic, OffsetFetchResponsePartition)
            for topic in call.request.topics or ()
        ]
    )


def _split(
    call: Call, topics: Iterable[Any] | None, topic_class: Any, partition_class: Any
) -> tuple[list[Any] | None, list[Any]]:
    """Return the topics that the client may describe, and the results of the others."""
    if topics is None:
        return None, []
    allowed, refused = [], []
    for topic in topics:
        code = topic_refusal(call, AclOperation.DESCRIBE, name_of(call, topic))
        if code:
            refused.append(_refused_topic(topic, code, topic_class, partition_class))
        else:
            allowed.append(topic)
    return allowed, refused


def _refused_topic(topic: Any, code: ErrorCode, topic_class: Any, partition_class: Any) -> Any:
    result = topic_class(
        name=topic.name,
        partitions=[
            partition_class(partition_index=number, committed_offset=-1, error_code=code)
            for number in topic.partition_indexes
        ],
    )
    if hasattr(result, "topic_id"):
        result.topic_id = topic.topic_id
    return result


def _with_topics(asked: Any, topics: list[Any] | None) -> Any:
    copied = shallow_copy(asked)
    copied.topics = topics
    return copied


def _completed(call: Call, found: Any, asked: Any, refused: list[Any]) -> Any:
    """Return what was found of a group, with the refused topics, without those to be hidden."""
    if found.error_code:
        return found
    if asked.topics is None:
        found.topics = [topic for topic in found.topics if _is_visible(call, topic)]
    found.topics.extend(refused)
    return found


def _is_visible(call: Call, topic: Any) -> bool:
    return call.access.may(
        AclOperation.DESCRIBE, ResourceType.TOPIC, topic.name, is_asked_for=False
    )
