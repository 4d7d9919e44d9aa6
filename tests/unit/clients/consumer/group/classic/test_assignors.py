from __future__ import annotations

import pytest

from pyk.clients.consumer.group.classic.assignors import (
    CooperativeStickyAssignor,
    RangeAssignor,
    RoundRobinAssignor,
    StickyAssignor,
    Subscription,
    TopicLayout,
)
from pyk.clients.topic_partition import TopicPartition


def member(
    name: str,
    *topics: str,
    owned: str = "",
    generation_id: int = -1,
    group_instance_id: str | None = None,
    rack: str | None = None,
) -> Subscription:
    partitions = tuple(TopicPartition(word[0], int(word[1:])) for word in owned.split())
    return Subscription(
        member_id=name,
        topics=frozenset(topics),
        owned_partitions=partitions,
        generation_id=generation_id,
        group_instance_id=group_instance_id,
        rack=rack,
    )


def shown(assignment: dict[str, list[TopicPartition]]) -> dict[str, str]:
    return {
        name: " ".join(f"{topic}{partition}" for topic, partition in partitions)
        for name, partitions in assignment.items()
    }


def test_range_gives_the_same_numbers_of_each_topic_to_a_member() -> None:
    topics = {"a": TopicLayout(3), "b": TopicLayout(3)}

    assignment = RangeAssignor().assign(topics, [member("m1", "a", "b"), member("m2", "a", "b")])

    assert shown(assignment) == {"m1": "a0 a1 b0 b1", "m2": "a2 b2"}


def test_range_prefers_partitions_in_the_members_rack() -> None:
    racks = (frozenset({"east"}), frozenset({"west"}))
    members = [member("m1", "a", rack="west"), member("m2", "a", rack="east")]

    assignment = RangeAssignor().assign({"a": TopicLayout(2, racks)}, members)

    assert shown(assignment) == {"m1": "a1", "m2": "a0"}


@pytest.mark.parametrize("assignor", [StickyAssignor(), CooperativeStickyAssignor()])
def test_sticky_prefers_partitions_in_the_members_rack_up_to_an_even_share(assignor):
    racks = tuple(frozenset({rack}) for rack in ("east", "east", "east", "west"))
    members = [member("m1", "a", rack="west"), member("m2", "a", rack="east")]

    assignment = assignor.assign({"a": TopicLayout(4, racks)}, members)

    assert shown(assignment) == {"m1": "a2 a3", "m2": "a0 a1"}


def test_sticky_moves_nothing_for_a_rack():
    racks = (frozenset({"east"}), frozenset({"west"}))
    members = [
        member("m1", "a", owned="a0", generation_id=1, rack="west"),
        member("m2", "a", owned="a1", generation_id=1, rack="east"),
    ]

    assignment = CooperativeStickyAssignor().assign({"a": TopicLayout(2, racks)}, members)

    assert shown(assignment) == {"m1": "a0", "m2": "a1"}


def test_static_members_come_first_in_the_order_of_their_instance_ids() -> None:
    members = [
        member("m1", "a"),
        member("m2", "a", group_instance_id="z"),
        member("m3", "a", group_instance_id="y"),
    ]

    assignment = RoundRobinAssignor().assign({"a": TopicLayout(3)}, members)

    assert shown(assignment) == {"m1": "a2", "m2": "a1", "m3": "a0"}


def test_sticky_keeps_reported_partitions_and_balances_the_rest() -> None:
    remembered = StickyAssignor().user_data([TopicPartition("a", n) for n in range(4)], 7)
    members = [
        Subscription(member_id="m1", topics=frozenset("a"), user_data=remembered),
        member("m2", "a"),
    ]

    assignment = StickyAssignor().assign({"a": TopicLayout(4)}, members)

    assert shown(assignment) == {"m1": "a0 a1", "m2": "a2 a3"}


def test_sticky_treats_unreadable_user_data_as_missing() -> None:
    members = [Subscription(member_id="m1", topics=frozenset("a"), user_data=b"\x7f")]

    assignment = StickyAssignor().assign({"a": TopicLayout(1)}, members)

    assert shown(assignment) == {"m1": "a0"}


def test_a_partition_that_moves_is_free_for_one_generation() -> None:
    members = [member("m1", "a", owned="a0 a1", generation_id=1), member("m2", "a")]

    first = CooperativeStickyAssignor().assign({"a": TopicLayout(2)}, members)
    then = CooperativeStickyAssignor().assign(
        {"a": TopicLayout(2)}, [member("m1", "a", owned="a0", generation_id=2), member("m2", "a")]
    )

    assert shown(first) == {"m1": "a0", "m2": ""}
    assert shown(then) == {"m1": "a0", "m2": "a1"}


def test_a_claim_from_an_older_generation_is_void() -> None:
    members = [
        member("m1", "a", owned="a0", generation_id=3),
        member("m2", "a", owned="a0", generation_id=2),
    ]

    assignment = CooperativeStickyAssignor().assign({"a": TopicLayout(1)}, members)

    assert shown(assignment) == {"m1": "a0", "m2": ""}


def test_two_claims_of_one_generation_cancel_each_other() -> None:
    members = [
        member("m1", "a", owned="a0", generation_id=3),
        member("m2", "a", owned="a0", generation_id=3),
    ]

    assignment = CooperativeStickyAssignor().assign({"a": TopicLayout(1)}, members)

    assert shown(assignment) == {"m1": "", "m2": ""}


def test_the_generation_may_come_in_the_user_data_of_an_older_client() -> None:
    old = Subscription(
        member_id="m1",
        topics=frozenset("a"),
        owned_partitions=(TopicPartition("a", 0),),
        user_data=CooperativeStickyAssignor().user_data([], 9),
    )
    members = [old, member("m2", "a", owned="a0", generation_id=3)]

    assignment = CooperativeStickyAssignor().assign({"a": TopicLayout(1)}, members)

    assert shown(assignment) == {"m1": "a0", "m2": ""}


def test_balance_goes_through_members_in_between() -> None:
    # m1 cannot give to m3 directly: only through m2, which reads both topics.
    members = [
        member("m1", "a", owned="a0 a1 a2", generation_id=1),
        member("m2", "a", "b", owned="b0 b1", generation_id=1),
        member("m3", "b"),
    ]

    assignment = CooperativeStickyAssignor().assign(
        {"a": TopicLayout(3), "b": TopicLayout(2)}, members
    )

    assert shown(assignment) == {"m1": "a0 a1", "m2": "b0", "m3": ""}
