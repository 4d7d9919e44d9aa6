"""Members that the admin client removes from groups. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from pyk.clients.admin.groups import ConsumerGroupDescription
from pyk.clients.errors import KafkaError, error_for
from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.leave_group import (
    LeaveGroupRequest,
    LeaveGroupResponse,
    MemberIdentity,
)
from pyk.runtime import slotted

# As Kafka's Java client says it to the coordinator, which writes it into its log.
REASON = "member was removed by an admin"
LONGEST_REASON = 255


@slotted.frozen
class GroupMember:
    """A member of a group: a static one by its instance id, another one by its member id."""

    member_id: str
    group_instance_id: str | None

    @property
    def name(self) -> str:
        """Return the id by which errors name the member."""
        return self.group_instance_id or self.member_id


def static_members(instance_ids: Iterable[str]) -> dict[str, GroupMember]:
    """Return members by instance id."""
    return {one: GroupMember("", one) for one in instance_ids}


def all_members(group: ConsumerGroupDescription) -> dict[str, GroupMember]:
    """Return the members of a group by name."""
    members = (
        GroupMember("" if one.group_instance_id else one.member_id, one.group_instance_id)
        for one in group.members
    )
    return {member.name: member for member in members}


def removal_request(
    group_id: str, members: Iterable[GroupMember], reason: str | None
) -> LeaveGroupRequest:
    text = REASON if not reason else f"{REASON}: {reason}"
    return LeaveGroupRequest(
        group_id=group_id,
        members=[
            MemberIdentity(
                member_id=one.member_id,
                group_instance_id=one.group_instance_id,
                reason=text[:LONGEST_REASON],
            )
            for one in members
        ],
    )


def removed_members(
    response: LeaveGroupResponse, asked: Iterable[str], group_id: str
) -> dict[str, KafkaError | None]:
    """Return the outcome of each member by name."""
    api_key = response.api_key
    if response.error_code != ErrorCode.NONE:
        code = response.error_code
        return {one: error_for(code, group_id=group_id, api_key=api_key) for one in asked}
    outcomes: dict[str, KafkaError | None] = {}
    for one in response.members:
        name = one.group_instance_id or one.member_id
        outcomes[name] = None
        if one.error_code != ErrorCode.NONE:
            outcomes[name] = error_for(
                one.error_code,
                f"group {group_id!r} has no member {name!r}"
                if one.error_code == ErrorCode.UNKNOWN_MEMBER_ID
                else None,
                group_id=group_id,
                api_key=api_key,
            )
    return outcomes
