"""When records are on the disk, and what may be said of them before."""

from __future__ import annotations

import errno
import os

import pytest

from pyk.protocol.errors import ErrorCode
from pyk.reference_broker.storage import StorageError
from pyk.reference_broker.storage.flushing import FLUSHES_AT_ONCE
from pyk.runtime.filesystem.faulty import FaultyFileSystem
from pyk.runtime.filesystem.memory import MemoryFileSystem
from support.disks import HeldDisk
from support.logs import append, batch, open_log, values


@pytest.fixture
def disk() -> HeldDisk:
    return HeldDisk()


def test_records_are_safe_at_once_where_no_flush_is_asked_for(disk):
    log = open_log(disk=disk)

    append(log, b"0")

    assert (log.safe_offset, log.recovery_point) == (1, 0)


def test_records_are_safe_only_when_the_flush_that_they_ask_for_has_run(disk):
    log = open_log(disk=disk, flush_messages=2)
    append(log, b"0")
    assert log.safe_offset == 1

    append(log, b"1")
    assert (log.safe_offset, log.recovery_point) == (1, 0)
    disk.do_one()

    assert (log.safe_offset, log.recovery_point) == (2, 2)


def test_records_that_come_during_a_flush_wait_for_the_next_one(disk):
    log = open_log(disk=disk, flush_messages=1)
    append(log, b"0")
    append(log, b"1")
    append(log, b"2")

    disk.do_one()
    assert (log.safe_offset, log.recovery_point) == (1, 1)
    disk.do_one()

    assert (log.safe_offset, log.recovery_point) == (3, 3)
    assert len(disk) == 0


def test_unflushed_records_found_when_a_log_is_opened_are_flushed_before_they_count(disk):
    filesystem = MemoryFileSystem()
    append(open_log(filesystem), b"0")

    log = open_log(filesystem, disk=disk, flush_messages=1)

    assert log.safe_offset == 0
    disk.do_one()
    assert log.safe_offset == 1


def test_flush_of_records_that_were_cut_off_does_not_count_for_others(disk):
    log = open_log(disk=disk)
    append(log, b"0", b"1")
    append(log, b"2")
    log.flusher.request(3)

    log.truncate_to(2)
    append(log, b"other")
    disk.do_one()

    assert log.recovery_point < 3
    disk.do_all()
    assert log.recovery_point <= log.log_end_offset


def test_segments_are_flushed_one_after_the_other(disk):
    log = open_log(disk=disk, segment_bytes=200)
    for number in range(5):
        append(log, b"%d" % number)

    log.flusher.request(5)

    points = []
    while len(disk):
        assert len(disk) == 1
        disk.do_one()
        points.append(log.recovery_point)
    assert points == [2, 4, 5]


def test_only_few_logs_are_flushed_at_once(disk):
    from pyk.reference_broker.storage import FlushQueue

    queue = FlushQueue(disk)
    filesystem = MemoryFileSystem()
    logs = [
        open_log(filesystem, directory=f"/data/orders-{number}", flushes=queue)
        for number in range(10)
    ]
    for log in logs:
        append(log, b"0")
        log.flusher.request(1)

    assert len(disk) == FLUSHES_AT_ONCE
    disk.do_all()

    assert [log.recovery_point for log in logs] == [1] * 10


def test_flush_with_a_waiter_comes_first(disk):
    from pyk.reference_broker.storage import FlushQueue

    queue = FlushQueue(disk)
    filesystem = MemoryFileSystem()
    logs = [
        open_log(filesystem, directory=f"/data/orders-{number}", flushes=queue)
        for number in range(10)
    ]
    for log in logs:
        append(log, b"0")
        log.flusher.request(1)
    urgent = open_log(filesystem, directory="/data/urgent-0", flushes=queue, flush_messages=1)

    append(urgent, b"0")
    disk.do_one()
    for _ in range(FLUSHES_AT_ONCE):
        disk.do_one()

    assert urgent.recovery_point == 1


def test_logs_that_are_always_written_to_starve_no_other_one(disk):
    from pyk.reference_broker.storage import FlushQueue

    queue = FlushQueue(disk)
    filesystem = MemoryFileSystem()
    logs = [
        open_log(filesystem, directory=f"/data/orders-{n}", flushes=queue, flush_messages=1)
        for n in range(2 * FLUSHES_AT_ONCE)
    ]

    for _ in range(2 * len(logs)):
        for log in logs:
            append(log, b"0")
        disk.do_one()

    assert all(log.recovery_point >= 1 for log in logs)


def test_queued_flush_moves_forward_once_it_has_a_waiter(disk):
    from pyk.reference_broker.storage import FlushQueue

    queue = FlushQueue(disk)
    filesystem = MemoryFileSystem()
    logs = [
        open_log(filesystem, directory=f"/data/orders-{n}", flushes=queue, flush_messages=2)
        for n in range(2 * FLUSHES_AT_ONCE)
    ]
    for log in logs:
        append(log, b"0")
        log.flusher.request(1)

    append(logs[-1], b"1")
    disk.do_one()
    for _ in range(FLUSHES_AT_ONCE):
        disk.do_one()

    assert logs[-1].recovery_point == 2


def test_failed_flush_is_final_until_the_log_is_opened_again(caplog):
    memory = MemoryFileSystem()
    filesystem = FaultyFileSystem(memory)
    log = open_log(filesystem, flush_messages=1)
    append(log, b"0")
    filesystem.on("flush", "*.log").once().fail()

    append(log, b"1")

    assert (log.safe_offset, log.recovery_point) == (1, 1)
    for use in (
        lambda: append(log, b"2"),
        lambda: values(log),
        lambda: log.reader.find_timestamp(0),
        log.flusher.flush_now,
        log.close,
    ):
        with pytest.raises(StorageError, match=r"cannot flush orders-0: .*Input/output") as refused:
            use()
        assert refused.value.code is ErrorCode.KAFKA_STORAGE_ERROR
    log.flusher.request(2)
    assert log.recovery_point == 1
    assert "orders-0" in caplog.text
    assert "offline" in caplog.text
    assert append(open_log(memory, recovery_point=1), b"2") == 2


def test_retry_after_a_failed_flush_is_refused_at_once(disk):
    log = open_log(disk=disk, flush_messages=1)
    sent = batch(b"0", producer_id=1, producer_epoch=0, base_sequence=0)
    log.append_as_leader(sent, leader_epoch=0)
    disk.do_one(OSError(errno.EIO, "Input/output error"))

    with pytest.raises(StorageError, match="cannot flush"):
        log.append_as_leader(sent, leader_epoch=0)


@pytest.mark.parametrize(
    ("operation", "file", "number"),
    [
        ("open", "*.timeindex", errno.EMFILE),
        ("write", "*/leader-epoch-checkpoint*", errno.ENOSPC),
    ],
)
def test_flush_that_could_not_begin_is_tried_again(caplog, operation, file, number):
    memory = MemoryFileSystem()
    filesystem = FaultyFileSystem(memory)
    log = open_log(filesystem, flush_messages=1)
    filesystem.on(operation, file).fail(number)
    for record in (b"0", b"1"):
        append(log, record)

    assert log.failure is None
    assert (log.safe_offset, log.recovery_point) == (0, 0)
    assert "Could not begin to flush orders-0, will try again" in caplog.text
    assert not [name for name in memory.list_directory("/data/orders-0") if "tmp" in name]
    filesystem.heal()
    log.flusher.request(0)

    assert (log.safe_offset, log.recovery_point) == (2, 2)


@pytest.mark.parametrize("number", [errno.ENOENT, errno.EROFS, errno.EACCES, errno.EIO])
def test_flush_that_will_never_begin_takes_the_log_offline(number):
    filesystem = FaultyFileSystem(MemoryFileSystem())
    log = open_log(filesystem, flush_messages=1)
    filesystem.on("open", "*.index").fail(number)

    append(log, b"0")

    assert log.failure is not None
    assert os.strerror(number) in str(log.failure)


def test_last_flush_of_a_log_fails_if_it_cannot_begin():
    filesystem = FaultyFileSystem(MemoryFileSystem())
    log = open_log(filesystem)
    append(log, b"0")
    filesystem.on("open", "*.timeindex").fail(errno.EMFILE)

    told = []
    log.flusher.flush_all(lambda: told.append(log.failure))

    assert [str(failure) for failure in told if failure is not None]
    assert log.recovery_point == 0


@pytest.mark.parametrize("lost", ["/data", "/data/orders-0", "/data/orders-0/*"])
def test_flush_syncs_the_file_its_directory_and_the_one_above(lost):
    """Whatever is not synced is lost; so each of them has to be."""
    filesystem = FaultyFileSystem(MemoryFileSystem())
    filesystem.on("flush" if lost.endswith("*") else "sync_directory", lost).fail()
    log = open_log(filesystem)
    append(log, b"0")

    with pytest.raises(StorageError, match="cannot flush"):
        log.flusher.flush_now()

    assert log.recovery_point == 0


def test_new_segment_is_synced_with_its_directory():
    memory = MemoryFileSystem()
    memory.make_directory("/data")
    memory.sync_directory("/")
    log = open_log(memory, segment_bytes=100)
    append(log, b"0")
    log.flusher.flush_now()
    append(log, b"1")
    log.flusher.flush_now()

    memory.crash(loses_unflushed=True)

    assert values(open_log(memory, segment_bytes=100, recovery_point=2)) == [b"0", b"1"]


def test_leader_epochs_are_on_the_disk_when_the_recovery_point_moves():
    memory = MemoryFileSystem()
    memory.make_directory("/data")
    memory.sync_directory("/")
    log = open_log(memory, segment_bytes=100)
    for number in range(3):
        append(log, b"%d" % number, leader_epoch=number)
    log.flusher.flush_now()

    memory.crash(loses_unflushed=True)
    log = open_log(memory, recovery_point=3)

    assert log.leader_epochs.entries == [(0, 0), (1, 1), (2, 2)]


def test_closed_log_is_not_flushed_any_more(disk):
    log = open_log(disk=disk)
    append(log, b"0")
    log.flusher.request(1)

    log.release()
    disk.do_all()

    assert log.recovery_point == 0


def test_flush_that_runs_while_its_segment_is_finished_does_not_count(disk):
    log = open_log(disk=disk)
    append(log, b"0")
    log.flusher.request(1)

    log.roll()  # adds the last entry of the time index
    disk.do_one()
    assert log.recovery_point == 0
    disk.do_all()

    assert log.recovery_point == 1
