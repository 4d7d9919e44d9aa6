"""DescribeGroups: state and members of classic groups."""

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


@request(ApiKey.DESCRIBE_GROUPS, versions="0-6", flexible="5+")
class DescribeGroupsRequest(Message):
    """Ask the coordinator of these groups for their state and members."""

    groups: list[str] = array(string)
    include_authorized_operations: bool = boolean(versions="3+")


@struct
class DescribedGroupMember(Struct):
    """A member with its subscription and assignment."""

    member_id: str = string()
    group_instance_id: str | None = string(
        versions="4+", nullable="4+", default=None, ignorable=True
    )
    client_id: str = string()
    client_host: str = string()
    member_metadata: bytes = binary()
    """For consumers a ConsumerProtocolSubscription."""
    member_assignment: bytes = binary()
    """For consumers a ConsumerProtocolAssignment."""


@struct
class DescribedGroup(Struct):
    """A group with its members; one that does not exist is reported as ``Dead``."""

    error_code: int = int16()
    error_message: str | None = string(versions="6+", nullable="6+", default=None)
    group_id: str = string()
    group_state: str = string()
    protocol_type: str = string()
    protocol_data: str = string()
    """Name of the assignor that was chosen."""
    members: list[DescribedGroupMember] = array(DescribedGroupMember)
    authorized_operations: int = int32(versions="3+", default=-2147483648)
    """A bit per ACL operation; the lowest int32 if not asked for."""


@response(ApiKey.DESCRIBE_GROUPS, versions="0-6", flexible="5+")
class DescribeGroupsResponse(Message):
    """Describe groups."""

    throttle_time_ms: int = int32(versions="1+", ignorable=True)
    groups: list[DescribedGroup] = array(DescribedGroup)
