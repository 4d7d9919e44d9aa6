"""BrokerHeartbeat: a broker keeps its registration with the controller (KIP-631)."""

from __future__ import annotations

from uuid import UUID

from pyk.protocol.schema import (
    ApiKey,
    Message,
    array,
    boolean,
    int16,
    int32,
    int64,
    request,
    response,
    uuid,
)


@request(ApiKey.BROKER_HEARTBEAT, versions="0-2", flexible="0+")
class BrokerHeartbeatRequest(Message):
    """Tell the active controller that a broker is alive, and which state it wants.

    Sent every ``broker.heartbeat.interval.ms``; without it for ``broker.session.timeout.ms`` the
    controller fences the broker.
    """

    broker_id: int = int32()
    broker_epoch: int = int64(default=-1)
    """As the registration was answered."""
    current_metadata_offset: int = int64()
    """How far the broker has applied the metadata log."""
    want_fence: bool = boolean()
    """True until the broker is ready to serve."""
    want_shut_down: bool = boolean()
    """Asks for leaders elsewhere, so that the broker may stop."""
    offline_log_dirs: list[UUID] = array(uuid, versions="1+", tag=0)
    """Directories that have failed since the broker started (KIP-858)."""
    cordoned_log_dirs: list[UUID] | None = array(
        uuid, versions="2+", nullable="2+", tag=1, default=None
    )
    """Directories that take no new partitions (KIP-1066)."""


@response(ApiKey.BROKER_HEARTBEAT, versions="0-2", flexible="0+")
class BrokerHeartbeatResponse(Message):
    """Say which state the broker is in."""

    throttle_time_ms: int = int32()
    error_code: int = int16()
    is_caught_up: bool = boolean()
    """The broker is near enough to the end of the metadata log."""
    is_fenced: bool = boolean(default=True)
    """A fenced broker leads nothing and clients do not see it."""
    should_shut_down: bool = boolean()
    """The broker leads nothing any more and may stop."""
