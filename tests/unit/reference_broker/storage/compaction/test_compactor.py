"""When logs are compacted, and what happens to them meanwhile."""

from __future__ import annotations

import errno
from collections.abc import Iterator

import pytest

from pyk.protocol.topics import TopicPartition
from pyk.reference_broker.storage import Log, Task
from pyk.reference_broker.storage.compaction.compactor import LogCompactor
from pyk.runtime.filesystem.memory import MemoryFileSystem
from pyk.runtime.virtual_time import VirtualClock
from support.compaction import COMPACTED, CompactedLog, keyed_batch
from support.disks import HeldDisk
from support.log_managers import TWO, log_config, open_manager
from support.logs import end_transaction

OTHER = TopicPartition("other", 0)


def with_two_logs(**broker: str) -> CompactedLog:
    """Return a log of which a half is dirty, in a manager whose other log is dirtier."""
    log = CompactedLog(broker=broker)
    log.append((b"a", b"1"))
    log.roll()
    log.compact()
    log.append((b"a", b"2"))
    log.roll()
    other = log.manager.get_or_create(OTHER, log_config(**COMPACTED), TWO)
    for value in (b"1", b"2"):
        other.append_as_leader(keyed_batch((b"a", value)), 0)
        other.high_watermark = other.log_end_offset
    other.roll()
    return log


def test_dirtiest_log_comes_first(caplog):
    caplog.set_level("INFO")
    log = with_two_logs()

    log.compact()

    compacted = [record.getMessage() for record in caplog.records if "Compacted" in record.msg]
    assert [message.split("(")[1].split(",")[0] for message in compacted] == [
        "orders-0",
        "other-0",
        "orders-0",
    ]


def test_next_look_is_after_the_backoff():
    log = CompactedLog(broker={"log_cleaner_backoff_ms": "1500"})
    planned: list[float] = []
    log.manager.compactor.arm = planned.append

    log.manager.compactor.run(log.manager.config)

    assert planned == [1.5]


def test_compaction_can_be_switched_off():
    log = CompactedLog(broker={"log_cleaner_enable": "false"})
    log.append((b"a", b"1"))
    log.append((b"a", b"2"))
    log.roll()
    log.manager.perform(Task.FLUSH)

    log.manager.compactor.run(log.manager.config)

    assert log.values() == [b"1", b"2"]


def test_compaction_waits_where_its_bytes_are_limited():
    log = CompactedLog(broker={"log_cleaner_io_max_bytes_per_second": "100000"})
    for number in range(6):
        log.append((b"%d" % number, b"x" * 300))
    log.roll()
    log.manager.perform(Task.FLUSH)
    planned: list[float] = []
    log.manager.compactor.arm = planned.append
    waits = []

    log.manager.compactor.run(log.manager.config)
    while log.log.compacted_to == 0:
        assert planned[-1] > log.clock.now(), "goes on too early"
        waits.append(planned[-1] - log.clock.now())
        log.clock.advance(waits[-1])
        log.manager.compactor.run(log.manager.config)

    size = sum(segment.size for segment in log.log.segments)
    assert sum(waits) >= 3 * size / 100_000 * 0.9  # read twice, written once


class TwoLimitedLogs:
    """Two logs, which may be compacted at once, with 100 kB to read and to write in a second."""

    def __init__(self) -> None:
        self.disk = HeldDisk()
        broker = {"log_cleaner_io_max_bytes_per_second": "100000", "log_cleaner_threads": "2"}
        log = CompactedLog(broker={**broker, "disk": self.disk})
        self.manager, self.clock = log.manager, log.clock
        self.logs = (log.log, self.manager.get_or_create(OTHER, log.config, TWO))
        self.planned: list[float] = []
        self.manager.compactor.arm = self.planned.append

    def fill(self, *logs: Log) -> None:
        for each in logs:
            for number in range(6):
                each.append_as_leader(keyed_batch((b"%d" % number, b"x" * 300)), 0)
            each.high_watermark = each.log_end_offset
            each.roll()
        for task in (Task.FLUSH, Task.CHECKPOINT_RECOVERY_POINTS):
            self.manager.perform(task)
            self.disk.do_all()

    def run(self) -> int:
        """Let the compactor run; return how many slices it has begun."""
        self.manager.compactor.run(self.manager.config)
        return len(self.disk)


def test_all_passes_together_stay_within_the_limit_of_bytes():
    limited = TwoLimitedLogs()
    limited.fill(*limited.logs)
    limited.run()
    limited.disk.do_all()

    while not all(each.compacted_to for each in limited.logs):
        limited.clock.advance(limited.planned[-1] - limited.clock.now())
        limited.run()
        limited.disk.do_all()

    size = sum(segment.size for each in limited.logs for segment in each.segments)
    assert 0.9 <= limited.clock.now() / (3 * size / 100_000) <= 1.1  # read twice, written once


def test_no_pass_begins_while_the_bytes_of_another_are_waited_for():
    limited = TwoLimitedLogs()
    log, other = limited.logs
    limited.fill(log)
    assert limited.run() == 1
    limited.disk.do_all()
    allowed_at = limited.planned[-1]
    limited.fill(other)

    limited.clock.advance(allowed_at / 2)
    assert limited.run() == 0
    assert limited.planned[-1] == allowed_at

    limited.clock.advance(limited.manager.config.log_cleaner_backoff_ms / 1000)
    assert limited.run() == 2


def test_place_where_a_log_is_compacted_to_outlives_a_restart():
    log = CompactedLog()
    log.append((b"a", b"1"))
    log.append((b"a", b"2"))
    log.roll()
    log.compact()
    content = log.filesystem.open("/data/cleaner-offset-checkpoint").read_at(0, 100)
    assert content == b"0\n1\norders 0 2\n"
    log.filesystem.crash(loses_unflushed=False)

    assert CompactedLog(log.filesystem).log.compacted_to == 2


def test_truncated_log_is_compacted_again_from_there():
    log = CompactedLog()
    log.append((b"a", b"1"))
    log.append((b"a", b"2"))
    log.roll()
    log.compact()

    log.log.truncate_to(1)

    assert log.log.compacted_to == 1


class Held:
    """A pass that waits on the disk, in its first slice."""

    def __init__(self) -> None:
        self.disk = HeldDisk()
        self.log = CompactedLog()
        self.log.manager.close()
        self.log.manager = open_manager(self.log.filesystem, self.log.clock, disk=self.disk)
        self.log.log = self.log.manager.get_or_create(self.log.partition, self.log.config)
        self.log.append((b"a", b"1"))
        self.log.append((b"a", b"2"))
        self.log.roll()
        self.log.log.flusher.flush_now()
        self.log.manager.compactor.run(self.log.manager.config)

    def release(self) -> None:
        while self.disk:
            self.disk.do_one()
            self.log.manager.compactor.run(self.log.manager.config)


def test_log_is_appended_to_and_read_while_it_is_compacted():
    held = Held()
    held.log.append((b"a", b"3"))
    assert held.log.values() == [b"1", b"2", b"3"]

    held.release()

    assert held.log.values() == [b"2", b"3"]


def test_truncation_ends_a_pass(caplog):
    held = Held()
    held.log.log.truncate_to(1)
    held.log.append((b"b", b"new"))

    held.release()

    assert held.log.values() == [b"1", b"new"]
    assert not [name for name in held.log.names() if name.endswith((".cleaned", ".swap"))]
    assert "Could not" not in caplog.text


def test_truncation_ends_a_pass_although_the_segment_is_finished_again(caplog):
    held = Held()
    held.log.log.truncate_to(1)
    held.log.append((b"b", b"new"))
    held.log.append((b"c", b"newer"))
    held.log.roll()

    held.disk.do_one()

    assert held.log.values() == [b"1", b"new", b"newer"]
    assert "Could not" not in caplog.text


def test_truncation_ends_a_pass_that_has_read_what_was_truncated():
    held = Held()
    tell_of_the_slice = held.disk.do_work()
    held.log.log.truncate_to(1)
    held.log.append((b"b", b"new"))

    tell_of_the_slice()
    held.release()

    assert held.log.values() == [b"1", b"new"]


def test_log_whose_pass_was_ended_is_compacted_again():
    held = Held()
    held.log.log.truncate_to(1)
    held.log.append((b"a", b"new"))
    held.log.roll()
    held.log.log.flusher.flush_now()

    held.release()

    assert held.log.values() == [b"new"]


def test_log_that_has_failed_is_not_compacted():
    log = CompactedLog()
    log.append((b"a", b"1"))
    log.append((b"a", b"2"))
    log.roll()
    log.manager.perform(Task.FLUSH)
    log.log.flusher.fail(OSError(errno.EIO, "input/output error"), "write to")

    log.compact()

    assert log.log.compacted_to == 0


def test_deletion_of_old_segments_ends_a_pass(caplog):
    held = Held()
    held.log.log.advance_log_start_offset(2)
    held.log.log.delete_old_segments(held.log.clock.time_ms())

    held.release()

    assert held.log.values() == []
    assert held.log.log.log_start_offset == 2
    assert held.log.log.segments.base_offsets == [2]
    assert "Could not" not in caplog.text


def test_deleted_log_ends_a_pass(caplog):
    held = Held()
    held.log.manager.delete(held.log.partition)

    held.release()

    assert "Could not" not in caplog.text


def test_closing_ends_a_pass():
    held = Held()
    planned: list[float] = []
    held.log.manager.compactor.arm = planned.append
    held.log.manager.close()

    held.release()

    assert planned == []
    assert CompactedLog(held.log.filesystem).values() == [b"1", b"2"]


def test_closing_removes_what_a_pass_has_written_that_waits():
    log = CompactedLog(
        broker={"log_cleaner_io_max_bytes_per_second": "1000000"},
        internal_segment_bytes="8000000",
    )
    for number in range(4):
        log.append((b"%d" % number, b"x" * 800_000))
    log.roll()
    log.manager.perform(Task.FLUSH)
    for _ in range(6):
        log.manager.compactor.run(log.manager.config)
        log.clock.advance(1)
    assert any(name.endswith(".cleaned") for name in log.names())

    log.manager.close()

    assert not any(name.endswith(".cleaned") for name in log.names())


@pytest.mark.parametrize(("threads", "passes"), [("1", 1), ("2", 2)])
def test_as_many_logs_are_compacted_at_once_as_there_are_threads(threads, passes):
    disk = HeldDisk()
    manager = open_manager(
        MemoryFileSystem(), VirtualClock(), disk=disk, log_cleaner_threads=threads
    )
    for name in ("orders", "bills", "returns"):
        log = manager.get_or_create(TopicPartition(name, 0), log_config(**COMPACTED))
        for value in (b"1", b"2"):
            log.append_as_leader(keyed_batch((b"a", value)), 0)
        log.high_watermark = log.log_end_offset
        log.roll()
        log.flusher.flush_now()
    manager.perform(Task.CHECKPOINT_RECOVERY_POINTS)
    disk.do_all()

    manager.compactor.run(manager.config)

    assert len(disk) == passes


@pytest.mark.parametrize(("threads", "buffer_bytes"), [(1, 104), (2, 208)])
def test_pass_ends_where_its_share_of_the_memory_for_keys_does(threads, buffer_bytes):
    log = CompactedLog(
        broker={
            "log_cleaner_dedupe_buffer_size": str(buffer_bytes),  # for 3 keys of 24 bytes
            "log_cleaner_threads": str(threads),
        }
    )
    for number in range(8):
        log.append((b"%d" % (number % 4), b"%d" % number))
    log.roll()
    log.manager.perform(Task.FLUSH)
    log.manager.compactor.run(log.manager.config)
    while log.log.compacted_to == 0:
        log.manager.compactor.run(log.manager.config)
    first_end = log.log.compacted_to

    log.compact()

    assert first_end == 3
    assert log.values() == [b"4", b"5", b"6", b"7"]


def test_log_of_which_little_is_dirty_is_compacted_once_its_records_are_old():
    log = CompactedLog(min_cleanable_dirty_ratio="1", max_compaction_lag_ms="1000")
    log.append((b"a", b"1"))
    log.append((b"a", b"2"))
    log.roll()

    log.compact()
    assert log.values() == [b"1", b"2"]

    log.clock.advance(1.1)
    log.compact()
    assert log.values() == [b"2"]


def test_files_of_replaced_segments_stay_for_the_delete_delay():
    log = CompactedLog(file_delete_delay_ms="60000")
    log.append((b"a", b"1"))
    log.append((b"a", b"2"))
    log.roll()
    log.compact()

    log.clock.advance(59.99)
    log.manager.perform(Task.REMOVE_DELETED_FILES)
    assert any(name.endswith(".deleted") for name in log.names())

    log.clock.advance(0.02)
    log.manager.perform(Task.REMOVE_DELETED_FILES)
    assert not any(name.endswith(".deleted") for name in log.names())


def test_snapshots_of_producers_go_with_the_segments_that_are_replaced():
    log = CompactedLog()
    for sequence in range(3):
        log.append((b"a", b"1"), producer_id=7, producer_epoch=0, base_sequence=sequence)
        log.roll()

    log.compact()

    snapshots = {int(name[:20]) for name in log.names() if name.endswith(".snapshot")}
    assert len(log.log.segments) == 2
    assert snapshots == {log.log.segments.base_offsets[1]}


def test_producer_that_only_a_marker_is_known_of_does_not_keep_its_log_from_compaction():
    log = CompactedLog()
    log.append((b"a", b"1"))
    end_transaction(log.log, commit=True)
    log.append((b"a", b"2"))
    log.roll()

    log.compact()

    assert log.values()[-1] == b"2"
    assert log.log.compacted_to == 3


def test_segment_that_is_larger_than_the_buffer_is_written_whole():
    log = CompactedLog(
        broker={"log_cleaner_io_buffer_size": "524288"}, internal_segment_bytes="8000000"
    )
    for number in range(8):
        log.append((b"%d" % (number % 4), b"%d" % number * 300_000))
    log.roll()

    log.compact()

    assert [value[:1] for value in log.values()] == [b"4", b"5", b"6", b"7"]


class CountedLogs(list[Log]):
    """Logs that count how often somebody looks through them."""

    looks = 0

    def __iter__(self) -> Iterator[Log]:
        self.looks += 1
        return super().__iter__()


def test_slices_of_a_pass_do_not_look_for_other_logs_more_often_than_the_backoff_says():
    log = CompactedLog(broker={"log_cleaner_threads": "2", "log_cleaner_backoff_ms": "1000"})
    for number in range(60):
        log.append((b"%d" % number, b"x" * 300))
    log.roll()
    log.log.flusher.flush_now()
    logs, disk = CountedLogs([log.log]), HeldDisk()
    compactor = LogCompactor(logs, lambda _: True, log.clock, disk, lambda: None)

    slices = 0
    while not log.log.compacted_to:
        compactor.run(log.manager.config)
        slices += len(disk)
        disk.do_all()

    assert slices > 10
    assert logs.looks <= 3
    log.append((b"0", b"again"))
    log.roll()
    log.log.flusher.flush_now()
    compactor.run(log.manager.config)
    assert len(disk) == 1
