"""What members of a classic group are answered."""

from __future__ import annotations

from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.join_group import JoinGroupResponse
from pyk.protocol.messages.sync_group import SyncGroupResponse
from pyk.reference_broker.coordinator.outcome import NOTHING, Outcome
from pyk.reference_broker.deferred import Deferred

from .classic_group import ClassicGroup
from .member import Member, join_error

JoinReply = Deferred[JoinGroupResponse]
SyncReply = Deferred[SyncGroupResponse]


def refuse_join(reply: JoinReply, member_id: str, error: ErrorCode) -> Outcome:
    reply.complete(join_error(error, member_id))
    return NOTHING


def refuse_sync(reply: SyncReply, error: ErrorCode) -> Outcome:
    reply.complete(SyncGroupResponse(error_code=error))
    return NOTHING


def joined(group: ClassicGroup, member: Member, *, tells_members: bool) -> JoinGroupResponse:
    return JoinGroupResponse(
        generation_id=group.generation_id,
        protocol_type=group.protocol_type,
        protocol_name=group.protocol_name,
        leader=group.leader_id or "",
        member_id=member.member_id,
        members=group.join_members() if tells_members else [],
    )


def synced(group: ClassicGroup, member: Member) -> SyncGroupResponse:
    return SyncGroupResponse(
        protocol_type=group.protocol_type,
        protocol_name=group.protocol_name,
        assignment=member.assignment,
    )


def assign_with_error(group: ClassicGroup, error: ErrorCode) -> None:
    for member in list(group.members.values()):
        member.assignment = b""
        member.complete_sync(SyncGroupResponse(error_code=error))


def group_write_error(error: ErrorCode) -> ErrorCode:
    """Return what a member is told when its group's record could not be written."""
    if error in (
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.NOT_ENOUGH_REPLICAS,
        ErrorCode.REQUEST_TIMED_OUT,
    ):
        return ErrorCode.COORDINATOR_NOT_AVAILABLE
    if error in (ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.KAFKA_STORAGE_ERROR):
        return ErrorCode.NOT_COORDINATOR
    if error in (
        ErrorCode.MESSAGE_TOO_LARGE,
        ErrorCode.RECORD_LIST_TOO_LARGE,
        ErrorCode.INVALID_FETCH_SIZE,
    ):
        return ErrorCode.UNKNOWN_SERVER_ERROR
    return error
