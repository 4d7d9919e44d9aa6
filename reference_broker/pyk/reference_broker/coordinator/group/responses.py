"""Responses to the members of a classic group."""

from __future__ import annotations

from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.join_group import JoinGroupResponse, JoinGroupResponseMember
from pyk.protocol.messages.sync_group import SyncGroupResponse
from pyk.reference_broker.coordinator.decision import NOTHING, Decision
from pyk.reference_broker.deferred import Deferred

from .classic_group import ClassicGroup
from .member import Member, join_error

DeferredJoin = Deferred[JoinGroupResponse]
DeferredSync = Deferred[SyncGroupResponse]


def refuse_join(deferred: DeferredJoin, member_id: str, error: ErrorCode) -> Decision:
    deferred.complete(join_error(error, member_id))
    return NOTHING


def refuse_sync(deferred: DeferredSync, error: ErrorCode) -> Decision:
    deferred.complete(SyncGroupResponse(error_code=error))
    return NOTHING


def joined(group: ClassicGroup, member: Member, *, tells_members: bool) -> JoinGroupResponse:
    return JoinGroupResponse(
        generation_id=group.generation_id,
        protocol_type=group.protocol_type,
        protocol_name=group.protocol_name,
        leader=group.leader_id or "",
        member_id=member.member_id,
        members=_members(group) if tells_members else [],
    )


def _members(group: ClassicGroup) -> list[JoinGroupResponseMember]:
    """Return the description of all members for the leader."""
    assert group.protocol_name is not None
    return [
        JoinGroupResponseMember(
            member_id=member.member_id,
            group_instance_id=member.group_instance_id,
            metadata=member.metadata(group.protocol_name),
        )
        for member in group.members.values()
    ]


def synced(group: ClassicGroup, member: Member) -> SyncGroupResponse:
    return SyncGroupResponse(
        protocol_type=group.protocol_type,
        protocol_name=group.protocol_name,
        assignment=member.assignment,
    )
