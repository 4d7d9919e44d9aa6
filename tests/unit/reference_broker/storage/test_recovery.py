"""What a log is after a crash."""

from __future__ import annotations

import zlib

import pytest

from pyk.reference_broker.storage import StorageError
from pyk.runtime.filesystem.faulty import FaultyFileSystem
from pyk.runtime.filesystem.memory import MemoryFileSystem
from pyk.runtime.virtual_time import START_MS
from support.logs import DIRECTORY, append, batch, filled_log, numbered, open_log, overwrite, values

LOG = f"{DIRECTORY}/{0:020d}.log"
INDEX = f"{DIRECTORY}/{0:020d}.index"
TIME_INDEX = f"{DIRECTORY}/{0:020d}.timeindex"


@pytest.fixture
def filesystem() -> MemoryFileSystem:
    filesystem = MemoryFileSystem()
    filesystem.make_directory("/data")
    filesystem.sync_directory("/")
    return filesystem


def test_killed_process_loses_nothing(filesystem):
    filled_log(filesystem, segment_bytes=200, index_interval_bytes=0)
    filesystem.crash(loses_unflushed=False)

    log = open_log(filesystem, segment_bytes=200, index_interval_bytes=0)

    assert values(log) == numbered(10)
    assert append(log, b"10") == 10
    assert log.segments.base_offsets == [0, 2, 4, 6, 8, 10]


def test_power_failure_loses_nothing_that_was_flushed(filesystem):
    log = filled_log(filesystem, segment_bytes=200)
    log.flusher.flush_now()
    recovery_point = log.recovery_point
    for _ in range(5):
        append(log, b"lost")
    filesystem.crash(loses_unflushed=True)

    log = open_log(filesystem, recovery_point=recovery_point, segment_bytes=200)

    # The indexes of the segment that begins here were rebuilt, and are to be flushed again.
    assert log.recovery_point == 8
    assert values(log) == numbered(10)
    assert append(log, b"10") == 10


def test_torn_tail_is_cut_off(filesystem):
    log = filled_log(filesystem, count=3)
    size = log.segments.size
    overwrite(filesystem, LOG, size, batch(b"torn")[:-1])

    log = open_log(filesystem)

    assert values(log) == numbered(3)
    assert filesystem.size(LOG) == size
    assert append(log, b"3") == 3


def test_zeros_at_the_end_are_cut_off(filesystem):
    log = filled_log(filesystem, count=3)
    size = log.segments.size
    filesystem.open(LOG).truncate(size + 1000)

    assert values(open_log(filesystem)) == numbered(3)
    assert filesystem.size(LOG) == size


def test_log_ends_before_a_damaged_batch_whatever_follows(filesystem):
    log = filled_log(filesystem, segment_bytes=200)
    log.close()
    size = len(batch(b"0"))
    overwrite(filesystem, f"{DIRECTORY}/{4:020d}.log", size - 1, b"\xff")

    log = open_log(filesystem, segment_bytes=200)

    assert values(log) == numbered(4)
    assert log.segments.base_offsets == [0, 2, 4]
    assert append(log, b"4") == 4


def test_records_before_the_recovery_point_are_not_read_again(filesystem):
    log = filled_log(filesystem, segment_bytes=200)
    log.close()
    overwrite(filesystem, LOG, 70, b"\xff")

    log = open_log(filesystem, recovery_point=4, segment_bytes=200)

    assert log.log_end_offset == 10
    assert values(log, 4) == numbered(10)[4:]


def test_indexes_are_the_same_after_recovery(filesystem):
    filled_log(filesystem, index_interval_bytes=100).close()
    before = [filesystem.open(path).read_at(0, 1000) for path in (INDEX, TIME_INDEX)]
    filesystem.remove(INDEX)
    overwrite(filesystem, TIME_INDEX, 0, b"garbage")

    log = open_log(filesystem, index_interval_bytes=100)
    log.close()

    assert before == [filesystem.open(path).read_at(0, 1000) for path in (INDEX, TIME_INDEX)]
    assert len(before[0]) == 8 * 4
    assert values(open_log(filesystem)) == numbered(10)


@pytest.mark.parametrize("path", [INDEX, TIME_INDEX])
@pytest.mark.parametrize("damage", ["removed", "garbled"])
def test_index_is_rebuilt_even_after_a_clean_shutdown(filesystem, path, damage):
    filled_log(filesystem, index_interval_bytes=100).close()
    before = filesystem.open(path).read_at(0, 1000)
    if damage == "removed":
        filesystem.remove(path)
    else:
        overwrite(filesystem, path, 0, b"\xff" * 7)
        filesystem.open(path).truncate(7)

    log = open_log(
        filesystem, was_shut_down_cleanly=True, recovery_point=10, index_interval_bytes=100
    )

    assert filesystem.open(path).read_at(0, 1000) == before
    assert values(log) == numbered(10)


def test_log_that_was_damaged_after_a_clean_shutdown_is_recovered(filesystem):
    filled_log(filesystem, count=3).close()
    overwrite(filesystem, LOG, filesystem.size(LOG), b"some bytes that are no batch")

    log = open_log(filesystem, was_shut_down_cleanly=True, recovery_point=3)

    assert values(log) == numbered(3)
    assert append(log, b"3") == 3


def test_index_of_a_finished_segment_is_rebuilt_whatever_the_shutdown(filesystem):
    for is_clean in (True, False):
        filled_log(filesystem, segment_bytes=200, index_interval_bytes=0).close()
        before = filesystem.open(INDEX).read_at(0, 100)
        filesystem.remove(INDEX)

        log = open_log(
            filesystem, was_shut_down_cleanly=is_clean, recovery_point=8, index_interval_bytes=0
        )

        assert filesystem.open(INDEX).read_at(0, 100) == before
        assert values(log, 0)[:2] == numbered(2)
        log.close()
        filesystem.remove_tree(DIRECTORY)


def test_producers_are_known_again(filesystem):
    log = open_log(filesystem, segment_bytes=300)
    for sequence in range(10):
        sent = batch(b"x", producer_id=7, producer_epoch=1, base_sequence=sequence)
        log.append_as_leader(sent, leader_epoch=0)
    filesystem.crash(loses_unflushed=False)

    log = open_log(filesystem, segment_bytes=300)

    assert log.append_as_leader(sent, leader_epoch=0).is_duplicate
    entry = log.producers.get(7)
    assert entry is not None
    assert (entry.epoch, entry.last_sequence, entry.last_offset) == (1, 9, 9)


def test_producers_are_known_without_any_snapshot(filesystem):
    log = open_log(filesystem)
    sent = batch(b"x", producer_id=7, producer_epoch=1, base_sequence=0)
    log.append_as_leader(sent, leader_epoch=0)
    log.close()
    filesystem.remove(f"{DIRECTORY}/{1:020d}.snapshot")

    log = open_log(filesystem, was_shut_down_cleanly=True, recovery_point=1)

    assert log.append_as_leader(sent, leader_epoch=0).is_duplicate


def test_damaged_snapshot_is_made_good_from_the_records(filesystem):
    log = open_log(filesystem)
    sent = batch(b"x", producer_id=7, producer_epoch=1, base_sequence=0)
    log.append_as_leader(sent, leader_epoch=0)
    log.close()
    overwrite(filesystem, f"{DIRECTORY}/{1:020d}.snapshot", 10, b"\xff")

    log = open_log(filesystem, was_shut_down_cleanly=True, recovery_point=1)

    assert log.append_as_leader(sent, leader_epoch=0).is_duplicate


@pytest.mark.parametrize("operation", ["write", "truncate", "flush", "rename", "remove"])
def test_closing_a_log_that_did_not_change_writes_nothing(filesystem, operation):
    log = open_log(filesystem)
    append(log, b"x", producer_id=7, producer_epoch=1, base_sequence=0)
    log.close()
    faulty = FaultyFileSystem(filesystem)
    faulty.on(operation).fail()

    log = open_log(faulty, was_shut_down_cleanly=True, recovery_point=1)
    log.close()

    assert log.failure is None


def test_a_snapshot_of_records_that_were_cut_off_is_written_again(filesystem):
    log = open_log(filesystem)
    append(log, b"before")
    append(log, b"cut off", producer_id=7, producer_epoch=1, base_sequence=0)
    log.close()
    log = open_log(filesystem, was_shut_down_cleanly=True, recovery_point=2)
    log.truncate_to(1)
    append(log, b"instead", producer_id=8, producer_epoch=1, base_sequence=0)
    log.close()

    log = open_log(filesystem, was_shut_down_cleanly=True, recovery_point=2)

    assert [entry.producer_id for entry in log.producers] == [8]


def test_only_snapshots_that_are_of_use_are_kept(filesystem):
    filled_log(filesystem, segment_bytes=200, count=5).close()
    log = open_log(filesystem, segment_bytes=200, was_shut_down_cleanly=True, recovery_point=5)
    append(log, b"5")
    append(log, b"6")
    log.close()

    open_log(filesystem, segment_bytes=200, was_shut_down_cleanly=True, recovery_point=7)

    names = filesystem.list_directory(DIRECTORY)
    kept = [int(name[:20]) for name in names if name.endswith(".snapshot")]
    assert kept == [2, 4, 6, 7]


def test_leader_epochs_come_back_from_the_records(filesystem):
    log = open_log(filesystem)
    append(log, b"0", leader_epoch=3)
    append(log, b"1", leader_epoch=5)
    filesystem.crash(loses_unflushed=False)

    assert open_log(filesystem).leader_epochs.entries == [(3, 0), (5, 1)]


def test_leader_epochs_of_lost_records_are_forgotten(filesystem):
    log = open_log(filesystem)
    append(log, b"0", leader_epoch=3)
    log.flusher.flush_now()
    append(log, b"1", leader_epoch=5)
    log.leader_epochs.begin_write().finish()
    filesystem.crash(loses_unflushed=True)

    assert open_log(filesystem).leader_epochs.entries == [(3, 0)]


def test_log_start_offset_beyond_all_records_begins_a_new_log_there(filesystem):
    filled_log(filesystem, count=3).close()

    log = open_log(filesystem, log_start_offset=5)

    assert (log.log_start_offset, log.log_end_offset) == (5, 5)
    assert append(log, b"5") == 5
    assert filesystem.size(LOG + ".deleted")


def test_log_start_offset_is_not_before_the_first_segment(filesystem):
    log = open_log(filesystem, segment_bytes=100, retention_bytes=200, retention_ms=-1)
    for number in range(5):
        append(log, b"%d" % number)
    log.delete_old_segments(0)
    log.close()

    log = open_log(filesystem, was_shut_down_cleanly=True, recovery_point=5)

    assert log.log_start_offset == 2


def test_leftovers_of_deletions_and_replacements_are_removed(filesystem):
    filled_log(filesystem, count=1).close()
    leftovers = [f"{0:020d}.log.deleted", "leader-epoch-checkpoint.tmp", f"{9:020d}.index"]
    for name in leftovers:
        overwrite(filesystem, f"{DIRECTORY}/{name}", 0, b"x")

    open_log(filesystem)

    assert not set(leftovers) & set(filesystem.list_directory(DIRECTORY))


class ComparedName(str):
    """A name that counts how often it is compared."""

    comparisons = 0
    __hash__ = str.__hash__

    def __eq__(self, other: object) -> bool:
        ComparedName.comparisons += 1
        return str.__eq__(self, other)


class ComparingFileSystem(MemoryFileSystem):
    """Lists names that count how often they are compared."""

    def list_directory(self, path: str) -> list[str]:
        return [ComparedName(name) for name in super().list_directory(path)]


def test_the_names_of_a_directory_are_not_compared_with_each_other():
    filesystem = ComparingFileSystem()
    log = open_log(filesystem)
    for number in range(50):
        append(log, b"%d" % number)
        log.roll()
    log.close()
    ComparedName.comparisons = 0

    open_log(filesystem, was_shut_down_cleanly=True, recovery_point=50)

    assert ComparedName.comparisons < 50 * 4 * 5


def test_empty_segment_that_overlaps_the_one_before_it_goes(filesystem):
    filled_log(filesystem, count=5)
    filesystem.open(f"{DIRECTORY}/{3:020d}.log", create=True)

    log = open_log(filesystem)

    assert log.segments.base_offsets == [0]
    assert values(log) == numbered(5)


@pytest.mark.parametrize("magic", [0, 1])
def test_log_of_an_old_format_is_refused_and_left_alone(filesystem, magic):
    body = bytes([magic, 0]) + bytes(20)
    message = bytes(8) + (len(body) + 4).to_bytes(4) + zlib.crc32(body).to_bytes(4) + body
    filesystem.make_directory(DIRECTORY)
    overwrite(filesystem, LOG, 0, message)

    with pytest.raises(StorageError, match=r"before Kafka 0\.11"):
        open_log(filesystem)

    assert filesystem.size(LOG) == len(message)


def test_batch_larger_than_the_scanning_window_is_recovered(filesystem):
    log = open_log(filesystem, max_message_bytes=1 << 22)
    append(log, b"small")
    append(log, bytes(3 << 20))
    append(log, b"small again")

    assert open_log(filesystem).log_end_offset == 3


def test_preallocated_space_is_given_back(filesystem):
    log = filled_log(filesystem, count=3, preallocate=True, segment_bytes=200)
    assert filesystem.size(f"{DIRECTORY}/{2:020d}.log") == 200

    filesystem.crash(loses_unflushed=False)
    log = open_log(filesystem, preallocate=True, segment_bytes=200)
    assert values(log) == numbered(3)
    append(log, b"3")
    append(log, b"4")
    log.close()

    sizes = [filesystem.size(f"{DIRECTORY}/{base:020d}.log") for base in (0, 2, 4)]
    assert sizes == [2 * len(batch(b"0"))] * 2 + [len(batch(b"0"))]


def test_time_index_of_zeros_is_rebuilt(filesystem):
    """A power failure can keep the length of a file and lose its content."""
    log = filled_log(filesystem, segment_bytes=200)
    log.close()
    size = filesystem.size(TIME_INDEX)
    filesystem.open(TIME_INDEX).write_at(0, [bytes(size)])

    log = open_log(filesystem, recovery_point=10, segment_bytes=200)

    assert log.reader.find_timestamp(0)[0] == 0
    assert log.delete_old_segments(START_MS) == 0


def test_segment_that_is_finished_after_its_flush_is_flushed_again(filesystem):
    log = filled_log(filesystem, count=3, segment_bytes=300, index_interval_bytes=10_000)
    log.flusher.flush_now()
    log.roll()
    assert log.recovery_point == 0

    log.flusher.flush_now()
    filesystem.crash(loses_unflushed=True)

    assert log.recovery_point == 3
    assert filesystem.size(TIME_INDEX) == 12


def test_time_index_of_a_segment_that_ends_at_the_recovery_point_is_completed(filesystem):
    """It is finished after its flush, so that a power failure can take the last entry."""
    log = open_log(filesystem, index_interval_bytes=0)
    for number in range(4):
        append(log, b"%d" % number, timestamp_ms=START_MS + number)
    log.roll()
    filesystem.open(TIME_INDEX).truncate(filesystem.size(TIME_INDEX) - 12)

    log = open_log(filesystem, recovery_point=4, index_interval_bytes=0)

    assert log.reader.find_timestamp(START_MS + 3)[0] == 3


def test_log_that_ends_before_what_was_flushed_is_reported(filesystem, caplog):
    log = filled_log(filesystem, segment_bytes=200)
    log.close()
    filesystem.remove(f"{DIRECTORY}/{8:020d}.log")

    open_log(filesystem, recovery_point=10, segment_bytes=200, was_shut_down_cleanly=True)

    assert f"{DIRECTORY} ends at offset 8, but had been written to the disk up to 10" in caplog.text


def test_log_lines_about_repairs_name_the_file(filesystem, caplog):
    log = filled_log(filesystem, count=3)
    overwrite(filesystem, LOG, log.segments.size, batch(b"torn")[:-1])

    open_log(filesystem)

    assert f"bytes off {LOG}:" in caplog.text
