"""SyncGroup: hand out the assignment that the leader of a classic group computed."""

from __future__ import annotations

from pyk.protocol.schema import (
    ApiKey,
    Message,
    Struct,
    array,
    binary,
    int16,
    int32,
    request,
    response,
    string,
    struct,
)


@struct
class SyncGroupRequestAssignment(Struct):
    """The assignment that the leader gives to one member."""

    member_id: str = string()
    assignment: bytes = binary()


@request(ApiKey.SYNC_GROUP, versions="0-5", flexible="4+")
class SyncGroupRequest(Message):
    """Submit the assignments (the leader), or wait for an assignment (every other member)."""

    group_id: str = string()
    generation_id: int = int32()
    member_id: str = string()
    group_instance_id: str | None = string(versions="3+", nullable="3+", default=None)
    protocol_type: str | None = string(versions="5+", nullable="5+", default=None, ignorable=True)
    protocol_name: str | None = string(versions="5+", nullable="5+", default=None, ignorable=True)
    assignments: list[SyncGroupRequestAssignment] = array(SyncGroupRequestAssignment)
    """Filled only by the leader."""


@response(ApiKey.SYNC_GROUP, versions="0-5", flexible="4+")
class SyncGroupResponse(Message):
    """Give a member its assignment."""

    throttle_time_ms: int = int32(versions="1+", ignorable=True)
    error_code: int = int16()
    protocol_type: str | None = string(versions="5+", nullable="5+", default=None, ignorable=True)
    protocol_name: str | None = string(versions="5+", nullable="5+", default=None, ignorable=True)
    assignment: bytes = binary()
