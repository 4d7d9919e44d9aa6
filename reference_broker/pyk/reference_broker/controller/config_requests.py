"""AlterConfigs and IncrementalAlterConfigs: each resource on its own."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar

from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages import alter_configs, incremental_alter_configs
from pyk.protocol.messages.alter_configs import AlterConfigsRequest, AlterConfigsResponse
from pyk.protocol.messages.incremental_alter_configs import (
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)
from pyk.protocol.schema import Message
from pyk.reference_broker.errors import ApiError

from .configs import ConfigOperation, Configs, Resource

Records = list[Message]


def replace_configs(
    configs: Configs, request: AlterConfigsRequest
) -> tuple[AlterConfigsResponse, Records]:
    """Return the response to AlterConfigs and the records of what may change."""
    results, records = _each(
        request.resources, lambda resource, each: configs.replace(resource, each.configs)
    )
    responses = [
        alter_configs.AlterConfigsResourceResponse(
            error_code=code, error_message=message, resource_type=kind, resource_name=name
        )
        for code, message, kind, name in results
    ]
    return AlterConfigsResponse(responses=responses), [] if request.validate_only else records


def alter_incrementally(
    configs: Configs, request: IncrementalAlterConfigsRequest
) -> tuple[IncrementalAlterConfigsResponse, Records]:
    """Return the response to IncrementalAlterConfigs and the records of what may change."""
    results, records = _each(
        request.resources,
        lambda resource, each: configs.alter(
            resource,
            [(config_operation(config.config_operation), config) for config in each.configs],
        ),
    )
    responses = [
        incremental_alter_configs.AlterConfigsResourceResponse(
            error_code=code, error_message=message, resource_type=kind, resource_name=name
        )
        for code, message, kind, name in results
    ]
    response = IncrementalAlterConfigsResponse(responses=responses)
    return response, [] if request.validate_only else records


class _NamesResource(Protocol):
    resource_type: int
    resource_name: str


E = TypeVar("E", bound=_NamesResource)
Result = tuple[ErrorCode, str | None, int, str]


def _each(
    resources: Sequence[E], decide: Callable[[Resource, E], Records]
) -> tuple[list[Result], Records]:
    results: list[Result] = []
    records: Records = []
    times = Counter((each.resource_type, each.resource_name) for each in resources)
    for each in resources:
        resource = Resource(each.resource_type, each.resource_name)
        code, message = ErrorCode.NONE, None
        try:
            if times[resource.type, resource.name] > 1:
                raise ApiError(ErrorCode.INVALID_REQUEST, "Each resource must appear at most once.")
            records += decide(resource, each)
        except ApiError as error:
            code, message = error.code, error.message
        results.append((code, message, resource.type, resource.name))
    return results, records


def config_operation(number: int) -> ConfigOperation:
    """Return the operation of that number; raise :class:`ApiError` if there is none."""
    try:
        return ConfigOperation(number)
    except ValueError:
        raise ApiError(
            ErrorCode.INVALID_REQUEST, f"Unknown operation type {number} for a configuration."
        ) from None
