"""AlterClientQuotas: set or lift limits on users, clients and addresses (KIP-546)."""

from __future__ import annotations

from pyk.protocol.schema import (
    ApiKey,
    Message,
    Struct,
    array,
    boolean,
    float64,
    int16,
    int32,
    request,
    response,
    string,
    struct,
)


@struct
class EntityData(Struct):
    """One part of the subject of a limit: a user and a client id may be combined."""

    entity_type: str = string()
    """``user``, ``client-id`` or ``ip``."""
    entity_name: str | None = string(nullable="0+")
    """None is the default, for those without a quota of their own."""


@struct
class OpData(Struct):
    """A limit to set, such as ``producer_byte_rate``, or to lift."""

    key: str = string()
    value: float = float64()
    """Ignored with ``remove``."""
    remove: bool = boolean()


@struct
class RequestEntryData(Struct):
    """An entity with the changes to its limits."""

    entity: list[EntityData] = array(EntityData)
    ops: list[OpData] = array(OpData)


@request(ApiKey.ALTER_CLIENT_QUOTAS, versions="0-1", flexible="1+")
class AlterClientQuotasRequest(Message):
    """Ask the controller, directly or through a broker, to change limits."""

    entries: list[RequestEntryData] = array(RequestEntryData)
    validate_only: bool = boolean()
    """Only validate the request."""


@struct
class ResponseEntryData(Struct):
    """Whether the limits of one entity were changed: all of them or none."""

    error_code: int = int16()
    error_message: str | None = string(nullable="0+")
    entity: list[EntityData] = array(EntityData)


@response(ApiKey.ALTER_CLIENT_QUOTAS, versions="0-1", flexible="1+")
class AlterClientQuotasResponse(Message):
    """Say whose limits were changed."""

    throttle_time_ms: int = int32()
    entries: list[ResponseEntryData] = array(ResponseEntryData)
