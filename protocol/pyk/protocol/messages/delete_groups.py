"""DeleteGroups: delete empty groups with all their offsets."""

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


@request(ApiKey.DELETE_GROUPS, versions="0-3", flexible="2+")
class DeleteGroupsRequest(Message):
    """Delete groups that have no members."""

    groups_names: list[str] = array(string)


@struct
class DeletableGroupResult(Struct):
    """Whether one group was deleted."""

    group_id: str = string()
    error_code: int = int16()
    error_message: str | None = string(versions="3+", nullable="3+", default=None, ignorable=True)


@response(ApiKey.DELETE_GROUPS, versions="0-3", flexible="2+")
class DeleteGroupsResponse(Message):
    """Say which groups were deleted."""

    throttle_time_ms: int = int32()
    results: list[DeletableGroupResult] = array(DeletableGroupResult)
