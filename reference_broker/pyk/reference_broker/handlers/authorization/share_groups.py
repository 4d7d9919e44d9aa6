"""The offsets of share groups: what a client does not get to see or to change."""

from __future__ import annotations

from typing import Any

from pyk.protocol.acls import AclOperation, ResourceType
from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.alter_share_group_offsets import (
    AlterShareGroupOffsetsResponsePartition,
    AlterShareGroupOffsetsResponseTopic,
)
from pyk.protocol.messages.delete_share_group_offsets import DeleteShareGroupOffsetsResponseTopic
from pyk.protocol.messages.describe_share_group_offsets import (
    DescribeShareGroupOffsetsResponse,
    DescribeShareGroupOffsetsResponseGroup,
    DescribeShareGroupOffsetsResponsePartition,
    DescribeShareGroupOffsetsResponseTopic,
)
from pyk.protocol.schema import Message
from pyk.reference_broker.deferred import HandlerResult
from pyk.reference_broker.handlers.partitioned import shallow_copy

from .call import MESSAGES, Call, proceed_with, then
from .conditions import group_refusal
from .topics import topic_refusal

_MESSAGE = MESSAGES[ErrorCode.TOPIC_AUTHORIZATION_FAILED]


def describe_offsets(call: Call) -> HandlerResult:
    """Refuse groups, and topics, that the client may not describe."""
    answers: list[DescribeShareGroupOffsetsResponseGroup | None] = []
    refused: list[list[DescribeShareGroupOffsetsResponseTopic]] = []
    allowed: list[Any] = []
    for group in call.request.groups:
        code = group_refusal(call, AclOperation.DESCRIBE, group.group_id)
        if code:
            answers.append(
                DescribeShareGroupOffsetsResponseGroup(
                    group_id=group.group_id, error_code=code, error_message=MESSAGES[code]
                )
            )
            continue
        answers.append(None)
        known, hidden = _split_described(call, group)
        allowed.append(known)
        refused.append(hidden)

    def complete(response: Any) -> Message:
        found = iter(zip(response.groups, allowed, refused, strict=True))
        response.groups = [
            each if each is not None else _completed(call, *next(found)) for each in answers
        ]
        return response  # type: ignore[no-any-return]

    if not allowed:
        return complete(DescribeShareGroupOffsetsResponse())
    return then(call.with_items("groups", allowed).proceed(), complete)


def _split_described(
    call: Call, group: Any
) -> tuple[Any, list[DescribeShareGroupOffsetsResponseTopic]]:
    """Return the group with the topics that the client may describe, and the other results."""
    if group.topics is None:
        return group, []
    known, hidden = shallow_copy(group), []
    known.topics = []
    for topic in group.topics:
        code = topic_refusal(call, AclOperation.DESCRIBE, topic.topic_name)
        if code:
            hidden.append(_hidden(topic, code))
        else:
            known.topics.append(topic)
    return known, hidden


def _hidden(topic: Any, code: ErrorCode) -> DescribeShareGroupOffsetsResponseTopic:
    return DescribeShareGroupOffsetsResponseTopic(
        topic_name=topic.topic_name,
        partitions=[
            DescribeShareGroupOffsetsResponsePartition(
                partition_index=number, error_code=code, error_message=_MESSAGE
            )
            for number in topic.partitions
        ],
    )


def _completed(call: Call, found: Any, asked: Any, hidden: list[Any]) -> Any:
    if found.error_code:
        return found
    if asked.topics is None:
        found.topics = [
            topic
            for topic in found.topics
            if call.access.may(
                AclOperation.DESCRIBE, ResourceType.TOPIC, topic.topic_name, is_asked_for=False
            )
        ]
    found.topics.extend(hidden)
    return found


def alter_offsets(call: Call) -> HandlerResult:
    """Refuse topics that the client may not read."""
    allowed, refused = [], []
    for topic in call.request.topics:
        code = topic_refusal(call, AclOperation.READ, topic.topic_name)
        if not code:
            allowed.append(topic)
            continue
        refused.append(
            AlterShareGroupOffsetsResponseTopic(
                topic_name=topic.topic_name,
                partitions=[
                    AlterShareGroupOffsetsResponsePartition(
                        partition_index=each.partition_index,
                        error_code=code,
                        error_message=_MESSAGE,
                    )
                    for each in topic.partitions
                ],
            )
        )
    return proceed_with(call, "topics", "responses", allowed, refused, also_without_items=True)


def delete_offsets(call: Call) -> HandlerResult:
    """Refuse topics that the client may not read."""
    allowed, refused = [], []
    for topic in call.request.topics:
        code = topic_refusal(call, AclOperation.READ, topic.topic_name)
        if code:
            refused.append(
                DeleteShareGroupOffsetsResponseTopic(
                    topic_name=topic.topic_name, error_code=code, error_message=_MESSAGE
                )
            )
        else:
            allowed.append(topic)
    return proceed_with(call, "topics", "responses", allowed, refused, also_without_items=True)
