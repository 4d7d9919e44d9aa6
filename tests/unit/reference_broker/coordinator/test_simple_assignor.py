"""The assignor of share groups: everything is covered, evenly, and mostly stays where it is."""

from __future__ import annotations

from collections import Counter
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pyk.reference_broker.coordinator.group.consumer.assignment import Assignment, Subscriber
from pyk.reference_broker.coordinator.group.share.simple_assignor import assign_simply

TOPICS = [UUID(int=number) for number in range(1, 4)]
ASSIGNABLE = st.dictionaries(
    st.sampled_from(TOPICS),
    st.integers(1, 8).map(lambda count: frozenset(range(count))),
    min_size=1,
)


def partitions(assignment: Assignment) -> list[tuple[UUID, int]]:
    return [(topic_id, number) for topic_id, numbers in assignment.items() for number in numbers]


def assign(members: list[str], assignable: Assignment, before: dict[str, Assignment]) -> Counter:  # type: ignore[type-arg]
    subscribers = {
        member_id: Subscriber(topics=frozenset(assignable), current=before.get(member_id, {}))
        for member_id in members
    }
    before.clear()
    before.update(assign_simply(subscribers, assignable))
    return Counter(each for held in before.values() for each in partitions(held))


@settings(deadline=None)
@given(
    st.lists(st.integers(1, 20), min_size=1, max_size=4),
    st.lists(ASSIGNABLE, min_size=4, max_size=4),
)
def test_everything_is_covered_evenly_while_members_and_topics_change(
    sizes: list[int], worlds: list[Assignment]
) -> None:
    held: dict[str, Assignment] = {}

    for size, assignable in zip(sizes, worlds, strict=False):
        members = [f"member {number}" for number in range(size)]
        sharers = assign(members, assignable, held)

        total = len(partitions(assignable))
        wanted = -(-size // total)
        assert set(sharers) == set(partitions(assignable))
        assert max(sharers.values()) <= wanted
        assert min(len(partitions(each)) for each in held.values()) >= 1
        limit = -(-wanted * total // size)
        assert max(len(partitions(each)) for each in held.values()) <= limit


@given(st.integers(1, 12), ASSIGNABLE)
def test_a_second_look_changes_nothing(size: int, assignable: Assignment) -> None:
    members = [f"member {number}" for number in range(size)]
    held: dict[str, Assignment] = {}
    assign(members, assignable, held)
    first = dict(held)

    assign(members, assignable, held)

    assert held == first


@pytest.mark.parametrize(
    ("before", "after"),
    [
        # Partition 1 is taken from the member that has too many, not from the first that has it.
        ({"a": {1}, "b": {0, 1}}, {"a": {1}, "b": {0}}),
        # What "c" gives up is the partition that another member has, too.
        ({"a": set(), "b": {1}, "c": {0, 1}}, {"a": {0, 1}, "b": {1}, "c": {0}}),
        # Partition 0 has one member less than it should: "a" cannot have it twice.
        ({"a": {0}, "b": {1}, "c": {1}}, {"a": {0}, "b": {1}, "c": {1}}),
    ],
)
def test_members_give_up_only_what_others_have_too(
    before: dict[str, set[int]], after: dict[str, set[int]]
) -> None:
    orders = TOPICS[0]
    held = {member_id: {orders: frozenset(numbers)} for member_id, numbers in before.items()}

    assign(list(before), {orders: frozenset([0, 1])}, held)

    assert {member_id: each[orders] for member_id, each in held.items()} == after


def test_topics_that_not_all_subscribe_to_are_dealt_out_one_by_one() -> None:
    orders, bills, _ = TOPICS
    members = {
        "a": Subscriber(topics=frozenset([orders])),
        "b": Subscriber(topics=frozenset([orders, bills])),
        "c": Subscriber(topics=frozenset([bills])),
    }

    found = assign_simply(members, {orders: frozenset(range(4)), bills: frozenset([0])})

    assert found["a"] == {orders: frozenset([0, 2])}
    assert found["b"] == {orders: frozenset([1, 3]), bills: frozenset([0])}
    assert found["c"] == {bills: frozenset([0])}


def test_partitions_without_a_state_are_nobodys() -> None:
    orders, bills, _ = TOPICS
    members = {"a": Subscriber(topics=frozenset([orders, bills]))}

    assert assign_simply(members, {orders: frozenset([2])}) == {"a": {orders: frozenset([2])}}
    assert assign_simply(members, {}) == {"a": {}}
