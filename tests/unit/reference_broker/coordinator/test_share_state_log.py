"""The log of the state of share groups: snapshots, and which records are needed."""

from __future__ import annotations

import pytest

from pyk.protocol.errors import ErrorCode
from pyk.reference_broker.coordinator.share.share_partition import (
    ShareState,
)
from support.share_states_of_shard import OTHER, States, batches
from support.state_ranges import ranges


@pytest.fixture
def states() -> States:
    return States()


def test_a_snapshot_follows_so_many_updates() -> None:
    states = States(updates_per_snapshot=2)
    states.initialize()

    for offset in range(4):
        states.write(*ranges(f"{offset}-{offset}x1k"))

    assert states.kinds == [
        "ShareState", "ShareUpdate", "ShareUpdate", "ShareState", "ShareUpdate"
    ]  # fmt: skip
    snapshot = states.records[3].value
    assert isinstance(snapshot, ShareState)
    assert (snapshot.snapshot_epoch, snapshot.batches) == (1, tuple(ranges("0-2x1k")))
    assert batches(states.read()) == [tuple(each) for each in ranges("0-3x1k")]


@pytest.mark.parametrize("limit", [0, 1, 2, 500])
def test_a_restart_finds_the_same_state_whatever_the_distance_of_snapshots(limit: int) -> None:
    states = States(updates_per_snapshot=limit)
    states.initialize()
    for offset in range(7):
        states.write(*ranges(f"{offset}-{offset}x1k", "3-12x2a"), start=offset // 2)

    again = states.restarted()

    assert batches(again.read()) == batches(states.read())
    assert again.read().start_offset == states.read().start_offset == 3


def test_records_that_snapshots_replace_are_removed() -> None:
    states = States(updates_per_snapshot=1, prune_interval_ms=1000, cold_interval_ms=9999)
    states.initialize()
    states.initialize(OTHER)
    for _ in range(3):
        states.write()
    states.advance(1)
    assert states.log.dropped_before == 1  # the snapshot of the other one

    states.initialize(OTHER, epoch=2)
    states.advance(1)

    assert states.kinds[3] == "ShareState"
    assert states.log.dropped_before == 3


def test_what_was_removed_is_not_missed() -> None:
    states = States(updates_per_snapshot=1, prune_interval_ms=1000)
    states.initialize()
    for offset in range(6):
        states.write(*ranges(f"{offset}-{offset}x1k"))
    states.advance(1)
    expected = batches(states.read())
    del states.log.entries[: states.log.dropped_before]

    assert batches(states.restarted().read()) == expected


def test_a_share_partition_at_rest_gets_a_snapshot_so_that_others_can_be_removed() -> None:
    states = States(updates_per_snapshot=1, prune_interval_ms=1_500, cold_interval_ms=1_000)
    states.initialize(OTHER)
    states.advance(0.5)
    states.initialize()
    states.write()

    states.advance(1)

    assert states.records[-1].key == OTHER
    snapshot = states.records[-1].value
    assert isinstance(snapshot, ShareState)
    assert snapshot.snapshot_epoch == 1
    assert states.log.dropped_before == 1


def test_share_partitions_at_rest_get_snapshots_again_and_again() -> None:
    states = States(updates_per_snapshot=1, cold_interval_ms=1_000)
    states.initialize(OTHER)

    for _ in range(3):
        states.initialize(epoch=len(states.records))
        states.advance(1.1)

    assert [each.key for each in states.records].count(OTHER) == 4


def test_a_snapshot_of_a_share_partition_at_rest_counts_as_none_of_an_update() -> None:
    states = States(updates_per_snapshot=2, cold_interval_ms=1_000)
    states.initialize()
    states.write()
    states.advance(1)
    states.write()
    states.write()

    assert states.kinds == ["ShareState", "ShareUpdate", "ShareState", "ShareUpdate", "ShareState"]


def test_nothing_is_removed_from_an_empty_log() -> None:
    states = States(prune_interval_ms=1000)

    states.advance(1)

    assert states.log.dropped_before == 0


def test_without_share_partitions_only_the_last_record_is_kept() -> None:
    states = States(prune_interval_ms=1000)
    states.initialize()
    states.initialize(OTHER)
    states.delete()
    states.delete(OTHER)

    states.advance(1)

    assert states.log.dropped_before == 3


def test_updates_without_their_snapshot_are_read_as_far_as_they_tell() -> None:
    states = States()
    states.initialize(start=10)
    states.write(*ranges("10-12x1k"), start=10)
    del states.log.entries[0]

    again = states.restarted()

    assert batches(again.read()) == [tuple(each) for each in ranges("10-12x1k")]


def test_nothing_is_written_while_all_share_partitions_are_at_rest() -> None:
    states = States(cold_interval_ms=1_000)
    states.initialize()
    states.advance(1)
    assert len(states.records) == 2

    states.advance(10)

    assert len(states.records) == 2


def test_the_state_in_deleted_topics_is_forgotten_in_batches_that_the_log_takes(
    states: States,
) -> None:
    states.initialize()
    states.initialize(OTHER)
    states.log.max_batch_bytes = 1
    states.topics.clear()

    states.runtime.tell(lambda shard, _: shard.forget_deleted_topics(lambda _: None))

    assert [len(batch) for batch in states.log.batches] == [1, 1, 1, 1]
    states.add_topic()
    assert states.read() is ErrorCode.INVALID_REQUEST
    assert states.restarted().read() is ErrorCode.INVALID_REQUEST


def test_the_state_in_topics_that_exist_is_not_forgotten(states: States) -> None:
    states.initialize()

    states.runtime.tell(lambda shard, _: shard.forget_deleted_topics(lambda _: None))

    assert states.kinds == ["ShareState"]
