"""DescribeConfigs, AlterConfigs, IncrementalAlterConfigs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.alter_configs import AlterConfigsRequest
from pyk.protocol.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
    DescribeConfigsResult,
    DescribeConfigsSynonym,
)
from pyk.protocol.messages.incremental_alter_configs import IncrementalAlterConfigsRequest
from pyk.reference_broker.config import ConfigEntry
from pyk.reference_broker.controller.configs import ALL_BROKERS
from pyk.reference_broker.controller.image import BROKER_RESOURCE, TOPIC_RESOURCE
from pyk.reference_broker.controller.names import check_topic_name
from pyk.reference_broker.deferred import HandlerResult
from pyk.reference_broker.errors import ApiError

from .ask_controller import ask_controller
from .context import RequestContext

if TYPE_CHECKING:
    from pyk.reference_broker.broker import Broker


def describe_configs(
    broker: Broker, request: DescribeConfigsRequest, context: RequestContext
) -> DescribeConfigsResponse:
    """Describe the configuration of topics and brokers, with where each value comes from."""
    response = DescribeConfigsResponse()
    for resource in request.resources:
        result = DescribeConfigsResult(
            resource_type=resource.resource_type, resource_name=resource.resource_name
        )
        response.results.append(result)
        try:
            entries = _entries(broker, resource)
        except ApiError as error:
            result.error_code, result.error_message = error.code, error.message or ""
            continue
        keys = resource.configuration_keys
        result.configs = [
            _describe(entry, request) for entry in entries if not keys or entry.name in keys
        ]
    return response


def _entries(broker: Broker, resource: DescribeConfigsResource) -> list[ConfigEntry]:
    name = resource.resource_name
    if resource.resource_type == TOPIC_RESOURCE:
        check_topic_name(name)
        if name not in broker.image.topics:
            raise ApiError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        return broker.describe_topic_config(name)
    if resource.resource_type == BROKER_RESOURCE:
        if name and not name.isdigit():
            raise ApiError(
                ErrorCode.INVALID_REQUEST, f"Broker id must be an integer, but it is: {name}"
            )
        if name not in (ALL_BROKERS, str(broker.node_id)):
            raise ApiError(
                ErrorCode.INVALID_REQUEST,
                f"Unexpected broker id, expected {broker.node_id} or empty string, but received "
                f"{name}",
            )
        return broker.describe_broker_config(only_cluster_wide=name == ALL_BROKERS)
    raise ApiError(
        ErrorCode.INVALID_REQUEST, f"Unsupported resource type: {resource.resource_type}"
    )


def _describe(entry: ConfigEntry, request: DescribeConfigsRequest) -> DescribeConfigsResourceResult:
    synonyms = entry.synonyms if request.include_synonyms else ()
    return DescribeConfigsResourceResult(
        name=entry.name,
        value=entry.value,
        read_only=entry.is_read_only,
        config_source=entry.source,
        is_sensitive=entry.definition.is_sensitive,
        synonyms=[
            DescribeConfigsSynonym(name=each.name, value=each.value, source=each.source)
            for each in synonyms
        ],
        config_type=entry.definition.type,
        documentation=entry.definition.doc if request.include_documentation else None,
    )


def alter_configs(
    broker: Broker, request: AlterConfigsRequest, context: RequestContext
) -> HandlerResult:
    """Replace all that is set for some resources."""
    return ask_controller(broker, request, lambda shard: shard.replace_configs(request))


def incremental_alter_configs(
    broker: Broker, request: IncrementalAlterConfigsRequest, context: RequestContext
) -> HandlerResult:
    """Change single values and leave the others alone (KIP-339)."""
    return ask_controller(broker, request, lambda shard: shard.alter_configs(request))
