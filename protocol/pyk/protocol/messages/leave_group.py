"""LeaveGroup: remove members from a classic group without waiting for their session to end."""

from __future__ import annotations

from pyk.protocol.schema import (
    ApiKey,
    Message,
    Struct,
    array,
    int16,
    int32,
    request,
    response,
    string,
    struct,
)


@struct
class MemberIdentity(Struct):
    """A member to remove."""

    member_id: str = string()
    """Empty to remove a static member by its instance id alone."""
    group_instance_id: str | None = string(nullable="3+", default=None)
    reason: str | None = string(versions="5+", nullable="5+", default=None, ignorable=True)


@request(ApiKey.LEAVE_GROUP, versions="0-5", flexible="4+")
class LeaveGroupRequest(Message):
    """Leave a group, or remove static members from it."""

    group_id: str = string()
    member_id: str = string(versions="0-2")
    """The only member that versions 0-2 can remove."""
    members: list[MemberIdentity] = array(MemberIdentity, versions="3+")


@struct
class MemberResponse(Struct):
    """Whether one member was removed."""

    member_id: str = string()
    group_instance_id: str | None = string(nullable="3+")
    error_code: int = int16()


@response(ApiKey.LEAVE_GROUP, versions="0-5", flexible="4+")
class LeaveGroupResponse(Message):
    """Say which members were removed."""

    throttle_time_ms: int = int32(versions="1+", ignorable=True)
    error_code: int = int16()
    members: list[MemberResponse] = array(MemberResponse, versions="3+")
