"""What becomes of a member that is fenced, refused, unanswered or left alone."""

from __future__ import annotations

import pytest

from pyk.clients.consumer.group.actions import (
    ForgetCoordinator,
    Leave,
    Lose,
    Revoke,
    Wait,
)
from pyk.clients.consumer.group.modern.membership import MemberState
from pyk.clients.errors import (
    FencedInstanceIdError,
    GroupAuthorizationFailedError,
    GroupIdNotFoundError,
    GroupMaxSizeReachedError,
    InvalidRegularExpressionError,
    KafkaError,
    MalformedResponseError,
    NodeDisconnectedError,
    SaslAuthenticationFailedError,
    UnreleasedInstanceIdError,
    UnsupportedAssignorError,
    UnsupportedVersionError,
)
from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.consumer_group_heartbeat import TopicPartitions
from support.modern_membership import INTERVAL, TOPIC_ID, ModernMember, partitions

FENCED = [ErrorCode.FENCED_MEMBER_EPOCH, ErrorCode.UNKNOWN_MEMBER_ID]


def beaten(**options: object) -> ModernMember:
    """Return a member that owns partition 0 and has a heartbeat in flight."""
    member = ModernMember(**options).stable(0)
    member.now += INTERVAL
    member.expect_heartbeat()
    return member


@pytest.mark.parametrize("code", [*FENCED, ErrorCode.GROUP_ID_NOT_FOUND])
def test_a_fenced_member_loses_its_partitions_and_joins_again(code: ErrorCode) -> None:
    member = beaten()

    member.refuse(code)

    assert member.expect(Lose).partitions == partitions(0)
    assert member.membership.standing.identity is None
    request = member.expect_heartbeat()
    assert (request.member_id, request.member_epoch) == ("me", 0)
    assert (request.subscribed_topic_names, request.topic_partitions) == (["a"], [])


def test_a_member_that_cannot_join_because_of_its_group_fails() -> None:
    member = ModernMember()
    member.expect_heartbeat()

    member.refuse(ErrorCode.GROUP_ID_NOT_FOUND)

    assert member.state is MemberState.FAILED
    assert isinstance(member.membership.error, GroupIdNotFoundError)


def test_partitions_that_are_lost_while_they_are_given_up_are_not_given_up_twice() -> None:
    member = ModernMember().stable(0)
    member.beat(())
    revoke = member.expect(Revoke)
    member.now += INTERVAL
    member.expect_heartbeat()

    member.refuse(ErrorCode.FENCED_MEMBER_EPOCH)
    assert member.expect(Lose).partitions == partitions(0)
    member.membership.revoked(revoke)

    assert member.state is MemberState.JOINING


def test_a_member_that_is_fenced_again_backs_off() -> None:
    member = beaten()
    member.refuse(ErrorCode.UNKNOWN_MEMBER_ID)
    member.expect(Lose)
    member.expect_heartbeat()

    member.refuse(ErrorCode.UNKNOWN_MEMBER_ID)

    wait = member.expect(Wait)
    assert wait.until is not None
    assert wait.until > member.now


@pytest.mark.parametrize("code", [ErrorCode.NOT_COORDINATOR, ErrorCode.COORDINATOR_NOT_AVAILABLE])
def test_a_moved_coordinator_is_told_everything(code: ErrorCode) -> None:
    member = beaten()

    member.refuse(code)

    member.expect(ForgetCoordinator)
    request = member.expect_heartbeat()
    assert (request.member_epoch, request.subscribed_topic_names) == (2, ["a"])
    assert request.rebalance_timeout_ms == 300_000
    assert request.topic_partitions == [TopicPartitions(topic_id=TOPIC_ID, partitions=[0])]


def test_a_lost_answer_makes_the_next_heartbeat_say_everything() -> None:
    member = beaten()

    member.fail(NodeDisconnectedError("the connection ended"))

    member.expect(ForgetCoordinator)
    request = member.expect_heartbeat()
    assert request.topic_partitions == [TopicPartitions(topic_id=TOPIC_ID, partitions=[0])]
    assert member.membership.standing.identity is not None


@pytest.mark.parametrize("code", FENCED)
def test_a_member_that_is_fenced_in_an_outage_joins_again_without_an_error(code: ErrorCode) -> None:
    member = beaten()
    for _ in range(10):
        member.fail(NodeDisconnectedError("the connection ended"))
        member.now += 4.0
        member.expect(ForgetCoordinator)
        member.expect_heartbeat()

    member.refuse(code)

    assert member.membership.failures.take_error(member.now) is None
    member.expect(Lose)
    member.now += 1.0
    assert member.expect_heartbeat().member_epoch == 0


def test_the_end_of_a_pattern_is_told_again_if_it_may_not_have_arrived() -> None:
    member = ModernMember().stable()
    member.membership.subscribe(frozenset(), member.now, "a.*")
    member.expect_heartbeat()
    member.answer()
    member.membership.subscribe(frozenset({"a"}), member.now)
    member.expect_heartbeat()

    member.fail(NodeDisconnectedError("the connection ended"))

    member.expect(ForgetCoordinator)
    assert member.expect_heartbeat().subscribed_topic_regex == ""


def test_a_coordinator_that_loads_is_asked_again_after_a_while() -> None:
    member = beaten()
    member.refuse(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
    member.expect_heartbeat()

    member.refuse(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)

    wait = member.expect(Wait)
    assert wait.until is not None
    assert 0.0 < wait.until - member.now < INTERVAL
    assert member.membership.failures.seconds(member.now + 1.0) == 1.0


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        (ErrorCode.GROUP_MAX_SIZE_REACHED, GroupMaxSizeReachedError),
        (ErrorCode.UNRELEASED_INSTANCE_ID, UnreleasedInstanceIdError),
        (ErrorCode.UNSUPPORTED_ASSIGNOR, UnsupportedAssignorError),
        (ErrorCode.INVALID_REGULAR_EXPRESSION, InvalidRegularExpressionError),
        (ErrorCode.GROUP_AUTHORIZATION_FAILED, GroupAuthorizationFailedError),
    ],
)
def test_a_refusal_is_raised_in_the_words_of_the_coordinator_and_may_be_tried_again(
    code: ErrorCode, kind: type[KafkaError]
) -> None:
    member = beaten()

    member.refuse(code, "because of this")

    assert member.expect(Lose).partitions == partitions(0)
    assert isinstance(member.next(), Wait)
    error = member.membership.error
    assert isinstance(error, kind)
    assert "because of this" in str(error)

    member.membership.retry(member.now)
    assert member.membership.error is None
    assert isinstance(member.next(), Wait)
    member.now += 10.0
    assert member.expect_heartbeat().member_epoch == 0


def test_a_member_whose_name_was_taken_over_does_not_try_again() -> None:
    member = beaten(group_instance_id="i")

    member.refuse(ErrorCode.FENCED_INSTANCE_ID)
    member.membership.retry(member.now)

    assert isinstance(member.membership.error, FencedInstanceIdError)
    assert member.state is MemberState.FAILED


def test_a_member_whose_login_was_refused_may_try_again() -> None:
    member = ModernMember()
    member.expect_heartbeat()
    member.fail(SaslAuthenticationFailedError("refused"))

    member.membership.retry(member.now)
    member.now += 10.0

    assert member.expect_heartbeat().member_epoch == 0


def test_a_broker_without_the_protocol_is_named_with_what_to_do() -> None:
    member = ModernMember()
    member.expect_heartbeat()

    member.fail(UnsupportedVersionError("node 3 (old:9092): no ConsumerGroupHeartbeat", node_id=3))

    error = member.membership.error
    assert isinstance(error, UnsupportedVersionError)
    assert "node 3" in str(error)
    assert "group_protocol='classic'" in str(error)


def test_a_broker_that_cannot_resolve_patterns_is_named_with_what_to_do() -> None:
    member = ModernMember()
    member.membership.subscribe(frozenset(), member.now, "a.*")
    member.expect_heartbeat()

    member.fail(UnsupportedVersionError("node 3 (old:9092): versions 0, but 1 are needed"))

    assert "node 3" in str(member.membership.error)
    assert "subscribe with a str" in str(member.membership.error)


def test_a_cluster_that_has_the_protocol_switched_off_says_how_to_switch_it_on() -> None:
    member = ModernMember()
    member.expect_heartbeat()

    member.refuse(ErrorCode.UNSUPPORTED_VERSION)

    assert "group.version" in str(member.membership.error)


@pytest.mark.parametrize("epoch", [0, -1])
def test_an_epoch_that_no_member_can_have_is_an_error(epoch: int) -> None:
    member = ModernMember()
    member.expect_heartbeat()

    member.answer((0,), epoch=epoch)

    assert isinstance(member.membership.error, MalformedResponseError)
    assert isinstance(member.next(), Wait)


@pytest.mark.parametrize(("instance", "epoch"), [(None, -1), ("i", -2)])
def test_a_member_leaves_while_its_application_is_busy_and_comes_back_with_it(
    instance: str | None, epoch: int
) -> None:
    member = ModernMember(group_instance_id=instance, max_poll_interval=30.0).stable(0)
    member.now = 30.0

    assert member.expect(Lose).partitions == partitions(0)
    leave = member.expect(Leave)
    assert (leave.request.member_epoch, leave.lane) == (epoch, "group")
    assert isinstance(member.next(), Wait)
    assert member.membership.standing.state == "away"

    member.membership.application_polled(member.now)
    request = member.expect_heartbeat()
    assert (request.member_epoch, request.topic_partitions) == (0, [])


def test_an_application_that_polls_is_not_absent() -> None:
    member = ModernMember(max_poll_interval=30.0).stable(0)

    for _ in range(100):
        member.membership.application_polled(member.now)
        member.beat()

    assert member.state is MemberState.STABLE
