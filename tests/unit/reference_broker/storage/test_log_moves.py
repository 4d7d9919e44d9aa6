"""Logs that move from one data directory to another, also when the broker or a disk fails."""

from __future__ import annotations

import contextlib
import errno
from random import Random
from typing import Any

import pytest

from pyk.protocol.topics import TopicPartition
from pyk.reference_broker.config import BrokerConfigLayers
from pyk.reference_broker.storage import Log, LogError, LogManager, StorageError
from pyk.reference_broker.storage.disk import Disk
from pyk.reference_broker.storage.log_moves import MOVES_AT_ONCE
from pyk.runtime.filesystem import FileSystem
from pyk.runtime.filesystem.faulty import FaultyFileSystem
from pyk.runtime.filesystem.memory import MemoryFileSystem
from pyk.runtime.virtual_time import VirtualClock
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

A, B, C = "/a", "/b", "/c"
MOST_OPERATIONS = 120


class Broker:
    """The logs of a broker with three directories, whose moves run when they are due."""

    def __init__(
        self, filesystem: FileSystem, *, disk: Disk | None = None, **config: object
    ) -> None:
        self.clock = VirtualClock()
        self.logs = LogManager.open(
            filesystem,
            A,
            BrokerConfigLayers.of(
                {name.replace("_", "."): value for name, value in config.items()}
            ).broker_config(),
            clock=self.clock,
            random=Random(5),
            log_dirs=(A, B, C),
            disk=disk,
        )
        self.due: float | None = None
        self.logs.arm_moves = self._arm
        self.logs.when_failed(self.logs.take_offline)

    def _arm(self, at: float) -> None:
        self.due = at

    def create(self, partition: TopicPartition = ORDERS, **config: Any) -> Log:
        return self.logs.get_or_create(partition, log_config(**config), ONE)

    @property
    def log(self) -> Log:
        """The log of the partition, wherever it is."""
        found = self.logs.get(ORDERS)
        return self.create() if found is None else found

    @property
    def home(self) -> str:
        home = self.logs.homes.of(ORDERS)
        assert home is not None
        return home.path

    def move(self, path: str) -> None:
        target = self.logs.homes.at(path)
        assert target is not None
        self.logs.moves.begin(self.log, ONE, target)

    def step(self) -> None:
        """Let the moves go on once."""
        assert self.due is not None
        at, self.due = self.due, None
        self.clock.advance(max(0.0, at - self.clock.now()))
        self.logs.moves.run()

    def finish(self, steps: int = 100) -> None:
        """Let the moves go on until they are done."""
        while self.logs.moves.get(ORDERS) is not None and steps:
            self.step()
            steps -= 1


@pytest.fixture
def filesystem() -> MemoryFileSystem:
    return MemoryFileSystem()


def filled(broker: Broker, count: int = 10, **config: Any) -> Log:
    log = broker.create(internal_segment_bytes="400", **config)
    for number in range(count):
        append(log, b"%d" % number)
    return log


def texts(count: int) -> list[bytes]:
    return [b"%d" % number for number in range(count)]


def test_a_log_moves_with_all_its_records(filesystem):
    broker = Broker(filesystem)
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
    broker = Broker(filesystem)
    filled(broker)
    broker.move(B)
    broker.finish()
    broker.logs.close()

    broker = Broker(filesystem)

    assert broker.home == B
    assert values(broker.log) == texts(10)


def test_records_are_appended_while_a_log_moves(filesystem):
    disk = HeldDisk()
    broker = Broker(filesystem, disk=disk)
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
    broker = Broker(filesystem)
    filled(broker)
    broker.move(B)

    for number in range(10, 30):
        append(broker.log, b"%d" % number)
        if broker.due is not None:
            broker.step()

    assert broker.home == B
    assert values(broker.log) == texts(30)


def test_a_few_logs_move_at_once_and_the_others_after_them(filesystem):
    broker = Broker(filesystem)
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


def test_a_move_that_is_given_up_makes_room_for_another(filesystem):
    disk = HeldDisk()
    broker = Broker(filesystem, disk=disk)
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
    broker = Broker(filesystem)
    log = broker.create()
    append(log, b"0", b"1", b"2")
    append(log, b"3")
    log.advance_log_start_offset(1)

    broker.move(B)
    broker.finish()

    assert broker.log.log_start_offset == 1
    assert values(broker.log) == [b"1", b"2", b"3"]
    filesystem.crash(loses_unflushed=False)
    assert Broker(filesystem).log.log_start_offset == 1


def test_records_that_are_deleted_while_a_log_moves_are_gone(filesystem):
    broker = Broker(filesystem)
    log = filled(broker)
    broker.move(B)
    broker.step()
    log.advance_log_start_offset(10)
    append(log, b"10")

    broker.finish()

    assert broker.home == B
    assert values(broker.log) == [b"10"]
    assert broker.log.log_start_offset == 10


def test_an_empty_log_moves(filesystem):
    broker = Broker(filesystem)
    broker.create()

    broker.move(B)
    broker.finish()

    assert (broker.home, broker.log.log_end_offset) == (B, 0)


def test_producers_and_transactions_move_with_their_log(filesystem):
    broker = Broker(filesystem)
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
    assert aborted_transactions(Broker(filesystem).log) == [(7, 0)]


def test_a_log_moves_there_and_back(filesystem):
    broker = Broker(filesystem)
    filled(broker)

    for path in (B, A, C, A, B):
        broker.move(path)
        broker.finish()
        append(broker.log, path.encode())

    assert broker.home == B
    assert values(broker.log)[10:] == [b"/b", b"/a", b"/c", b"/a", b"/b"]


def test_a_move_that_is_given_up_leaves_nothing(filesystem):
    broker = Broker(filesystem)
    log = filled(broker)
    broker.move(B)
    broker.step()

    broker.logs.moves.end(ORDERS)
    broker.logs.homes.at(B).tasks._remove_deleted_files()

    assert broker.log is log
    assert not [name for name in filesystem.list_directory(B) if name.startswith("orders")]


def test_a_log_that_is_deleted_while_it_moves_is_gone(filesystem):
    broker = Broker(filesystem)
    filled(broker)
    broker.move(B)
    broker.step()

    broker.logs.delete(ORDERS)

    assert broker.logs.moves.get(ORDERS) is None
    assert broker.logs.get_or_create(ORDERS, log_config(), TWO).log_end_offset == 0


def test_a_move_goes_on_after_a_restart(filesystem):
    broker = Broker(filesystem)
    filled(broker)
    broker.move(B)
    broker.step()
    broker.step()
    assert [name for name in filesystem.list_directory(B) if name.endswith("-future")]
    filesystem.crash(loses_unflushed=False)

    broker = Broker(filesystem)

    assert broker.home == A
    assert broker.logs.homes.take_unfinished(ORDERS) is broker.logs.homes.at(B)
    assert broker.logs.homes.take_unfinished(ORDERS) is None


def test_a_move_keeps_to_its_rate(filesystem):
    name = "replica_alter_log_dirs_io_max_bytes_per_second"
    broker = Broker(filesystem, **{name: 100})
    log = filled(broker)
    began = broker.clock.now()

    broker.move(B)
    broker.finish()

    assert broker.home == B
    assert broker.clock.now() - began >= (log.segments.size - 400) / 100


def test_a_log_that_moves_is_not_compacted(filesystem):
    broker = Broker(filesystem, log_cleaner_backoff_ms=0)
    log = broker.create(cleanup_policy="compact", internal_segment_bytes="200")
    for _ in range(20):
        append(log, b"same key")
    broker.move(B)
    sizes = len(log.segments)

    broker.logs.compactor.run(broker.logs.config)

    assert len(log.segments) == sizes


def test_a_full_disk_delays_a_move(filesystem, caplog):
    faulty = FaultyFileSystem(filesystem)
    broker = Broker(faulty)
    filled(broker)
    broker.move(B)
    full = faulty.full("/b/*")

    for _ in range(5):
        broker.step()
    assert broker.home == A
    assert caplog.text.count("Could not move") == 1
    full.heal()
    broker.finish()

    assert broker.home == B
    assert values(broker.log) == texts(10)


@pytest.mark.parametrize("operation", range(MOST_OPERATIONS))
def test_a_kill_at_any_point_of_a_move_loses_and_doubles_nothing(operation):
    filesystem = MemoryFileSystem()
    broker = Broker(filesystem)
    filled(broker)
    broker.logs.close()
    faulty = FaultyFileSystem(filesystem)
    broker = Broker(faulty)
    log, expected = broker.log, texts(10)
    broker.move(B)
    faulty.on("any").after(operation).fail()

    for number in range(10, 22):
        with contextlib.suppress(LogError, OSError):
            append(broker.log, b"%d" % number)
            expected.append(b"%d" % number)
        if broker.due is not None:
            broker.step()
    filesystem.crash(loses_unflushed=False)

    broker = Broker(filesystem)
    assert values(broker.log)[: len(expected)] == expected
    assert log.log_end_offset >= 10
    broker.move(C)
    broker.finish()
    assert values(broker.log)[: len(expected)] == expected


@pytest.mark.parametrize("operation", range(MOST_OPERATIONS))
def test_a_power_failure_at_any_point_of_a_move_loses_nothing_that_was_flushed(operation):
    filesystem = MemoryFileSystem()
    broker = Broker(filesystem)
    filled(broker, flush_messages="1")
    broker.logs.close()
    faulty = FaultyFileSystem(filesystem)
    broker = Broker(faulty)
    log, expected = broker.create(flush_messages="1"), texts(10)
    broker.move(B)
    faulty.on("any").after(operation).fail()

    for number in range(10, 22):
        with contextlib.suppress(LogError, OSError):
            append(broker.log, b"%d" % number)
            if broker.log.safe_offset > number:
                expected.append(b"%d" % number)
        if broker.due is not None:
            broker.step()
    filesystem.crash(loses_unflushed=True, random=Random(operation))

    broker = Broker(filesystem)
    assert values(broker.log)[: len(expected)] == expected
    assert log.log_end_offset >= 10


@pytest.mark.parametrize("operation", range(MOST_OPERATIONS))
def test_a_target_that_fails_at_any_point_of_a_move_costs_the_source_nothing(operation):
    filesystem = MemoryFileSystem()
    faulty = FaultyFileSystem(filesystem)
    broker = Broker(faulty)
    filled(broker)
    faulty.on("any", B).after(operation).fail()
    expected = texts(10)
    broker.move(B)

    for number in range(10, 22):
        if broker.logs.homes.of(ORDERS) is not None and broker.home != B:
            append(broker.log, b"%d" % number)
            expected.append(b"%d" % number)
        elif broker.logs.homes.of(ORDERS) is not None:
            with contextlib.suppress(StorageError):
                append(broker.log, b"%d" % number)
                expected.append(b"%d" % number)
        if broker.due is not None:
            broker.step()
    broker.logs.close()
    faulty.heal()

    broker = Broker(filesystem)
    assert values(broker.log)[: len(expected)] == expected


@pytest.mark.parametrize("error", [errno.EIO, errno.ENOSPC])
def test_a_source_that_cannot_be_deleted_does_not_count_after_a_restart(filesystem, error):
    faulty = FaultyFileSystem(filesystem)
    broker = Broker(faulty)
    filled(broker)
    broker.move(B)
    faulty.on("rename", "/a/*-delete").fail(error)
    broker.finish()
    append(broker.log, b"10")
    assert filesystem.exists("/a/orders-0")
    filesystem.crash(loses_unflushed=False)

    broker = Broker(filesystem)

    assert broker.home == B
    assert values(broker.log) == texts(11)
    assert not filesystem.exists("/a/orders-0")
