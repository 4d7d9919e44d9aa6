"""Share groups at their coordinator: members and their assignments."""

from __future__ import annotations

from typing import Any

import pytest

from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.share_group_records import (
    ShareGroupCurrentMemberAssignmentKey,
    ShareGroupTargetAssignmentMemberKey,
)
from pyk.reference_broker.coordinator.records import CoordinatorRecord
from support.share_groups_of_shard import GROUP, ShareGroupsOfShard, code_of, emptied

E = ErrorCode


@pytest.fixture
def groups() -> ShareGroupsOfShard:
    return ShareGroupsOfShard()


def test_members_share_partitions_when_there_are_more_of_them(groups: ShareGroupsOfShard) -> None:
    members = [f"member {n}" for n in range(7)]
    for member_id in members:
        groups.join(member_id)
    groups.settle(*members)

    held = [groups.held(member_id)["orders"] for member_id in members]

    assert {len(each) for each in held} <= {1, 2}
    sharers = [sum(number in each for each in held) for number in range(3)]
    assert sharers == [3, 3, 3]


def test_members_keep_their_partitions_when_others_join(groups: ShareGroupsOfShard) -> None:
    groups.join("a")
    groups.settle("a")
    groups.join("b")
    groups.settle("a", "b")
    assert (groups.held("a"), groups.held("b")) == ({"orders": [1, 2]}, {"orders": [0]})

    groups.join("c")
    groups.settle("a", "b", "c")

    assert (groups.held("a"), groups.held("b")) == ({"orders": [2]}, {"orders": [0]})


def test_a_member_that_changes_its_topics_keeps_no_others(groups: ShareGroupsOfShard) -> None:
    groups.join("a", "orders")
    groups.settle("a")
    epoch = groups.group.members["a"].epoch

    groups.beat("a", epoch, subscribed_topic_names=["bills"])
    groups.settle("a")

    assert groups.held("a") == {"bills": [0, 1, 2]}


def test_a_member_without_heartbeats_is_removed(groups: ShareGroupsOfShard) -> None:
    groups.join("a")
    groups.join("b")
    groups.settle("a", "b")
    groups.advance(40)
    groups.settle("a")

    groups.advance(10)

    assert list(groups.group.members) == ["a"]
    groups.settle("a")
    assert groups.held("a") == {"orders": [0, 1, 2]}


def test_the_session_timeout_of_a_group_counts(groups: ShareGroupsOfShard) -> None:
    groups.configure("share.session.timeout.ms", "60000")
    groups.configure("share.heartbeat.interval.ms", "7000")

    assert groups.join("a").heartbeat_interval_ms == 7_000

    groups.advance(59)
    assert not groups.group.is_empty
    groups.advance(1)
    assert groups.group.is_empty


def test_the_sessions_of_members_begin_again_after_a_restart(groups: ShareGroupsOfShard) -> None:
    groups.join("a")

    again = groups.restarted()

    again.advance(44)
    assert list(again.group.members) == ["a"]
    again.advance(1)
    assert again.group.is_empty


def test_a_restart_finds_members_with_their_assignments(groups: ShareGroupsOfShard) -> None:
    for member_id in ("a", "b"):
        groups.join(member_id)
    groups.settle("a", "b")

    again = groups.restarted()

    assert again.group.members == groups.group.members
    assert again.group.targets == groups.group.targets
    assert again.group.topics == groups.group.topics
    assert again.group.epoch == groups.group.epoch == again.group.assignment_epoch


def test_a_group_has_room_for_so_many_members() -> None:
    groups = ShareGroupsOfShard(max_size=2)
    groups.join("a")
    groups.join("b")

    assert code_of(groups.join("c")) is E.GROUP_MAX_SIZE_REACHED
    assert code_of(groups.join("a")) is E.NONE


def test_a_heartbeat_that_changes_nothing_writes_nothing(groups: ShareGroupsOfShard) -> None:
    groups.join("a", "bills")
    groups.settle("a")
    groups.beat("a", -1)
    for member_id in ("a", "b"):  # nobody reads the topic "bills" any more
        groups.join(member_id)
    groups.settle("a", "b")
    length = len(groups.log)

    for member_id in ("a", "b"):
        answer = groups.beat(member_id, groups.group.members[member_id].epoch)
        assert answer.assignment is None

    assert len(groups.log) == length


def keys_since(groups: ShareGroupsOfShard, length: int) -> list[Any]:
    """Return the keys of the records that were written after the first batches."""
    return [
        CoordinatorRecord.decode(key or b"", value).key
        for batch in groups.log.batches[length:]
        for key, value in batch
    ]


def test_members_with_the_same_partitions_as_before_get_no_new_target(
    groups: ShareGroupsOfShard,
) -> None:
    groups.join("a")
    groups.settle("a")
    epoch = groups.group.members["a"].epoch
    length = len(groups.log.batches)

    groups.join("b", "bills")
    answer = groups.beat("a", epoch)
    groups.settle("a", "b")

    assert answer.member_epoch > epoch
    assert answer.assignment is None
    keys = keys_since(groups, length)
    targets = [key for key in keys if isinstance(key, ShareGroupTargetAssignmentMemberKey)]
    assert {key.member_id for key in targets} == {"b"}


def test_a_topic_more_does_not_write_the_partitions_of_its_member_again() -> None:
    groups = ShareGroupsOfShard(assignment_interval_ms=5_000)
    groups.join("a")
    groups.advance(5)
    groups.settle("a")
    length = len(groups.log.batches)

    groups.beat("a", 3, subscribed_topic_names=["orders", "bills"])

    assert groups.held("a") == {"orders": [0, 1, 2]}
    assert ShareGroupCurrentMemberAssignmentKey not in map(type, keys_since(groups, length))


def test_a_member_that_moves_begins_no_epoch(groups: ShareGroupsOfShard) -> None:
    groups.join("a", rack_id="east")
    groups.settle("a")
    epoch = groups.group.epoch

    groups.beat("a", epoch, rack_id="west")

    again = groups.restarted().group
    assert again.members["a"].rack_id == "west"
    assert again.epoch == epoch


def test_a_member_loses_at_once_what_it_does_not_subscribe_to_any_more() -> None:
    groups = ShareGroupsOfShard(assignment_interval_ms=5_000)
    groups.join("a", "orders", "bills")
    groups.advance(5)
    groups.settle("a")
    member = groups.group.members["a"]

    answer = groups.beat("a", member.epoch, subscribed_topic_names=["bills"])

    assert answer.member_epoch == member.epoch
    assert groups.held("a") == {"bills": [0, 1, 2]}
    assert groups.group.members["a"].previous_epoch == member.previous_epoch


def test_nothing_is_expected_of_a_member_that_has_left(groups: ShareGroupsOfShard) -> None:
    timers = len(groups.timers)
    groups.join("a")
    assert len(groups.timers) == timers + 1

    groups.beat("a", -1)

    assert len(groups.timers) == timers


def test_each_departure_begins_an_epoch(groups: ShareGroupsOfShard) -> None:
    for member_id in ("a", "b", "c", "d"):
        groups.join(member_id)
    groups.settle("a", "b", "c", "d")
    epoch = groups.group.epoch

    groups.beat("d", -1)

    assert groups.group.epoch == epoch + 1


def test_an_assignment_may_be_removed_from_the_log_before_its_member(
    groups: ShareGroupsOfShard,
) -> None:
    groups.join("a")
    groups.settle("a")

    groups.group.replay(removal_of_assignment("a"))

    assert groups.held("a") == {}
    assert list(groups.group.members) == ["a"]


def test_an_assignment_may_be_removed_from_the_log_after_its_member(
    groups: ShareGroupsOfShard,
) -> None:
    groups.join("a")
    groups.beat("a", -1)

    groups.group.replay(removal_of_assignment("a"))

    assert groups.group.is_empty


def removal_of_assignment(member_id: str) -> CoordinatorRecord:
    return CoordinatorRecord(
        ShareGroupCurrentMemberAssignmentKey(group_id=GROUP, member_id=member_id)
    )


def test_a_new_assignment_waits_for_the_interval_of_the_group(groups: ShareGroupsOfShard) -> None:
    groups.configure("share.assignment.interval.ms", "5000")
    groups.join("a")
    groups.beat("a", 2)
    assert groups.held("a") == {}

    groups.advance(5)
    groups.settle("a")

    assert groups.held("a") == {"orders": [0, 1, 2]}


def test_a_group_whose_assignment_waits_is_described_with_both_epochs() -> None:
    groups = ShareGroupsOfShard(assignment_interval_ms=5_000)
    groups.join("a", "orders", "bills")
    groups.advance(5)
    groups.settle("a")

    groups.join("b")
    found = groups.shard.share_groups.describe(GROUP)

    assert (found.group_epoch, found.assignment_epoch) == (4, 3)
    assert found.members[0].subscribed_topic_names == ["bills", "orders"]


def test_deleted_topics_are_not_described(groups: ShareGroupsOfShard) -> None:
    groups.join("a", "orders", "bills")
    groups.settle("a")

    groups.delete_topic("orders")
    (member,) = groups.shard.share_groups.describe(GROUP).members

    assert [topic.topic_name for topic in member.assignment.topic_partitions] == ["bills"]


def test_a_deleted_topic_is_taken_away_with_the_next_assignment() -> None:
    groups = ShareGroupsOfShard(assignment_interval_ms=5_000)
    groups.join("a", "orders", "bills")
    groups.advance(5)
    groups.settle("a")

    groups.delete_topic("orders")
    assert groups.beat("a", 3).assignment is None
    groups.advance(5)
    groups.settle("a")

    assert groups.held("a") == {"bills": [0, 1, 2]}


def test_a_member_whose_removal_was_not_written_stays(groups: ShareGroupsOfShard) -> None:
    groups.join("a")
    groups.settle("a")
    groups.log.fails_with = E.NOT_ENOUGH_REPLICAS
    groups.advance(45)
    assert list(groups.group.members) == list(groups.group.targets) == ["a"]

    groups.log.fails_with = None
    groups.advance(45)

    assert groups.group.is_empty


def test_an_empty_share_group_does_not_expire(groups: ShareGroupsOfShard) -> None:
    emptied(groups)

    groups.advance(30 * 24 * 3600)

    assert GROUP in groups.shard.groups


def test_nobody_commits_offsets_for_a_share_group(groups: ShareGroupsOfShard) -> None:
    groups.join("a")

    refused = groups.ask(
        lambda shard: shard.offset_requests.commit(
            GROUP, ("", None, -1), [], version=9, moment=groups.moment()
        )
    )

    assert refused is E.GROUP_ID_NOT_FOUND
