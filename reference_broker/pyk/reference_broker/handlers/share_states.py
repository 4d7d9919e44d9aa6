"""Initialize-, Read-, Write-, DeleteShareGroupState and ReadShareGroupStateSummary (KIP-932).

One request may be about many share partitions. Each belongs to a shard of its own, and is handled
by itself.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, cast

from pyk.protocol.api_keys import ApiKey
from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.delete_share_group_state import DeleteShareGroupStateRequest
from pyk.protocol.messages.initialize_share_group_state import InitializeShareGroupStateRequest
from pyk.protocol.messages.read_share_group_state import ReadShareGroupStateRequest
from pyk.protocol.messages.read_share_group_state_summary import (
    ReadShareGroupStateSummaryRequest,
)
from pyk.protocol.messages.write_share_group_state import WriteShareGroupStateRequest
from pyk.protocol.registry import response_class
from pyk.protocol.schema import Message
from pyk.reference_broker.controller.names import SHARE_GROUP_STATE_TOPIC
from pyk.reference_broker.coordinator.decision import NOTHING, Decision
from pyk.reference_broker.coordinator.share.shard import ShareStateShard
from pyk.reference_broker.coordinator.share.share_partition import SharePartitionKey
from pyk.reference_broker.deferred import Deferred, HandlerResult, gather
from pyk.reference_broker.errors import ApiError
from pyk.runtime import slotted
from pyk.runtime.timers import Moment

from .ask_shard import ShardServices, ask_shard
from .context import RequestContext
from .partitioned import element_class

Event = Callable[..., tuple[Any, Decision]]
"""A method of the shard for one share partition."""

_MESSAGES = {
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS: "The coordinator is loading and hence can't process "
    "requests.",
    ErrorCode.COORDINATOR_NOT_AVAILABLE: "The coordinator is not available.",
    ErrorCode.FENCED_LEADER_EPOCH: "The leader epoch in the request is older than the epoch on the "
    "broker.",
    ErrorCode.FENCED_STATE_EPOCH: "The share coordinator rejected the request because the "
    "share-group state epoch did not match.",
    ErrorCode.NOT_COORDINATOR: "This is not the correct coordinator.",
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: "This server does not host this topic-partition.",
}


def initialize_share_group_state(
    services: ShardServices, request: InitializeShareGroupStateRequest, context: RequestContext
) -> HandlerResult:
    """Begin the state of share partitions."""
    return _handle(services, request, ShareStateShard.initialize, "initialize share group state")


def read_share_group_state(
    services: ShardServices, request: ReadShareGroupStateRequest, context: RequestContext
) -> HandlerResult:
    """Return the state of share partitions to the leaders of their partitions."""
    return _handle(services, request, ShareStateShard.read, "read share group state")


def write_share_group_state(
    services: ShardServices, request: WriteShareGroupStateRequest, context: RequestContext
) -> HandlerResult:
    """Keep what has changed in share partitions."""
    return _handle(services, request, ShareStateShard.write, "write share group state")


def delete_share_group_state(
    services: ShardServices, request: DeleteShareGroupStateRequest, context: RequestContext
) -> HandlerResult:
    """Forget share partitions."""
    return _handle(services, request, ShareStateShard.delete, "delete share group state")


def read_share_group_state_summary(
    services: ShardServices, request: ReadShareGroupStateSummaryRequest, context: RequestContext
) -> HandlerResult:
    """Return where groups are in partitions."""
    return _handle(services, request, ShareStateShard.summarize, "read share group state summary")


def _handle(services: ShardServices, request: Any, event: Event, operation: str) -> HandlerResult:
    response: Any = response_class(ApiKey(request.api_key))()
    if not request.group_id or not all(topic.partitions for topic in request.topics):
        return cast(Message, response)  # as in Kafka: there is no place for an error

    def respond(results: list[Any]) -> Message:
        response.results = results
        return cast(Message, response)

    asked = _Asked(services, request.group_id, event, operation)
    new_result = element_class(response, "results")
    return gather([asked.about_topic(topic, new_result) for topic in request.topics]).then(respond)


@slotted.frozen
class _Asked:
    """What a request does to each of its share partitions."""

    services: ShardServices
    group_id: str
    event: Event
    operation: str

    def about_topic(self, topic: Any, new_result: Callable[..., Any]) -> Deferred[Any]:
        result = new_result(topic_id=topic.topic_id)
        new_partition = element_class(result, "partitions")

        def complete(partitions: list[Any]) -> Any:
            result.partitions = partitions
            return result

        return gather(
            [
                self._about_partition(
                    SharePartitionKey(self.group_id, topic.topic_id, asked.partition),
                    asked,
                    partial(new_partition, partition=asked.partition),
                )
                for asked in topic.partitions
            ]
        ).then(complete)

    def _about_partition(
        self, key: SharePartitionKey, asked: Any, refuse: Callable[..., Any]
    ) -> Deferred[Any]:
        def decide(shard: ShareStateShard, moment: Moment) -> tuple[Any, Decision]:
            try:
                return self.event(shard, key, asked, moment)
            except ApiError as error:
                message = error.message or _MESSAGES.get(error.code)
                return refuse(error_code=error.code, error_message=message), NOTHING

        def or_error(answer: Any) -> Any:
            if not isinstance(answer, ErrorCode):
                return answer
            why = _MESSAGES.get(answer, answer.name)
            return refuse(error_code=answer, error_message=f"Unable to {self.operation}: {why}")

        return ask_shard(self.services, SHARE_GROUP_STATE_TOPIC, str(key), decide).then(or_error)
