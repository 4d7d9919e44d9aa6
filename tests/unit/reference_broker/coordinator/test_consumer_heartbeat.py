"""ConsumerGroupHeartbeat: join, stay, leave, come back, and be fenced (KIP-848)."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.consumer_group_records import (
    ConsumerGroupPartitionMetadataKey,
    ConsumerGroupPartitionMetadataValue,
)
from pyk.reference_broker.coordinator.decision import Decision
from pyk.reference_broker.coordinator.records import CoordinatorRecord
from support.consumer_members import ConsumerGroups, configured, error_of
from support.groups import GROUP

JOIN: dict[str, Any] = {"rebalance_timeout_ms": 1, "subscribed_topic_names": ["orders"]}
INVALID: list[tuple[dict[str, Any], str]] = [
    ({"member_id": " ", "epoch": 0}, "MemberId can't be empty."),
    ({"member_id": "", "epoch": -1, "version": 0}, "MemberId can't be empty."),
    ({"member_id": "", "epoch": 1, "version": 0}, "MemberId can't be empty."),
    ({"member_id": "a", "epoch": 0, "group": ""}, "GroupId can't be empty."),
    ({"member_id": "a", "epoch": 0, "instance_id": ""}, "InstanceId can't be empty."),
    ({"member_id": "a", "epoch": 0, "rack_id": ""}, "RackId can't be empty."),
    (
        {"member_id": "a", "epoch": 0},
        "RebalanceTimeoutMs must be provided in first request.",
    ),
    (
        {"member_id": "a", "epoch": 0, **JOIN},
        "TopicPartitions must be empty when (re-)joining.",
    ),
    (
        {"member_id": "a", "epoch": 0, "owned": {"orders": [0]}, **JOIN},
        "TopicPartitions must be empty when (re-)joining.",
    ),
    (
        {"member_id": "a", "epoch": 0, "owned": {}, "rebalance_timeout_ms": 1},
        "Either SubscribedTopicNames or SubscribedTopicRegex must be non-null when (re-)joining.",
    ),
    ({"member_id": "a", "epoch": -2}, "InstanceId can't be null."),
    ({"member_id": "a", "epoch": -3}, "MemberEpoch is invalid."),
]


@pytest.mark.parametrize(("request_", "message"), INVALID)
def test_an_invalid_request_is_refused_in_the_words_of_kafka(
    groups: ConsumerGroups, request_: dict[str, Any], message: str
) -> None:
    response = groups.beat(**request_)

    assert (error_of(response), response.error_message) == (ErrorCode.INVALID_REQUEST, message)
    assert groups.shard.groups == {}


def test_an_unknown_assignor_is_refused(groups: ConsumerGroups) -> None:
    response = groups.join_as("a", "orders", server_assignor="best")

    assert error_of(response) is ErrorCode.UNSUPPORTED_ASSIGNOR
    assert response.error_message == (
        "ServerAssignor best is not supported. Supported assignors: uniform, range."
    )


def test_the_first_member_gets_all_partitions_at_once(groups: ConsumerGroups) -> None:
    response = groups.join_as("a", "orders")

    assert groups.told(response) == {"orders": [0, 1, 2, 3]}
    assert (response.member_id, response.member_epoch) == ("a", 2)
    assert response.heartbeat_interval_ms == 5_000
    assert groups.group.state.value == "Stable"


def test_in_version_0_the_coordinator_gives_the_member_id(groups: ConsumerGroups) -> None:
    response = groups.join_as("", "orders", version=0)

    assert response.member_id in groups.group.members


def test_a_heartbeat_without_news_tells_nothing_and_writes_nothing(groups: ConsumerGroups) -> None:
    groups.join_as("a", "orders")
    written = len(groups.log)

    response = groups.beat("a", 2, {"orders": [0, 1, 2, 3]})

    assert groups.told(response) is None
    assert len(groups.log) == written


def test_a_full_heartbeat_is_told_the_assignment_again(groups: ConsumerGroups) -> None:
    groups.join_as("a", "orders")

    response = groups.beat("a", 2, {"orders": [0, 1, 2, 3]}, **JOIN)

    assert groups.told(response) == {"orders": [0, 1, 2, 3]}


@pytest.mark.parametrize(
    ("owned", "more"), [({"orders": [0, 1, 2, 3]}, {}), (None, {"rebalance_timeout_ms": 1})]
)
def test_a_heartbeat_that_does_not_say_everything_is_not_told_the_assignment_again(
    groups: ConsumerGroups, owned: dict[str, list[int]] | None, more: dict[str, Any]
) -> None:
    groups.join_as("a", "orders")

    answer = groups.beat("a", 2, owned, subscribed_topic_names=["orders"], **more)

    assert answer.assignment is None


def test_a_heartbeat_without_a_subscription_is_not_told_the_assignment_again(
    groups: ConsumerGroups,
) -> None:
    groups.join_as("a", "orders")

    answer = groups.beat("a", 2, {"orders": [0, 1, 2, 3]}, rebalance_timeout_ms=1)

    assert answer.assignment is None


def test_a_full_heartbeat_with_a_pattern_is_told_the_assignment_again(
    groups: ConsumerGroups,
) -> None:
    full = {"rebalance_timeout_ms": 1, "subscribed_topic_regex": "ord.*"}
    epoch = groups.beat("a", 0, {}, **full).member_epoch
    epoch = groups.beat("a", epoch, {}).member_epoch
    assert groups.beat("a", epoch, groups.assigned("a")).assignment is None

    response = groups.beat("a", epoch, groups.assigned("a"), **full)

    assert groups.told(response) == {"orders": [0, 1, 2, 3]}


def test_a_member_is_known_by_what_its_heartbeats_say(groups: ConsumerGroups) -> None:
    groups.join_as("a", "orders", instance_id="one", rack_id="east", server_assignor="range")
    groups.beat("a", 2, {"orders": [0, 1, 2, 3]}, instance_id="one", rack_id="west")

    member = groups.group.members["a"]

    assert (member.instance_id, member.rack_id, member.server_assignor) == ("one", "west", "range")
    assert (member.client_id, member.client_host) == ("app", "/127.0.0.1")


def test_a_member_that_did_not_get_the_answer_may_join_again(groups: ConsumerGroups) -> None:
    groups.join_as("a", "orders")

    response = groups.join_as("a", "orders")

    assert response.member_epoch == 2
    assert groups.told(response) == {"orders": [0, 1, 2, 3]}


def test_a_partition_has_one_owner_until_it_is_given_up(groups: ConsumerGroups) -> None:
    groups.join_as("a", "orders")

    assert groups.told(groups.join_as("b", "orders")) == {}
    told = groups.beat("a", 2, {"orders": [0, 1, 2, 3]})
    assert groups.told(told) == {"orders": [0, 1]}
    assert told.member_epoch == 2
    assert groups.told(groups.beat("b", 3)) is None

    given_up = groups.beat("a", 2, {"orders": [0, 1]})
    assert given_up.member_epoch == 3
    assert groups.told(groups.beat("b", 3)) == {"orders": [2, 3]}
    assert groups.group.state.value == "Stable"


def test_a_member_that_gives_up_nothing_in_time_is_removed(
    groups: ConsumerGroups, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    groups.join_as("a", "orders", rebalance_s=30)
    groups.join_as("b", "orders")
    groups.beat("a", 2)
    groups.advance(29)
    for _ in range(2):
        groups.beat("a", 2)
        groups.beat("b", 3)

    groups.advance(1)

    assert list(groups.group.members) == ["b"]
    reason = "it has not given up its partitions in time"
    assert any(text.endswith(f"is removed: {reason}") for text in caplog.messages)
    assert groups.told(groups.beat("b", 3)) == {"orders": [0, 1, 2, 3]}


def test_a_member_without_heartbeat_is_removed(groups: ConsumerGroups) -> None:
    groups.join_as("a", "orders")
    groups.advance(44)
    assert not groups.beat("a", 2).error_code
    groups.advance(44)
    assert "a" in groups.group.members

    groups.advance(1)

    assert groups.group.members == {}
    assert error_of(groups.beat("a", 2)) is ErrorCode.UNKNOWN_MEMBER_ID


@pytest.mark.parametrize(
    ("epoch", "relation"), [(3, "greater"), (1, "smaller")], ids=["greater", "smaller"]
)
def test_a_wrong_epoch_is_fenced(groups: ConsumerGroups, epoch: int, relation: str) -> None:
    groups.join_as("a", "orders")

    response = groups.beat("a", epoch, {"orders": [0]})

    assert error_of(response) is ErrorCode.FENCED_MEMBER_EPOCH
    assert f"has a {relation} member epoch ({epoch})" in str(response.error_message)


def test_the_epoch_before_is_taken_from_a_member_that_lost_the_answer(
    groups: ConsumerGroups,
) -> None:
    groups.join_as("a", "orders")
    groups.join_as("b", "orders")
    groups.reconcile("a", "b")

    repeated = groups.beat("a", 2, {"orders": [0, 1]})
    assert (error_of(repeated), repeated.member_epoch) == (ErrorCode.NONE, 3)
    with_too_much = groups.beat("a", 2, {"orders": [0, 2]})
    assert error_of(with_too_much) is ErrorCode.FENCED_MEMBER_EPOCH
    assert error_of(groups.beat("a", 2)) is ErrorCode.FENCED_MEMBER_EPOCH  # does not say


def test_who_leaves_is_gone_and_the_others_take_over(groups: ConsumerGroups) -> None:
    groups.join_as("a", "orders")
    groups.join_as("b", "orders")
    groups.reconcile("a", "b")

    left = groups.leave_as("b")

    assert (left.member_id, left.member_epoch) == ("b", -1)
    assert groups.told(groups.beat("a", 3)) == {"orders": [0, 1, 2, 3]}
    assert groups.deadlines == 1
    assert error_of(groups.leave_as("b")) is ErrorCode.UNKNOWN_MEMBER_ID


def test_an_unknown_group_and_member_are_told_apart(groups: ConsumerGroups) -> None:
    unknown = groups.beat("a", 1)
    assert error_of(unknown) is ErrorCode.GROUP_ID_NOT_FOUND
    assert unknown.error_message == f"Consumer group {GROUP} not found."

    groups.join_as("a", "orders")

    assert error_of(groups.beat("b", 1)) is ErrorCode.UNKNOWN_MEMBER_ID


def test_a_full_group_takes_no_more_members(groups: ConsumerGroups) -> None:
    configured(groups, max_size=1)
    groups.join_as("a", "orders")

    assert error_of(groups.join_as("b", "orders")) is ErrorCode.GROUP_MAX_SIZE_REACHED
    assert not groups.join_as("a", "orders").error_code


def test_targets_are_assigned_at_intervals(groups: ConsumerGroups) -> None:
    configured(groups, assignment_interval_ms=1_000)
    groups.join_as("a", "orders")

    assert groups.join_as("b", "orders").member_epoch == 2
    assert groups.group.state.value == "Assigning"
    groups.advance(1)

    assert groups.told(groups.beat("a", 2, {"orders": [0, 1, 2, 3]})) == {"orders": [0, 1]}


def test_a_group_may_have_timeouts_of_its_own(groups: ConsumerGroups) -> None:
    groups.configure("consumer.session.timeout.ms", 60_000)
    groups.configure("consumer.heartbeat.interval.ms", 10_000)

    assert groups.join_as("a", "orders").heartbeat_interval_ms == 10_000
    groups.advance(59)
    assert list(groups.group.members) == ["a"]
    groups.advance(1)
    assert groups.group.members == {}


def test_a_new_subscription_takes_partitions_away_at_once(groups: ConsumerGroups) -> None:
    groups.create("payments", 2)
    groups.join_as("a", "orders")
    groups.join_as("b", "orders")
    groups.reconcile("a", "b")

    changed = groups.beat("a", 3, {"orders": [0, 1]}, subscribed_topic_names=["payments"])

    assert groups.told(changed) == {}
    assert groups.told(groups.beat("a", 3, {})) == {"payments": [0, 1]}
    assert groups.told(groups.beat("b", 3)) == {"orders": [0, 1, 2, 3]}


def test_more_partitions_are_assigned_with_the_next_heartbeat(groups: ConsumerGroups) -> None:
    groups.join_as("a", "orders")

    groups.create("orders", 6)

    assert groups.told(groups.beat("a", 2)) == {"orders": [0, 1, 2, 3, 4, 5]}


def test_a_topic_that_appears_is_assigned_and_one_that_goes_is_taken_away(
    groups: ConsumerGroups,
) -> None:
    groups.join_as("a", "orders", "payments")
    groups.create("payments", 1)
    created = groups.beat("a", 2)
    assert groups.told(created) == {"orders": [0, 1, 2, 3], "payments": [0]}

    groups.delete_topic("orders")

    assert groups.told(groups.beat("a", 3, {"payments": [0]})) == {"payments": [0]}


def test_a_restart_of_the_coordinator_changes_nothing_for_members(groups: ConsumerGroups) -> None:
    groups.join_as("a", "orders", rebalance_s=30, rack_id="r", server_assignor="range")
    groups.join_as("b", "orders")
    groups.beat("a", 2)
    before = groups.describe()

    groups.restart()

    assert groups.describe() == before
    assert groups.told(groups.beat("a", 2, {"orders": [0, 1]})) is None
    assert groups.told(groups.beat("b", 3)) == {"orders": [2, 3]}
    groups.advance(45)
    assert groups.group.members == {}


def test_a_restart_of_the_coordinator_begins_the_time_to_give_up_partitions_again(
    groups: ConsumerGroups,
) -> None:
    groups.join_as("a", "orders", rebalance_s=30)
    groups.join_as("b", "orders")
    groups.beat("a", 2)
    groups.advance(20)
    groups.restart()
    groups.advance(29)
    for member_id, epoch in (("a", 2), ("b", 3)):
        groups.beat(member_id, epoch)
    assert list(groups.group.members) == ["a", "b"]

    groups.advance(1)

    assert list(groups.group.members) == ["b"]


def test_a_coordinator_that_cannot_write_changes_nothing(groups: ConsumerGroups) -> None:
    groups.join_as("a", "orders")
    groups.log.fails_with = ErrorCode.NOT_ENOUGH_REPLICAS

    refused = groups.join_as("b", "orders")

    assert error_of(refused) is ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert list(groups.group.members) == ["a"]


def test_a_session_that_cannot_be_ended_ends_later(groups: ConsumerGroups) -> None:
    groups.join_as("a", "orders")
    groups.log.fails_with = ErrorCode.NOT_ENOUGH_REPLICAS
    groups.advance(45)
    assert error_of(groups.leave_as("a")) is ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert list(groups.group.members) == ["a"]
    groups.log.fails_with = None

    groups.advance(45)

    assert groups.group.members == {}


def test_records_that_only_older_brokers_write_are_left_alone(groups: ConsumerGroups) -> None:
    key = ConsumerGroupPartitionMetadataKey(group_id=GROUP)
    record = CoordinatorRecord(key, ConsumerGroupPartitionMetadataValue())

    groups.runtime.carry_out(Decision((record,)))

    assert groups.shard.groups == {}


# -- static members ------------------------------------------------------------------------------


def test_a_static_member_comes_back_to_its_partitions_under_a_new_id(
    groups: ConsumerGroups,
) -> None:
    groups.join_as("a", "orders", instance_id="one")
    taken = groups.join_as("b", "orders", instance_id="one")
    assert error_of(taken) is ErrorCode.UNRELEASED_INSTANCE_ID

    left = groups.leave_as("a", -2, instance_id="one")
    assert left.member_epoch == -2
    back = groups.join_as("b", "orders", instance_id="one")

    assert (back.member_epoch, groups.told(back)) == (2, {"orders": [0, 1, 2, 3]})
    assert list(groups.group.members) == ["b"]
    fenced = groups.beat("a", 2, instance_id="one")
    assert error_of(fenced) is ErrorCode.FENCED_INSTANCE_ID


@pytest.mark.parametrize("epoch", [2, 3])
def test_a_late_heartbeat_of_a_static_member_that_left_for_a_while_is_fenced(
    groups: ConsumerGroups, epoch: int
) -> None:
    groups.join_as("a", "orders", instance_id="one")
    groups.join_as("b", "orders")
    groups.reconcile("a", "b")
    groups.leave_as("a", -2, instance_id="one")

    late = groups.beat("a", epoch, {}, instance_id="one")

    assert error_of(late) is ErrorCode.FENCED_MEMBER_EPOCH
    assert groups.group.members["a"].epoch == -2


def test_a_static_member_that_stays_away_loses_its_partitions(groups: ConsumerGroups) -> None:
    groups.join_as("a", "orders", instance_id="one")
    groups.leave_as("a", -2, instance_id="one")

    groups.advance(45)

    assert groups.group.members == {}
    assert groups.group.static_members == {}


def test_who_is_no_member_cannot_be_removed(groups: ConsumerGroups) -> None:
    groups.join_as("a", "orders")
    epoch = groups.group.epoch

    assert groups.leave(("b", None), ("", "one")) == [ErrorCode.UNKNOWN_MEMBER_ID] * 2

    assert list(groups.group.members) == ["a"]
    assert groups.group.epoch == epoch


def test_a_static_member_leaves_for_good_if_it_says_so(groups: ConsumerGroups) -> None:
    groups.join_as("a", "orders", instance_id="one")

    left = groups.leave_as("a", -1, instance_id="one")

    assert (error_of(left), left.member_epoch) == (ErrorCode.NONE, -1)
    assert groups.group.members == {}


def test_an_administrator_removes_a_static_member(groups: ConsumerGroups) -> None:
    groups.join_as("a", "orders", instance_id="one")

    assert groups.leave(("", "one"), ("x", None)) == [
        ErrorCode.NONE,
        ErrorCode.UNKNOWN_MEMBER_ID,
    ]
    assert groups.group.members == {}
