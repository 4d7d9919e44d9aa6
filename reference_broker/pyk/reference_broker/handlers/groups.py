"""DescribeGroups, ListGroups, DeleteGroups."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.delete_groups import (
    DeletableGroupResult,
    DeleteGroupsRequest,
    DeleteGroupsResponse,
)
from pyk.protocol.messages.describe_groups import (
    DescribedGroup,
    DescribeGroupsRequest,
    DescribeGroupsResponse,
)
from pyk.protocol.messages.list_groups import ListGroupsRequest, ListGroupsResponse
from pyk.reference_broker.coordinator.group.classic_group import GroupState
from pyk.reference_broker.coordinator.group.description import describe_group
from pyk.reference_broker.coordinator.group.description import list_groups as listed
from pyk.reference_broker.deferred import Deferred, HandlerResult, gather
from pyk.reference_broker.errors import ApiError

from .ask_group import ask_group
from .context import RequestContext

if TYPE_CHECKING:
    from pyk.reference_broker.broker import Broker

GROUP_OPERATIONS = 0b1101_0100_1000
"""Bits of ACL operations: without an authorizer everybody may do everything."""
FIRST_VERSION_WITH_NOT_FOUND = 6


def describe_groups(
    broker: Broker, request: DescribeGroupsRequest, context: RequestContext
) -> DescribeGroupsResponse:
    """Describe groups and their members; a group that does not exist is dead."""
    groups = [_describe(broker, group_id, context) for group_id in request.groups]
    if request.include_authorized_operations:
        for group in groups:
            if not group.error_code:
                group.authorized_operations = GROUP_OPERATIONS
    return DescribeGroupsResponse(groups=groups)


def _describe(broker: Broker, group_id: str, context: RequestContext) -> DescribedGroup:
    try:
        group = broker.group(group_id).shard.groups.get(group_id)
    except ApiError as error:
        return DescribedGroup(group_id=group_id, error_code=error.code)
    if group is not None:
        return describe_group(group)
    dead = DescribedGroup(group_id=group_id, group_state=GroupState.DEAD.value)
    if context.version >= FIRST_VERSION_WITH_NOT_FOUND:
        dead.error_code = ErrorCode.GROUP_ID_NOT_FOUND
        dead.error_message = f"Group {group_id} not found."
    return dead


def list_groups(
    broker: Broker, request: ListGroupsRequest, context: RequestContext
) -> ListGroupsResponse:
    """List the groups that this broker coordinates."""
    groups = listed(broker.groups.groups(), request.states_filter, request.types_filter)
    return ListGroupsResponse(groups=groups)


def delete_groups(
    broker: Broker, request: DeleteGroupsRequest, context: RequestContext
) -> HandlerResult:
    """Delete groups that have no members."""
    results = [_delete(broker, group_id) for group_id in dict.fromkeys(request.groups_names)]
    return gather(results).then(lambda found: DeleteGroupsResponse(results=found))


def _delete(broker: Broker, group_id: str) -> Deferred[DeletableGroupResult]:
    def result(codes: dict[str, ErrorCode] | ErrorCode) -> DeletableGroupResult:
        code = codes if isinstance(codes, ErrorCode) else codes[group_id]
        return DeletableGroupResult(group_id=group_id, error_code=code)

    return ask_group(broker, group_id, lambda shard, _: shard.delete_groups([group_id])).then(
        result
    )
