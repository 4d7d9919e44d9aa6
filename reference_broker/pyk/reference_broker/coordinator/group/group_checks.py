"""Checks whether a group allows an operation in its present state."""

from __future__ import annotations

from pyk.protocol.errors import ErrorCode
from pyk.reference_broker.errors import ApiError

from .classic_group import ClassicGroup, GroupState
from .groups import Group, GroupWithOffsets
from .member import Protocols
from .protocol_vote import has_protocol_in_common


def supports(group: ClassicGroup, protocol_type: str, protocols: Protocols) -> bool:
    """Return whether a member with these protocols can be in the group."""
    if not group.members:
        return bool(protocol_type and protocols)
    return group.protocol_type == protocol_type and has_protocol_in_common(
        group.members.values(), protocols
    )


def check_offset_commit(
    group: ClassicGroup, member_id: str, group_instance_id: str | None, generation_id: int
) -> None:
    """Raise unless this member, or an administrator of an empty group, may commit now."""
    if generation_id < 0 and group.state is GroupState.EMPTY:
        return
    if generation_id < 0 and not member_id and group_instance_id is None:
        raise ApiError(ErrorCode.UNKNOWN_MEMBER_ID)
    check_transactional_commit(group, member_id, group_instance_id, generation_id)
    if group.state is GroupState.COMPLETING_REBALANCE:
        raise ApiError(ErrorCode.REBALANCE_IN_PROGRESS)


def check_transactional_commit(
    group: ClassicGroup, member_id: str, group_instance_id: str | None, generation_id: int
) -> None:
    """Raise if this member may not commit in a transaction (KIP-447).

    A producer that names no member is not checked: before KIP-447 its transactional id fenced it.
    The state of the group does not matter, as in Kafka.
    """
    if generation_id < 0 and group.state is GroupState.EMPTY:
        return
    if generation_id >= 0 or member_id or group_instance_id is not None:
        group.check_member(member_id, group_instance_id)
        if generation_id != group.generation_id:
            raise ApiError(ErrorCode.ILLEGAL_GENERATION)


def check_offset_delete(group: GroupWithOffsets) -> None:
    """Raise unless offsets may be deleted.

    Those of a group of consumers or of streams may at any time, those of others only while the
    group is empty.
    """
    if not isinstance(group, ClassicGroup):
        return
    if group.state is not GroupState.EMPTY and not group.uses_consumer_protocol:
        raise ApiError(ErrorCode.NON_EMPTY_GROUP)


def check_delete(group: Group) -> None:
    """Raise unless the group may be deleted."""
    is_empty = (
        group.state is GroupState.EMPTY if isinstance(group, ClassicGroup) else group.is_empty
    )
    if not is_empty:
        raise ApiError(ErrorCode.NON_EMPTY_GROUP)
