"""DescribeConfigs: settings of topics, brokers and groups, with where each value comes from."""

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
class DescribeConfigsResource(Struct):
    """A resource whose settings are asked for."""

    resource_type: int = int8()
    """2 topic, 4 broker, 8 broker logger, 16 client metrics, 32 group."""
    resource_name: str = string()
    configuration_keys: list[str] | None = array(string, nullable="0+")
    """None for all settings."""


@request(ApiKey.DESCRIBE_CONFIGS, versions="0-4", flexible="4+")
class DescribeConfigsRequest(Message):
    """Ask for settings. Those of a broker must be asked of that broker."""

    resources: list[DescribeConfigsResource] = array(DescribeConfigsResource)
    include_synonyms: bool = boolean(versions="1+")
    include_documentation: bool = boolean(versions="3+")


@struct
class DescribeConfigsSynonym(Struct):
    """A place where the setting could come from, in the order in which they win."""

    name: str = string()
    value: str | None = string(nullable="0+")
    source: int = int8()


@struct
class DescribeConfigsResourceResult(Struct):
    """One setting."""

    name: str = string()
    value: str | None = string(nullable="0+")
    """None for a secret."""
    read_only: bool = boolean()
    is_default: bool = boolean(versions="0")
    config_source: int = int8(versions="1+", default=-1, ignorable=True)
    """1 topic, 2 broker, 3 all brokers, 4 broker's file, 5 default, 6 logger, 7 metrics client, 8
    group."""
    is_sensitive: bool = boolean()
    synonyms: list[DescribeConfigsSynonym] = array(
        DescribeConfigsSynonym, versions="1+", ignorable=True
    )
    config_type: int = int8(versions="3+", ignorable=True)
    """0 unknown, 1 boolean, 2 string, 3 int, 4 short, 5 long, 6 double, 7 list, 8 class, 9
    password."""
    documentation: str | None = string(versions="3+", nullable="0+", ignorable=True)


@struct
class DescribeConfigsResult(Struct):
    """The settings of one resource."""

    error_code: int = int16()
    error_message: str | None = string(nullable="0+")
    resource_type: int = int8()
    resource_name: str = string()
    configs: list[DescribeConfigsResourceResult] = array(DescribeConfigsResourceResult)


@response(ApiKey.DESCRIBE_CONFIGS, versions="0-4", flexible="4+")
class DescribeConfigsResponse(Message):
    """Give settings."""

    throttle_time_ms: int = int32()
    results: list[DescribeConfigsResult] = array(DescribeConfigsResult)
