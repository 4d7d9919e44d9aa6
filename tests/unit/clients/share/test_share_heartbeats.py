from __future__ import annotations

from uuid import UUID

import pytest

from pyk.clients.consumer.group.actions import Assign, Lose, Revoke, Send
from pyk.clients.consumer.group.modern.heartbeats import MemberOptions
from pyk.clients.consumer.group.modern.membership import MemberState, ModernMembership
from pyk.clients.consumer.group.share.heartbeats import ShareHeartbeats
from pyk.clients.errors import GroupIdNotFoundError, UnsupportedVersionError
from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.share_group_heartbeat import (
    Assignment,
    ShareGroupHeartbeatRequest,
    ShareGroupHeartbeatResponse,
    TopicPartitions,
)
from support.modern_membership import image_of, partitions

OPTIONS = MemberOptions(group_id="g", member_id="me", rack="r")


class ShareMember:
    """A membership of a share group with the coordinator in the test's hands."""

    def __init__(self) -> None:
        self.membership = ModernMembership(OPTIONS, lambda: 0.5, 0.0, ShareHeartbeats(OPTIONS))
        self.membership.metadata_changed(image_of(a=1), 0.0)
        self.membership.subscribe(frozenset({"a"}), 0.0)
        self.now = 0.0

    def beat(self, epoch: int = 1, *numbers: int, code: int = 0) -> ShareGroupHeartbeatRequest:
        """Take the heartbeat that is due, and answer it with these partitions of topic a."""
        sent = self.membership.next_action(self.now)
        assert isinstance(sent, Send)
        assigned = Assignment(
            topic_partitions=[TopicPartitions(topic_id=UUID(int=1), partitions=list(numbers))]
        )
        response = ShareGroupHeartbeatResponse(
            error_code=code,
            member_epoch=epoch,
            heartbeat_interval_ms=1000,
            assignment=None if code else assigned,
        )
        self.membership.answered(sent, response, self.now)
        request: ShareGroupHeartbeatRequest = sent.request
        return request


def test_a_member_says_everything_once_and_never_what_it_owns() -> None:
    member = ShareMember()

    joining = member.beat(1, 0, 1)
    assigned = member.membership.next_action(0.0)
    member.now = 1.0
    later = member.beat(1, 0, 1)

    assert (joining.member_epoch, joining.rack_id) == (0, "r")
    assert joining.subscribed_topic_names == ["a"]
    assert isinstance(assigned, Assign)
    assert assigned.added == partitions(0, 1)
    assert (later.member_epoch, later.rack_id, later.subscribed_topic_names) == (1, None, None)


def test_what_the_target_lacks_is_revoked_without_another_heartbeat() -> None:
    member = ShareMember()
    member.beat(1, 0, 1)
    member.membership.next_action(0.0)
    member.now = 1.0
    member.beat(2, 1)

    revoke = member.membership.next_action(1.0)
    assert isinstance(revoke, Revoke)
    member.membership.revoked(revoke)

    assert revoke.partitions == partitions(0)
    assert {one.number for one in member.membership.owned} == {1}
    assert not isinstance(member.membership.next_action(1.0), Send)


def test_a_fenced_member_loses_everything_and_joins_again() -> None:
    member = ShareMember()
    member.beat(1, 0)
    member.membership.next_action(0.0)
    member.now = 1.0
    member.beat(code=ErrorCode.UNKNOWN_MEMBER_ID)

    assert isinstance(member.membership.next_action(1.0), Lose)
    assert member.beat(3, 0).member_epoch == 0


def test_leaving_says_so_to_the_coordinator() -> None:
    member = ShareMember()
    member.beat(1, 0)

    leave = member.membership.leave("closed")

    assert leave is not None
    assert (leave.request.member_epoch, leave.lane) == (-1, "group")
    assert member.membership.state is MemberState.UNSUBSCRIBED


@pytest.mark.parametrize("code", [ErrorCode.UNSUPPORTED_VERSION, ErrorCode.GROUP_ID_NOT_FOUND])
def test_a_refusal_names_the_group(code: ErrorCode) -> None:
    error = ShareHeartbeats(OPTIONS).refusal(code, None)

    assert error.group_id == "g"
    assert isinstance(error, UnsupportedVersionError) == (code is ErrorCode.UNSUPPORTED_VERSION)


def test_the_refusal_of_a_cluster_without_share_groups_says_what_to_switch_on() -> None:
    error = ShareHeartbeats(OPTIONS).refusal(ErrorCode.UNSUPPORTED_VERSION, "no such version")

    assert "set its feature share.version to 1" in str(error)


def test_topics_are_named_in_order() -> None:
    member = ShareMember()
    topics = frozenset(f"topic {number}" for number in range(20))
    member.membership.subscribe(topics, 0.0)

    assert member.beat(1, 0).subscribed_topic_names == sorted(topics)


def test_a_coordinator_without_share_groups_is_explained_and_no_other_error() -> None:
    heartbeats = ShareHeartbeats(OPTIONS)
    unsupported, other = UnsupportedVersionError("too old"), GroupIdNotFoundError("not here")

    explained = heartbeats.explained(unsupported, None)

    assert "does not offer share groups (too old)" in str(explained)
    assert explained.__cause__ is unsupported
    assert heartbeats.explained(other, None) is other
