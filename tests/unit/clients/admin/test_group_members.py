"""Which groups are listed, and how members are removed from a group."""

from __future__ import annotations

from typing import Any

import pytest

from pyk.clients.errors import UnknownMemberIdError
from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.delete_groups import (
    DeletableGroupResult,
    DeleteGroupsRequest,
    DeleteGroupsResponse,
)
from pyk.protocol.messages.describe_groups import (
    DescribedGroup,
    DescribedGroupMember,
    DescribeGroupsRequest,
    DescribeGroupsResponse,
)
from pyk.protocol.messages.leave_group import (
    LeaveGroupRequest,
    LeaveGroupResponse,
    MemberResponse,
)
from pyk.protocol.messages.list_groups import ListedGroup, ListGroupsRequest, ListGroupsResponse
from pyk.runtime.virtual_time import virtual_time
from support.administering import administered
from support.scripted_broker import CLOSE

GROUPS = ListGroupsResponse(
    groups=[
        ListedGroup(group_id="readers", protocol_type="consumer"),
        ListedGroup(group_id="offsets", protocol_type=""),
        ListedGroup(group_id="workers", protocol_type="connect"),
    ]
)


@virtual_time
async def test_groups_are_listed_by_their_protocol_type() -> None:
    async with administered() as (cluster, admin):
        cluster.on(ListGroupsRequest, GROUPS)

        found = await admin.list_groups(protocol_types=["connect"])

        assert [one.group_id for one in found] == ["workers"]


@pytest.mark.parametrize(
    ("types", "asked"), [([], ["classic", "consumer"]), (["consumer"], ["consumer"])]
)
@virtual_time
async def test_groups_of_consumers_are_those_that_consume_or_only_have_offsets(
    types: list[str], asked: list[str]
) -> None:
    async with administered() as (cluster, admin):
        cluster.on(ListGroupsRequest, GROUPS)

        found = await admin.list_consumer_groups(types=types)

        assert [one.group_id for one in found] == ["offsets", "readers"]
        assert cluster.requests(ListGroupsRequest)[0].message.types_filter == asked


@virtual_time
async def test_a_group_that_a_lost_response_has_deleted_is_deleted() -> None:
    async with administered() as (cluster, admin):
        gone = DeletableGroupResult(group_id="g", error_code=ErrorCode.GROUP_ID_NOT_FOUND)
        cluster.on(DeleteGroupsRequest, DeleteGroupsResponse(results=[gone]))
        cluster.once(DeleteGroupsRequest, CLOSE)

        await admin.delete_consumer_groups(["g"])

        assert len(cluster.requests(DeleteGroupsRequest)) == 2


def describe_members(cluster: Any) -> None:
    """Let group ``g`` have a static member and another one."""
    members = [
        DescribedGroupMember(member_id="m-1", group_instance_id="static"),
        DescribedGroupMember(member_id="m-2", group_instance_id=None),
    ]
    described = DescribedGroup(group_id="g", group_state="Stable", members=members)
    cluster.on(DescribeGroupsRequest, DescribeGroupsResponse(groups=[described]))


@virtual_time
async def test_all_members_are_removed_static_ones_by_instance_id() -> None:
    async with administered() as (cluster, admin):
        describe_members(cluster)
        left = [
            MemberResponse(member_id="", group_instance_id="static"),
            MemberResponse(member_id="m-2", group_instance_id=None),
        ]
        cluster.on(LeaveGroupRequest, LeaveGroupResponse(members=left))

        await admin.remove_members_from_consumer_group("g", None)

        (request,) = cluster.requests(LeaveGroupRequest)
        asked = [(one.member_id, one.group_instance_id) for one in request.message.members]
        assert asked == [("", "static"), ("m-2", None)]
        assert not cluster.requests(DescribeGroupsRequest)[0].message.include_authorized_operations


@virtual_time
async def test_a_member_that_the_group_does_not_have_is_named() -> None:
    async with administered() as (cluster, admin):
        code = ErrorCode.UNKNOWN_MEMBER_ID
        gone = MemberResponse(member_id="", group_instance_id="static", error_code=code)
        cluster.on(LeaveGroupRequest, LeaveGroupResponse(members=[gone]))

        with pytest.raises(UnknownMemberIdError, match="group 'g' has no member 'static'"):
            await admin.remove_members_from_consumer_group("g", ["static"])


@virtual_time
async def test_another_error_of_a_member_has_words_of_its_own() -> None:
    async with administered() as (cluster, admin):
        code = ErrorCode.FENCED_INSTANCE_ID
        gone = MemberResponse(member_id="", group_instance_id="static", error_code=code)
        cluster.on(LeaveGroupRequest, LeaveGroupResponse(members=[gone]))

        with pytest.raises(Exception, match="FENCED_INSTANCE_ID") as raised:
            await admin.remove_members_from_consumer_group("g", ["static"])

        assert "has no member" not in str(raised.value)
