"""Appending to a log and reading from it."""

from __future__ import annotations

import pytest

from pyk.protocol.records import read_batches
from pyk.reference_broker.storage import (
    CorruptRecordsError,
    OffsetOutOfRangeError,
    SegmentTooSmallError,
    StorageError,
    segment,
)
from pyk.reference_broker.storage.stored_batches import find_batch
from pyk.runtime.filesystem.faulty import FaultyFileSystem
from pyk.runtime.filesystem.memory import MemoryFileSystem
from pyk.runtime.virtual_time import START_MS, VirtualClock
from support.logs import DIRECTORY, append, batch, open_log, values


def test_records_are_read_as_they_were_appended():
    log = open_log()

    assert append(log, b"one", b"two") == 0
    assert append(log, b"three") == 2

    assert values(log) == [b"one", b"two", b"three"]
    assert (log.log_start_offset, log.log_end_offset) == (0, 3)


def test_stored_batch_differs_from_the_sent_one_only_in_its_place():
    log = open_log()
    append(log, b"before")
    sent = batch(b"one", b"two")

    log.append_as_leader(sent, leader_epoch=7)

    stored = log.reader.read(1, 1 << 20).read()
    (found,) = read_batches(stored)
    assert (found.base_offset, found.partition_leader_epoch) == (1, 7)
    assert stored[16:] == sent[16:]


def test_read_begins_with_the_batch_that_holds_the_offset():
    log = open_log()
    append(log, b"0")
    append(log, b"1", b"2", b"3")

    (found,) = read_batches(log.reader.read(2, 1 << 20).read())

    assert found.base_offset == 1


def test_read_is_cut_at_max_bytes_but_not_within_the_first_batch():
    log = open_log()
    append(log, b"0")
    append(log, b"1")
    size = len(batch(b"0"))

    assert len(log.reader.read(0, size + 10)) == size + 10
    assert len(log.reader.read(0, 10)) == size
    assert len(log.reader.read(0, 10, min_one_batch=False)) == 0


def test_read_ends_before_the_offset_it_may_go_up_to():
    log = open_log()
    for number in range(5):
        append(log, b"%d" % number)

    stored = log.reader.read(1, 1 << 20, up_to_offset=3)

    assert [b.base_offset for b in read_batches(stored.read())] == [1, 2]
    assert len(log.reader.read(3, 1 << 20, up_to_offset=3)) == 0


def test_read_at_the_end_is_empty_and_after_it_out_of_range():
    log = open_log()
    append(log, b"0")

    assert len(log.reader.read(1, 100)) == 0
    with pytest.raises(OffsetOutOfRangeError, match="offset 2 of orders-0 is not from 0 to 1"):
        log.reader.read(2, 100)


def test_segment_is_rolled_when_the_next_batch_does_not_fit():
    size = len(batch(b"0"))
    log = open_log(segment_bytes=2 * size)

    for number in range(5):
        append(log, b"%d" % number)

    assert log.segments.base_offsets == [0, 2, 4]
    assert values(log) == [b"0", b"1", b"2", b"3", b"4"]
    assert values(log, 3) == [b"3", b"4"]


def test_segment_is_rolled_when_the_records_clock_says_so():
    log = open_log(segment_ms=1000)

    append(log, b"0", timestamp_ms=START_MS)
    append(log, b"1", timestamp_ms=START_MS + 1000)
    append(log, b"2", timestamp_ms=START_MS + 1001)

    assert log.segments.base_offsets == [0, 2]


def test_segment_is_rolled_when_its_index_is_full():
    log = open_log(segment_index_bytes=24, index_interval_bytes=0)

    for number in range(5):
        append(log, b"%d" % number, timestamp_ms=START_MS + number)

    assert log.segments.base_offsets == [0, 3]


def test_batch_larger_than_a_segment_is_refused():
    log = open_log(segment_bytes=100)

    with pytest.raises(SegmentTooSmallError, match="raise it or send smaller batches"):
        append(log, bytes(100))


def test_sparse_index_leads_to_every_offset():
    log = open_log(index_interval_bytes=200)
    for number in range(100):
        append(log, b"%d" % number)

    for number in range(100):
        first = next(iter(read_batches(log.reader.read(number, 1).read())))
        assert first.base_offset == number


def test_the_last_batch_is_found_without_walking_to_it(monkeypatch):
    log = open_log()
    for number in range(30):
        append(log, b"%d" % number)
    visited = []
    monkeypatch.setattr(segment, "find_batch", lambda *a: visited.append(a[1]) or find_batch(*a))

    assert len(log.reader.read(29, 1 << 20)) == len(batch(b"29"))

    assert visited == [log.segments.size - len(batch(b"29"))]


@pytest.mark.parametrize("change", ["nothing", "reopening", "truncation", "emptying"])
def test_every_offset_is_found_whatever_happened_to_the_end(change):
    filesystem = MemoryFileSystem()
    log = open_log(filesystem)
    for number in range(4):
        append(log, b"%d" % number, b"more")
    if change == "reopening":
        log.close()
        log = open_log(filesystem, was_shut_down_cleanly=True)
    elif change != "nothing":
        log.truncate_to(4 if change == "truncation" else 0)
    for number in range(3):
        append(log, b"new %d" % number, b"more")

    for offset in range(log.log_end_offset):
        (found, *_) = read_batches(log.reader.read(offset, 1).read())
        assert found.base_offset == offset - offset % 2


def test_closed_log_is_reopened_where_it_ended():
    filesystem = MemoryFileSystem()
    log = open_log(filesystem, segment_bytes=300)
    for number in range(10):
        append(log, b"%d" % number)
    log.close()

    log = open_log(filesystem, was_shut_down_cleanly=True, recovery_point=10, segment_bytes=300)

    assert values(log) == [b"%d" % number for number in range(10)]
    assert append(log, b"10") == 10


def test_closed_log_refuses():
    log = open_log()
    log.close()

    with pytest.raises(StorageError, match="closed"):
        append(log, b"0")


def test_log_start_offset_moves_up_to_the_high_watermark():
    log = open_log()
    append(log, b"0", b"1", b"2")
    log.high_watermark = 2

    log.advance_log_start_offset(2)

    assert log.log_start_offset == 2
    assert values(log) == [b"2"]
    with pytest.raises(OffsetOutOfRangeError):
        log.reader.read(1, 100)
    with pytest.raises(OffsetOutOfRangeError, match="high watermark is 2"):
        log.advance_log_start_offset(3)


def test_old_segments_are_deleted_by_time_and_their_files_later():
    filesystem, clock = MemoryFileSystem(), VirtualClock()
    log = open_log(
        filesystem, clock=clock, segment_bytes=100, retention_ms=1000, file_delete_delay_ms=50
    )
    for number in range(3):
        append(log, b"%d" % number, timestamp_ms=START_MS + number * 1000)

    assert log.delete_old_segments(START_MS + 2500) == 2

    assert log.segments.base_offsets == [2]
    assert log.log_start_offset == 2
    assert values(log) == [b"2"]
    deleted = f"{DIRECTORY}/{0:020d}.log.deleted"
    assert filesystem.exists(deleted)
    assert log.segments.take_deleted_files(0.049) == []
    assert deleted in log.segments.take_deleted_files(0.050)
    assert log.segments.take_deleted_files(0.050) == []


def test_old_segments_are_deleted_by_size():
    size = len(batch(b"0"))
    log = open_log(segment_bytes=size, retention_ms=-1, retention_bytes=2 * size)

    for number in range(5):
        append(log, b"%d" % number)

    assert log.delete_old_segments(START_MS) == 3
    assert values(log) == [b"3", b"4"]


def test_log_whose_records_are_all_old_goes_on_with_an_empty_segment():
    log = open_log(retention_ms=1000)
    append(log, b"0", b"1")

    assert log.delete_old_segments(START_MS + 5000) == 1

    assert (log.log_start_offset, log.log_end_offset) == (2, 2)
    assert append(log, b"2") == 2


def test_an_empty_segment_does_not_keep_older_ones_or_those_after_it():
    log = open_log(retention_ms=1000)
    log.roll(5)  # as Kafka leaves a segment whose records were all compacted away
    append(log, b"5")

    assert log.delete_old_segments(START_MS + 5000) == 2

    assert (log.log_start_offset, log.log_end_offset) == (6, 6)
    assert log.delete_old_segments(START_MS + 9000) == 0


def test_truncation_removes_the_batch_that_holds_the_offset_and_all_after_it():
    log = open_log(segment_bytes=200, index_interval_bytes=0)
    for number in range(0, 10, 2):
        append(log, b"%d" % number, b"%d" % (number + 1))

    log.truncate_to(4)

    assert log.log_end_offset == 4
    assert values(log) == [b"0", b"1", b"2", b"3"]
    assert append(log, b"again") == 4
    assert values(log, 4) == [b"again"]


def test_truncation_to_a_segments_beginning_lets_that_segment_go():
    log = open_log(segment_bytes=100)
    for number in range(3):
        append(log, b"%d" % number)

    log.truncate_to(1)

    assert values(log) == [b"0"]
    assert append(log, b"again") == 1


def test_follower_stores_the_batches_of_the_leader():
    leader, follower = open_log(), open_log()
    append(leader, b"0", b"1", leader_epoch=3)
    append(leader, b"2", leader_epoch=4)

    result = follower.append_as_follower(leader.reader.read(0, 1 << 20).read())

    assert result is not None
    assert (result.base_offset, result.last_offset) == (0, 2)
    assert follower.reader.read(0, 1 << 20).read() == leader.reader.read(0, 1 << 20).read()
    assert follower.leader_epochs.entries == [(3, 0), (4, 2)]


def test_truncation_before_the_first_segment_starts_an_empty_log_there():
    log = open_log(segment_bytes=100, retention_ms=0)
    for number in range(3):
        append(log, b"%d" % number, timestamp_ms=START_MS + number)
    log.delete_old_segments(START_MS + 2)
    assert log.log_start_offset == 2

    log.truncate_to(1)

    assert (log.log_start_offset, log.log_end_offset) == (1, 1)
    assert append(log, b"again") == 1


def test_log_can_start_again_at_any_offset():
    log = open_log(segment_bytes=100)
    for number in range(3):
        append(log, b"%d" % number)

    log.truncate_fully(50)

    assert (log.log_start_offset, log.log_end_offset, log.recovery_point) == (50, 50, 0)
    assert append(log, b"50") == 50
    assert values(log) == [b"50"]


def test_truncation_after_the_end_does_nothing():
    log = open_log()
    append(log, b"0")

    log.truncate_to(1)
    log.truncate_to(5)

    assert values(log) == [b"0"]


def test_nothing_above_the_high_watermark_is_deleted():
    log = open_log(segment_bytes=100, retention_ms=0)
    for number in range(3):
        append(log, b"%d" % number)
    log.high_watermark = 1

    assert log.delete_old_segments(START_MS + 5000) == 1
    assert log.log_start_offset == 1


def test_compacted_log_is_kept_but_for_deleted_records():
    log = open_log(
        segment_bytes=100, cleanup_policy=("compact",), retention_ms=0, retention_bytes=0
    )
    for number in range(3):
        append(log, b"%d" % number)

    assert log.delete_old_segments(START_MS + 5000) == 0
    log.advance_log_start_offset(2)
    assert log.delete_old_segments(START_MS + 5000) == 2


def test_records_without_timestamps_are_as_old_as_their_file():
    clock = VirtualClock()
    log = open_log(MemoryFileSystem(clock.time_ms), clock=clock, retention_ms=1000)
    append(log, b"0", timestamp_ms=-2)

    assert log.delete_old_segments(START_MS + 1000) == 0
    assert log.delete_old_segments(START_MS + 1001) == 1


def test_segment_without_timestamps_is_rolled_by_its_age():
    clock = VirtualClock()
    log = open_log(clock=clock, segment_ms=1000)
    append(log, b"0", timestamp_ms=-2)
    clock.advance(1.5)

    append(log, b"1", timestamp_ms=-2)

    assert log.segments.base_offsets == [0, 1]


def test_segments_are_rolled_earlier_by_chance():
    log = open_log(segment_ms=1000, segment_jitter_ms=900)
    append(log, b"0", timestamp_ms=START_MS)

    for later_ms in range(100, 1001, 100):
        append(log, b"x", timestamp_ms=START_MS + later_ms)

    assert 100 < log.segments.base_offsets[1] * 100 < 1000


def test_file_changed_by_another_program_is_reported():
    filesystem = MemoryFileSystem()
    log = open_log(filesystem)
    append(log, b"0")
    append(log, b"1")
    path = f"{DIRECTORY}/{0:020d}.log"
    size = filesystem.size(path) // 2

    filesystem.open(path).write_at(size + 16, [b"\x07"])
    with pytest.raises(StorageError, match=f"no batch of format 2 at position {size}"):
        log.reader.read(1, 100)
    filesystem.open(path).truncate(size)
    with pytest.raises(StorageError, match="the file ends"):
        log.reader.read(1, 100)


def test_batch_that_was_damaged_on_disk_is_not_searched_for_a_time():
    filesystem = MemoryFileSystem()
    log = open_log(filesystem)
    append(log, b"0")
    filesystem.open(f"{DIRECTORY}/{0:020d}.log").write_at(70, [b"\xff"])

    with pytest.raises(CorruptRecordsError, match="its stored CRC"):
        log.reader.find_timestamp(0)


def test_disk_that_cannot_be_read_refuses_an_append_and_changes_nothing():
    memory = MemoryFileSystem()
    log = open_log(memory, index_interval_bytes=0)
    append(log, b"0")
    append(log, b"1")
    log.close()
    faulty = FaultyFileSystem(memory)
    log = open_log(faulty, was_shut_down_cleanly=True, recovery_point=2)
    fault = faulty.on("read", "*.log").fail()

    with pytest.raises(StorageError, match="cannot append"):
        append(log, b"2")

    fault.heal()
    assert append(log, b"2") == 2
    assert values(log) == [b"0", b"1", b"2"]
