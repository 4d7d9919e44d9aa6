"""The assignors of consumer groups: every partition once, balanced, and with few moves."""

from __future__ import annotations

from collections.abc import Mapping
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyk.reference_broker.coordinator.group.consumer.assignment import Assignment, Subscriber
from pyk.reference_broker.coordinator.group.consumer.assignors import (
    ASSIGNORS,
    Assign,
    preferred_assignor,
)
from pyk.reference_broker.coordinator.group.consumer.range_assignor import assign_ranges
from pyk.reference_broker.coordinator.group.consumer.uniform_assignor import assign_uniformly

TOPICS = [UUID(int=number) for number in range(1, 5)]
A, B, C, D = TOPICS

member_ids = st.sampled_from("abcdef")
subscriptions = st.frozensets(st.sampled_from(TOPICS), max_size=4)
members = st.dictionaries(member_ids, subscriptions, min_size=1, max_size=6)
counts = st.fixed_dictionaries({topic_id: st.integers(0, 7) for topic_id in TOPICS})


def subscribers(
    topics: Mapping[str, frozenset[UUID]], current: Mapping[str, Assignment] | None = None
) -> dict[str, Subscriber]:
    before = current or {}
    return {
        member_id: Subscriber(topics=of_member, current=before.get(member_id, {}))
        for member_id, of_member in topics.items()
    }


def pairs(assigned: Assignment) -> set[tuple[UUID, int]]:
    return {(topic_id, number) for topic_id, numbers in assigned.items() for number in numbers}


def size(assigned: Assignment) -> int:
    return sum(map(len, assigned.values()))


def moves(before: Mapping[str, Assignment], after: Mapping[str, Assignment]) -> int:
    return sum(len(pairs(before[each]) - pairs(after[each])) for each in before)


@pytest.mark.parametrize("assign", ASSIGNORS.values(), ids=ASSIGNORS)
@given(first=members, topics=members, counts=counts)
def test_the_order_in_which_members_joined_makes_no_difference(
    assign: Assign,
    first: dict[str, frozenset[UUID]],
    topics: dict[str, frozenset[UUID]],
    counts: dict[UUID, int],
) -> None:
    before = assign(subscribers(first), counts)
    joined = subscribers(topics, before)

    assert assign(joined, counts) == assign(dict(reversed(joined.items())), counts)


@pytest.mark.parametrize("assign", ASSIGNORS.values(), ids=ASSIGNORS)
@given(topics=members, counts=counts)
def test_every_partition_of_a_subscribed_topic_has_one_owner_that_subscribes(
    assign: Assign, topics: dict[str, frozenset[UUID]], counts: dict[UUID, int]
) -> None:
    assigned = assign(subscribers(topics), counts)

    owned = [pair for member_id in topics for pair in pairs(assigned[member_id])]
    subscribed = frozenset[UUID]().union(*topics.values())
    assert sorted(owned) == [(each, n) for each in sorted(subscribed) for n in range(counts[each])]
    assert all(assigned[member_id].keys() <= of_member for member_id, of_member in topics.items())


@given(topics=subscriptions, ids=st.sets(member_ids, min_size=1), counts=counts)
def test_uniform_gives_equal_members_equal_shares(
    topics: frozenset[UUID], ids: set[str], counts: dict[UUID, int]
) -> None:
    assigned = assign_uniformly(subscribers(dict.fromkeys(ids, topics)), counts)

    sizes = [size(each) for each in assigned.values()]
    assert max(sizes) - min(sizes) <= 1


@given(topics=members, before=members, counts=counts)
def test_uniform_leaves_no_partition_that_would_be_better_elsewhere(
    topics: dict[str, frozenset[UUID]], before: dict[str, frozenset[UUID]], counts: dict[UUID, int]
) -> None:
    current = assign_uniformly(subscribers(before), counts)

    assigned = assign_uniformly(subscribers(topics, current), counts)

    for held in assigned.values():
        for taker, of_taker in topics.items():
            if held.keys() & of_taker:
                assert size(held) <= size(assigned[taker]) + 1


@given(topics=members, counts=counts)
def test_uniform_moves_nothing_while_nothing_changes(
    topics: dict[str, frozenset[UUID]], counts: dict[UUID, int]
) -> None:
    first = assign_uniformly(subscribers(topics), counts)

    assert assign_uniformly(subscribers(topics, first), counts) == first


@given(topics=subscriptions, ids=st.sets(member_ids, min_size=2), counts=counts)
def test_uniform_moves_only_the_share_of_a_new_member(
    topics: frozenset[UUID], ids: set[str], counts: dict[UUID, int]
) -> None:
    newest = min(ids)
    before = assign_uniformly(subscribers(dict.fromkeys(ids - {newest}, topics)), counts)

    after = assign_uniformly(subscribers(dict.fromkeys(ids, topics), before), counts)

    assert moves(before, after) == size(after[newest])


@given(topics=subscriptions, ids=st.sets(member_ids, min_size=2), counts=counts)
def test_uniform_moves_only_what_a_member_leaves_behind(
    topics: frozenset[UUID], ids: set[str], counts: dict[UUID, int]
) -> None:
    gone = min(ids)
    before = assign_uniformly(subscribers(dict.fromkeys(ids, topics)), counts)

    after = assign_uniformly(subscribers(dict.fromkeys(ids - {gone}, topics), before), counts)

    del before[gone]
    assert moves(before, after) == 0


@given(topics=members, counts=counts)
def test_uniform_does_not_depend_on_the_order_of_members(
    topics: dict[str, frozenset[UUID]], counts: dict[UUID, int]
) -> None:
    turned = dict(reversed(topics.items()))

    assert assign_uniformly(subscribers(topics), counts) == assign_uniformly(
        subscribers(turned), counts
    )


def test_uniform_evens_out_over_members_in_between() -> None:
    topics = {"a": frozenset({A}), "b": frozenset({A, B}), "c": frozenset({B})}
    current: dict[str, Assignment] = {
        "a": {A: frozenset(range(4))},
        "b": {B: frozenset(range(2))},
        "c": {},
    }

    assigned = assign_uniformly(subscribers(topics, current), {A: 4, B: 2})

    assert [size(assigned[each]) for each in "abc"] == [2, 2, 2]


def test_uniform_hands_out_topics_of_few_subscribers_first_so_that_others_stay() -> None:
    topics = {"a": frozenset({A, B, C}), "b": frozenset({A, B})}
    current: dict[str, Assignment] = {
        "a": {A: frozenset({0, 2})},
        "b": {A: frozenset({1}), B: frozenset({1, 2}), C: frozenset({1})},
    }

    assigned = assign_uniformly(subscribers(topics, current), {A: 3, B: 3, C: 2})

    assert assigned["a"] == {A: frozenset({0, 2}), C: frozenset({0, 1})}
    assert assigned["b"] == {A: frozenset({1}), B: frozenset({0, 1, 2})}


@pytest.mark.parametrize("had", [0, 1])
def test_uniform_moves_first_what_a_member_did_not_have(had: int) -> None:
    topics = {"a": frozenset({B}), "b": frozenset({A}), "c": frozenset({A, B})}
    current: dict[str, Assignment] = {
        "a": {B: frozenset({had})},
        "b": {B: frozenset({1 - had})},
        "c": {A: frozenset({0})},
    }

    assigned = assign_uniformly(subscribers(topics, current), {A: 1, B: 2})

    assert assigned["a"] == {B: frozenset({had})}


@pytest.mark.parametrize("assign", ASSIGNORS.values(), ids=ASSIGNORS)
def test_nothing_is_assigned_where_there_are_no_members(assign: Assign) -> None:
    assert assign({}, {A: 1}) == {}


def test_uniform_forgets_partitions_that_no_longer_exist() -> None:
    current: dict[str, Assignment] = {"a": {A: frozenset({0, 7}), B: frozenset({0})}}

    assigned = assign_uniformly(subscribers({"a": frozenset({A})}, current), {A: 1})

    assert assigned == {"a": {A: frozenset({0})}}


def test_ranges_of_topics_with_as_many_partitions_are_the_same() -> None:
    topics = dict.fromkeys("cab", frozenset({A, B}))

    assigned = assign_ranges(subscribers(topics), {A: 5, B: 5})

    assert [assigned[each][A] for each in "abc"] == [{0, 1}, {2, 3}, {4}]
    assert all(each[A] == each[B] for each in assigned.values())


def test_ranges_follow_the_instance_ids_of_static_members() -> None:
    order = {"z": "one", "a": "two", "b": None}
    static = {
        member_id: Subscriber(topics=frozenset({A}), instance_id=instance_id)
        for member_id, instance_id in order.items()
    }

    assigned = assign_ranges(static, {A: 3})

    assert [assigned[each][A] for each in order] == [{0}, {1}, {2}]


def test_members_without_a_range_of_a_topic_have_nothing_of_it_at_all() -> None:
    topics = {member_id: frozenset({A}) for member_id in "abc"}

    assigned = assign_ranges(subscribers(topics), {A: 2})

    assert assigned == {"a": {A: frozenset({0})}, "b": {A: frozenset({1})}, "c": {}}


def test_the_assignor_that_most_members_want_is_used() -> None:
    served = ("uniform", "range")

    assert preferred_assignor([None, None], served) == "uniform"
    assert preferred_assignor([None, "range"], served) == "range"
    assert preferred_assignor(["range", "uniform"], served) == "uniform"
    assert preferred_assignor(["gone", "gone", "range"], served) == "range"
