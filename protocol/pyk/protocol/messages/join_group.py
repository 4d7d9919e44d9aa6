"""JoinGroup: enter a classic group, or come back for its next generation."""

from __future__ import annotations

from pyk.protocol.schema import (
    ApiKey,
    Message,
    Struct,
    array,
    binary,
    boolean,
    int16,
    int32,
    request,
    response,
    string,
    struct,
)


@struct
class JoinGroupRequestProtocol(Struct):
    """An assignor that the member can use, with what it wants the leader to know."""

    name: str = string()
    metadata: bytes = binary()


@request(ApiKey.JOIN_GROUP, versions="0-9", flexible="6+")
class JoinGroupRequest(Message):
    """Join a group and wait until all members of the next generation have done so."""

    group_id: str = string()
    session_timeout_ms: int = int32()
    rebalance_timeout_ms: int = int32(versions="1+", default=-1, ignorable=True)
    """How long the coordinator waits for the member to join again: its
    ``max.poll.interval.ms``."""
    member_id: str = string()
    """Empty at first; the coordinator then answers MEMBER_ID_REQUIRED with the id to use."""
    group_instance_id: str | None = string(versions="5+", nullable="5+", default=None)
    """Makes the member static (KIP-345): it may restart without a rebalance."""
    protocol_type: str = string()
    """``consumer`` for consumers."""
    protocols: list[JoinGroupRequestProtocol] = array(JoinGroupRequestProtocol)
    reason: str | None = string(versions="8+", nullable="8+", default=None, ignorable=True)
    """Why the member joins again, for the broker's log."""


@struct
class JoinGroupResponseMember(Struct):
    """A member as the leader sees it."""

    member_id: str = string()
    group_instance_id: str | None = string(
        versions="5+", nullable="5+", default=None, ignorable=True
    )
    metadata: bytes = binary()


@response(ApiKey.JOIN_GROUP, versions="0-9", flexible="6+")
class JoinGroupResponse(Message):
    """Tell a member its generation, and the leader who its members are."""

    throttle_time_ms: int = int32(versions="2+", ignorable=True)
    error_code: int = int16()
    generation_id: int = int32(default=-1)
    protocol_type: str | None = string(versions="7+", nullable="7+", default=None, ignorable=True)
    protocol_name: str | None = string(nullable="7+")
    leader: str = string()
    """Member id of the leader."""
    skip_assignment: bool = boolean(versions="9+")
    """The leader, a static member that came back, must not compute a new assignment."""
    member_id: str = string()
    members: list[JoinGroupResponseMember] = array(JoinGroupResponseMember)
    """Filled only for the leader."""
