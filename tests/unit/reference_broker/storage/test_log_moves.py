"""Logs that move from one data directory to another, in use."""

from __future__ import annotations

from random import Random

import pytest

from pyk.protocol.topics import TopicPartition
from pyk.reference_broker.storage import Log, LogError
from pyk.reference_broker.storage.leader_epochs import EpochEntry
from pyk.reference_broker.storage.log_moves import MOVES_AT_ONCE
from pyk.reference_broker.storage.maintenance import Task
from pyk.runtime.filesystem.memory import MemoryFileSystem
from support.disks import HeldDisk
from support.log_managers import ONE, TWO, log_config
from support.logs import (
    ORDERS,
    aborted_transactions,
    append,
    append_in_transaction,
    end_transaction,
    values,
)
from support.moving_logs import A, B, C, MovingBroker, filled, texts

SECOND = TopicPartition("second", 0)


@pytest.fixture
def filesystem() -> MemoryFileSystem:
    return MemoryFileSystem()


def test_a_log_moves_with_all_its_records(filesystem):
    broker = MovingBroker(filesystem)
    source = filled(broker)

    broker.move(B)
    broker.finish()

    assert broker.home == B
    assert broker.log is not source
    assert values(broker.log) == texts(10)
    assert (broker.log.high_watermark, broker.log.recovery_point) == (10, 10)
    assert not filesystem.exists("/a/orders-0")
    assert not filesystem.exists("/b/orders-0/move.metadata")
    append(broker.log, b"10")
    assert values(broker.log) == texts(11)


def test_a_moved_log_is_found_again(filesystem):
    broker = MovingBroker(filesystem)
    filled(broker)
    broker.move(B)
    broker.finish()
    broker.logs.close()

    broker = MovingBroker(filesystem)

    assert broker.home == B
    assert values(broker.log) == texts(10)


def test_records_are_appended_while_a_log_moves(filesystem):
    disk = HeldDisk()
    broker = MovingBroker(filesystem, disk=disk)
    source = filled(broker)
    broker.move(B)

    for number in range(10, 14):
        if broker.due is not None:
            broker.step()
        append(source, b"%d" % number)
        if len(disk):
            disk.do_one()
    disk.is_held = False
    disk.do_all()
    broker.finish()

    assert broker.home == B
    assert values(broker.log) == texts(14)


def test_a_log_that_is_written_to_all_the_time_moves(filesystem):
    broker = MovingBroker(filesystem)
    filled(broker)
    broker.move(B)

    for number in range(10, 30):
        append(broker.log, b"%d" % number)
        if broker.due is not None:
            broker.step()

    assert broker.home == B
    assert values(broker.log) == texts(30)


def test_a_few_logs_move_at_once_and_the_others_after_them(filesystem):
    broker = MovingBroker(filesystem)
    partitions = [TopicPartition("many", number) for number in range(12)]
    for partition in partitions:
        append(broker.create(partition), b"0")
    target = broker.logs.homes.at(B)
    for partition in partitions:
        if broker.logs.homes.of(partition) is not target:
            broker.logs.moves.begin(broker.logs.get(partition), ONE, target)

    most = 0
    while any(map(broker.logs.moves.get, partitions)):
        broker.step()
        most = max(most, len(list(target.futures)))

    assert most == MOVES_AT_ONCE
    assert {broker.logs.homes.of(partition) for partition in partitions} == {target}


def test_a_move_tells_how_far_the_copy_is_behind(filesystem):
    broker = MovingBroker(filesystem)
    filled(broker)
    broker.log.advance_log_start_offset(4)
    broker.move(B)
    move = broker.logs.moves.get(ORDERS)

    behind = []
    while broker.logs.moves.get(ORDERS) is move:
        behind.append(move.offset_lag)
        broker.step()

    assert behind[0] == 6
    assert behind == sorted(behind, reverse=True)
    assert behind[-1] == 0


def test_one_chunk_of_a_log_is_read_at_a_time(filesystem):
    disk = HeldDisk()
    broker = MovingBroker(filesystem, disk=disk)
    filled(broker)
    broker.move(B)
    broker.step()
    broker.step()
    waiting = len(disk)

    broker.logs.moves.run()

    assert len(disk) == waiting


def test_the_next_move_begins_when_one_has_ended(filesystem):
    disk = HeldDisk()
    broker = MovingBroker(filesystem, disk=disk)
    partitions = [TopicPartition("many", number) for number in range(MOVES_AT_ONCE + 1)]
    for partition in partitions:
        broker.logs.homes.prefer(partition, broker.logs.homes.at(A))
        append(broker.create(partition), b"0")
        broker.logs.moves.begin(broker.logs.get(partition), ONE, broker.logs.homes.at(B))

    while any(map(broker.logs.moves.get, partitions)):
        disk.do_all()
        broker.step()

    assert {broker.logs.homes.of(partition).path for partition in partitions} == {B}


def test_a_move_that_is_given_up_before_the_copy_has_the_name_leaves_the_log(filesystem):
    disk = HeldDisk()
    broker = MovingBroker(filesystem, disk=disk)
    filled(broker)
    broker.move(B)
    broker.step()
    broker.step()
    disk.do_all()
    broker.step()
    disk.do_one()  # the flush; the generation is to be written

    broker.logs.moves.end(ORDERS)
    disk.do_all()

    assert broker.home == A
    assert values(broker.log) == texts(10)
    assert not filesystem.exists("/b/orders-0")


def test_a_chunk_that_is_read_when_the_broker_has_ended_changes_nothing(filesystem):
    disk = HeldDisk()
    broker = MovingBroker(filesystem, disk=disk)
    filled(broker)
    broker.move(B)
    broker.step()
    disk.do_all()
    broker.step()
    finish_read = disk.take()
    disk.is_held = False
    broker.logs.close()
    left = filesystem.list_directory(B)

    finish_read()

    assert filesystem.list_directory(B) == left
    assert [name for name in left if name.endswith("-future")]


def test_a_move_that_is_given_up_makes_room_for_another(filesystem):
    disk = HeldDisk()
    broker = MovingBroker(filesystem, disk=disk)
    partitions = [TopicPartition("many", number) for number in range(6)]
    for partition in partitions:
        append(broker.create(partition), b"0")
        target = B if broker.logs.homes.of(partition).path == C else C
        broker.logs.moves.begin(broker.logs.get(partition), ONE, broker.logs.homes.at(target))
    broker.step()
    broker.step()

    for partition in partitions[:MOVES_AT_ONCE]:
        broker.logs.moves.end(partition)
    disk.is_held = False
    disk.do_all()
    while broker.due is not None and any(map(broker.logs.moves.get, partitions)):
        broker.step()

    assert not any(map(broker.logs.moves.get, partitions))


def test_a_log_that_starts_in_the_middle_of_a_batch_moves(filesystem):
    broker = MovingBroker(filesystem)
    log = broker.create()
    append(log, b"0", b"1", b"2")
    append(log, b"3")
    log.advance_log_start_offset(1)

    broker.move(B)
    broker.finish()

    assert broker.log.log_start_offset == 1
    assert values(broker.log) == [b"1", b"2", b"3"]
    filesystem.crash(loses_unflushed=False)
    assert MovingBroker(filesystem).log.log_start_offset == 1


def test_records_that_are_deleted_while_a_log_moves_are_gone(filesystem, caplog):
    broker = MovingBroker(filesystem)
    log = filled(broker)
    broker.move(B)
    broker.step()
    log.advance_log_start_offset(10)
    append(log, b"10")

    broker.finish()

    assert broker.home == B
    assert values(broker.log) == [b"10"]
    assert broker.log.log_start_offset == 10
    assert "Could not move" not in caplog.text


def test_a_batch_that_is_larger_than_segments_have_become_moves(filesystem):
    broker = MovingBroker(filesystem)
    log = broker.create()
    append(log, b"x" * 1000)
    log.config = log_config(internal_segment_bytes="400")
    append(log, b"y")

    broker.move(B)
    broker.finish()

    assert broker.home == B
    assert values(broker.log) == [b"x" * 1000, b"y"]


def test_an_empty_log_moves(filesystem):
    broker = MovingBroker(filesystem)
    broker.create()

    broker.move(B)
    broker.finish()

    assert (broker.home, broker.log.log_end_offset) == (B, 0)


def test_producers_and_transactions_move_with_their_log(filesystem):
    broker = MovingBroker(filesystem)
    log = broker.create()
    append_in_transaction(log, b"0", producer_id=7, producer_epoch=0, base_sequence=0)
    end_transaction(log, commit=False)
    append_in_transaction(log, b"2", producer_id=7, producer_epoch=0, base_sequence=1)

    broker.move(B)
    broker.finish()

    assert broker.log.last_stable_offset == 2
    assert aborted_transactions(broker.log) == [(7, 0)]
    with pytest.raises(LogError):
        append_in_transaction(broker.log, b"x", producer_id=7, producer_epoch=0, base_sequence=9)
    end_transaction(broker.log, commit=True)
    assert broker.log.last_stable_offset == 4
    broker.logs.close()
    assert aborted_transactions(MovingBroker(filesystem).log) == [(7, 0)]


def test_a_producer_whose_records_were_deleted_moves_with_its_log(filesystem):
    broker = MovingBroker(filesystem)
    log = broker.create()
    append(log, b"0", producer_id=7, producer_epoch=0, base_sequence=0)
    log.roll()
    append(log, b"1")
    log.advance_log_start_offset(1)
    log.delete_old_segments(0)

    broker.move(B)
    broker.finish()

    assert [producer.producer_id for producer in broker.log.producers] == [7]


def test_a_leader_epoch_without_records_moves_with_its_log(filesystem):
    broker = MovingBroker(filesystem)
    log = broker.create()
    append(log, b"0", leader_epoch=2)
    log.leader_epochs.assign(5, log.log_end_offset)

    broker.move(B)
    broker.finish()

    assert broker.log.leader_epochs.entries == [(2, 0), (5, 1)]
    filesystem.crash(loses_unflushed=True, random=Random(1))
    assert MovingBroker(filesystem).log.leader_epochs.end_offset_of(2, 1) == (2, 1)


def test_a_leader_epoch_whose_records_were_compacted_away_is_known_after_a_kill(filesystem):
    broker = MovingBroker(filesystem)
    log = broker.create()
    append(log, b"0", b"1", b"2", leader_epoch=1)
    append(log, b"3", leader_epoch=4)
    log.leader_epochs.entries = [EpochEntry(1, 0), EpochEntry(2, 2), EpochEntry(4, 3)]

    broker.move(B)
    broker.finish()
    filesystem.crash(loses_unflushed=True, random=Random(1))

    assert MovingBroker(filesystem).log.leader_epochs.entries == [(1, 0), (2, 2), (4, 3)]


@pytest.mark.parametrize("kept", [0, 3])
def test_a_log_that_ends_after_its_last_batch_moves(filesystem, kept):
    broker = MovingBroker(filesystem)
    log = broker.create()
    for number in range(kept):
        append(log, b"%d" % number)
    end_after_last_batch(log, 8)

    broker.move(B)
    broker.finish()

    assert broker.home == B
    assert values(broker.log) == texts(kept)
    assert (broker.log.log_start_offset, broker.log.log_end_offset) == (0, 8)
    append(broker.log, b"8")
    filesystem.crash(loses_unflushed=False)
    assert values(MovingBroker(filesystem).log) == [*texts(kept), b"8"]


def end_after_last_batch(log: Log, offset: int) -> None:
    """Let a log end as one does in Kafka after its last records were compacted away."""
    log.roll(offset)
    log.log_end_offset = log.high_watermark = offset
    log.flusher.appended(offset, log.config.flush_messages)


def test_a_log_with_gaps_that_has_moved_is_whole_after_a_kill(filesystem):
    broker = MovingBroker(filesystem)
    log = filled(broker, 4)
    end_after_last_batch(log, 8)
    for number in range(8, 12):
        append(log, b"%d" % number)
    expected = values(log)

    broker.move(B)
    broker.finish()
    filesystem.crash(loses_unflushed=False)

    assert values(MovingBroker(filesystem).log) == expected


def test_where_a_moving_log_starts_is_written_once_its_checkpoint_is_not_being_written(filesystem):
    disk = HeldDisk()
    disk.is_held = False
    broker = MovingBroker(filesystem, disk=disk)
    append(broker.log, b"0", b"1", b"2")
    broker.log.advance_log_start_offset(1)
    target = broker.logs.homes.at(B)
    broker.logs.homes.prefer(SECOND, target)
    second = broker.create(SECOND)
    append(second, b"0", b"1")
    second.advance_log_start_offset(1)
    disk.is_held = True
    target.tasks.perform(Task.CHECKPOINT_LOG_START_OFFSETS)
    finish_write = disk.take()
    disk.is_held = False

    broker.move(B)
    broker.finish(8)
    finish_write()
    broker.finish()

    assert broker.home == B
    filesystem.crash(loses_unflushed=False)
    assert MovingBroker(filesystem).log.log_start_offset == 1


def test_a_log_moves_there_and_back(filesystem):
    broker = MovingBroker(filesystem)
    filled(broker)

    for path in (B, A, C, A, B):
        broker.move(path)
        broker.finish()
        append(broker.log, path.encode())

    assert broker.home == B
    assert values(broker.log)[10:] == [b"/b", b"/a", b"/c", b"/a", b"/b"]


def test_a_move_that_is_given_up_leaves_nothing(filesystem):
    broker = MovingBroker(filesystem)
    log = filled(broker)
    broker.move(B)
    broker.step()

    broker.logs.moves.end(ORDERS)
    broker.logs.homes.at(B).tasks._remove_deleted_files()

    assert broker.log is log
    assert not [name for name in filesystem.list_directory(B) if name.startswith("orders")]


def test_a_move_that_changes_its_way_leaves_nothing_where_it_went_first(filesystem):
    broker = MovingBroker(filesystem)
    filled(broker)
    broker.move(B)
    broker.step()

    broker.move(C)
    broker.finish()
    broker.logs.homes.at(B).tasks.perform(Task.REMOVE_DELETED_FILES)

    assert broker.home == C
    assert not [name for name in filesystem.list_directory(B) if name.startswith("orders")]


def test_a_log_that_is_deleted_while_it_moves_is_gone(filesystem):
    broker = MovingBroker(filesystem)
    filled(broker)
    broker.move(B)
    broker.step()

    broker.logs.delete(ORDERS)

    assert broker.logs.moves.get(ORDERS) is None
    assert broker.logs.get_or_create(ORDERS, log_config(), TWO).log_end_offset == 0


def test_a_move_goes_on_after_a_restart(filesystem):
    broker = MovingBroker(filesystem)
    filled(broker)
    broker.move(B)
    broker.step()
    broker.step()
    assert [name for name in filesystem.list_directory(B) if name.endswith("-future")]
    filesystem.crash(loses_unflushed=False)

    broker = MovingBroker(filesystem)

    assert broker.home == A
    assert broker.logs.homes.take_unfinished(ORDERS) is broker.logs.homes.at(B)
    assert broker.logs.homes.take_unfinished(ORDERS) is None


def test_a_move_keeps_to_its_rate(filesystem):
    name = "replica_alter_log_dirs_io_max_bytes_per_second"
    broker = MovingBroker(filesystem, **{name: 100})
    log = filled(broker)
    began = broker.clock.now()

    broker.move(B)
    broker.finish()

    assert broker.home == B
    assert broker.clock.now() - began >= (log.segments.size - 400) / 100
