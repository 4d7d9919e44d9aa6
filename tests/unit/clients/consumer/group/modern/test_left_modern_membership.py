"""A member leaves, is away, and comes back."""

from __future__ import annotations

import pytest

from pyk.clients.consumer.group.actions import (
    Assign,
    ForgetCoordinator,
    Leave,
    Lose,
    Wait,
)
from pyk.clients.consumer.group.modern.membership import MemberState
from pyk.clients.errors import NodeDisconnectedError
from pyk.clients.offsets import Identity
from pyk.protocol.errors import ErrorCode
from support.modern_membership import INTERVAL, ModernMember, partitions

# -- leaving ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("instance", "leave_group", "epoch"),
    [
        (None, None, -1),
        (None, True, -1),
        ("i", None, -2),
        ("i", False, -2),
        ("i", True, -1),
    ],
)
def test_a_member_says_whether_it_leave_group(
    instance: str | None, leave_group: bool | None, epoch: int
) -> None:
    member = ModernMember(group_instance_id=instance).stable(0)

    leave = member.membership.leave("closed", leave_group)

    assert leave is not None
    request = leave.request
    assert (request.member_id, request.member_epoch, request.instance_id) == ("me", epoch, instance)
    assert member.state is MemberState.UNSUBSCRIBED
    assert member.membership.standing.identity == Identity()
    assert isinstance(member.next(), Wait)


def test_a_member_may_stay_until_its_session_ends() -> None:
    member = ModernMember().stable(0)

    assert member.membership.leave("closed", leave_group=False) is None


def test_a_member_that_has_told_nobody_of_itself_leaves_nothing() -> None:
    assert ModernMember().membership.leave("closed") is None


def test_a_static_member_that_is_away_leaves_for_good_if_it_is_told_to() -> None:
    member = ModernMember(group_instance_id="i", max_poll_interval=10.0).stable(0)
    member.now = 20.0
    member.expect(Lose)
    assert member.expect(Leave).request.member_epoch == -2

    leave = member.membership.leave("closed", leave_group=True)

    assert leave is not None
    request = leave.request
    assert (request.member_id, request.member_epoch, request.instance_id) == ("me", -1, "i")


@pytest.mark.parametrize("leave_group", [None, False])
def test_a_static_member_that_is_away_says_so_once(leave_group: bool | None) -> None:
    member = ModernMember(group_instance_id="i", max_poll_interval=10.0).stable(0)
    member.now = 20.0
    member.expect(Lose)
    member.expect(Leave)

    assert member.membership.leave("closed", leave_group) is None


def test_a_dynamic_member_that_is_away_has_left_for_good() -> None:
    member = ModernMember(max_poll_interval=10.0).stable(0)
    member.now = 20.0
    member.expect(Lose)
    member.expect(Leave)

    assert member.membership.leave("closed", leave_group=True) is None


def test_a_static_member_that_has_unsubscribed_leaves_for_good_if_it_is_told_to() -> None:
    member = ModernMember(group_instance_id="i").stable(0)
    member.membership.leave("unsubscribed")

    leave = member.membership.leave("closed", leave_group=True)

    assert leave is not None
    assert leave.request.member_epoch == -1
    assert member.membership.leave("closed", leave_group=True) is None


@pytest.mark.parametrize(("instance", "epoch"), [(None, -1), ("i", -2)])
def test_a_member_that_has_failed_leaves(instance: str | None, epoch: int) -> None:
    member = ModernMember(group_instance_id=instance).stable(0)
    member.now += INTERVAL
    member.expect_heartbeat()
    member.refuse(ErrorCode.GROUP_AUTHORIZATION_FAILED)

    leave = member.membership.leave("closed")

    assert leave is not None
    assert leave.request.member_epoch == epoch


def test_a_member_that_has_left_may_join_again() -> None:
    member = ModernMember().stable(0)
    member.membership.leave("unsubscribed")

    member.membership.subscribe(frozenset({"a"}), member.now)

    request = member.expect_heartbeat()
    assert (request.member_epoch, request.topic_partitions) == (0, [])
    member.answer((0,))
    assert member.expect(Assign).added == partitions(0)


def test_an_answer_that_comes_after_leaving_is_ignored() -> None:
    member = ModernMember().stable(0)
    member.now += INTERVAL
    member.expect_heartbeat()

    member.membership.leave("closed")
    member.answer((0, 1))

    assert isinstance(member.next(), Wait)
    assert member.membership.leave("closed") is None


def test_a_member_that_has_left_does_nothing_more_of_what_was_due() -> None:
    member = ModernMember().stable(0)
    member.now += INTERVAL
    member.expect_heartbeat()
    member.refuse(ErrorCode.FENCED_MEMBER_EPOCH)

    member.membership.leave("unsubscribed")

    assert isinstance(member.next(), Wait)


def test_a_member_that_has_failed_and_left_has_no_error() -> None:
    member = ModernMember()
    member.expect_heartbeat()
    member.refuse(ErrorCode.GROUP_AUTHORIZATION_FAILED)
    assert member.membership.error is not None

    member.membership.leave("unsubscribed")

    assert member.membership.error is None


def test_failures_from_before_a_member_left_delay_nothing() -> None:
    member = ModernMember()
    for _ in range(3):
        member.now += 10
        member.expect_heartbeat()
        member.fail(NodeDisconnectedError("gone"))
        member.expect(ForgetCoordinator)
    member.membership.leave("unsubscribed")
    member.membership.subscribe(frozenset({"a"}), member.now)

    member.expect_heartbeat()
    member.fail(NodeDisconnectedError("gone"))

    member.expect(ForgetCoordinator)
    assert member.expect_heartbeat().member_epoch == 0


# -- away ------------------------------------------------------------------------------------------


def test_a_member_that_is_away_looks_at_intervals_and_says_everything_when_it_is_back(
    caplog: pytest.LogCaptureFixture,
) -> None:
    member = ModernMember(max_poll_interval=10.0).stable()
    member.now = 20.0
    member.expect(Leave)
    assert "has not asked for records for 20.0 seconds" in caplog.text
    assert member.expect(Wait).until == 20.0 + INTERVAL

    member.membership.application_polled(member.now)

    request = member.expect_heartbeat()
    assert (request.member_epoch, request.rebalance_timeout_ms) == (0, 10_000)
    assert (request.subscribed_topic_names, request.topic_partitions) == (["a"], [])


def test_a_heartbeat_that_fails_after_leaving_is_ignored() -> None:
    member = ModernMember().stable(0)
    member.now += INTERVAL
    member.expect_heartbeat()
    member.membership.leave("unsubscribed")

    member.fail(NodeDisconnectedError("gone"))

    assert isinstance(member.next(), Wait)
    assert member.membership.failures.seconds(member.now + 5) == 0


def test_an_answer_from_before_leaving_does_not_make_a_member_again() -> None:
    member = ModernMember().stable(0)
    member.now += INTERVAL
    member.expect_heartbeat()
    member.membership.leave("unsubscribed")
    member.membership.subscribe(frozenset({"a"}), member.now)

    member.answer((0, 1))

    assert member.state is MemberState.JOINING
    assert member.membership.standing.identity is None
    assert member.expect_heartbeat().member_epoch == 0


def test_a_member_that_is_away_before_its_first_heartbeat_tells_nobody() -> None:
    member = ModernMember(max_poll_interval=10.0)
    member.now = 20.0

    assert isinstance(member.next(), Wait)
    assert member.state is MemberState.AWAY


def test_leaving_ends_a_series_of_failures() -> None:
    member = ModernMember()
    member.expect_heartbeat()
    member.fail(NodeDisconnectedError("gone"))

    member.membership.leave("unsubscribed")

    assert member.membership.failures.seconds(member.now + 5) == 0
