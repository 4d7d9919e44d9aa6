"""The member that leads divides the partitions among all."""

from __future__ import annotations

from pyk.clients.consumer.group.actions import Assign, Revoke, Wait
from pyk.clients.consumer.group.classic.assignors import Subscription
from pyk.clients.consumer.group.classic.consumer_protocol import (
    decode_assignment,
    encode_assignment,
    encode_subscription,
)
from pyk.clients.consumer.group.classic.leadership import LAYOUT_SECONDS
from pyk.clients.consumer.group.classic.member_state import MemberState
from pyk.clients.consumer.group.membership import MetadataNeeds
from pyk.clients.topic_partition import TopicPartition
from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.join_group import JoinGroupResponseMember
from pyk.protocol.messages.sync_group import SyncGroupRequest, SyncGroupResponse
from support.membership import TOPICS, Member, partitions


def test_the_leader_divides_among_all_members() -> None:
    member = Member()
    other = Subscription(member_id="other", topics=frozenset({"a", "b"}))
    members = [
        JoinGroupResponseMember(member_id="me", metadata=own_metadata(member)),
        JoinGroupResponseMember(member_id="other", metadata=encode_subscription(other)),
    ]

    member.join(leader="me", members=members)
    assert isinstance(member.next(), Wait)
    assert member.membership.needs == MetadataNeeds(frozenset({"a", "b"}), is_incomplete=True)
    member.knows(a=2, b=1)

    assignments = {
        assignment.member_id: decode_assignment(assignment.assignment)
        for assignment in member.expect_request(SyncGroupRequest).request.assignments
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
    member.knows(a=1)

    assignments = member.expect_request(SyncGroupRequest).request.assignments
    assert [assignment.member_id for assignment in assignments] == ["broken", "empty", "me"]


def test_a_static_leader_that_is_back_soon_keeps_the_old_assignment() -> None:
    member = Member(group_instance_id="i")

    member.join(leader="me", members=[own_member(member)], skip_assignment=True)
    member.knows(a=2)

    assert member.sync(0).request.assignments == []
    member.expect(Assign)
    member.knows(a=2)
    assert isinstance(member.next(), Wait)


def test_the_leader_rebalances_when_a_topic_grows() -> None:
    member = Member()
    member.join(leader="me", members=[own_member(member)])
    member.knows(a=2)
    member.sync(0)
    member.expect(Assign)

    member.knows(a=3)

    member.expect(Revoke)


def test_the_leader_rebalances_when_a_topic_grew_while_the_group_synced() -> None:
    member = Member()
    member.join(leader="me", members=[own_member(member)])
    member.knows(a=2)
    syncing = member.expect_request(SyncGroupRequest)
    member.knows(a=3)
    member.answer(syncing, SyncGroupResponse(assignment=encode_assignment(partitions(0))))

    member.expect(Assign)

    member.expect(Revoke)


def test_a_change_that_was_undone_while_the_group_synced_is_no_reason_to_rebalance() -> None:
    member = Member()
    member.join(leader="me", members=[own_member(member)])
    member.knows(a=2)
    syncing = member.expect_request(SyncGroupRequest)
    member.knows(a=3)
    member.knows(a=2)
    member.answer(syncing, SyncGroupResponse(assignment=encode_assignment(partitions(0))))

    member.expect(Assign)

    member.expect(Wait)


def test_the_leader_divides_without_a_topic_that_stays_unknown() -> None:
    member = Member()
    other = Subscription(member_id="other", topics=frozenset({"b"}))
    members = [
        JoinGroupResponseMember(member_id="me", metadata=own_metadata(member)),
        JoinGroupResponseMember(member_id="other", metadata=encode_subscription(other)),
    ]
    member.knows(a=1)

    member.join(leader="me", members=members)
    member.heartbeat()
    assert member.expect(Wait).until == LAYOUT_SECONDS
    member.now = LAYOUT_SECONDS

    assignments = member.expect_request(SyncGroupRequest).request.assignments
    assert [decode_assignment(each.assignment) for each in assignments] == [
        partitions(0),
        frozenset(),
    ]


def test_the_leader_beats_while_it_waits_for_metadata() -> None:
    member = Member()
    member.join(leader="me", members=[own_member(member)])

    member.heartbeat()

    assert member.state is MemberState.DIVIDING


def test_a_member_that_leads_no_more_needs_no_topics_of_others() -> None:
    member = Member()
    member.knows(a=1)
    member.join(leader="me", members=[own_member(member)])
    member.sync(0)
    member.expect(Assign)

    member.heartbeat(ErrorCode.REBALANCE_IN_PROGRESS)
    member.membership.revoked(member.expect(Revoke))
    member.join(leader="other")

    assert member.membership.needs == MetadataNeeds()


def own_member(member: Member) -> JoinGroupResponseMember:
    return JoinGroupResponseMember(member_id="me", metadata=own_metadata(member))


def own_metadata(member: Member) -> bytes:
    return encode_subscription(Subscription(member_id="me", topics=TOPICS))
