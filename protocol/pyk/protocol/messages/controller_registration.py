"""ControllerRegistration: a controller tells the active one of itself (KIP-919)."""

from __future__ import annotations

from uuid import UUID

from pyk.protocol.schema import (
    ApiKey,
    Message,
    Struct,
    array,
    boolean,
    int16,
    int32,
    request,
    response,
    string,
    struct,
    uint16,
    uuid,
)


@struct
class Listener(Struct):
    """A listener of the controller."""

    name: str = string()
    host: str = string()
    port: int = uint16()
    security_protocol: int = int16()
    """0 PLAINTEXT, 1 SSL, 2 SASL_PLAINTEXT, 3 SASL_SSL."""


@struct
class Feature(Struct):
    """The levels of a feature that the controller's software could run."""

    name: str = string()
    min_supported_version: int = int16()
    max_supported_version: int = int16()


@request(ApiKey.CONTROLLER_REGISTRATION, versions="0", flexible="0+")
class ControllerRegistrationRequest(Message):
    """Make a controller's listeners and features known to the active controller.

    Sent after every start, so that clients of controllers find it and features are finalized only
    at levels that all controllers have.
    """

    controller_id: int = int32()
    incarnation_id: UUID = uuid()
    """New with every start of the controller process."""
    zk_migration_ready: bool = boolean()
    """The controller is configured to migrate from ZooKeeper (KIP-866)."""
    listeners: list[Listener] = array(Listener)
    features: list[Feature] = array(Feature)


@response(ApiKey.CONTROLLER_REGISTRATION, versions="0", flexible="0+")
class ControllerRegistrationResponse(Message):
    """Return whether the controller was registered."""

    throttle_time_ms: int = int32()
    error_code: int = int16()
    error_message: str | None = string(nullable="0+")
