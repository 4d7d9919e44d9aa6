"""CreateTopics, DeleteTopics, CreatePartitions: handed to the controller."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyk.protocol.api_keys import ApiKey
from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.create_partitions import CreatePartitionsRequest
from pyk.protocol.messages.create_topics import CreateTopicsRequest
from pyk.protocol.messages.delete_topics import DeleteTopicsRequest
from pyk.reference_broker.deferred import HandlerResult

from .ask_controller import ask_controller
from .context import RequestContext
from .error_responses import error_response

if TYPE_CHECKING:
    from pyk.reference_broker.broker import Broker

FIRST_VERSION_WITH_TOPIC_DELETION_DISABLED = 3


def create_topics(
    broker: Broker, request: CreateTopicsRequest, context: RequestContext
) -> HandlerResult:
    """Create topics."""
    return ask_controller(broker, request, lambda shard: shard.create_topics(request))


def create_partitions(
    broker: Broker, request: CreatePartitionsRequest, context: RequestContext
) -> HandlerResult:
    """Add partitions to topics."""
    return ask_controller(broker, request, lambda shard: shard.create_partitions(request))


def delete_topics(
    broker: Broker, request: DeleteTopicsRequest, context: RequestContext
) -> HandlerResult:
    """Delete topics and their logs."""
    if not broker.config.delete_topic_enable:
        is_known = context.version >= FIRST_VERSION_WITH_TOPIC_DELETION_DISABLED
        code = ErrorCode.TOPIC_DELETION_DISABLED if is_known else ErrorCode.INVALID_REQUEST
        return error_response(ApiKey.DELETE_TOPICS, request, code)
    return ask_controller(broker, request, lambda shard: shard.delete_topics(request))
