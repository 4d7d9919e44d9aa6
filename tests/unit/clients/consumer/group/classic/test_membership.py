"""A member joins, syncs, beats, gives up what moves, and leaves."""

from __future__ import annotations

import pytest

from pyk.clients.consumer.group.actions import Assign, Lose, Revoke, Wait
from pyk.clients.consumer.group.classic.assignors import (
    CooperativeStickyAssignor,
    RoundRobinAssignor,
    StickyAssignor,
)
from pyk.clients.consumer.group.classic.consumer_protocol import (
    decode_subscription,
    encode_assignment,
)
from pyk.clients.consumer.group.classic.member_state import MemberState
from pyk.clients.topic_partition import TopicPartition
from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.join_group import JoinGroupRequest
from pyk.protocol.messages.sync_group import SyncGroupRequest, SyncGroupResponse
from support.membership import Member, partitions


def test_a_member_joins_syncs_and_beats() -> None:
    member = Member()

    member.join()
    member.sync(0, 1)

    assigned = member.expect(Assign)
    assert assigned.added == assigned.owned == partitions(0, 1)
    assert member.next() == Wait(3.0)
    assert member.heartbeat().request.generation_id == 1
    assert member.state is MemberState.STABLE


def test_the_coordinator_may_ask_to_join_again_with_an_id() -> None:
    member = Member()

    member.join(ErrorCode.MEMBER_ID_REQUIRED, member_id="given")

    assert member.join().request.member_id == "given"


def test_an_eager_member_gives_up_everything_before_it_joins_again() -> None:
    member = Member().stable(0, 1)

    member.heartbeat(ErrorCode.REBALANCE_IN_PROGRESS)

    revoke = member.expect(Revoke)
    assert revoke.partitions == partitions(0, 1)
    assert isinstance(member.next(), Wait)
    member.membership.revoked(revoke)
    assert member.join().request.reason == "group rebalances"


def test_heartbeats_go_on_while_the_application_gives_up_partitions() -> None:
    member = Member().stable(0)
    member.heartbeat(ErrorCode.REBALANCE_IN_PROGRESS)
    member.expect(Revoke)

    member.heartbeat(ErrorCode.REBALANCE_IN_PROGRESS)
    member.heartbeat(ErrorCode.REBALANCE_IN_PROGRESS)

    assert member.state is MemberState.REVOKING


def test_a_cooperative_member_joins_with_its_partitions_and_gives_up_only_those_that_move() -> None:
    member = Member(cooperative=True).stable(0, 1)
    member.heartbeat(ErrorCode.REBALANCE_IN_PROGRESS)

    join = member.join(generation_id=2)
    member.sync(1, 2)

    subscription = decode_subscription(
        join.request.protocols[0].metadata, member_id="me", group_instance_id=None
    )
    assert frozenset(subscription.owned_partitions) == partitions(0, 1)
    assert subscription.generation_id == 1
    revoke = member.expect(Revoke)
    assert revoke.partitions == partitions(0)
    member.membership.revoked(revoke)
    assigned = member.expect(Assign)
    assert (assigned.added, assigned.owned) == (partitions(2), partitions(1, 2))
    assert (
        member.expect_request(JoinGroupRequest).request.reason
        == "gave up partitions that go to other members"
    )


def test_a_cooperative_member_that_keeps_all_does_not_join_again() -> None:
    member = Member(cooperative=True).stable(0)
    member.heartbeat(ErrorCode.REBALANCE_IN_PROGRESS)

    member.join(generation_id=2)
    member.sync(0, 1)

    assert member.expect(Assign).added == partitions(1)
    assert isinstance(member.next(), Wait)


def test_a_cooperative_member_gives_up_topics_it_no_longer_wants_before_it_joins() -> None:
    member = Member(cooperative=True).stable(0)

    member.membership.subscribe(frozenset({"b"}), member.now)

    assert member.expect(Revoke).partitions == partitions(0)


def test_one_eager_assignor_makes_the_member_eager() -> None:
    member = Member(assignors=(CooperativeStickyAssignor(), RoundRobinAssignor()))

    assert not member.membership._options.is_cooperative


def test_an_eager_sticky_member_reports_its_former_partitions() -> None:
    member = Member(assignors=(StickyAssignor(),)).stable(0, 1)
    member.heartbeat(ErrorCode.REBALANCE_IN_PROGRESS)
    member.membership.revoked(member.expect(Revoke))

    metadata = member.expect_request(JoinGroupRequest).request.protocols[0].metadata

    subscription = decode_subscription(metadata, member_id="me", group_instance_id=None)
    assert subscription.owned_partitions == ()
    assert subscription.user_data == StickyAssignor().user_data(sorted(partitions(0, 1)), 1)


def test_a_rebalance_during_the_sync_joins_again_at_once() -> None:
    member = Member()
    member.join()

    member.sync(error=ErrorCode.REBALANCE_IN_PROGRESS)

    assert member.expect_request(JoinGroupRequest).request.member_id == "me"


def test_a_subscription_that_changes_during_a_rebalance_brings_the_next_one() -> None:
    member = Member()
    member.join()

    member.membership.subscribe(frozenset({"a", "b"}), 0.0)
    member.sync(0)
    member.expect(Assign)

    member.expect(Revoke)


def test_partitions_of_foreign_topics_and_negative_ones_are_not_taken() -> None:
    member = Member()
    member.join()
    blob = encode_assignment({TopicPartition("a", -1), TopicPartition("b", 0), *partitions(3)})

    action = member.expect_request(SyncGroupRequest)
    member.answer(action, SyncGroupResponse(assignment=blob))

    assert member.expect(Assign).owned == partitions(3)


@pytest.mark.parametrize("instance", [None, "i"])
def test_a_member_leaves_or_stays_as_it_is_told(instance: str | None) -> None:
    leaves, stays = (Member(group_instance_id=instance).stable(0) for _ in range(2))

    leave = leaves.membership.leave("closes", leave_group=True)

    assert leave is not None
    assert leave.request.members[0].member_id == "me"
    assert stays.membership.leave("closes", leave_group=False) is None


def test_a_static_member_that_has_unsubscribed_leaves_for_good_if_it_is_told_to() -> None:
    member = Member(group_instance_id="i").stable(0)
    assert member.membership.leave("unsubscribed") is None

    leave = member.membership.leave("closes", leave_group=True)

    assert leave is not None
    assert leave.request.members[0].member_id == "me"
    assert member.membership.leave("closes", leave_group=True) is None


def test_a_static_member_that_is_away_leaves_for_good_if_it_is_told_to() -> None:
    member = Member(group_instance_id="i", max_poll_interval=10.0).stable(0)
    member.now = 20.0
    member.expect(Lose)

    leave = member.membership.leave("closes", leave_group=True)

    assert leave is not None
    assert leave.request.members[0].member_id == "me"


def test_a_dynamic_member_that_has_unsubscribed_has_left_for_good() -> None:
    member = Member().stable(0)
    assert member.membership.leave("unsubscribed") is not None

    assert member.membership.leave("closes", leave_group=True) is None


def test_leaving_tells_the_coordinator_unless_the_member_is_static() -> None:
    dynamic, static = Member().stable(0), Member(group_instance_id="i").stable(0)

    leave = dynamic.membership.leave("closes")

    assert leave is not None
    assert leave.request.members[0].reason == "closes"
    assert static.membership.leave("closes") is None
    assert dynamic.state is static.state is MemberState.UNSUBSCRIBED
    assert dynamic.next() == Wait(None)
