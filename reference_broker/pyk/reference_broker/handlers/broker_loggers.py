"""The levels of a broker's loggers (KIP-412): the one thing to configure that is not metadata."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Protocol

from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.describe_configs import DescribeConfigsResourceResult
from pyk.protocol.messages.incremental_alter_configs import (
    AlterConfigsResource,
    AlterConfigsResourceResponse,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)
from pyk.reference_broker.broker_loggers import BrokerLoggers
from pyk.reference_broker.config import ConfigSource
from pyk.reference_broker.controller.config_requests import config_operation
from pyk.reference_broker.controller.image import BROKER_LOGGER_RESOURCE
from pyk.reference_broker.controller_channel import ControllerChannel
from pyk.reference_broker.deferred import HandlerResult
from pyk.reference_broker.errors import ApiError

from .context import RequestContext
from .forwarding import forward


class LoggerServices(Protocol):
    """The services that levels of loggers use."""

    @property
    def node_id(self) -> int: ...
    @property
    def loggers(self) -> BrokerLoggers: ...


class AlteringServices(LoggerServices, Protocol):
    """The services that IncrementalAlterConfigs uses."""

    @property
    def controller(self) -> ControllerChannel: ...


def describe_loggers(
    services: LoggerServices, node: str, keys: Sequence[str] | None
) -> list[DescribeConfigsResourceResult]:
    """Return the levels of these loggers of a node, of all if none is named."""
    if not node:
        raise ApiError(ErrorCode.INVALID_REQUEST, "Broker id must not be empty")
    if not _is_number(node):
        raise ApiError(
            ErrorCode.INVALID_REQUEST, f"Broker id must be an integer, but it is: {node}"
        )
    if int(node) != services.node_id:
        raise ApiError(
            ErrorCode.INVALID_REQUEST,
            f"Unexpected broker id, expected {services.node_id} but received {node}",
        )
    return [
        DescribeConfigsResourceResult(
            name=name, value=level, config_source=ConfigSource.DYNAMIC_BROKER_LOGGER_CONFIG
        )
        for name, level in services.loggers.levels().items()
        if not keys or name in keys
    ]


def incremental_alter_configs(
    services: AlteringServices, request: IncrementalAlterConfigsRequest, context: RequestContext
) -> HandlerResult:
    """Change levels of loggers here, and let the controller change everything else."""
    times = Counter(each.resource_name for each in request.resources if _is_logger(each))
    if not times:
        return forward(services, request, context)
    answers = [
        _alter(services, each, request.validate_only, times[each.resource_name])
        for each in request.resources
        if _is_logger(each)
    ]
    others = [each for each in request.resources if not _is_logger(each)]
    if not others:
        return IncrementalAlterConfigsResponse(responses=answers)
    own = iter(answers)

    def in_order(response: IncrementalAlterConfigsResponse) -> IncrementalAlterConfigsResponse:
        rest: Iterator[AlterConfigsResourceResponse] = iter(response.responses)
        response.responses = [next(own if _is_logger(each) else rest) for each in request.resources]
        return response

    sent = IncrementalAlterConfigsRequest(resources=others, validate_only=request.validate_only)
    return services.controller.send(sent).then(in_order)


def _is_logger(resource: AlterConfigsResource) -> bool:
    return resource.resource_type == BROKER_LOGGER_RESOURCE


def _alter(
    services: LoggerServices, resource: AlterConfigsResource, is_only_checked: bool, times: int
) -> AlterConfigsResourceResponse:
    answer = AlterConfigsResourceResponse(
        resource_type=resource.resource_type,
        resource_name=resource.resource_name,
        error_message=None,
    )
    try:
        if times > 1:
            raise ApiError(ErrorCode.INVALID_REQUEST, "Each resource must appear at most once.")
        _check_node(services.node_id, resource.resource_name)
        operations = [(config_operation(each.config_operation), each) for each in resource.configs]
        services.loggers.check(operations)
    except ApiError as error:
        answer.error_code, answer.error_message = error.code, error.message
    else:
        if not is_only_checked:
            services.loggers.alter(operations)
    return answer


def _check_node(node_id: int, name: str) -> None:
    if not _is_number(name):
        raise ApiError(ErrorCode.INVALID_REQUEST, f"Node id must be an integer, but it is: {name}")
    if int(name) != node_id:
        raise ApiError(
            ErrorCode.INVALID_REQUEST,
            f"Unexpected node id. Expected {node_id}, but received {name}",
        )


def _is_number(name: str) -> bool:
    return name.isascii() and name.isdigit()
