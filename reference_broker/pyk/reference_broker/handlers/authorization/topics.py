"""Topics: what is refused of requests that name them, and what of the answers is hidden."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

from pyk.protocol.acls import AclOperation, ResourceType
from pyk.protocol.errors import ErrorCode
from pyk.protocol.schema import Message
from pyk.reference_broker.deferred import HandlerResult
from pyk.reference_broker.handlers.partitioned import SHAPES, topic_name

from .call import Call, by_item, proceed_with, then

TOPIC = ResourceType.TOPIC
NOT_TOLD = -1


def topic_refusal(call: Call, operation: AclOperation, name: str | None) -> ErrorCode:
    """Return TOPIC_AUTHORIZATION_FAILED unless the client may do this to the topic.

    A topic that is named by an unknown id is left to the handler.
    """
    if name is None or call.access.may(operation, TOPIC, name):
        return ErrorCode.NONE
    return ErrorCode.TOPIC_AUTHORIZATION_FAILED


def name_of(call: Call, topic: Any) -> str | None:
    """Return the name of a topic that may be named by its id, None if the id is unknown."""
    topic_id = getattr(topic, "topic_id", None)
    if topic_id is None or not topic_id.int:
        name: str = topic.name
        return name
    found = call.services.image.topics_by_id.get(topic_id)
    return None if found is None else found.name


def partitions(
    operation: AclOperation, *, also_without_items: bool = False
) -> Callable[[Call], HandlerResult]:
    """Return what refuses the partitions of topics that the client may not do this to."""

    def refusal(call: Call, topic: Any) -> ErrorCode:
        if hasattr(topic, "topic_id"):
            return topic_refusal(call, operation, name_of(call, topic))
        return topic_refusal(call, operation, topic_name(call.api_key, topic))

    def handle(call: Call) -> HandlerResult:
        shape = SHAPES[call.api_key]
        return by_item(
            shape.request.topics,
            shape.response.topics,
            refusal,
            also_without_items=also_without_items,
        )(call)

    return handle


_EPOCHS = partitions(AclOperation.DESCRIBE)


def leader_epochs(call: Call) -> HandlerResult:
    """Let brokers see the epochs of all topics, clients those that they may describe."""
    if call.access.may_on_cluster(AclOperation.CLUSTER_ACTION, is_asked_for=False):
        return call.proceed()
    return _EPOCHS(call)


_CREATED = by_item(
    "topics",
    "topics",
    lambda call, topic: topic_refusal(call, AclOperation.CREATE, topic.name),
    unique=lambda topic: topic.name,
)


def create_topics(call: Call) -> HandlerResult:
    """Refuse topics that the client may not create; hide configurations it may not describe."""
    creates_all = call.access.may_on_cluster(AclOperation.CREATE, is_asked_for=False)

    def complete(response: Any) -> Message:
        for topic in response.topics:
            if topic.error_code == ErrorCode.TOPIC_AUTHORIZATION_FAILED:
                topic.error_message = "Authorization failed."
            elif not topic.error_code and not _sees_configs(call, topic.name):
                topic.topic_config_error_code = ErrorCode.TOPIC_AUTHORIZATION_FAILED
                topic.num_partitions = topic.replication_factor = NOT_TOLD
                topic.configs = []
        return response  # type: ignore[no-any-return]

    return then(call.proceed() if creates_all else _CREATED(call), complete)


def _sees_configs(call: Call, name: str) -> bool:
    return call.access.may(AclOperation.DESCRIBE_CONFIGS, TOPIC, name, is_asked_for=False)


_GROWN = by_item(
    "topics",
    "results",
    lambda call, topic: topic_refusal(call, AclOperation.ALTER, topic.name),
    unique=lambda topic: topic.name,
)


def create_partitions(call: Call) -> HandlerResult:
    """Refuse topics that the client may not alter."""

    def complete(response: Any) -> Message:
        for result in response.results:
            if result.error_code == ErrorCode.TOPIC_AUTHORIZATION_FAILED:
                result.error_message = None  # as in Kafka
        return response  # type: ignore[no-any-return]

    return then(_GROWN(call), complete)


def delete_topics(call: Call) -> HandlerResult:
    """Refuse topics that the client may not delete; a name it may not describe stays hidden."""
    from pyk.protocol.messages.delete_topics import DeletableTopicResult, DeleteTopicState

    is_disabled = not call.services.configs.broker.delete_topic_enable
    if is_disabled or call.access.may_on_cluster(AclOperation.DELETE, is_asked_for=False):
        return call.proceed()
    asked = "topics" if call.request.topics else "topic_names"
    allowed, refused = [], []
    items = getattr(call.request, asked)
    states = [DeleteTopicState(name=each) if isinstance(each, str) else each for each in items]
    times = Counter((state.name, state.topic_id) for state in states)
    for item, state in zip(items, states, strict=True):
        is_repeated = times[state.name, state.topic_id] > 1
        if is_repeated or _may_delete(call, state):
            allowed.append(item)
            continue
        known = name_of(call, state)
        is_told = state.name is not None or topic_is_visible(call, known)
        result = DeletableTopicResult(
            name=known if is_told else None,
            topic_id=state.topic_id,
            error_code=ErrorCode.TOPIC_AUTHORIZATION_FAILED,
            error_message="Topic authorization failed.",
        )
        refused.append(result)
    return proceed_with(call, asked, "responses", allowed, refused)


def _may_delete(call: Call, state: Any) -> bool:
    """Return whether a deletion is up to the handler; it refuses what does not exist."""
    has_both_or_none = (state.name is None) == (not state.topic_id.int)
    if has_both_or_none:
        return True
    name = name_of(call, state)
    if name is None or call.access.may(AclOperation.DELETE, TOPIC, name):
        return True
    is_missing = name not in call.services.image.topics
    return is_missing and call.access.may(AclOperation.DESCRIBE, TOPIC, name)


def topic_is_visible(call: Call, name: str | None) -> bool:
    """Return whether the client may know of a topic that it has not asked for by its name."""
    return name is not None and call.access.may(
        AclOperation.DESCRIBE, TOPIC, name, is_asked_for=False
    )


def _producers_refusal(call: Call, topic: Any) -> ErrorCode:
    from pyk.reference_broker.controller.names import check_topic_name
    from pyk.reference_broker.errors import ApiError

    try:
        check_topic_name(topic.name)
    except ApiError:
        return ErrorCode.NONE  # the handler says what is wrong with the name
    return topic_refusal(call, AclOperation.READ, topic.name)


describe_producers = by_item("topics", "topics", _producers_refusal)
"""Refuse topics that the client may not read."""
