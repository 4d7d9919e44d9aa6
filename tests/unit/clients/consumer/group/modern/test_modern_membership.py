"""A member joins, follows its target, and tells its coordinator what has changed."""

from __future__ import annotations

from uuid import UUID

from pyk.clients.consumer.group.actions import (
    Assign,
    ForgetCoordinator,
    Revoke,
    Send,
    Wait,
)
from pyk.clients.consumer.group.membership import MetadataNeeds
from pyk.clients.consumer.group.modern.heartbeats import MemberOptions
from pyk.clients.consumer.group.modern.membership import MemberState, ModernMembership
from pyk.clients.errors import NodeDisconnectedError
from pyk.clients.offsets import Identity
from pyk.protocol.messages.consumer_group_heartbeat import (
    Assignment,
    ConsumerGroupHeartbeatResponse,
    TopicPartitions,
)
from support.modern_membership import INTERVAL, TOPIC_ID, ModernMember, partitions

# -- joining ---------------------------------------------------------------------------------------


def test_the_first_heartbeat_says_everything() -> None:
    member = ModernMember(
        group_instance_id="i", rack="r", remote_assignor="range", max_poll_interval=7.0
    )

    request = member.expect_heartbeat()

    assert (request.group_id, request.member_id, request.instance_id) == ("g", "me", "i")
    assert (request.member_epoch, request.topic_partitions) == (0, [])
    assert request.subscribed_topic_names == ["a"]
    assert request.subscribed_topic_regex is None
    assert (request.rack_id, request.server_assignor) == ("r", "range")
    assert request.rebalance_timeout_ms == 7000


def test_a_member_commits_under_its_epoch_once_it_has_one() -> None:
    member = ModernMember(group_instance_id="i")
    assert member.membership.standing.identity is None
    assert member.membership.standing.is_joining

    member.stable()

    assert member.membership.standing.identity == Identity(1, "me", "i", has_member_epoch=True)
    assert not member.membership.standing.is_joining


def test_an_empty_assignment_is_one() -> None:
    member = ModernMember()
    member.expect_heartbeat()
    member.answer(())

    assigned = member.expect(Assign)

    assert assigned.added == assigned.owned == frozenset()
    assert member.expect(Wait).until == INTERVAL


def test_a_heartbeat_may_take_three_intervals_so_that_a_session_has_time_for_another_try() -> None:
    member = ModernMember(request_timeout=1000.0).stable()

    member.beat()

    assert member.sent.timeout_ms == round(3 * INTERVAL * 1000)


def test_a_member_looks_at_the_latest_when_its_application_has_been_away_for_too_long() -> None:
    member = ModernMember(max_poll_interval=INTERVAL / 2).stable()

    assert member.expect(Wait).until == INTERVAL / 2


def test_heartbeats_come_as_often_as_the_coordinator_says() -> None:
    member = ModernMember().stable()

    assert member.expect(Wait).until == INTERVAL
    member.beat()
    assert member.expect(Wait).until == 2 * INTERVAL


def test_a_coordinator_that_names_no_interval_is_not_flooded() -> None:
    member = ModernMember().stable()
    member.now += INTERVAL
    member.expect_heartbeat()
    silent = ConsumerGroupHeartbeatResponse(member_epoch=1, heartbeat_interval_ms=0)
    member.membership.answered(member.sent, silent, member.now)

    assert isinstance(member.next(), Wait)


# -- what has changed ------------------------------------------------------------------------------


def test_later_heartbeats_say_only_what_has_changed() -> None:
    member = ModernMember(rack="r", remote_assignor="range").stable(0)

    request = member.beat()

    assert request.member_epoch == 2
    assert request.subscribed_topic_names is None
    assert request.topic_partitions is None
    assert (request.rack_id, request.server_assignor) == (None, None)
    assert request.rebalance_timeout_ms == -1


def test_another_subscription_is_told_at_once() -> None:
    member = ModernMember().stable(0)

    member.membership.subscribe(frozenset({"b", "a"}), member.now)
    request = member.expect_heartbeat()

    assert request.subscribed_topic_names == ["a", "b"]
    assert request.topic_partitions is None


def test_a_pattern_is_resolved_by_the_coordinator() -> None:
    member = ModernMember().stable(0)

    member.membership.subscribe(frozenset(), member.now, "a.*")
    request = member.expect_heartbeat()
    member.answer()

    assert (request.subscribed_topic_names, request.subscribed_topic_regex) == ([], "a.*")
    assert member.sent.min_version == 1
    member.membership.subscribe(frozenset({"a"}), member.now)
    request = member.expect_heartbeat()
    assert (request.subscribed_topic_names, request.subscribed_topic_regex) == (["a"], "")


# -- the target ------------------------------------------------------------------------------------


def test_an_assignment_is_acknowledged_at_once() -> None:
    member = ModernMember()
    member.expect_heartbeat()
    member.answer((0, 1))

    assert member.expect(Assign).added == partitions(0, 1)
    request = member.expect_heartbeat()
    assert request.topic_partitions == [TopicPartitions(topic_id=TOPIC_ID, partitions=[0, 1])]


def test_new_partitions_are_added_to_those_that_are_owned() -> None:
    member = ModernMember().stable(0)

    member.beat((0, 1))

    assigned = member.expect(Assign)
    assert (assigned.added, assigned.owned) == (partitions(1), partitions(0, 1))


def test_partitions_are_owned_until_the_application_has_given_them_up() -> None:
    member = ModernMember().stable(0, 1)

    member.beat((0,))

    revoke = member.expect(Revoke)
    assert revoke.partitions == partitions(1)
    assert member.membership.standing.is_rebalancing
    assert member.beat().topic_partitions is None

    member.membership.revoked(revoke)
    assert member.expect(Assign).owned == partitions(0)
    acknowledged = member.expect_heartbeat().topic_partitions
    assert acknowledged == [TopicPartitions(topic_id=TOPIC_ID, partitions=[0])]


def test_what_is_new_waits_for_what_is_to_be_given_up() -> None:
    member = ModernMember().stable(0)

    member.beat((1,))
    member.revoke(0)

    assigned = member.expect(Assign)
    assert assigned.added == assigned.owned == partitions(1)


def test_the_last_target_counts_when_the_application_comes_back() -> None:
    member = ModernMember().stable(0, 1)
    member.beat((0,))
    revoke = member.expect(Revoke)
    member.beat((0, 1, 2))
    assert isinstance(member.next(), Wait)

    member.membership.revoked(revoke)

    assigned = member.expect(Assign)
    assert (assigned.added, assigned.owned) == (partitions(1, 2), partitions(0, 1, 2))


def test_numbers_that_no_partition_can_have_are_ignored() -> None:
    member = ModernMember()
    member.expect_heartbeat()

    member.answer((-1, 3))

    assert member.expect(Assign).owned == partitions(3)


def test_the_same_assignment_again_changes_nothing() -> None:
    member = ModernMember().stable(0)

    member.beat((0,))

    assert isinstance(member.next(), Wait)


# -- topic ids -------------------------------------------------------------------------------------


def test_a_topic_without_a_known_name_waits_for_metadata_and_others_do_not() -> None:
    member = ModernMember().stable(0)

    member.beat((0,), topic_id=2)
    assert member.membership.needs == MetadataNeeds(is_incomplete=True)
    member.revoke(0)
    assert member.expect_heartbeat().topic_partitions == []
    member.answer()

    member.knows(a=1, b=2)
    assert member.membership.needs == MetadataNeeds()
    (added,) = member.expect(Assign).added
    assert added == ("b", 0)


def test_metadata_may_forget_a_topic_that_is_owned() -> None:
    member = ModernMember().stable(0)

    member.knows()
    member.beat((0, 1))

    assert member.expect(Assign).added == partitions(1)


def test_the_partitions_of_a_topic_that_was_created_again_are_others() -> None:
    member = ModernMember().stable(0)

    member.beat((0,), topic_id=9)
    member.revoke(0)
    member.expect_heartbeat()
    member.answer()
    member.knows(a=9)

    assigned = member.expect(Assign)
    assert assigned.added == partitions(0)
    assert assigned.topic_ids == {"a": UUID(int=9)}


def test_the_coordinator_is_asked_at_once_when_metadata_name_another_topic() -> None:
    member = ModernMember().stable(0)

    member.knows(a=9)
    assert member.membership.needs == MetadataNeeds(is_incomplete=True)
    assert member.expect_heartbeat().topic_partitions is None
    member.answer((0,), topic_id=9)

    member.revoke(0)
    assert member.expect(Assign).added == partitions(0)


def test_partitions_stay_when_metadata_name_another_topic_and_the_coordinator_does_not() -> None:
    member = ModernMember().stable(0)

    member.knows(a=9)
    member.beat()
    assert member.expect(Wait).until == member.now + INTERVAL
    member.knows(a=9)
    assert member.expect(Wait).until == member.now + INTERVAL
    member.knows(a=1)

    assert member.membership.needs == MetadataNeeds()
    assert isinstance(member.next(), Wait)


def test_a_member_cannot_ask_for_a_rebalance() -> None:
    member = ModernMember().stable(0)

    assert member.membership.rejoin("the application wants it") is False
    assert isinstance(member.next(), Wait)


def test_an_application_that_polls_changes_nothing_for_a_member() -> None:
    member = ModernMember().stable(0)

    member.membership.application_polled(member.now)

    assert member.state is MemberState.STABLE
    assert isinstance(member.next(), Wait)


# -- subscribing -----------------------------------------------------------------------------------


def test_a_new_subscription_of_a_member_is_told_in_its_epoch() -> None:
    member = ModernMember().stable(0)

    member.membership.subscribe(frozenset({"b"}), member.now)

    assert member.state is MemberState.STABLE
    request = member.expect_heartbeat()
    assert (request.member_epoch, request.subscribed_topic_names) == (member.epoch, ["b"])


def test_an_application_is_absent_only_since_it_has_subscribed() -> None:
    membership = ModernMembership(
        MemberOptions(group_id="g", member_id="me", max_poll_interval=10.0), lambda: 0.5, 0.0
    )
    assert not membership.standing.is_member

    membership.subscribe(frozenset({"a"}), 100.0)

    assert membership.standing.is_member
    assert not membership.is_absent(109.0)
    assert membership.is_absent(110.0)


def test_a_member_without_metadata_waits_for_the_names_of_its_topics() -> None:
    membership = ModernMembership(MemberOptions(group_id="g", member_id="me"), lambda: 0.5, 0.0)
    membership.subscribe(frozenset({"a"}), 0.0)
    sent = membership.next_action(0.0)
    assert isinstance(sent, Send)
    target = Assignment(topic_partitions=[TopicPartitions(topic_id=TOPIC_ID, partitions=[0])])
    membership.answered(
        sent,
        ConsumerGroupHeartbeatResponse(
            member_epoch=1, heartbeat_interval_ms=5_000, assignment=target
        ),
        0.0,
    )

    assert isinstance(membership.next_action(0.0), Wait)
    assert membership.needs == MetadataNeeds(is_incomplete=True)


def test_an_answer_ends_a_series_of_failures() -> None:
    member = ModernMember()
    member.expect_heartbeat()
    member.fail(NodeDisconnectedError("gone"))
    member.expect(ForgetCoordinator)
    assert member.membership.failures.seconds(member.now + 5) == 5

    member.expect_heartbeat()
    member.answer(())

    assert member.membership.failures.seconds(member.now + 5) == 0
