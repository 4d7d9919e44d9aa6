"""Positions are set by committed offsets, policies and seeks, and kept for topics created again."""

from __future__ import annotations

from collections.abc import Callable
from uuid import UUID

import pytest

from pyk.clients.consumer.positions.assigned_partition import AssignedPartition, PositionState
from pyk.clients.consumer.positions.positions import FoundOffset
from pyk.clients.errors import (
    NoOffsetForPartitionError,
    NotLeaderOrFollowerError,
    OffsetOutOfRangeError,
    TopicRecreatedError,
)
from pyk.clients.offsets import OffsetSpec
from pyk.clients.topic_partition import OffsetAndMetadata
from support.positions import A0, A1, ENDS, Setting, assigned, known


def test_assigned_partitions_may_change_while_another_thread_looks_at_them() -> None:
    setting = Setting()
    setting.partitions.assign([A0, A1], 0.0, has_group=False)
    partitions = iter(setting.partitions)

    setting.partitions.unassign([A0])

    assert [partition.topic_partition for partition in partitions] == [A0, A1]


def test_a_member_goes_on_where_its_group_stopped() -> None:
    _, partition = known(offset=10)

    assert partition.state is PositionState.KNOWN
    assert (
        partition.buffer.position
        == partition.buffer.fetch_offset
        == partition.buffer.finished
        == 10
    )


@pytest.mark.parametrize(("policy", "end"), ENDS)
def test_where_nothing_is_committed_the_policy_decides(policy: str, end: OffsetSpec) -> None:
    setting = Setting(policy)
    partition = assigned(setting)

    setting.positions.found_committed(partition, partition.version, None, 0.0)

    assert (partition.state, partition.end) == (PositionState.RESET, end)
    setting.positions.found_offset(partition, partition.version, FoundOffset(77, 5), 0.0)
    assert (partition.state, partition.buffer.position) == (PositionState.KNOWN, 77)


def test_without_a_policy_a_missing_committed_offset_is_raised() -> None:
    setting = Setting("none")
    partition = assigned(setting)

    setting.positions.found_committed(partition, partition.version, None, 0.0)

    assert partition.state is PositionState.FAILED
    assert isinstance(partition.buffer.error, NoOffsetForPartitionError)


def test_without_a_group_the_policy_decides_at_once() -> None:
    setting = Setting("earliest")

    partition = assigned(setting, has_group=False)

    assert (partition.state, partition.end) == (PositionState.RESET, OffsetSpec.EARLIEST)


def test_an_answer_that_comes_after_a_seek_changes_nothing() -> None:
    setting = Setting()
    partition = assigned(setting)
    version = partition.version

    setting.positions.seek(partition, 5, -1)
    setting.positions.found_committed(partition, version, OffsetAndMetadata(99), 0.0)
    setting.positions.found_offset(partition, version, FoundOffset(98, 0), 0.0)

    assert partition.buffer.position == 5


def test_an_answer_for_an_earlier_assignment_changes_nothing() -> None:
    setting = Setting()
    before = assigned(setting)
    setting.partitions.unassign([A0])
    after = assigned(setting)

    setting.positions.found_committed(before, before.version, OffsetAndMetadata(99), 0.0)

    assert after.state is PositionState.COMMITTED
    assert not setting.partitions.is_assigned(before)


@pytest.mark.parametrize(("policy", "end"), ENDS)
def test_an_offset_out_of_range_is_reset_by_the_policy(policy: str, end: OffsetSpec) -> None:
    setting, partition = known(policy)

    setting.positions.out_of_range(partition, 1.0)

    assert (partition.state, partition.end) == (PositionState.RESET, end)
    assert partition.buffer.finished == -1


def test_without_a_policy_an_offset_out_of_range_is_reported_and_kept() -> None:
    setting, partition = known("none", offset=10)

    setting.positions.out_of_range(partition, 1.0)

    error = partition.buffer.error
    assert isinstance(error, OffsetOutOfRangeError)
    assert (error.topic_partition, error.offset) == (A0, 10)
    assert (partition.state, partition.buffer.position) == (PositionState.FAILED, 10)
    setting.positions.seek(partition, 11, -1)
    assert (partition.state, partition.buffer.error) == (PositionState.KNOWN, None)


def test_failures_are_tried_again_ever_later() -> None:
    setting, partition = known()
    waits = []

    for _ in range(6):
        setting.positions.failed(
            partition, partition.version, NotLeaderOrFollowerError("moved"), 100.0
        )
        waits.append(round(partition.retry_at - 100.0, 3))

    assert waits == [0.1, 0.2, 0.4, 0.8, 1.0, 1.0]
    assert partition.failing_since == 100.0
    partition.succeeded(101.0)
    assert partition.failures == 0
    assert partition.error is None


def test_only_partitions_that_are_due_are_asked_for() -> None:
    setting = Setting()
    first, second = setting.partitions.assign([A0, A1], 0.0, has_group=True)
    setting.positions.failed(first, first.version, NotLeaderOrFollowerError("moved"), 0.0)

    assert setting.partitions.in_state(PositionState.COMMITTED, 0.0) == [second]
    assert setting.partitions.next_retry(0.0) == first.retry_at
    assert setting.partitions.in_state(PositionState.COMMITTED, 0.2) == [first, second]


def test_a_seek_to_the_present_position_keeps_fetched_records() -> None:
    setting, partition = known(offset=10)
    version = partition.version

    setting.positions.seek(partition, 10, -1)

    assert partition.version == version


def test_a_seek_to_an_unreadable_batch_fetches_it_again() -> None:
    setting, partition = known(offset=10)
    partition.buffer.is_unreadable = True
    version = partition.version

    setting.positions.seek(partition, 10, -1)

    assert partition.version > version


def test_a_nearer_replica_is_preferred_for_a_while() -> None:
    _, partition = known()

    partition.leader = 1

    partition.prefer(7, until=50.0)

    assert partition.node_to_fetch(49.0) == 7
    assert partition.node_to_fetch(50.0) == 1


def test_assigning_again_keeps_the_partitions_that_are_there() -> None:
    setting, partition = known(offset=10)

    added = setting.partitions.assign([A0, A1], 0.0, has_group=True)

    assert [one.topic_partition for one in added] == [A1]
    assert partition.buffer.position == 10


@pytest.mark.parametrize("policy", ["earliest", "latest"])
def test_a_topic_that_was_created_again_is_read_from_its_beginning(policy: str) -> None:
    setting, partition = known(policy, offset=10)
    setting.changes.topic_seen(partition, UUID(int=1))
    assert partition.state is PositionState.KNOWN

    setting.changes.topic_seen(partition, UUID(int=2))

    assert (partition.state, partition.end) == (PositionState.RESET, OffsetSpec.EARLIEST)
    assert partition.buffer.finished == -1


def test_an_offset_that_the_group_committed_in_the_former_topic_is_not_read_from() -> None:
    setting = Setting()
    partition = assigned(setting)
    setting.changes.topic_seen(partition, UUID(int=1))
    version = partition.version

    setting.changes.topic_seen(partition, UUID(int=2))
    setting.positions.found_committed(partition, version, OffsetAndMetadata(10), 0.0)

    assert (partition.state, partition.buffer.position) == (PositionState.COMMITTED, -1)


def test_an_end_of_the_former_log_is_not_read_from() -> None:
    setting = Setting()
    partition = assigned(setting, has_group=False)
    setting.changes.topic_seen(partition, UUID(int=1))
    version = partition.version
    setting.positions.failed(partition, version, NotLeaderOrFollowerError("moved"), 0.0)

    setting.changes.topic_seen(partition, UUID(int=2))
    setting.positions.found_offset(partition, version, FoundOffset(10), 0.0)

    assert (partition.state, partition.end) == (PositionState.RESET, OffsetSpec.LATEST)
    assert setting.partitions.in_state(PositionState.RESET, 0.0) == [partition]


def test_a_transaction_of_the_former_topic_does_not_say_where_to_read_on() -> None:
    setting, partition = known(offset=10)
    setting.changes.topic_seen(partition, UUID(int=1))
    setting.positions.doubt(partition)

    setting.changes.topic_seen(partition, UUID(int=2))
    is_settled = setting.positions.settle(partition, partition.version, 12, 3, UUID(int=1))

    assert not is_settled
    assert (partition.state, partition.end) == (PositionState.RESET, OffsetSpec.EARLIEST)


def test_a_false_topic_id_during_a_transaction_changes_nothing() -> None:
    setting, partition = known(offset=10)
    setting.changes.topic_seen(partition, UUID(int=1))
    setting.positions.doubt(partition)
    version = partition.version

    for number in (2, 1):
        setting.changes.topic_seen(partition, UUID(int=number))

    assert setting.positions.settle(partition, version, 12, 3, UUID(int=1))
    assert (partition.state, partition.buffer.position) == (PositionState.KNOWN, 12)


def test_a_topic_whose_id_became_known_during_a_transaction_is_the_same() -> None:
    setting, partition = known(offset=10)
    setting.positions.doubt(partition)
    setting.changes.topic_seen(partition, UUID(int=1))

    assert setting.positions.settle(partition, partition.version, 12, 3, None)
    assert partition.buffer.position == 12


def test_a_partition_that_waits_for_a_seek_is_raised_also_after_its_topic_was_created_again() -> (
    None
):
    setting = Setting("none")
    partition = assigned(setting)
    setting.changes.topic_seen(partition, UUID(int=1))
    setting.positions.found_committed(partition, partition.version, None, 0.0)

    setting.changes.topic_seen(partition, UUID(int=2))

    assert partition.state is PositionState.FAILED
    assert isinstance(partition.buffer.error, NoOffsetForPartitionError)


def test_without_a_policy_a_topic_created_again_is_raised() -> None:
    setting, partition = known("none", offset=10)
    setting.changes.topic_seen(partition, UUID(int=1))

    setting.changes.topic_seen(partition, UUID(int=2))

    assert partition.state is PositionState.FAILED
    assert isinstance(partition.buffer.error, TopicRecreatedError)
    assert partition.buffer.error.offset == 10


def seek(setting: Setting, partition: AssignedPartition) -> None:
    setting.positions.seek(partition, 5, -1)


def seek_to_end(setting: Setting, partition: AssignedPartition) -> None:
    setting.positions.seek_to(partition, OffsetSpec.LATEST)
    setting.positions.found_offset(partition, partition.version, FoundOffset(5), 0.0)


@pytest.mark.parametrize("go", [seek, seek_to_end])
def test_a_seek_outlives_the_end_of_a_false_topic_id(
    go: Callable[[Setting, AssignedPartition], None],
) -> None:
    setting, partition = known(offset=10)
    setting.changes.topic_seen(partition, UUID(int=1))
    setting.changes.topic_seen(partition, UUID(int=2))

    go(setting, partition)
    setting.changes.topic_seen(partition, UUID(int=1))

    assert partition.buffer.position != 10


def test_a_topic_is_read_on_once_it_has_its_former_id_again() -> None:
    setting, partition = known(offset=10)
    for number in (1, 2, 1):
        setting.changes.topic_seen(partition, UUID(int=number))

    assert (partition.state, partition.buffer.position) == (PositionState.KNOWN, 10)


def test_a_topic_that_was_created_again_is_another_assignment() -> None:
    setting, partition = known(offset=10)
    setting.changes.topic_seen(partition, UUID(int=1))
    former = partition.buffer.assignment
    setting.changes.topic_seen(partition, UUID(int=1))
    assert partition.buffer.assignment is former

    for number in (2, 3):  # the second time while the position is unknown
        setting.changes.topic_seen(partition, UUID(int=number))
        assert partition.buffer.assignment.topic_id == UUID(int=number)

    assert (former.topic_id, former.is_lost) == (UUID(int=1), False)


@pytest.mark.parametrize("is_lost", [False, True])
def test_a_topic_that_has_its_former_id_again_has_its_assignment_unless_that_was_lost(
    is_lost: bool,
) -> None:
    setting, partition = known(offset=10)
    setting.changes.topic_seen(partition, UUID(int=1))
    former = partition.buffer.assignment
    setting.changes.topic_seen(partition, UUID(int=2))

    former.is_lost = is_lost
    setting.changes.topic_seen(partition, UUID(int=1))

    assert (partition.buffer.assignment is former) is not is_lost
    assert partition.buffer.assignment.topic_id == UUID(int=1)
    assert not partition.buffer.assignment.is_lost
    assert partition.buffer.position == 10


def test_partitions_that_were_unassigned_are_not_read_on_when_they_are_assigned_again() -> None:
    setting, partition = known(offset=10)
    setting.partitions.set_aside([A0])
    setting.partitions.unassign([A0])

    partition = assigned(setting, has_group=False)

    assert partition.state is PositionState.RESET


def test_a_partition_that_was_never_read_is_new_where_others_of_its_topic_are_set_aside() -> None:
    setting, _ = known(offset=10)
    setting.partitions.set_aside([A0])

    (_, added) = setting.partitions.assign([A0, A1], 0.0, has_group=False, has_grown=True)

    assert (added.state, added.end) == (PositionState.RESET, OffsetSpec.EARLIEST)
