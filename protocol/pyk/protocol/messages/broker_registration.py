"""BrokerRegistration: a broker joins the cluster when it starts (KIP-631)."""

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
    int64,
    request,
    response,
    string,
    struct,
    uint16,
    uuid,
)


@struct
class Listener(Struct):
    """A listener of the broker."""

    name: str = string()
    host: str = string()
    port: int = uint16()
    security_protocol: int = int16()
    """0 PLAINTEXT, 1 SSL, 2 SASL_PLAINTEXT, 3 SASL_SSL."""


@struct
class Feature(Struct):
    """The levels of a feature that the broker's software could run."""

    name: str = string()
    min_supported_version: int = int16()
    max_supported_version: int = int16()


@request(ApiKey.BROKER_REGISTRATION, versions="0-4", flexible="0+")
class BrokerRegistrationRequest(Message):
    """Ask the active controller for a place in the cluster; the broker is fenced at first."""

    broker_id: int = int32()
    cluster_id: str = string()
    incarnation_id: UUID = uuid()
    """New with every start of the broker process: another live process with the same id is told
    apart."""
    listeners: list[Listener] = array(Listener)
    features: list[Feature] = array(Feature)
    rack: str | None = string(nullable="0+")
    is_migrating_zk_broker: bool = boolean(versions="1+")
    """The broker still runs on ZooKeeper (KIP-866)."""
    log_dirs: list[UUID] = array(uuid, versions="2+", ignorable=True)
    previous_broker_epoch: int = int64(versions="3+", default=-1, ignorable=True)
    """The epoch in which the broker last stopped in good order, -1 if it did not: then its replicas
    may lack records and are no longer eligible to lead (KIP-966)."""


@response(ApiKey.BROKER_REGISTRATION, versions="0-4", flexible="0+")
class BrokerRegistrationResponse(Message):
    """Give the broker its epoch."""

    throttle_time_ms: int = int32()
    error_code: int = int16()
    broker_epoch: int = int64(default=-1)
    """Goes into whatever the broker asks of the controller from now on."""
