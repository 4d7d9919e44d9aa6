from __future__ import annotations

from typing import TypeVar

import pytest

from pyk.clients.consumer.group.actions import (
    Action,
    Assign,
    Divide,
    ForgetCoordinator,
    Heartbeat,
    Join,
    Leave,
    Lose,
    Revoke,
    Sync,
    Wait,
)
from pyk.clients.consumer.group.assignors import (
    CooperativeStickyAssignor,
    RangeAssignor,
    RoundRobinAssignor,
    StickyAssignor,
    Subscription,
    TopicLayout,
)
from pyk.clients.consumer.group.embedded import (
    decode_assignment,
    decode_subscription,
    encode_assignment,
    encode_subscription,
)
from pyk.clients.consumer.group.membership import Membership, MemberState
from pyk.clients.consumer.group.requests import MemberOptions
from pyk.clients.errors import (
    FencedInstanceIdError,
    GroupAuthorizationFailedError,
    InconsistentGroupProtocolError,
    MalformedResponseError,
    NodeDisconnectedError,
    UnknownCodeError,
)
from pyk.clients.topic_partition import TopicPartition
from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.heartbeat import HeartbeatResponse
from pyk.protocol.messages.join_group import JoinGroupResponse, JoinGroupResponseMember
from pyk.protocol.messages.sync_group import SyncGroupResponse

A = TypeVar("A")
TOPICS = frozenset({"a"})


def partitions(*numbers: int) -> frozenset[TopicPartition]:
    return frozenset(TopicPartition("a", number) for number in numbers)


class Member:
    """A membership with the clock and the coordinator's answers in the test's hands."""

    def __init__(self, *, cooperative: bool = False, **options: object) -> None:
        assignors = (CooperativeStickyAssignor(),) if cooperative else (RangeAssignor(),)
        fields = {"group_id": "g", "assignors": assignors, **options}
        self.membership = Membership(MemberOptions(**fields), lambda: 0.5, 0.0)  # type: ignore[arg-type]
        self.now = 0.0
        self.membership.subscribe(TOPICS, 0.0)

    def next(self) -> Action:
        return self.membership.next_action(self.now)

    def expect(self, kind: type[A]) -> A:
        action = self.next()
        assert isinstance(action, kind), action
        return action

    def join(self, error: ErrorCode = ErrorCode.NONE, **fields: object) -> Join:
        action = self.expect(Join)
        values = {
            "generation_id": 1,
            "protocol_name": self.membership._options.assignors[0].name,
            "leader": "other",
            "member_id": "me",
            **fields,
        }
        self.membership.joined(
            JoinGroupResponse(error_code=error, **values),  # type: ignore[arg-type]
            self.now,
        )
        return action

    def sync(self, *numbers: int, error: ErrorCode = ErrorCode.NONE) -> Sync:
        action = self.expect(Sync)
        blob = encode_assignment(partitions(*numbers))
        self.membership.synced(SyncGroupResponse(error_code=error, assignment=blob), self.now)
        return action

    def heartbeat(self, error: ErrorCode = ErrorCode.NONE) -> Heartbeat:
        self.now += 3.0
        action = self.expect(Heartbeat)
        self.membership.heartbeat_answered(HeartbeatResponse(error_code=error), self.now)
        return action

    def stable(self, *numbers: int) -> Member:
        self.join()
        self.sync(*numbers)
        self.expect(Assign)
        return self

    @property
    def state(self) -> MemberState:
        return self.membership.state


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


def test_a_cooperative_member_joins_with_what_it_owns_and_gives_up_only_what_moves() -> None:
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
    assert member.expect(Join).request.reason == "gave up partitions that go to other members"


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

    assert not member.membership.is_cooperative


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


@pytest.mark.parametrize(
    ("code", "kept_id"),
    [(ErrorCode.UNKNOWN_MEMBER_ID, ""), (ErrorCode.ILLEGAL_GENERATION, "me")],
)
def test_a_member_that_is_not_known_loses_its_partitions(code: ErrorCode, kept_id: str) -> None:
    member = Member().stable(0)

    member.heartbeat(code)

    assert member.expect(Lose).partitions == partitions(0)
    assert member.expect(Join).request.member_id == kept_id


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
    member.expect(Heartbeat)


def test_a_coordinator_that_moves_during_a_join_is_looked_up_again() -> None:
    member = Member()

    member.join(ErrorCode.NOT_COORDINATOR)

    member.expect(ForgetCoordinator)
    member.expect(Join)


def test_joining_in_vain_backs_off() -> None:
    member = Member()
    waits = []
    for _ in range(6):
        member.join(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
        action = member.next()
        waits.append((action.until or 0.0) - member.now if isinstance(action, Wait) else 0.0)
        member.now += waits[-1]
        if waits[-1] == 0.0:
            member.membership.request_failed(NodeDisconnectedError("gone"), member.now)
            member.expect(ForgetCoordinator)
            member.now += 1.0

    assert waits[0] == 0.0
    assert all(wait >= 0.1 for wait in waits[1:])
    assert max(waits) <= 1.0


def test_a_rebalance_during_the_sync_joins_again_at_once() -> None:
    member = Member()
    member.join()

    member.sync(error=ErrorCode.REBALANCE_IN_PROGRESS)

    assert member.expect(Join).request.member_id == "me"


def test_a_session_that_nobody_answers_ends_and_loses_the_partitions() -> None:
    member = Member(session_timeout=9.0).stable(0)
    for _ in range(2):
        member.now += 3.0
        member.expect(Heartbeat)
        member.membership.request_failed(NodeDisconnectedError("gone"), member.now)
        member.expect(ForgetCoordinator)

    member.now = 9.0

    member.expect(ForgetCoordinator)
    assert member.expect(Lose).partitions == partitions(0)
    member.expect(Join)


def test_a_cooperative_member_that_rejoins_in_vain_loses_its_partitions_with_the_session() -> None:
    member = Member(cooperative=True, session_timeout=9.0).stable(0)
    member.heartbeat(ErrorCode.REBALANCE_IN_PROGRESS)
    member.expect(Join)
    member.membership.request_failed(NodeDisconnectedError("gone"), member.now)
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

    assert member.expect(Join).request.member_id == ""


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


def test_leaving_tells_the_coordinator_unless_the_member_is_static() -> None:
    dynamic, static = Member().stable(0), Member(group_instance_id="i").stable(0)

    leave = dynamic.membership.leave("closes")

    assert leave is not None
    assert leave.request.members[0].reason == "closes"
    assert static.membership.leave("closes") is None
    assert dynamic.state is static.state is MemberState.UNSUBSCRIBED
    assert dynamic.next() == Wait(None)


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
    member.expect(Join)


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

    member.expect(Sync)
    member.membership.synced(SyncGroupResponse(assignment=b"\x00\x01\x7f\xff\xff\xff"), 0.0)

    assert isinstance(member.membership.error, MalformedResponseError)


def test_partitions_of_foreign_topics_and_negative_ones_are_not_taken() -> None:
    member = Member()
    member.join()
    blob = encode_assignment({TopicPartition("a", -1), TopicPartition("b", 0), *partitions(3)})

    member.expect(Sync)
    member.membership.synced(SyncGroupResponse(assignment=blob), 0.0)

    assert member.expect(Assign).owned == partitions(3)


def test_a_subscription_that_changes_during_a_rebalance_brings_the_next_one() -> None:
    member = Member()
    member.join()

    member.membership.subscribe(frozenset({"a", "b"}), 0.0)
    member.sync(0)
    member.expect(Assign)

    member.expect(Revoke)


def test_an_eager_sticky_member_tells_what_it_had() -> None:
    member = Member(assignors=(StickyAssignor(),)).stable(0, 1)
    member.heartbeat(ErrorCode.REBALANCE_IN_PROGRESS)
    member.membership.revoked(member.expect(Revoke))

    metadata = member.expect(Join).request.protocols[0].metadata

    subscription = decode_subscription(metadata, member_id="me", group_instance_id=None)
    assert subscription.owned_partitions == ()
    assert subscription.user_data == StickyAssignor().user_data(sorted(partitions(0, 1)), 1)


def own_metadata(member: Member) -> bytes:
    return encode_subscription(Subscription(member_id="me", topics=TOPICS))
