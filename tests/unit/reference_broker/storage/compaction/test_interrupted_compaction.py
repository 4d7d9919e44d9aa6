"""Compaction that a crash interrupts at any operation on the disk."""

from __future__ import annotations

import errno
from random import Random

import pytest

from pyk.protocol.records import set_base_offset_and_epoch
from pyk.protocol.topics import TopicPartition
from pyk.reference_broker.storage import StorageError
from pyk.reference_broker.storage.compaction.swap import finish_interrupted
from pyk.runtime.filesystem import read_if_exists, write_atomically
from pyk.runtime.filesystem.faulty import FaultyFileSystem
from pyk.runtime.filesystem.memory import MemoryFileSystem
from support.compaction import CompactedLog, keyed_batch
from support.log_managers import TWO

STATE = {b"a": b"9", b"b": b"2", b"d": b"4"}
"""The last values of all keys: ``c`` has a tombstone, which the first pass removes."""


def compacted_once_and_filled(filesystem: MemoryFileSystem) -> CompactedLog:
    """Return a log whose next pass has three segments to rewrite, all of it on the disk."""
    log = CompactedLog(filesystem, delete_retention_ms="0")
    log.append((b"c", b"old" * 40), (b"a", b"1"), (b"b", b"2"))
    log.append((b"c", None))
    log.append((b"d", b"4" * 150))
    log.roll()
    log.compact()
    log.append((b"a", b"8" * 150))
    log.roll()
    log.compact()  # the tombstone is past its horizon now
    log.append((b"d", b"4"))
    log.append((b"a", b"9"))
    log.roll()
    log.append((b"a", b"9"))
    log.log.flusher.flush_now()
    assert state(log) == STATE
    return log


def state(log: CompactedLog) -> dict[bytes | None, bytes]:
    """Return what a reader of all records knows in the end."""
    known: dict[bytes | None, bytes] = {}
    for _, key, value in log.records():
        if value is None:
            known.pop(key, None)
        else:
            known[key] = value
    return known


def interrupted_at(operation: int) -> tuple[MemoryFileSystem, bool]:
    """Compact until the disk fails for good; return it, and whether that came in time."""
    filesystem = MemoryFileSystem()
    log = compacted_once_and_filled(filesystem)
    log.manager.close()
    faulty = FaultyFileSystem(filesystem)
    reopened = CompactedLog(faulty, delete_retention_ms="0")
    faulty.on("any").after(operation).fail(errno.EIO)
    reopened.compact()
    return filesystem, reopened.log.compacted_to == 8


def operations_of_a_pass() -> int:
    """Return how many operations on the disk a whole pass has."""
    return next(number for number in range(1000) if interrupted_at(number)[1])


@pytest.mark.parametrize("loses_unflushed", [False, True], ids=["killed", "power failure"])
def test_no_record_is_lost_or_comes_back(loses_unflushed):
    found = []
    for operation in range(operations_of_a_pass() + 1):
        for seed in range(3 if loses_unflushed else 1):
            filesystem, _ = interrupted_at(operation)
            filesystem.crash(loses_unflushed=loses_unflushed, random=Random(seed))

            log = CompactedLog(filesystem, delete_retention_ms="0")

            found.append(state(log))
            assert log.log.log_end_offset == 9
            assert not [n for n in log.names() if n.endswith((".swap", ".cleaned", ".deleted"))]
            log.compact()
            assert state(log) == STATE
            assert log.values()[-2:] == [b"9", b"9"]

    assert len(found) > 20
    assert all(each == STATE for each in found)


def not_compacted_any_more(filesystem: MemoryFileSystem) -> CompactedLog:
    """Kill the broker and open the log again, whose topic is not compacted now."""
    filesystem.crash(loses_unflushed=False)
    return CompactedLog(filesystem, cleanup_policy="delete", retention_ms="-1")


def test_a_log_that_is_not_compacted_any_more_keeps_its_records_after_a_kill():
    filesystem = MemoryFileSystem()
    log = compacted_once_and_filled(filesystem)
    log.compact()
    left = log.records()

    log = not_compacted_any_more(filesystem)

    assert log.records() == left


def test_a_pass_that_is_not_written_down_costs_no_record_of_a_log_that_is_not_compacted_any_more():
    filesystem = MemoryFileSystem()
    faulty = FaultyFileSystem(filesystem)
    log = CompactedLog(faulty)
    for number in range(8):
        log.append((b"a", b"%d" % number * 40))
    log.append((b"b", b"last"))
    log.roll()
    faulty.on("any", "*/cleaner-offset-checkpoint*").fail(errno.ENOSPC)
    log.compact()
    left = log.records()
    assert len(left) < 9

    log = not_compacted_any_more(filesystem)

    assert log.records() == left


def test_gaps_below_what_is_compacted_are_no_loss_without_recovery_points():
    filesystem = MemoryFileSystem()
    log = compacted_once_and_filled(filesystem)
    log.compact()
    left = log.records()
    log.manager.close()
    filesystem.remove("/data/recovery-point-offset-checkpoint")
    filesystem.remove("/data/.kafka_cleanshutdown")

    log = not_compacted_any_more(filesystem)

    assert log.records() == left


CHECKPOINTS = ("recovery-point-offset", "cleaner-offset", "log-start-offset", "replication-offset")


def test_a_log_that_is_not_compacted_any_more_keeps_its_records_without_checkpoints():
    for operation in range(operations_of_a_pass() + 1):
        filesystem, _ = interrupted_at(operation)
        for name in CHECKPOINTS:
            if filesystem.exists(f"/data/{name}-checkpoint"):
                filesystem.remove(f"/data/{name}-checkpoint")

        log = not_compacted_any_more(filesystem)

        assert (state(log), log.log.log_end_offset) == (STATE, 9)


def test_failed_compaction_leaves_the_log_in_use_and_says_so(caplog):
    faulty = FaultyFileSystem(MemoryFileSystem())
    log = CompactedLog(faulty)
    log.append((b"a", b"1"))
    log.append((b"a", b"2"))
    log.roll()
    faulty.on("write", "*.cleaned").fail(errno.EIO)

    log.compact()

    log.append((b"a", b"3"))
    assert log.values() == [b"1", b"2", b"3"]
    assert "Could not compact Log(orders-0" in caplog.text
    assert "until the broker is restarted" in caplog.text
    assert not [name for name in log.names() if name.endswith(".cleaned")]


def test_swap_that_fails_in_the_middle_puts_the_log_out_of_use():
    faulty = FaultyFileSystem(MemoryFileSystem())
    log = CompactedLog(faulty)
    log.append((b"a", b"1"))
    log.append((b"a", b"2"))
    log.roll()
    faulty.on("rename", "*.log").fail(errno.EIO)

    log.compact()

    with pytest.raises(StorageError, match="cannot swap segments of orders-0"):
        log.append((b"a", b"3"))


def test_swap_that_fails_leaves_the_compaction_of_other_logs_alone():
    faulty = FaultyFileSystem(MemoryFileSystem())
    log = CompactedLog(faulty)
    log.append((b"a", b"1"))
    log.append((b"a", b"2"))
    log.roll()
    faulty.on("rename", "*/orders-0/*.log").fail(errno.EIO)
    log.compact()

    other = log.manager.get_or_create(TopicPartition("other", 0), log.config, TWO)
    for value in (b"1", b"2"):
        other.append_as_leader(keyed_batch((b"a", value)), 0)
    other.high_watermark = other.log_end_offset
    other.roll()
    log.compact()

    assert other.compacted_to == 2


@pytest.mark.parametrize("operation", ["write", "open"])
def test_full_disk_is_tried_again(operation, caplog):
    faulty = FaultyFileSystem(MemoryFileSystem())
    log = CompactedLog(faulty)
    log.append((b"a", b"1"))
    log.append((b"a", b"2"))
    log.roll()
    faulty.on(operation, "*.cleaned").once().fail(errno.ENOSPC)
    log.compact()
    assert "will try again" in caplog.text
    assert log.values() == [b"1", b"2"]

    log.clock.advance(14.99)
    log.compact()
    assert log.values() == [b"1", b"2"]

    log.clock.advance(0.01)
    log.compact()

    assert log.values() == [b"2"]


def test_damaged_segment_is_not_compacted(caplog):
    log = CompactedLog()
    log.append((b"a", b"1" * 50))
    log.append((b"a", b"2"))
    log.roll()
    path = f"{log.log.directory}/{0:020d}.log"
    log.filesystem.open(path).write_at(80, [b"damaged"])

    log.compact()
    log.compact()

    assert caplog.text.count("Could not compact") == 1
    assert log.log.compacted_to == 0


def test_damaged_swap_is_an_error_that_names_the_file():
    log = CompactedLog()
    log.append((b"a", b"1"))
    log.roll()
    log.log.flusher.flush_now()
    path = f"{log.log.directory}/{0:020d}.log.swap"
    log.filesystem.open(path, create=True).write_at(0, [b"\x00" * 70])
    log.filesystem.crash(loses_unflushed=False)

    with pytest.raises(StorageError, match=r"log\.swap: no batch"):
        CompactedLog(log.filesystem)


def test_log_whose_segments_cannot_be_read_is_reported_once(caplog):
    faulty = FaultyFileSystem(MemoryFileSystem())
    log = CompactedLog(faulty)
    log.append((b"a", b"1"))
    log.append((b"a", b"2"))
    log.roll()
    log.manager.close()
    log = CompactedLog(faulty, max_compaction_lag_ms="1000")
    faulty.on("read", "*.log").fail(errno.EIO)

    log.compact()
    log.compact()

    assert caplog.text.count("Could not compact") == 1


def test_segment_that_lacks_its_end_is_not_compacted(caplog):
    log = CompactedLog()
    log.append((b"a", b"1"))
    log.append((b"a", b"2"))
    log.roll()
    file = log.filesystem.open(f"{log.log.directory}/{0:020d}.log")
    file.truncate(file.size() - 10)

    log.compact()

    assert "Could not compact" in caplog.text
    assert log.log.compacted_to == 0


def batches(*extents: tuple[int, int]) -> bytes:
    """Return batches of records from a first to a last offset."""
    found = b""
    for first, last in extents:
        batch = bytearray(keyed_batch(*[(b"a", b"1")] * (last - first + 1)))
        set_base_offset_and_epoch(batch, first, 0)
        found += batch
    return found


@pytest.mark.parametrize(
    ("base_offset", "swapped", "old", "left"),
    [
        (0, batches((0, 2), (3, 5)), [0, 3, 5, 6], [0, 6]),
        (3, batches((3, 5)), [0, 3, 4, 6], [0, 3, 6]),
        (0, b"", [0, 1], [0, 1]),
        (7, b"", [6, 7, 8], [6, 7, 8]),
    ],
)
def test_swap_that_a_start_finishes_replaces_all_segments_of_its_range(
    base_offset: int, swapped: bytes, old: list[int], left: list[int]
) -> None:
    filesystem = MemoryFileSystem()
    filesystem.make_directory("/log")
    for offset in old:
        for suffix in (".log", ".txnindex"):
            write_atomically(filesystem, f"/log/{offset:020d}{suffix}", b"old")
    write_atomically(filesystem, f"/log/{base_offset:020d}.log.swap", swapped)

    finish_interrupted(filesystem, "/log")

    names = filesystem.list_directory("/log")
    assert sorted(int(name[:20]) for name in names if name.endswith(".log")) == left
    assert read_if_exists(filesystem, f"/log/{base_offset:020d}.log") == swapped
    assert f"{base_offset:020d}.txnindex" not in names
