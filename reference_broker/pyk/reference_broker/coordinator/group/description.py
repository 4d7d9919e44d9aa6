"""Groups as DescribeGroups and ListGroups show them."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from pyk.protocol.messages.describe_groups import DescribedGroup, DescribedGroupMember
from pyk.protocol.messages.list_groups import ListedGroup

from .classic_group import ClassicGroup, GroupState
from .consumer.consumer_group import CONSUMER, ConsumerGroup
from .groups import Group
from .member import Member
from .share.share_group import SHARE, ShareGroup
from .streams.streams_group import STREAMS, StreamsGroup, StreamsGroupState

CLASSIC = "classic"


def list_groups(
    groups: Iterable[Group], states: Collection[str], types: Collection[str]
) -> list[ListedGroup]:
    """Return the groups in one of ``states`` and of one of ``types``.

    Case does not matter; an empty filter takes all.
    """
    states = {state.lower() for state in states}
    types = {kind.lower() for kind in types}
    return [
        ListedGroup(
            group_id=group.group_id,
            protocol_type=group.protocol_type or "",
            group_state=group.state.value,
            group_type=_type_of(group),
        )
        for group in groups
        if (not states or _filtered_as(group) in states) and (not types or _type_of(group) in types)
    ]


def _filtered_as(group: Group) -> str:
    """Return the name by which filters know the state of a group; Kafka has another for one."""
    if group.state is StreamsGroupState.NOT_READY:
        return "not_ready"
    name: str = group.state.value
    return name.lower()


def _type_of(group: Group) -> str:
    if isinstance(group, ShareGroup):
        return SHARE
    if isinstance(group, StreamsGroup):
        return STREAMS
    return CONSUMER if isinstance(group, ConsumerGroup) else CLASSIC


def describe_group(group: ClassicGroup) -> DescribedGroup:
    """Return a group with its members.

    Their metadata and assignments are told only of a stable group.
    """
    is_stable = group.is_in(GroupState.STABLE)
    protocol_name = group.protocol_name if is_stable else None
    return DescribedGroup(
        group_id=group.group_id,
        group_state=group.state.value,
        protocol_type=group.protocol_type or "",
        protocol_data=protocol_name or "",
        members=[_describe_member(member, protocol_name) for member in group.members.values()],
    )


def _describe_member(member: Member, protocol_name: str | None) -> DescribedGroupMember:
    return DescribedGroupMember(
        member_id=member.member_id,
        group_instance_id=member.group_instance_id,
        client_id=member.client_id,
        client_host=member.client_host,
        member_metadata=b"" if protocol_name is None else member.metadata(protocol_name),
        member_assignment=b"" if protocol_name is None else member.assignment,
    )
