"""The member that leads divides the partitions among all."""

from __future__ import annotations

from pyk.clients.consumer.group.actions import Assign, Divide, Revoke, Sync, Wait
from pyk.clients.consumer.group.classic.assignors import Subscription, TopicLayout
from pyk.clients.consumer.group.classic.consumer_protocol import (
    decode_assignment,
    encode_subscription,
)
from pyk.clients.topic_partition import TopicPartition
from pyk.protocol.messages.join_group import JoinGroupResponseMember
from support.membership import TOPICS, Member, partitions


def test_the_leader_divides_among_all_members() -> None:
    member = Member()
    other = Subscription(member_id="other", topics=frozenset({"a", "b"}))
    members = [
        JoinGroupResponseMember(member_id="me", metadata=own_metadata(member)),
        JoinGroupResponseMember(member_id="other", metadata=encode_subscription(other)),
    ]

    member.join(leader="me", members=members)
    assert member.expect(Divide).topics == {"a", "b"}
    member.membership.divided({"a": TopicLayout(2), "b": TopicLayout(1)})

    assignments = {
        assignment.member_id: decode_assignment(assignment.assignment)
        for assignment in member.expect(Sync).request.assignments
    }
    assert assignments["me"] == partitions(0)
    assert assignments["other"] == partitions(1) | {TopicPartition("b", 0)}


def test_the_leader_is_not_stopped_by_a_member_whose_metadata_make_no_sense() -> None:
    member = Member()
    members = [
        JoinGroupResponseMember(member_id="me", metadata=own_metadata(member)),
        JoinGroupResponseMember(member_id="me", metadata=own_metadata(member)),
        JoinGroupResponseMember(member_id="broken", metadata=b"\x00\x01\x7f\xff\xff\xff"),
        JoinGroupResponseMember(member_id="empty", metadata=b""),
    ]

    member.join(leader="me", members=members)
    member.expect(Divide)
    member.membership.divided({"a": TopicLayout(1)})

    assignments = member.expect(Sync).request.assignments
    assert [assignment.member_id for assignment in assignments] == ["broken", "empty", "me"]


def test_a_static_leader_that_is_back_soon_keeps_the_old_assignment() -> None:
    member = Member(group_instance_id="i")

    member.join(leader="me", skip_assignment=True)
    member.expect(Divide)
    member.membership.divided({"a": TopicLayout(2)})

    assert member.sync(0).request.assignments == []
    member.expect(Assign)
    member.membership.layouts_changed({"a": TopicLayout(2)})
    assert isinstance(member.next(), Wait)


def test_the_leader_rebalances_when_a_topic_grows() -> None:
    member = Member()
    member.join(leader="me")
    member.expect(Divide)
    member.membership.divided({"a": TopicLayout(2)})
    member.sync(0)
    member.expect(Assign)

    member.membership.layouts_changed({"a": TopicLayout(3)})

    member.expect(Revoke)


def test_the_leader_rebalances_when_a_topic_grew_while_the_group_synced() -> None:
    member = Member()
    member.join(leader="me")
    member.expect(Divide)
    member.membership.divided({"a": TopicLayout(2)})
    member.membership.layouts_changed({"a": TopicLayout(3)})
    member.sync(0)

    member.expect(Assign)

    member.expect(Revoke)


def test_a_change_that_was_undone_while_the_group_synced_is_no_reason_to_rebalance() -> None:
    member = Member()
    member.join(leader="me")
    member.expect(Divide)
    member.membership.divided({"a": TopicLayout(2)})
    member.membership.layouts_changed({"a": TopicLayout(3)})
    member.membership.layouts_changed({"a": TopicLayout(2)})
    member.sync(0)

    member.expect(Assign)

    member.expect(Wait)


def own_metadata(member: Member) -> bytes:
    return encode_subscription(Subscription(member_id="me", topics=TOPICS))
