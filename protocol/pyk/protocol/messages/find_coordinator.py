"""FindCoordinator: the coordinator of a group, a transactional id or a share group."""

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


@request(ApiKey.FIND_COORDINATOR, versions="0-6", flexible="3+")
class FindCoordinatorRequest(Message):
    """Ask any broker for the coordinators of these keys."""

    key: str = string(versions="0-3")
    key_type: int = int8(versions="1+")
    """0 group, 1 transactional id, 2 share group."""
    coordinator_keys: list[str] = array(string, versions="4+")


@struct
class Coordinator(Struct):
    """The coordinator of one key."""

    key: str = string()
    node_id: int = int32()
    host: str = string()
    port: int = int32()
    error_code: int = int16()
    error_message: str | None = string(nullable="4+", ignorable=True)


@response(ApiKey.FIND_COORDINATOR, versions="0-6", flexible="3+")
class FindCoordinatorResponse(Message):
    """Name the coordinators, from version 4 on in ``coordinators``."""

    throttle_time_ms: int = int32(versions="1+", ignorable=True)
    error_code: int = int16(versions="0-3")
    error_message: str | None = string(versions="1-3", nullable="1-3", ignorable=True)
    node_id: int = int32(versions="0-3")
    host: str = string(versions="0-3")
    port: int = int32(versions="0-3")
    coordinators: list[Coordinator] = array(Coordinator, versions="4+")
