"""ListGroups: the groups that a broker coordinates."""

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


@request(ApiKey.LIST_GROUPS, versions="0-5", flexible="3+")
class ListGroupsRequest(Message):
    """Ask one broker for the groups it coordinates; all brokers must be asked to know them all."""

    states_filter: list[str] = array(string, versions="4+")
    """Empty means all states."""
    types_filter: list[str] = array(string, versions="5+")
    """Empty means all types."""


@struct
class ListedGroup(Struct):
    """A group, by name, type and state."""

    group_id: str = string()
    protocol_type: str = string()
    group_state: str = string(versions="4+", ignorable=True)
    group_type: str = string(versions="5+", ignorable=True)
    """``classic``, ``consumer``, ``share`` or ``streams``."""


@response(ApiKey.LIST_GROUPS, versions="0-5", flexible="3+")
class ListGroupsResponse(Message):
    """List groups."""

    throttle_time_ms: int = int32(versions="1+", ignorable=True)
    error_code: int = int16()
    groups: list[ListedGroup] = array(ListedGroup)
