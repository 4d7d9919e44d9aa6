"""DescribeConfigs."""

from __future__ import annotations

from typing import Protocol

from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
    DescribeConfigsResult,
    DescribeConfigsSynonym,
)
from pyk.reference_broker.broker_configs import BrokerConfigs
from pyk.reference_broker.broker_loggers import BrokerLoggers
from pyk.reference_broker.config import ConfigEntry
from pyk.reference_broker.controller.broker_config_checks import ALL_BROKERS
from pyk.reference_broker.controller.image import (
    BROKER_LOGGER_RESOURCE,
    BROKER_RESOURCE,
    CLIENT_METRICS_RESOURCE,
    GROUP_RESOURCE,
    TOPIC_RESOURCE,
    MetadataImage,
)
from pyk.reference_broker.controller.names import check_topic_name
from pyk.reference_broker.errors import ApiError

from .broker_loggers import describe_loggers
from .context import RequestContext


class ConfigServices(Protocol):
    """The services that DescribeConfigs uses."""

    @property
    def node_id(self) -> int: ...
    @property
    def image(self) -> MetadataImage: ...
    @property
    def configs(self) -> BrokerConfigs: ...
    @property
    def loggers(self) -> BrokerLoggers: ...


def describe_configs(
    services: ConfigServices, request: DescribeConfigsRequest, context: RequestContext
) -> DescribeConfigsResponse:
    """Describe the configuration of topics and brokers, with where each value comes from."""
    response = DescribeConfigsResponse()
    for resource in request.resources:
        result = DescribeConfigsResult(
            resource_type=resource.resource_type, resource_name=resource.resource_name
        )
        response.results.append(result)
        try:
            result.configs = _configs(services, resource, request)
        except ApiError as error:
            result.error_code, result.error_message = error.code, error.message or ""
    return response


def _configs(
    services: ConfigServices, resource: DescribeConfigsResource, request: DescribeConfigsRequest
) -> list[DescribeConfigsResourceResult]:
    keys = resource.configuration_keys
    if resource.resource_type == BROKER_LOGGER_RESOURCE:
        return describe_loggers(services, resource.resource_name, keys)
    return [
        _describe(entry, request)
        for entry in _entries(services, resource)
        if not keys or entry.name in keys
    ]


def _entries(services: ConfigServices, resource: DescribeConfigsResource) -> list[ConfigEntry]:
    name = resource.resource_name
    if resource.resource_type == TOPIC_RESOURCE:
        check_topic_name(name)
        if name not in services.image.topics:
            raise ApiError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        return services.configs.describe_topic(name)
    if resource.resource_type == BROKER_RESOURCE:
        if name and not name.isdigit():
            raise ApiError(
                ErrorCode.INVALID_REQUEST, f"Broker id must be an integer, but it is: {name}"
            )
        if name not in (ALL_BROKERS, str(services.node_id)):
            raise ApiError(
                ErrorCode.INVALID_REQUEST,
                f"Unexpected broker id, expected {services.node_id} or empty string, but received "
                f"{name}",
            )
        if name == ALL_BROKERS:
            return services.configs.describe_all_brokers()
        return services.configs.describe_broker()
    if resource.resource_type == GROUP_RESOURCE:
        if not name:
            raise ApiError(ErrorCode.INVALID_REQUEST, "Group name must not be empty")
        return services.configs.describe_group(name)
    if resource.resource_type == CLIENT_METRICS_RESOURCE:
        if not name:
            raise ApiError(
                ErrorCode.INVALID_REQUEST, "Client metrics subscription name must not be empty"
            )
        return services.configs.describe_client_metrics(name)
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
