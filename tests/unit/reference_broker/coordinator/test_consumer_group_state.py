"""The state of a consumer group, as replayed records give it."""

from __future__ import annotations

from itertools import permutations

import pytest

from pyk.reference_broker.coordinator.group.consumer.consumer_group import ConsumerGroup
from pyk.reference_broker.coordinator.group.consumer.records import (
    member_tombstones,
    pattern_tombstone,
)
from pyk.reference_broker.coordinator.records import CoordinatorRecord
from support.consumer_members import ConsumerGroups
from support.groups import GROUP


def with_a_member(groups: ConsumerGroups) -> ConsumerGroup:
    """Return a group with one static member, which has all partitions by its pattern."""
    groups.join_as("a", subscribed_topic_regex="ord.*", instance_id="one")
    group: ConsumerGroup = groups.group
    assert group.owners
    return group


def tombstones() -> list[CoordinatorRecord]:
    return [*member_tombstones(GROUP, "a"), pattern_tombstone(GROUP, "ord.*")]


def test_a_copy_changes_independently(groups: ConsumerGroups) -> None:
    group = with_a_member(groups)
    known = (group.members, group.static_members, group.targets, group.patterns, group.owners)
    before = [dict(each) for each in known]
    copy = group.copy()

    for record in tombstones():
        copy.replay(record)

    assert (copy.members, copy.static_members, copy.targets) == ({}, {}, {})
    assert (copy.patterns, copy.owners) == ({}, {})
    assert [dict(each) for each in known] == before


@pytest.mark.parametrize("order", list(permutations(range(4))))
def test_tombstones_of_a_member_leave_nothing_of_it_in_any_order(
    groups: ConsumerGroups, order: tuple[int, ...]
) -> None:
    group = with_a_member(groups).copy()
    records = tombstones()

    for index in order:
        group.replay(records[index])

    assert group.is_empty
    assert (group.static_members, group.targets) == ({}, {})
    assert (group.patterns, group.owners) == ({}, {})


@pytest.mark.parametrize("is_revoking", [False, True])
def test_a_member_whose_assignment_is_deleted_has_no_partitions(
    groups: ConsumerGroups, is_revoking: bool
) -> None:
    group = with_a_member(groups)
    if is_revoking:
        groups.beat("a", 2, groups.assigned("a"), subscribed_topic_regex="", version=1)
        group = groups.group
        assert group.members["a"].revoking
    current, *_ = tombstones()

    group.replay(current)

    member = group.members["a"]
    assert (member.instance_id, member.assigned, member.revoking) == ("one", {}, {})
    assert group.owners == {}


def test_a_group_is_stable_when_all_members_have_what_they_should_have(
    groups: ConsumerGroups,
) -> None:
    assert ConsumerGroup(group_id=GROUP).state.value == "Empty"
    groups.join_as("a", "orders")
    groups.beat("a", 2, groups.assigned("a"))
    assert groups.group.state.value == "Stable"

    groups.join_as("b", "orders")
    assert groups.group.state.value == "Reconciling"

    groups.reconcile("a", "b")
    assert groups.group.state.value == "Stable"


def test_a_group_is_subscribed_to_what_one_of_its_members_subscribes_to(
    groups: ConsumerGroups,
) -> None:
    groups.join_as("a", "orders")
    groups.join_as("b", "payments")

    assert groups.group.is_subscribed_to("orders")
    assert groups.group.is_subscribed_to("payments")
    assert not groups.group.is_subscribed_to("bills")


def test_ranges_are_assigned_in_the_order_of_instance_ids(groups: ConsumerGroups) -> None:
    groups.join_as("z", "orders", instance_id="1", server_assignor="range")
    groups.join_as("a", "orders", instance_id="2", server_assignor="range")

    ((first, numbers),) = groups.group.targets["z"].items()

    assert (groups.image.topics_by_id[first].name, numbers) == ("orders", {0, 1})
