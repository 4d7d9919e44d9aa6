"""Heartbeat: a member of a classic group says that it is alive."""

from __future__ import annotations

from pyk.protocol.schema import ApiKey, Message, int16, int32, request, response, string


@request(ApiKey.HEARTBEAT, versions="0-4", flexible="4+")
class HeartbeatRequest(Message):
    """Tell the group coordinator that a member is alive and still in this generation."""

    group_id: str = string()
    generation_id: int = int32()
    member_id: str = string()
    group_instance_id: str | None = string(versions="3+", nullable="3+", default=None)


@response(ApiKey.HEARTBEAT, versions="0-4", flexible="4+")
class HeartbeatResponse(Message):
    """Return whether the member may stay; REBALANCE_IN_PROGRESS asks it to join again."""

    throttle_time_ms: int = int32(versions="1+", ignorable=True)
    error_code: int = int16()
