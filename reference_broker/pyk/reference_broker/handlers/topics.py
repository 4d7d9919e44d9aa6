"""DeleteTopics: refused where that is disabled, otherwise handed to the controller."""

from __future__ import annotations

from typing import Protocol

from pyk.protocol.api_keys import ApiKey
from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.delete_topics import DeleteTopicsRequest
from pyk.reference_broker.broker_configs import BrokerConfigs
from pyk.reference_broker.controller_channel import ControllerChannel
from pyk.reference_broker.deferred import HandlerResult

from .context import RequestContext
from .error_responses import error_response
from .forwarding import mutation_charge

FIRST_VERSION_WITH_TOPIC_DELETION_DISABLED = 3


class TopicServices(Protocol):
    """The services that DeleteTopics uses."""

    @property
    def configs(self) -> BrokerConfigs: ...
    @property
    def controller(self) -> ControllerChannel: ...


def delete_topics(
    services: TopicServices, request: DeleteTopicsRequest, context: RequestContext
) -> HandlerResult:
    """Delete topics and their logs."""
    if not services.configs.broker.delete_topic_enable:
        is_known = context.version >= FIRST_VERSION_WITH_TOPIC_DELETION_DISABLED
        code = ErrorCode.TOPIC_DELETION_DISABLED if is_known else ErrorCode.INVALID_REQUEST
        return error_response(ApiKey.DELETE_TOPICS, request, code)
    return services.controller.send(
        request, mutation_charge(ApiKey.DELETE_TOPICS, context, context.version)
    )
