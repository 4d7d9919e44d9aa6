"""AlterConfigs: replace all dynamic settings of a resource at once."""

from __future__ import annotations

from pyk.protocol.schema import (
    ApiKey,
    Message,
    Struct,
    array,
    boolean,
    int8,
    int16,
    int32,
    request,
    response,
    string,
    struct,
)


@struct
class AlterableConfig(Struct):
    """A setting that the resource is to have."""

    name: str = string()
    value: str | None = string(nullable="0+", secret=True)


@struct
class AlterConfigsResource(Struct):
    """A resource with all the dynamic settings it is to have."""

    resource_type: int = int8()
    """2 topic, 4 broker, 8 broker logger, 16 client metrics, 32 group."""
    resource_name: str = string()
    configs: list[AlterableConfig] = array(AlterableConfig)


@request(ApiKey.ALTER_CONFIGS, versions="0-2", flexible="2+")
class AlterConfigsRequest(Message):
    """Replace all dynamic settings: those not named go back to their default."""

    resources: list[AlterConfigsResource] = array(AlterConfigsResource)
    validate_only: bool = boolean()


@struct
class AlterConfigsResourceResponse(Struct):
    """Whether the settings of one resource were changed."""

    error_code: int = int16()
    error_message: str | None = string(nullable="0+")
    resource_type: int = int8()
    resource_name: str = string()


@response(ApiKey.ALTER_CONFIGS, versions="0-2", flexible="2+")
class AlterConfigsResponse(Message):
    """Say which resources were changed."""

    throttle_time_ms: int = int32()
    responses: list[AlterConfigsResourceResponse] = array(AlterConfigsResourceResponse)
