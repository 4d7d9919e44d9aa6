"""JoinGroup, SyncGroup, Heartbeat, LeaveGroup: the members of a classic group."""

from __future__ import annotations

from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from pyk.protocol.messages.join_group import JoinGroupRequest, JoinGroupResponse
from pyk.protocol.messages.leave_group import (
    LeaveGroupRequest,
    LeaveGroupResponse,
    MemberIdentity,
    MemberResponse,
)
from pyk.protocol.messages.sync_group import SyncGroupRequest, SyncGroupResponse
from pyk.reference_broker.coordinator.group.member import join_error
from pyk.reference_broker.coordinator.group.membership import Join
from pyk.reference_broker.deferred import Deferred, HandlerResult
from pyk.reference_broker.errors import ApiError

from .ask_group import GroupServices, ask_group, find_group
from .context import RequestContext

REQUIRES_KNOWN_MEMBER_ID = 4
NULLABLE_PROTOCOL_NAME = 7
CAN_SKIP_ASSIGNMENT = 9
REQUIRES_PROTOCOL = 5
LEAVES_IN_BATCHES = 3


def join_group(
    services: GroupServices, request: JoinGroupRequest, context: RequestContext
) -> HandlerResult:
    """Handle JoinGroup; the response comes when the join phase ends."""
    deferred: Deferred[JoinGroupResponse] = Deferred()

    def for_version(response: JoinGroupResponse) -> JoinGroupResponse:
        if context.version < NULLABLE_PROTOCOL_NAME and response.protocol_name is None:
            response.protocol_name = ""
        return response

    try:
        runtime = find_group(services, _not_empty(request.group_id))
    except ApiError as error:
        return for_version(join_error(error.code, request.member_id))
    runtime.tell(
        lambda shard, moment: shard.classic_protocol.join(
            Join(
                request=request,
                deferred=deferred,
                moment=moment,
                client_id=context.client_id,
                client_host=context.client_host,
                requires_known_member_id=context.version >= REQUIRES_KNOWN_MEMBER_ID,
                can_skip_assignment=context.version >= CAN_SKIP_ASSIGNMENT,
            )
        )
    )
    return deferred.then(for_version)


def sync_group(
    services: GroupServices, request: SyncGroupRequest, context: RequestContext
) -> HandlerResult:
    """Handle SyncGroup: the leader submits the assignments, every member receives its own."""
    deferred: Deferred[SyncGroupResponse] = Deferred()
    has_protocol = request.protocol_type is not None and request.protocol_name is not None
    if context.version >= REQUIRES_PROTOCOL and not has_protocol:
        return SyncGroupResponse(error_code=ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
    try:
        runtime = find_group(services, _not_empty(request.group_id))
    except ApiError as error:
        return SyncGroupResponse(error_code=error.code)
    runtime.tell(lambda shard, moment: shard.classic_protocol.sync(request, deferred, moment))
    return deferred


def heartbeat(
    services: GroupServices, request: HeartbeatRequest, context: RequestContext
) -> HandlerResult:
    """Handle Heartbeat: prolong the session, and tell the member of a rebalance."""
    if not request.group_id:
        return HeartbeatResponse(error_code=ErrorCode.INVALID_GROUP_ID)

    def respond(code: ErrorCode) -> HeartbeatResponse:
        # While groups are loaded no session expires, so the member may go on.
        is_loading = code is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
        return HeartbeatResponse(error_code=ErrorCode.NONE if is_loading else code)

    return ask_group(
        services,
        request.group_id,
        lambda shard, moment: shard.classic_protocol.heartbeat(request, moment),
    ).then(respond)


def leave_group(
    services: GroupServices, request: LeaveGroupRequest, context: RequestContext
) -> HandlerResult:
    """Leave a group, or remove others from it."""
    if not request.group_id:
        return LeaveGroupResponse(error_code=ErrorCode.INVALID_GROUP_ID)
    is_batch = context.version >= LEAVES_IN_BATCHES
    identities = request.members if is_batch else [MemberIdentity(member_id=request.member_id)]
    leavers = [(each.member_id, each.group_instance_id) for each in identities]

    def respond(results: list[ErrorCode] | ErrorCode) -> LeaveGroupResponse:
        if isinstance(results, ErrorCode):
            return LeaveGroupResponse(error_code=results)
        if not is_batch:
            return LeaveGroupResponse(error_code=results[0])
        return LeaveGroupResponse(
            members=[
                MemberResponse(
                    member_id=each.member_id,
                    group_instance_id=each.group_instance_id,
                    error_code=code,
                )
                for each, code in zip(identities, results, strict=True)
            ]
        )

    return ask_group(
        services,
        request.group_id,
        lambda shard, moment: shard.classic_protocol.leave(request.group_id, leavers, moment),
    ).then(respond)


def _not_empty(group_id: str) -> str:
    if not group_id:
        raise ApiError(ErrorCode.INVALID_GROUP_ID)
    return group_id
