"""ListConfigResources (KIP-1142): what has, or may have, a configuration of its own."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.list_config_resources import (
    ConfigResource,
    ListConfigResourcesRequest,
    ListConfigResourcesResponse,
)
from pyk.reference_broker.controller.image import (
    BROKER_LOGGER_RESOURCE,
    BROKER_RESOURCE,
    CLIENT_METRICS_RESOURCE,
    GROUP_RESOURCE,
    TOPIC_RESOURCE,
    MetadataImage,
)

from .context import RequestContext

_TYPES = (
    GROUP_RESOURCE,
    CLIENT_METRICS_RESOURCE,
    BROKER_LOGGER_RESOURCE,
    BROKER_RESOURCE,
    TOPIC_RESOURCE,
)


class ResourceServices(Protocol):
    """The services that ListConfigResources uses."""

    @property
    def image(self) -> MetadataImage: ...


def list_config_resources(
    services: ResourceServices, request: ListConfigResourcesRequest, context: RequestContext
) -> ListConfigResourcesResponse:
    """Return the resources of these types, of all types if none is given."""
    # Version 0 was ListClientMetricsResources.
    types = request.resource_types if context.version > 0 else [CLIENT_METRICS_RESOURCE]
    if not set(types) <= set(_TYPES):
        return ListConfigResourcesResponse(error_code=ErrorCode.UNSUPPORTED_VERSION)
    return ListConfigResourcesResponse(
        config_resources=[
            ConfigResource(resource_name=name, resource_type=kind)
            for kind in dict.fromkeys(types or _TYPES)
            for name in _names(services.image, kind)
        ]
    )


def _names(image: MetadataImage, kind: int) -> Iterable[str]:
    if kind == TOPIC_RESOURCE:
        return image.topics
    if kind in (BROKER_RESOURCE, BROKER_LOGGER_RESOURCE):
        return map(str, image.brokers)
    # Of these there are those that something was set for.
    return [name for type_, name in image.configs if type_ == kind]
