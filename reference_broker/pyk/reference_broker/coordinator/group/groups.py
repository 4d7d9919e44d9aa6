"""The groups of one shard by id; a group is of one type at a time."""

from __future__ import annotations

from collections.abc import Mapping

from pyk.protocol.errors import ErrorCode
from pyk.reference_broker.coordinator.records import CoordinatorRecord
from pyk.reference_broker.errors import ApiError

from .classic_group import ClassicGroup, GroupState
from .consumer.consumer_group import ConsumerGroup
from .consumer.records import consumer_group_tombstones
from .records import group_tombstone
from .share.records import share_group_tombstones
from .share.share_group import ShareGroup
from .streams.records import streams_group_tombstones
from .streams.streams_group import StreamsGroup

GroupWithOffsets = ClassicGroup | ConsumerGroup | StreamsGroup
Group = GroupWithOffsets | ShareGroup
Groups = Mapping[str, Group]


def existing_group(groups: Groups, group_id: str) -> Group:
    """Return a group; raise if there is none of this id."""
    group = groups.get(group_id)
    if group is None:
        raise ApiError(ErrorCode.GROUP_ID_NOT_FOUND, f"Group {group_id} not found.")
    return group


def classic_group(groups: Groups, group_id: str) -> ClassicGroup | None:
    """Return a classic group, None if there is none, or one of another type."""
    group = groups.get(group_id)
    return group if isinstance(group, ClassicGroup) else None


def group_with_offsets(groups: Groups, group_id: str) -> GroupWithOffsets | None:
    """Return a group that commits offsets, None if there is none; raise if it is a share group."""
    group = groups.get(group_id)
    if isinstance(group, ShareGroup):
        raise ApiError(ErrorCode.GROUP_ID_NOT_FOUND, f"Group {group_id} is not a consumer group.")
    return group


def existing_group_with_offsets(groups: Groups, group_id: str) -> GroupWithOffsets:
    """Return a group that commits offsets; raise if there is none, or if it is a share group."""
    existing_group(groups, group_id)
    group = group_with_offsets(groups, group_id)
    assert group is not None
    return group


def is_unused(group: Group) -> bool:
    """Return whether a group may give its name to one of another type.

    It has no members then, and none that is about to join. A share group stays what it is: its
    state at share coordinators would be left behind.
    """
    if isinstance(group, ShareGroup):
        return False
    if isinstance(group, ConsumerGroup | StreamsGroup):
        return group.is_empty
    return group.is_in(GroupState.EMPTY) and not group.pending_join


def tombstones_of(group: Group) -> list[CoordinatorRecord]:
    """Return the records that delete a group without members."""
    if isinstance(group, ShareGroup):
        return share_group_tombstones(group.group_id)
    if isinstance(group, StreamsGroup):
        return streams_group_tombstones(group.group_id)
    if isinstance(group, ConsumerGroup):
        return consumer_group_tombstones(group.group_id, group.patterns)
    return [group_tombstone(group.group_id)]
