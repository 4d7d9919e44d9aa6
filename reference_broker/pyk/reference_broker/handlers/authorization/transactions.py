"""Transactions: partitions that a producer may not write to, and ids that a client may not see."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from pyk.protocol.acls import AclOperation, ResourceType
from pyk.protocol.errors import ErrorCode
from pyk.protocol.schema import Message
from pyk.protocol.topics import TopicPartition
from pyk.reference_broker.deferred import HandlerResult

from .call import Call, by_item, then
from .conditions import FIRST_VERSION_OF_ADD_BY_BROKERS, transactional_id_refusal
from .topics import topic_is_visible, topic_refusal

REFUSED = ErrorCode.TOPIC_AUTHORIZATION_FAILED


def add_partitions(call: Call) -> HandlerResult:
    """Refuse all partitions if the producer may not write to one of them: none is added then."""
    if call.version >= FIRST_VERSION_OF_ADD_BY_BROKERS:
        return call.proceed()
    topics = call.request.v3_and_below_topics
    codes = {
        topic.name: topic_refusal(call, AclOperation.WRITE, topic.name)
        for topic in topics
        if topic.name not in call.services.internal_topics
    }
    if not any(codes.values()):
        return call.proceed()

    def code(topic: str, number: int) -> ErrorCode:
        refusal = codes.get(topic, REFUSED)
        if refusal:
            return refusal
        is_known = call.services.image.partition(TopicPartition(topic, number)) is not None
        missing = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        return ErrorCode.OPERATION_NOT_ATTEMPTED if is_known else missing

    return _partition_results(topics, code)


def _partition_results(topics: Iterable[Any], code: Callable[[str, int], ErrorCode]) -> Message:
    from pyk.protocol.messages.add_partitions_to_txn import (
        AddPartitionsToTxnPartitionResult,
        AddPartitionsToTxnResponse,
        AddPartitionsToTxnTopicResult,
    )

    return AddPartitionsToTxnResponse(
        results_by_topic_v3_and_below=[
            AddPartitionsToTxnTopicResult(
                name=topic.name,
                results_by_partition=[
                    AddPartitionsToTxnPartitionResult(
                        partition_index=number, partition_error_code=code(topic.name, number)
                    )
                    for number in topic.partitions
                ],
            )
            for topic in topics
        ]
    )


_DESCRIBED = by_item(
    "transactional_ids",
    "transaction_states",
    lambda call, each: transactional_id_refusal(call, AclOperation.DESCRIBE, each),
)


def describe_transactions(call: Call) -> HandlerResult:
    """Refuse ids that the client may not describe, and leave out such topics of the others."""

    def complete(response: Any) -> Message:
        for state in response.transaction_states:
            state.topics = [topic for topic in state.topics if topic_is_visible(call, topic.topic)]
        return response  # type: ignore[no-any-return]

    return then(_DESCRIBED(call), complete)


def list_transactions(call: Call) -> HandlerResult:
    """Leave out the ids that the client may not describe."""

    def complete(response: Any) -> Message:
        response.transaction_states = [
            state
            for state in response.transaction_states
            if call.access.may(
                AclOperation.DESCRIBE,
                ResourceType.TRANSACTIONAL_ID,
                state.transactional_id,
                is_asked_for=False,
            )
        ]
        return response  # type: ignore[no-any-return]

    return then(call.proceed(), complete)
