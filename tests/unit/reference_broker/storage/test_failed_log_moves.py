"""Logs that move from one data directory to another, when the broker or a disk fails."""

from __future__ import annotations

import contextlib
import errno
from random import Random

import pytest

from pyk.protocol.topics import TopicPartition
from pyk.reference_broker.storage import LogError, StorageError
from pyk.reference_broker.storage.log_moves import RETRY_SECONDS
from pyk.reference_broker.storage.maintenance import Task
from pyk.runtime.filesystem.faulty import FaultyFileSystem
from pyk.runtime.filesystem.memory import MemoryFileSystem
from support.disks import HeldDisk
from support.log_managers import ONE, TWO, log_config
from support.logs import ORDERS, append, values
from support.moving_logs import A, B, C, MovingBroker, filled, texts

MOST_OPERATIONS = 120
SECOND = TopicPartition("second", 0)


@pytest.fixture
def filesystem() -> MemoryFileSystem:
    return MemoryFileSystem()


@pytest.mark.parametrize("error", [RuntimeError("a bug"), OSError(errno.EIO, "broken")])
def test_a_chunk_that_cannot_be_read_is_read_again_later(filesystem, caplog, error):
    disk = HeldDisk()
    broker = MovingBroker(filesystem, disk=disk)
    filled(broker)
    broker.move(B)
    broker.step()
    broker.step()
    disk.do_one(error)
    disk.is_held = False

    broker.finish()

    assert broker.home == B
    assert caplog.text.count("Could not move") == 1


@pytest.mark.parametrize("damaged_batch", [0, 1])
def test_a_log_with_a_damaged_batch_stays_and_is_tried_again(filesystem, caplog, damaged_batch):
    broker = MovingBroker(filesystem)
    log = broker.create()
    append(log, b"0")
    size = log.segments.size
    append(log, b"1")
    filesystem.open(f"/a/orders-0/{0:020d}.log").write_at(damaged_batch * size + 65, [b"\x7f"])
    broker.move(B)

    for _ in range(4):
        broker.step()

    assert broker.home == A
    assert caplog.text.count("Could not move") == 1
    assert broker.due is not None


def test_a_move_waits_until_the_log_of_the_one_before_is_deleted(filesystem):
    faulty = FaultyFileSystem(filesystem)
    broker = MovingBroker(faulty)
    filled(broker)
    broker.move(B)
    faulty.on("rename", "/a/*-delete").fail(errno.ENOSPC)
    broker.finish()
    append(broker.log, b"10")

    broker.move(C)
    broker.finish(5)
    filesystem.crash(loses_unflushed=False)

    again = MovingBroker(filesystem)
    assert again.home == B
    assert values(again.log) == texts(11)


def test_a_move_deletes_the_log_that_the_one_before_could_not(filesystem):
    faulty = FaultyFileSystem(filesystem)
    broker = MovingBroker(faulty)
    filled(broker)
    broker.move(B)
    stuck = faulty.on("rename", "/a/*-delete").fail(errno.ENOSPC)
    broker.finish()
    broker.move(C)
    broker.finish(5)
    stuck.heal()

    broker.finish()

    assert broker.home == C
    assert not filesystem.exists("/a/orders-0")
    assert values(broker.log) == texts(10)


def test_a_full_disk_delays_a_move(filesystem, caplog):
    faulty = FaultyFileSystem(filesystem)
    broker = MovingBroker(faulty)
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


def test_a_copy_whose_generation_cannot_be_written_is_made_again_later(filesystem, caplog):
    faulty = FaultyFileSystem(filesystem)
    broker = MovingBroker(faulty)
    filled(broker)
    broker.move(B)
    full = faulty.full("/b/*/move.metadata*")

    for _ in range(5):
        broker.step()
    assert broker.home == A
    assert caplog.text.count("Could not move") == 1
    full.heal()
    broker.finish()

    assert broker.home == B


def test_a_move_that_failed_waits_while_another_goes_on(filesystem):
    faulty = FaultyFileSystem(filesystem)
    broker = MovingBroker(faulty)
    filled(broker)
    broker.move(B)
    full = faulty.full("/b/*")
    broker.step()
    full.heal()

    broker.logs.moves.run()

    assert broker.logs.moves.get(ORDERS).copy is None
    assert broker.due == broker.clock.now() + RETRY_SECONDS


def test_the_move_that_failed_first_is_tried_first(filesystem):
    faulty = FaultyFileSystem(filesystem)
    broker = MovingBroker(faulty)
    filled(broker)
    second = broker.create(SECOND)
    broker.move(C)
    faulty.full("/*.*-future*")
    broker.step()
    first_due = broker.due
    broker.clock.advance(3)
    broker.logs.moves.begin(second, ONE, broker.logs.homes.at(C))

    broker.step()

    assert broker.due == first_due


@pytest.mark.parametrize("operation", range(MOST_OPERATIONS))
def test_a_kill_at_any_point_of_a_move_loses_and_doubles_nothing(operation):
    filesystem = MemoryFileSystem()
    broker = MovingBroker(filesystem)
    filled(broker)
    broker.logs.close()
    faulty = FaultyFileSystem(filesystem)
    broker = MovingBroker(faulty)
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

    broker = MovingBroker(filesystem)
    assert values(broker.log)[: len(expected)] == expected
    assert log.log_end_offset >= 10
    broker.move(C)
    broker.finish()
    assert values(broker.log)[: len(expected)] == expected


@pytest.mark.parametrize("operation", range(MOST_OPERATIONS))
def test_a_power_failure_at_any_point_of_a_move_loses_nothing_that_was_flushed(operation):
    filesystem = MemoryFileSystem()
    broker = MovingBroker(filesystem)
    filled(broker, flush_messages="1")
    broker.logs.close()
    faulty = FaultyFileSystem(filesystem)
    broker = MovingBroker(faulty)
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

    broker = MovingBroker(filesystem)
    assert values(broker.log)[: len(expected)] == expected
    assert log.log_end_offset >= 10


@pytest.mark.parametrize("operation", range(MOST_OPERATIONS))
def test_a_target_that_fails_at_any_point_of_a_move_costs_the_source_nothing(operation):
    filesystem = MemoryFileSystem()
    faulty = FaultyFileSystem(filesystem)
    broker = MovingBroker(faulty)
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

    broker = MovingBroker(filesystem)
    assert values(broker.log)[: len(expected)] == expected


@pytest.mark.parametrize("error", [errno.EIO, errno.ENOSPC])
def test_a_source_that_cannot_be_deleted_does_not_count_after_a_restart(filesystem, error):
    faulty = FaultyFileSystem(filesystem)
    broker = MovingBroker(faulty)
    filled(broker)
    broker.move(B)
    faulty.on("rename", "/a/*-delete").fail(error)
    broker.finish()
    append(broker.log, b"10")
    assert filesystem.exists("/a/orders-0")
    filesystem.crash(loses_unflushed=False)

    broker = MovingBroker(filesystem)

    assert broker.home == B
    assert values(broker.log) == texts(11)
    assert not filesystem.exists("/a/orders-0")


def test_a_copy_that_has_the_name_and_was_given_up_never_counts(filesystem):
    faulty = FaultyFileSystem(filesystem)
    broker = MovingBroker(faulty)
    filled(broker)
    broker.move(B)
    faulty.on("open", "/b/orders-0/*").fail(errno.ENOSPC)
    faulty.on("rename", "/b/orders-0.*-delete").fail(errno.ENOSPC)
    while not filesystem.exists("/b/orders-0"):
        broker.step()
    append(broker.log, b"10")
    broker.finish(3)  # it is tried again
    filesystem.crash(loses_unflushed=False)

    broker = MovingBroker(filesystem)

    assert broker.home == A
    assert values(broker.log) == texts(11)


def test_a_copy_that_was_given_up_does_not_count_after_another_move(filesystem):
    faulty = FaultyFileSystem(filesystem)
    broker = MovingBroker(faulty)
    filled(broker)
    give_up_after_the_rename(broker, faulty, filesystem)
    filesystem.crash(loses_unflushed=False)
    broker = MovingBroker(filesystem, log_dirs=(A, C))
    broker.move(C)
    broker.finish()
    append(broker.log, b"10")
    filesystem.crash(loses_unflushed=False)

    broker = MovingBroker(filesystem)

    assert broker.home == C
    assert values(broker.log) == texts(11)
    assert not filesystem.exists("/b/orders-0")


def test_a_log_that_was_replaced_does_not_count_after_another_move(filesystem):
    faulty = FaultyFileSystem(filesystem)
    broker = MovingBroker(faulty)
    broker.logs.homes.prefer(ORDERS, broker.logs.homes.at(B))
    filled(broker)
    broker.move(C)
    faulty.on("rename", "/b/*-delete").fail(errno.ENOSPC)
    broker.finish()
    append(broker.log, b"10")
    filesystem.crash(loses_unflushed=False)
    broker = MovingBroker(filesystem, log_dirs=(A, C))
    broker.move(A)
    broker.finish()
    append(broker.log, b"11")
    filesystem.crash(loses_unflushed=False)

    broker = MovingBroker(filesystem)

    assert broker.home == A
    assert values(broker.log) == texts(12)


def test_a_copy_of_a_deleted_topic_does_not_replace_the_log_of_another_of_its_name(filesystem):
    faulty = FaultyFileSystem(filesystem)
    broker = MovingBroker(faulty)
    filled(broker)
    give_up_after_the_rename(broker, faulty, filesystem)
    filesystem.crash(loses_unflushed=False)
    broker = MovingBroker(filesystem, log_dirs=(A, C))
    broker.logs.delete(ORDERS)
    append(broker.logs.get_or_create(ORDERS, log_config(), TWO), b"of two")
    filesystem.crash(loses_unflushed=False)

    broker = MovingBroker(filesystem)
    broker.logs.set_strays_aside(lambda partition, topic_id: topic_id == TWO)

    assert values(broker.logs.get_or_create(ORDERS, log_config(), TWO)) == [b"of two"]


def give_up_after_the_rename(
    broker: MovingBroker, faulty: FaultyFileSystem, filesystem: MemoryFileSystem
) -> None:
    """Begin to move the log to B, and let that fail when both directories have the name."""
    broker.move(B)
    faulty.on("open", "/b/orders-0/*").fail(errno.ENOSPC)
    faulty.on("rename", "/b/orders-0.*-delete").fail(errno.ENOSPC)
    while not filesystem.exists("/b/orders-0"):
        broker.step()


def test_a_source_that_fails_ends_its_move(filesystem):
    faulty = FaultyFileSystem(filesystem)
    broker = MovingBroker(faulty)
    broker.logs.homes.prefer(ORDERS, broker.logs.homes.at(B))
    filled(broker)
    broker.move(C)
    broker.step()
    faulty.on("any", B).fail()

    with pytest.raises(StorageError):
        append(broker.log, b"10")

    assert broker.logs.homes.is_lost(ORDERS)
    assert broker.logs.moves.get(ORDERS) is None
    broker.logs.homes.at(C).tasks.perform(Task.REMOVE_DELETED_FILES)
    assert not [name for name in filesystem.list_directory(C) if name.startswith("orders")]


@pytest.mark.parametrize("seed", range(6))
def test_a_log_that_had_moved_does_not_come_back_when_it_moves_again(filesystem, seed):
    faulty = FaultyFileSystem(filesystem)
    broker = MovingBroker(faulty)
    filled(broker)
    broker.move(B)
    stuck = faulty.on("rename", "/a/*-delete").fail(errno.ENOSPC)
    broker.finish()
    stuck.heal()
    broker.move(C)
    broker.step()
    filesystem.crash(loses_unflushed=True, random=Random(seed))

    broker = MovingBroker(filesystem)

    assert broker.home == B
    assert values(broker.log) == texts(10)


def test_the_end_of_one_move_does_not_forget_that_the_next_one_was_given_up(filesystem):
    disk, faulty = HeldDisk(), FaultyFileSystem(filesystem)
    broker = MovingBroker(faulty, disk=disk)
    filled(broker)
    broker.move(B)
    while broker.home != B:
        disk.do_one() if len(disk) else broker.step()
    finish_first_move = disk.take()
    disk.is_held = False
    broker.move(C)
    faulty.on("open", "/c/orders-0/*").fail(errno.ENOSPC)
    faulty.on("rename", "/c/orders-0.*-delete").fail(errno.ENOSPC)
    while not filesystem.exists("/c/orders-0"):
        broker.step()
    append(broker.log, b"10")

    finish_first_move()
    filesystem.crash(loses_unflushed=False)

    broker = MovingBroker(filesystem)
    assert broker.home == B
    assert values(broker.log) == texts(11)
