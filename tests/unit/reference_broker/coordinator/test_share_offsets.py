"""Offsets of share groups at the coordinator of the group: altered, and deleted with the group."""

from __future__ import annotations

from typing import Any

import pytest

from pyk.protocol.errors import ErrorCode
from pyk.reference_broker.coordinator.group.share.initialization import InitializeStates
from pyk.reference_broker.coordinator.group.share.offsets import TopicsToDelete
from pyk.reference_broker.coordinator.group.share.state_topics import NamedPartitions, StateTopics
from support.share_groups_of_shard import GROUP, TOPICS, ShareGroupsOfShard, emptied

ORDERS, BILLS = TOPICS["orders"], TOPICS["bills"]
E = ErrorCode


@pytest.fixture
def groups() -> ShareGroupsOfShard:
    return ShareGroupsOfShard()


def alter(groups: ShareGroupsOfShard, offsets: dict[str, dict[int, int]]) -> Any:
    return groups.ask(lambda shard: shard.share_offsets.alter(GROUP, offsets, groups.moment()))


def test_offsets_are_altered_in_the_epoch_of_the_group(groups: ShareGroupsOfShard) -> None:
    emptied(groups)
    epoch = groups.group.epoch

    asked = alter(groups, {"orders": {0: 7, 9: 7}})

    assert asked == InitializeStates(GROUP, epoch, {ORDERS: {0: 7}})
    assert groups.group.topics.initializing[ORDERS].partitions == {0}
    assert groups.group.topics.initialized[ORDERS].partitions == {0, 1, 2}


def test_a_member_that_joins_meanwhile_leaves_alone_what_is_altered(
    groups: ShareGroupsOfShard,
) -> None:
    groups.answers_at_once = False
    alter(groups, {"orders": {0: 7}})

    groups.join("a")

    ((request, _),) = groups.asked
    assert request.start_offsets == {ORDERS: {1: -1, 2: -1}}


def test_what_was_altered_without_an_answer_is_initialized_later(
    groups: ShareGroupsOfShard,
) -> None:
    alter(groups, {"orders": {0: 7}})
    assert groups.shard.share_groups.partitions_with_state(GROUP) == {}
    groups.join("a")
    groups.settle("a")
    assert groups.held("a") == {"orders": [1, 2]}

    groups.advance(30)
    groups.settle("a")

    assert groups.held("a") == {"orders": [0, 1, 2]}


def test_a_group_is_deleted_in_two_steps_that_can_be_repeated(groups: ShareGroupsOfShard) -> None:
    emptied(groups)
    begin = {ORDERS: {0, 1, 2}, BILLS: {0, 1, 2}}

    def begin_deleting(at: ShareGroupsOfShard) -> object:
        return at.ask(lambda shard: shard.share_offsets.begin_deleting_group(GROUP))

    assert begin_deleting(groups) == begin
    again = groups.restarted()
    assert begin_deleting(again) == begin
    assert begin_deleting(again) == begin

    assert again.ask(lambda shard: shard.share_offsets.delete_group(GROUP)) is E.NONE
    assert again.shard.groups == {}
    assert again.restarted().shard.groups == {}


def test_states_that_are_being_initialized_are_deleted_with_their_group(
    groups: ShareGroupsOfShard,
) -> None:
    groups.join("a")
    groups.settle("a")
    groups.answers_at_once = False
    groups.add_topic("orders", 5)
    groups.settle("a")
    groups.beat("a", -1)

    begun = groups.ask(lambda shard: shard.share_offsets.begin_deleting_group(GROUP))

    assert begun == {ORDERS: {0, 1, 2, 3, 4}}
    assert groups.group.topics == StateTopics(deleting={ORDERS: "orders"})


def test_nothing_is_noted_of_a_group_without_states_that_is_deleted(
    groups: ShareGroupsOfShard,
) -> None:
    groups.join("a", "missing")
    groups.beat("a", -1)
    length = len(groups.log)

    begun = groups.ask(lambda shard: shard.share_offsets.begin_deleting_group(GROUP))

    assert begun == {}
    assert len(groups.log) == length


def test_a_group_with_members_keeps_its_states(groups: ShareGroupsOfShard) -> None:
    groups.join("a")
    groups.settle("a")

    refused = groups.ask(lambda shard: shard.share_offsets.begin_deleting_group(GROUP))

    assert refused is E.NON_EMPTY_GROUP
    assert groups.group.topics == StateTopics(
        initialized={ORDERS: NamedPartitions("orders", frozenset({0, 1, 2}))}
    )


def test_a_group_that_somebody_joins_is_not_deleted(groups: ShareGroupsOfShard) -> None:
    emptied(groups)
    groups.ask(lambda shard: shard.share_offsets.begin_deleting_group(GROUP))
    groups.join("b")

    refused = groups.ask(lambda shard: shard.share_offsets.delete_group(GROUP))

    assert refused is E.NON_EMPTY_GROUP
    groups.settle("b")
    assert groups.held("b") == {"orders": [0, 1, 2]}  # their state begins again
    assert groups.group.topics.deleting == {BILLS: "bills"}


def test_offsets_of_a_topic_are_deleted(groups: ShareGroupsOfShard) -> None:
    emptied(groups)

    found = groups.ask(
        lambda shard: shard.share_offsets.begin_deleting(GROUP, ["orders", "missing"])
    )

    assert isinstance(found, TopicsToDelete)
    assert found.partitions == {ORDERS: {0, 1, 2}}
    assert list(found.refused) == ["missing"]
    assert groups.group.topics.deleting == {ORDERS: "orders"}
    groups.ask(lambda shard: shard.share_offsets.deleted(GROUP, [ORDERS]))
    assert groups.group.topics.topic_ids == {BILLS}


def test_deletions_of_offsets_add_up_and_end_what_is_being_altered(
    groups: ShareGroupsOfShard,
) -> None:
    emptied(groups)
    alter(groups, {"orders": {0: 7}})

    for name in ("orders", "bills"):
        groups.ask(lambda shard, name=name: shard.share_offsets.begin_deleting(GROUP, [name]))

    assert groups.group.topics == StateTopics(deleting={ORDERS: "orders", BILLS: "bills"})


def test_a_deletion_of_offsets_that_was_not_completed_can_be_repeated(
    groups: ShareGroupsOfShard,
) -> None:
    emptied(groups)
    begin = groups.ask(lambda shard: shard.share_offsets.begin_deleting(GROUP, ["orders"]))
    length = len(groups.log)

    again = groups.ask(lambda shard: shard.share_offsets.begin_deleting(GROUP, ["orders"]))

    assert again == begin == TopicsToDelete(partitions={ORDERS: {0, 1, 2}}, refused={})
    assert len(groups.log) == length


def test_offsets_of_topics_that_do_not_exist_change_nothing(groups: ShareGroupsOfShard) -> None:
    emptied(groups)
    length = len(groups.log)

    asked = alter(groups, {"missing": {0: 7}})

    assert asked.start_offsets == {}
    assert len(groups.log) == length
