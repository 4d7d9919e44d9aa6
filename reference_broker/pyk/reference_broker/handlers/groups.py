"""DescribeGroups, ListGroups, DeleteGroups."""

from __future__ import annotations

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
from pyk.protocol.messages.list_groups import ListedGroup, ListGroupsRequest, ListGroupsResponse
from pyk.reference_broker.controller.names import GROUP_METADATA_TOPIC
from pyk.reference_broker.coordinator.decision import NOTHING, Decision
from pyk.reference_broker.coordinator.group.classic_group import ClassicGroup, GroupState
from pyk.reference_broker.coordinator.group.description import describe_group
from pyk.reference_broker.coordinator.group.description import list_groups as listed
from pyk.reference_broker.coordinator.group.shard import GroupShard
from pyk.reference_broker.coordinator.group.share.share_group import ShareGroup
from pyk.reference_broker.deferred import Deferred, HandlerResult, gather
from pyk.runtime.timers import Moment

from .ask_group import GroupServices, ask_group, look_at_group
from .ask_shard import ask_all_shards
from .context import RequestContext
from .share_group_deletion import DeleteServices, delete_share_group

GROUP_OPERATIONS = 0b1101_0100_1000
"""Bits of ACL operations: without an authorizer every client may do everything."""
FIRST_VERSION_WITH_NOT_FOUND = 6


def describe_groups(
    services: GroupServices, request: DescribeGroupsRequest, context: RequestContext
) -> HandlerResult:
    """Describe groups and their members; a group that does not exist is dead."""

    def respond(groups: list[DescribedGroup]) -> DescribeGroupsResponse:
        if request.include_authorized_operations:
            for group in groups:
                if not group.error_code:
                    group.authorized_operations = GROUP_OPERATIONS
        return DescribeGroupsResponse(groups=groups)

    described = [_describe(services, group_id, context) for group_id in request.groups]
    return gather(described).then(respond)


def _describe(
    services: GroupServices, group_id: str, context: RequestContext
) -> Deferred[DescribedGroup]:
    def view(shard: GroupShard) -> DescribedGroup:
        group = shard.groups.get(group_id)
        if isinstance(group, ClassicGroup):
            return describe_group(group)
        problem = "not found" if group is None else "is not a classic group"
        dead = DescribedGroup(group_id=group_id, group_state=GroupState.DEAD.value)
        if context.version >= FIRST_VERSION_WITH_NOT_FOUND:
            dead.error_code = ErrorCode.GROUP_ID_NOT_FOUND
            dead.error_message = f"Group {group_id} {problem}."
        return dead

    def or_error(described: DescribedGroup | ErrorCode) -> DescribedGroup:
        if isinstance(described, ErrorCode):
            return DescribedGroup(group_id=group_id, error_code=described)
        return described

    return look_at_group(services, group_id, view).then(or_error)


def list_groups(
    services: GroupServices, request: ListGroupsRequest, context: RequestContext
) -> HandlerResult:
    """List the groups that this broker coordinates, or respond with why some cannot be read."""

    def view(shard: GroupShard, _: Moment) -> list[ListedGroup]:
        return listed(shard.groups.values(), request.states_filter, request.types_filter)

    def respond(found: list[ListedGroup] | ErrorCode) -> ListGroupsResponse:
        if isinstance(found, ErrorCode):
            return ListGroupsResponse(error_code=found)
        return ListGroupsResponse(groups=found)

    return ask_all_shards(services, GROUP_METADATA_TOPIC, view).then(respond)


def delete_groups(
    services: DeleteServices, request: DeleteGroupsRequest, context: RequestContext
) -> HandlerResult:
    """Delete groups that have no members."""
    results = [_delete(services, group_id) for group_id in dict.fromkeys(request.groups_names)]
    return gather(results).then(lambda found: DeleteGroupsResponse(results=found))


def _delete(services: DeleteServices, group_id: str) -> Deferred[DeletableGroupResult]:
    def delete(shard: GroupShard, _: Moment) -> tuple[dict[str, ErrorCode] | None, Decision]:
        if isinstance(shard.groups.get(group_id), ShareGroup):
            return None, NOTHING
        return shard.delete_groups([group_id])

    def go_on(codes: dict[str, ErrorCode] | ErrorCode | None) -> None:
        if codes is None:
            delete_share_group(services, group_id).when_done(respond, result)
        else:
            respond(codes if isinstance(codes, ErrorCode) else codes[group_id])

    def respond(code: ErrorCode) -> None:
        result.complete(DeletableGroupResult(group_id=group_id, error_code=code))

    result: Deferred[DeletableGroupResult] = Deferred()
    ask_group(services, group_id, delete).when_done(go_on, result)
    return result
