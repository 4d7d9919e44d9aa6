"""JoinGroup, SyncGroup, Heartbeat, LeaveGroup: the members of a classic group."""

from __future__ import annotations

from typing import TYPE_CHECKING

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

from .ask_group import ask_group
from .context import RequestContext

if TYPE_CHECKING:
    from pyk.reference_broker.broker import Broker

REQUIRES_KNOWN_MEMBER_ID = 4
NULLABLE_PROTOCOL_NAME = 7
CAN_SKIP_ASSIGNMENT = 9
REQUIRES_PROTOCOL = 5
LEAVES_IN_BATCHES = 3


def join_group(broker: Broker, request: JoinGroupRequest, context: RequestContext) -> HandlerResult:
    """Handle JoinGroup; the response comes when the join phase ends."""
    deferred: Deferred[JoinGroupResponse] = Deferred()

    def for_version(response: JoinGroupResponse) -> JoinGroupResponse:
        if context.version < NULLABLE_PROTOCOL_NAME and response.protocol_name is None:
            response.protocol_name = ""
        return response

    try:
        runtime = broker.group(_not_empty(request.group_id))
    except ApiError as error:
        return for_version(join_error(error.code, request.member_id))
    runtime.tell(
        lambda shard, moment: shard.membership.join(
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


def sync_group(broker: Broker, request: SyncGroupRequest, context: RequestContext) -> HandlerResult:
    """Handle SyncGroup: the leader submits the assignments, every member receives its own."""
    deferred: Deferred[SyncGroupResponse] = Deferred()
    has_protocol = request.protocol_type is not None and request.protocol_name is not None
    if context.version >= REQUIRES_PROTOCOL and not has_protocol:
        return SyncGroupResponse(error_code=ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
    try:
        runtime = broker.group(_not_empty(request.group_id))
    except ApiError as error:
        return SyncGroupResponse(error_code=error.code)
    runtime.tell(lambda shard, moment: shard.membership.sync(request, deferred, moment))
    return deferred


def heartbeat(
    broker: Broker, request: HeartbeatRequest, context: RequestContext
) -> HeartbeatResponse:
    """Handle Heartbeat: prolong the session, and tell the member of a rebalance."""
    try:
        runtime = broker.group(_not_empty(request.group_id))
    except ApiError as error:
        # While groups are loaded no session expires, so the member may go on.
        is_loading = error.code is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
        return HeartbeatResponse(error_code=ErrorCode.NONE if is_loading else error.code)
    code = runtime.shard.membership.heartbeat(
        request.group_id,
        request.member_id,
        request.group_instance_id,
        request.generation_id,
        broker.moment(),
    )
    return HeartbeatResponse(error_code=code)


def leave_group(
    broker: Broker, request: LeaveGroupRequest, context: RequestContext
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
        broker,
        request.group_id,
        lambda shard, moment: shard.leave_group(request.group_id, leavers, moment),
    ).then(respond)


def _not_empty(group_id: str) -> str:
    if not group_id:
        raise ApiError(ErrorCode.INVALID_GROUP_ID)
    return group_id
