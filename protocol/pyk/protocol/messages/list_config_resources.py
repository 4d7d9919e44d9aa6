"""ListConfigResources: the names of all that has settings (KIP-1142)."""

from __future__ import annotations

from pyk.protocol.schema import (
    ApiKey,
    Message,
    Struct,
    array,
    int8,
    int16,
    int32,
    request,
    response,
    string,
    struct,
)


@request(ApiKey.LIST_CONFIG_RESOURCES, versions="0-1", flexible="0+")
class ListConfigResourcesRequest(Message):
    """Ask a broker for the resources whose settings DescribeConfigs could give.

    Version 0 lists client metrics only: it was ListClientMetricsResources (KIP-714).
    """

    resource_types: list[int] = array(int8, versions="1+")
    """2 topic, 4 broker, 8 broker logger, 16 client metrics, 32 group; empty means all."""


@struct
class ConfigResource(Struct):
    """A resource."""

    resource_name: str = string()
    resource_type: int = int8(versions="1+", default=16, ignorable=True)


@response(ApiKey.LIST_CONFIG_RESOURCES, versions="0-1", flexible="0+")
class ListConfigResourcesResponse(Message):
    """List resources."""

    throttle_time_ms: int = int32()
    error_code: int = int16()
    config_resources: list[ConfigResource] = array(ConfigResource)
