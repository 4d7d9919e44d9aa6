"""Partitions whose state a share group has initialized, and that it forgets again."""

from __future__ import annotations

import pytest

from pyk.reference_broker.coordinator.group.share.initialization import InitializeStates
from pyk.reference_broker.coordinator.group.share.state_topics import NamedPartitions, StateTopics
from support.share_groups_of_shard import GROUP, TOPICS, ShareGroupsOfShard, emptied

ORDERS, BILLS = TOPICS["orders"], TOPICS["bills"]


@pytest.fixture
def groups() -> ShareGroupsOfShard:
    return ShareGroupsOfShard()


def test_partitions_are_assigned_once_their_state_is_initialized(
    groups: ShareGroupsOfShard,
) -> None:
    groups.answers_at_once = False
    answer = groups.join("a")
    assert answer.assignment is not None
    assert (answer.member_epoch, answer.assignment.topic_partitions) == (2, [])
    ((request, _),) = groups.asked
    assert request == InitializeStates(GROUP, 2, {ORDERS: {0: -1, 1: -1, 2: -1}})
    assert groups.beat("a", 2).assignment is None

    groups.initialized()
    answer = groups.beat("a", 2)

    assert answer.member_epoch == 3
    assert groups.held("a") == {"orders": [0, 1, 2]}


def test_what_could_not_be_initialized_is_tried_again(groups: ShareGroupsOfShard) -> None:
    groups.answers_at_once = False
    groups.join("a")

    groups.initialized(fails=True)
    assert groups.group.topics.initializing == {}
    groups.beat("a", 2)

    assert len(groups.asked) == 1
    groups.initialized()
    groups.settle("a")
    assert groups.held("a") == {"orders": [0, 1, 2]}


def test_an_initialization_that_is_not_heard_of_is_tried_again_later(
    groups: ShareGroupsOfShard,
) -> None:
    groups.answers_at_once = False
    groups.join("a")
    groups.asked.clear()
    groups.advance(29)
    groups.beat("a", 2)
    assert not groups.asked

    groups.advance(1)
    groups.beat("a", 2)
    groups.beat("a", 2)

    assert len(groups.asked) == 1


def test_an_answer_does_not_repeat_an_initialization_that_is_still_under_way(
    groups: ShareGroupsOfShard,
) -> None:
    groups.answers_at_once = False
    groups.join("a")
    groups.add_topic("orders", 5)
    groups.beat("a", 2)
    assert len(groups.asked) == 2

    groups.initialized()
    groups.settle("a")

    assert len(groups.asked) == 1


def test_an_initialization_that_a_crash_interrupts_is_tried_again(
    groups: ShareGroupsOfShard,
) -> None:
    groups.answers_at_once = False
    groups.join("a")

    again = groups.restarted()
    again.beat("a", 2)
    again.settle("a")

    assert again.held("a") == {"orders": [0, 1, 2]}


def test_new_partitions_of_a_topic_are_initialized_and_assigned(
    groups: ShareGroupsOfShard,
) -> None:
    groups.join("a")
    groups.settle("a")
    groups.answers_at_once = False

    groups.add_topic("orders", 5)
    groups.settle("a")
    ((request, _),) = groups.asked
    groups.initialized()
    groups.settle("a")

    assert request.start_offsets == {ORDERS: {3: -1, 4: -1}}
    assert groups.held("a") == {"orders": [0, 1, 2, 3, 4]}


def test_deleted_topics_are_forgotten(groups: ShareGroupsOfShard) -> None:
    groups.join("a", "orders", "bills")
    groups.settle("a")

    groups.delete_topic("orders")
    groups.settle("a")

    assert groups.held("a") == {"bills": [0, 1, 2]}
    assert groups.group.topics.topic_ids == {BILLS}
    assert groups.restarted().group.topics.topic_ids == {BILLS}


def test_only_deleted_topics_are_forgotten(groups: ShareGroupsOfShard) -> None:
    groups.join("a", "orders", "bills")
    groups.settle("a")

    groups.delete_topic("orders")

    assert groups.group.topics.assignable == {BILLS: {0, 1, 2}}


def test_a_topic_that_is_deleted_while_it_is_initialized_is_forgotten(
    groups: ShareGroupsOfShard,
) -> None:
    groups.answers_at_once = False
    groups.join("a")
    groups.delete_topic("orders")
    assert groups.group.topics.topic_ids == set()
    length = len(groups.log)

    groups.initialized()

    assert groups.group.topics.topic_ids == set()
    assert len(groups.log) == length


def test_a_topic_that_is_deleted_while_its_offsets_are_is_forgotten(
    groups: ShareGroupsOfShard,
) -> None:
    emptied(groups)
    groups.ask(lambda shard: shard.share_offsets.begin_deleting(GROUP, ["orders"]))

    groups.delete_topic("orders")

    assert groups.group.topics.topic_ids == {BILLS}
    assert groups.group.topics.deleting == {}


def test_what_is_initialized_after_its_group_was_deleted_makes_no_group(
    groups: ShareGroupsOfShard,
) -> None:
    groups.answers_at_once = False
    groups.join("a")
    groups.beat("a", -1)
    groups.ask(lambda shard: shard.share_offsets.begin_deleting_group(GROUP))
    groups.ask(lambda shard: shard.share_offsets.delete_group(GROUP))

    groups.initialized()

    assert groups.shard.groups == {}


def test_a_group_whose_state_was_deleted_meanwhile_does_not_count_it_as_initialized(
    groups: ShareGroupsOfShard,
) -> None:
    emptied(groups)
    groups.answers_at_once = False
    groups.add_topic("orders", 5)
    groups.join("a")
    groups.beat("a", -1)
    groups.ask(lambda shard: shard.share_offsets.begin_deleting_group(GROUP))

    groups.initialized()

    assert groups.group.topics.assignable == {}


def test_only_what_is_being_initialized_becomes_initialized() -> None:
    orders = NamedPartitions("orders", frozenset({3}))
    topics = StateTopics(initializing={ORDERS: orders})

    after = topics.end_initializing({ORDERS: frozenset({3, 4})}, {})

    assert after == StateTopics(initialized={ORDERS: orders})
    assert topics.end_initializing({ORDERS: frozenset({4})}, {}) == topics
