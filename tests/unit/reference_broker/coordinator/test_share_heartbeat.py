"""What a heartbeat of a share group says, and which are refused, in the words of Kafka."""

from __future__ import annotations

from typing import Any

import pytest

from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.share_group_heartbeat import ShareGroupHeartbeatRequest
from pyk.reference_broker.coordinator.group.share.heartbeat import (
    ShareHeartbeat,
    check_epoch,
    check_request,
)
from pyk.reference_broker.coordinator.group.share.member import ShareMember
from pyk.reference_broker.errors import ApiError
from pyk.runtime import slotted
from pyk.runtime.timers import Moment

MEMBER = ShareMember(
    member_id="a", epoch=5, previous_epoch=3, rack_id="east", topic_names=frozenset({"orders"})
)


def request(**fields: Any) -> ShareGroupHeartbeatRequest:
    said = {"group_id": "workers", "member_id": "a", "member_epoch": 5, **fields}
    return ShareGroupHeartbeatRequest(**said)


def heartbeat(**fields: Any) -> ShareHeartbeat:
    return ShareHeartbeat(
        request=request(**fields),
        client_id="app",
        client_host="/127.0.0.1",
        moment=Moment(0.0, 0),
    )


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"member_id": "x" * 36},
        {"member_epoch": 0, "subscribed_topic_names": ["orders"]},
        {"member_epoch": -1},
        {"rack_id": "east"},
    ],
)
def test_a_request_that_makes_sense_is_accepted(fields: dict[str, Any]) -> None:
    check_request(request(**fields))


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"member_id": ""}, None),
        ({"member_id": "x" * 37}, None),
        ({"member_id": " "}, "MemberId can't be empty."),
        ({"group_id": ""}, "GroupId can't be empty."),
        ({"rack_id": " "}, "RackId can't be empty."),
        ({"member_epoch": 0}, "SubscribedTopicNames must be set in first request."),
        (
            {"member_epoch": 0, "subscribed_topic_names": []},
            "SubscribedTopicNames must be set in first request.",
        ),
        ({"member_epoch": -2}, "MemberEpoch is invalid."),
    ],
)
def test_an_invalid_request_is_refused(fields: dict[str, Any], message: str | None) -> None:
    with pytest.raises(ApiError) as refused:
        check_request(request(**fields))

    assert (refused.value.code, refused.value.message) == (ErrorCode.INVALID_REQUEST, message)


@pytest.mark.parametrize("epoch", [0, 3, 5])
def test_the_epoch_of_a_member_and_the_one_before_are_accepted(epoch: int) -> None:
    check_epoch(MEMBER, epoch)


@pytest.mark.parametrize(
    ("epoch", "words"),
    [
        (6, "has a greater member epoch (6) than the one known by the group coordinator (5). The"),
        (4, "(5), and it does not match the previous member epoch (3). The member must abandon"),
    ],
)
def test_another_epoch_is_fenced(epoch: int, words: str) -> None:
    with pytest.raises(ApiError) as refused:
        check_epoch(MEMBER, epoch)

    assert refused.value.code == ErrorCode.FENCED_MEMBER_EPOCH
    assert words in str(refused.value.message)


@pytest.mark.parametrize(
    ("fields", "is_full"),
    [
        ({}, False),
        ({"subscribed_topic_names": ["orders"]}, True),
    ],
)
def test_a_heartbeat_with_a_subscription_says_everything(
    fields: dict[str, Any], is_full: bool
) -> None:
    assert heartbeat(**fields).is_full is is_full


@pytest.mark.parametrize(
    ("fields", "changes"),
    [
        ({}, {}),
        ({"rack_id": "west"}, {"rack_id": "west"}),
        ({"subscribed_topic_names": ["bills"]}, {"topic_names": frozenset({"bills"})}),
    ],
)
def test_a_member_stays_what_a_heartbeat_does_not_change(
    fields: dict[str, Any], changes: dict[str, Any]
) -> None:
    described = heartbeat(**fields).describe(MEMBER)

    assert described == slotted.evolve(MEMBER, client_id="app", client_host="/127.0.0.1", **changes)
