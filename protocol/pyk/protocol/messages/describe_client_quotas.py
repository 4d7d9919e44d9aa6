"""DescribeClientQuotas: limits on what users, clients and addresses may use (KIP-546)."""

from __future__ import annotations

from pyk.protocol.schema import (
    ApiKey,
    Message,
    Struct,
    array,
    boolean,
    float64,
    int8,
    int16,
    int32,
    request,
    response,
    string,
    struct,
)


@struct
class ComponentData(Struct):
    """A condition that an entity must meet to be described."""

    entity_type: str = string()
    """``user``, ``client-id`` or ``ip``."""
    match_type: int = int8()
    """0 the name in ``match``, 1 the default, 2 any name."""
    match: str | None = string(nullable="0+")
    """None unless a name is to be matched."""


@request(ApiKey.DESCRIBE_CLIENT_QUOTAS, versions="0-1", flexible="1+")
class DescribeClientQuotasRequest(Message):
    """Ask any broker for the quotas of entities that match all components."""

    components: list[ComponentData] = array(ComponentData)
    strict: bool = boolean()
    """Leave out entities that have a type which no component names."""


@struct
class EntityData(Struct):
    """One part of the subject of a limit: a user and a client id may be combined."""

    entity_type: str = string()
    """``user``, ``client-id`` or ``ip``."""
    entity_name: str | None = string(nullable="0+")
    """None is the default, for those without a quota of their own."""


@struct
class ValueData(Struct):
    """A limit, such as ``producer_byte_rate`` in bytes per second."""

    key: str = string()
    value: float = float64()


@struct
class EntryData(Struct):
    """An entity with its limits."""

    entity: list[EntityData] = array(EntityData)
    values: list[ValueData] = array(ValueData)


@response(ApiKey.DESCRIBE_CLIENT_QUOTAS, versions="0-1", flexible="1+")
class DescribeClientQuotasResponse(Message):
    """Give quotas."""

    throttle_time_ms: int = int32()
    error_code: int = int16()
    error_message: str | None = string(nullable="0+")
    entries: list[EntryData] | None = array(EntryData, nullable="0+")
    """None after an error."""
