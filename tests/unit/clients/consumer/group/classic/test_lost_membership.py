"""What becomes of a member that is forgotten, refused, unanswered or left alone."""

from __future__ import annotations

import pytest

from pyk.clients.consumer.group.actions import (
    ForgetCoordinator,
    Leave,
    Lose,
    Revoke,
    Send,
    Wait,
)
from pyk.clients.consumer.group.classic.member_state import MemberState
from pyk.clients.errors import (
    FencedInstanceIdError,
    GroupAuthorizationFailedError,
    InconsistentGroupProtocolError,
    MalformedResponseError,
    NodeDisconnectedError,
    UnknownCodeError,
    UnknownMemberIdError,
)
from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.heartbeat import HeartbeatRequest
from pyk.protocol.messages.join_group import JoinGroupRequest, JoinGroupResponse
from pyk.protocol.messages.sync_group import SyncGroupRequest, SyncGroupResponse
from support.membership import Member, partitions


@pytest.mark.parametrize(
    ("code", "kept_id"),
    [(ErrorCode.UNKNOWN_MEMBER_ID, ""), (ErrorCode.ILLEGAL_GENERATION, "me")],
)
def test_a_member_that_is_not_known_loses_its_partitions(code: ErrorCode, kept_id: str) -> None:
    member = Member().stable(0)

    member.heartbeat(code)

    assert member.expect(Lose).partitions == partitions(0)
    assert member.expect_request(JoinGroupRequest).request.member_id == kept_id


def test_partitions_that_are_lost_while_they_are_given_up_are_not_given_up_twice() -> None:
    member = Member().stable(0)
    member.heartbeat(ErrorCode.REBALANCE_IN_PROGRESS)
    revoke = member.expect(Revoke)

    member.heartbeat(ErrorCode.UNKNOWN_MEMBER_ID)
    member.expect(Lose)
    member.membership.revoked(revoke)

    assert member.state is MemberState.JOINING


@pytest.mark.parametrize("code", [ErrorCode.NOT_COORDINATOR, ErrorCode.COORDINATOR_NOT_AVAILABLE])
def test_a_moved_coordinator_is_looked_up_again(code: ErrorCode) -> None:
    member = Member().stable(0)

    member.heartbeat(code)

    member.expect(ForgetCoordinator)
    assert isinstance(member.next(), Wait)
    member.now += 0.2
    member.expect_request(HeartbeatRequest)


def test_a_coordinator_that_moves_during_a_join_is_looked_up_again() -> None:
    member = Member()

    member.join(ErrorCode.NOT_COORDINATOR)

    member.expect(ForgetCoordinator)
    member.expect_request(JoinGroupRequest)


def test_failed_joins_back_off() -> None:
    member = Member()
    waits = []
    for _ in range(6):
        member.join(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
        action = member.next()
        waits.append((action.until or 0.0) - member.now if isinstance(action, Wait) else 0.0)
        member.now += waits[-1]
        if waits[-1] == 0.0:
            assert isinstance(action, Send)
            member.fail(action, NodeDisconnectedError("gone"))
            member.expect(ForgetCoordinator)
            member.now += 1.0

    assert waits[0] == 0.0
    assert all(wait >= 0.1 for wait in waits[1:])
    assert max(waits) <= 1.0


def test_a_session_without_responses_ends_and_loses_the_partitions() -> None:
    member = Member(session_timeout=9.0).stable(0)
    for _ in range(2):
        member.now += 3.0
        member.fail(member.expect_request(HeartbeatRequest), NodeDisconnectedError("gone"))
        member.expect(ForgetCoordinator)

    member.now = 9.0

    member.expect(ForgetCoordinator)
    assert member.expect(Lose).partitions == partitions(0)
    member.expect_request(JoinGroupRequest)


def test_a_member_that_is_forgotten_in_an_outage_joins_again_without_an_error() -> None:
    member = Member(session_timeout=60.0).stable(0)
    for _ in range(10):
        member.now += 3.0
        member.fail(member.expect_request(HeartbeatRequest), NodeDisconnectedError("gone"))
        member.expect(ForgetCoordinator)
    member.now += 3.0

    member.heartbeat(ErrorCode.UNKNOWN_MEMBER_ID)

    assert member.membership.failures.take_error(member.now) is None
    member.expect(Lose)
    member.now += 1.0
    member.expect_request(JoinGroupRequest)


def test_a_cooperative_member_that_cannot_rejoin_loses_its_partitions_with_the_session() -> None:
    member = Member(cooperative=True, session_timeout=9.0).stable(0)
    member.heartbeat(ErrorCode.REBALANCE_IN_PROGRESS)
    member.fail(member.expect_request(JoinGroupRequest), NodeDisconnectedError("gone"))
    member.expect(ForgetCoordinator)

    member.now += 9.0

    member.expect(ForgetCoordinator)
    member.expect(Lose)


def test_a_busy_application_makes_the_member_leave_and_come_back() -> None:
    member = Member(max_poll_interval=4.0).stable(0)
    member.heartbeat()
    member.now = 4.0

    assert member.expect(Lose).partitions == partitions(0)
    assert member.expect(Leave).request.members[0].member_id == "me"
    assert member.next() == Wait(7.0)
    member.now = 60.0
    member.membership.application_polled(member.now)

    assert member.expect_request(JoinGroupRequest).request.member_id == ""


NOT_YET = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS


def failing_for_long(member: Member) -> Member:
    """Let heartbeats of a stable member fail until that is a problem."""
    while member.membership.failures.problem(member.now) is None:
        member.heartbeat(NOT_YET)
    return member


def test_an_answered_heartbeat_ends_a_problem() -> None:
    member = failing_for_long(Member(session_timeout=100.0).stable(0))

    member.heartbeat()

    assert member.membership.failures.seconds(member.now) == 0


def test_a_member_that_left_has_no_problem() -> None:
    member = failing_for_long(Member(session_timeout=100.0).stable(0))

    member.membership.leave("unsubscribed")

    assert member.membership.failures.seconds(member.now) == 0


def test_a_member_that_leaves_for_a_busy_application_has_no_problem() -> None:
    member = failing_for_long(Member(session_timeout=100.0, max_poll_interval=50.0).stable(0))
    member.now = 50.0

    member.expect(Lose)

    assert member.membership.failures.seconds(member.now) == 0


def test_a_member_that_is_refused_for_good_has_no_problem_but_an_error() -> None:
    member = failing_for_long(Member(session_timeout=100.0).stable(0))

    member.heartbeat(ErrorCode.GROUP_AUTHORIZATION_FAILED)

    assert member.membership.error is not None
    assert member.membership.failures.seconds(member.now) == 0


def test_a_member_without_access_joins_again_as_the_same_once_it_has_it() -> None:
    # Under another id the group would wait for the first one until its session ends.
    member = Member().stable(0)
    member.heartbeat(ErrorCode.GROUP_AUTHORIZATION_FAILED)
    member.expect(Lose)

    member.membership.retry(member.now)
    member.now += 1.0

    assert member.expect_request(JoinGroupRequest).request.member_id == "me"


def test_an_assignment_ends_a_problem() -> None:
    member = Member()
    member.join(NOT_YET)
    member.now += 20.0
    assert member.membership.failures.problem(member.now) is not None

    member.stable(0)

    assert member.membership.failures.seconds(member.now) == 0


def test_a_busy_static_member_falls_silent_without_leaving() -> None:
    member = Member(max_poll_interval=2.0, group_instance_id="i").stable(0)
    member.now = 2.0

    member.expect(Lose)

    assert member.next() == Wait(5.0)


def test_an_application_that_polls_keeps_the_membership() -> None:
    member = Member(max_poll_interval=4.0).stable(0)

    for _ in range(5):
        member.heartbeat()
        member.membership.application_polled(member.now)

    assert member.state is MemberState.STABLE


def test_a_fenced_member_fails_for_good() -> None:
    member = Member(group_instance_id="i").stable(0)

    member.heartbeat(ErrorCode.FENCED_INSTANCE_ID)

    assert isinstance(member.membership.error, FencedInstanceIdError)
    member.expect(Lose)
    member.membership.retry(member.now)
    assert member.next() == Wait(None)


@pytest.mark.parametrize(
    ("code", "error"),
    [
        (ErrorCode.GROUP_AUTHORIZATION_FAILED, GroupAuthorizationFailedError),
        (ErrorCode.INCONSISTENT_GROUP_PROTOCOL, InconsistentGroupProtocolError),
        (ErrorCode(31_000), UnknownCodeError),
    ],
)
def test_a_refused_member_fails_and_may_try_again(code: ErrorCode, error: type[Exception]) -> None:
    member = Member()

    member.join(code)

    assert isinstance(member.membership.error, error)
    assert member.next() == Wait(None)
    member.membership.retry(member.now)
    member.now += 0.2
    member.expect_request(JoinGroupRequest)


def test_a_group_of_another_kind_is_refused() -> None:
    member = Member()

    member.join(protocol_type="connect")

    assert isinstance(member.membership.error, InconsistentGroupProtocolError)


def test_an_assignor_that_was_never_offered_is_refused() -> None:
    member = Member()

    member.join(protocol_name="made-up")

    assert isinstance(member.membership.error, InconsistentGroupProtocolError)


def test_an_assignment_that_cannot_be_read_is_an_error_of_its_own() -> None:
    member = Member()
    member.join()

    syncing = member.expect_request(SyncGroupRequest)
    member.answer(syncing, SyncGroupResponse(assignment=b"\x00\x01\x7f\xff\xff\xff"))

    assert isinstance(member.membership.error, MalformedResponseError)


def test_a_member_that_leaves_before_it_syncs_asks_for_no_assignment() -> None:
    member = Member(max_poll_interval=10.0)
    joining = member.expect_request(JoinGroupRequest)
    member.now = 10.0
    joined = JoinGroupResponse(
        generation_id=1, protocol_name="range", leader="other", member_id="me"
    )

    member.answer(joining, joined)

    member.expect(Leave)
    assert isinstance(member.next(), Wait)
    assert member.state is MemberState.AWAY


def test_a_response_that_comes_after_the_member_has_left_and_joined_again_is_not_taken() -> None:
    member = Member()
    late = member.expect_request(JoinGroupRequest)

    member.membership.leave("unsubscribed")
    member.membership.subscribe(frozenset({"a"}), member.now)
    member.expect_request(JoinGroupRequest)
    member.answer(late, JoinGroupResponse(error_code=ErrorCode.GROUP_AUTHORIZATION_FAILED))

    assert member.membership.error is None


def test_a_member_that_is_too_slow_to_sync_is_told_of_the_time_it_has() -> None:
    member = Member(max_poll_interval=0.001)

    for _ in range(9):
        member.membership.application_polled(member.now)
        member.join()
        member.sync(error=ErrorCode.UNKNOWN_MEMBER_ID)
        member.now += 4.0

    error = member.membership.failures.take_error(member.now)
    assert isinstance(error, UnknownMemberIdError)
    assert "max_poll_interval_ms=1 is" in str(error)
