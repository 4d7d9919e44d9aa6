from __future__ import annotations

import pytest

from pyk.clients.consumer.buffer.fetch_buffer import FetchBuffer
from pyk.clients.consumer.buffer.fetch_writer import FetchWriter
from pyk.clients.consumer.faces.health import (
    ConsumerHealth,
    PartitionHealth,
    PartitionState,
    lag_of,
    partition_health,
)
from pyk.clients.consumer.positions.assigned_partitions import AssignedPartitions
from pyk.clients.consumer.positions.positions import Positions
from pyk.clients.engine.backoff import Backoff
from pyk.clients.errors import GroupAuthorizationFailedError, NotLeaderOrFollowerError
from pyk.clients.topic_partition import TopicPartition
from pyk.protocol.records import FetchedRecords
from support.batches import batches

A0 = TopicPartition("a", 0)


class Setting:
    """One partition at offset 5 of 10."""

    def __init__(self) -> None:
        self.buffer = FetchBuffer(lambda: None, lambda: None, lambda fetch: fetch())
        self.writer = FetchWriter(self.buffer)
        self.positions = Positions(self.writer, "none", Backoff(0.1, 1.0), lambda: 0.5)
        partitions = AssignedPartitions(self.writer, self.positions)
        (self.partition,) = partitions.assign([A0], 0.0, has_group=True)
        self.positions.seek(self.partition, 5, -1)
        self.partition.readable_end = 10

    def health(self, now: float = 1.0, *, has_leader: bool = True) -> PartitionHealth:
        return partition_health(self.partition, now, has_leader=has_leader)


def test_a_partition_that_is_behind_and_makes_progress_is_fetching() -> None:
    health = Setting().health()

    assert (health.state, health.position, health.lag) == (PartitionState.FETCHING, 5, 5)


def test_a_partition_at_the_end_is_caught_up() -> None:
    setting = Setting()
    setting.partition.readable_end = 5
    setting.partition.progress.answered_at = 999.0

    assert setting.health(now=1000.0).state is PartitionState.CAUGHT_UP


def test_a_partition_that_is_behind_while_others_had_several_turns_is_stalled() -> None:
    setting = Setting()
    setting.partition.progress.answered_at = 999.0
    setting.partition.progress.note_turns(1, answers=10, partition_count=2)

    setting.partition.progress.note_turns(1, answers=16, partition_count=2)
    assert setting.health(now=11.0).state is PartitionState.FETCHING

    setting.partition.progress.note_turns(1, answers=17, partition_count=2)
    assert setting.health(now=11.0).state is PartitionState.STALLED
    setting.partition.progress.note_turns(2, answers=99, partition_count=2)
    assert setting.health(now=11.0).state is PartitionState.FETCHING


def test_a_partition_that_no_node_answers_for_is_stalled() -> None:
    setting = Setting()
    setting.partition.readable_end = 5

    assert setting.health(now=9.0).state is PartitionState.CAUGHT_UP
    assert setting.health(now=11.0).state is PartitionState.STALLED


def test_records_that_wait_for_the_application_are_no_stall() -> None:
    setting = Setting()
    setting.writer.append(
        setting.buffer.partitions[A0], FetchedRecords("a", 0, batches(5, 1), 5), 80, 6
    )

    assert setting.health(now=1000.0).state is PartitionState.BUFFERED


def test_a_paused_partition_is_reported_as_paused_in_any_state() -> None:
    setting = Setting()
    setting.writer.pause(setting.buffer.partitions[A0])

    assert setting.health(now=1000.0, has_leader=False).state is PartitionState.PAUSED


def test_a_partition_without_leader_says_so() -> None:
    assert Setting().health(has_leader=False).state is PartitionState.WITHOUT_LEADER


def test_a_failing_partition_names_its_error() -> None:
    setting = Setting()
    error = NotLeaderOrFollowerError("moved")
    setting.positions.failed(setting.partition, setting.partition.version, error, 0.5)

    health = setting.health()

    assert (health.state, health.error) == (PartitionState.FAILING, error)


def test_a_partition_that_waits_for_a_seek_says_so() -> None:
    setting = Setting()
    setting.positions.out_of_range(setting.partition, 0.5)

    assert setting.health().state is PartitionState.FAILED


def test_lag_counts_to_the_end_of_the_readable_records() -> None:
    partition = Setting().partition
    partition.readable_end = 7
    assert lag_of(partition, 5) == 2
    partition.readable_end = 3
    assert lag_of(partition, 5) == 0
    partition.readable_end = -1
    assert lag_of(partition, 5) is None


@pytest.mark.parametrize("state", list(PartitionState))
def test_a_consumer_is_healthy_unless_a_partition_or_the_group_is_in_trouble(
    state: PartitionState,
) -> None:
    partition = PartitionHealth(state, 5, 5, 1.0, None)
    health = ConsumerHealth("stable", None, {A0: partition})

    in_trouble = {"WITHOUT_LEADER", "FAILING", "FAILED", "HELD", "STALLED"}
    assert health.is_healthy == (state.name not in in_trouble)
    assert len(health.problems) == (state.name in in_trouble)


def test_an_error_of_the_group_is_a_problem() -> None:
    health = ConsumerHealth("failed", GroupAuthorizationFailedError("no"), {})

    assert not health.is_healthy
    assert health.problems == ("group: no",)
