"""Offset index and time index of a segment."""

from __future__ import annotations

import pytest

from pyk.reference_broker.storage.indexes import SegmentIndexes
from pyk.reference_broker.storage.offset_index import MAX_RELATIVE_OFFSET, OffsetIndex
from pyk.reference_broker.storage.time_index import TimeIndex
from pyk.runtime.filesystem import read_if_exists
from pyk.runtime.filesystem.memory import MemoryFileSystem


@pytest.fixture
def filesystem() -> MemoryFileSystem:
    filesystem = MemoryFileSystem()
    filesystem.make_directory("/log")
    return filesystem


def offset_index(filesystem, *entries):
    index = OffsetIndex(filesystem, "/log/a.index", base_offset=100)
    for offset, position in entries:
        index.append(offset, position)
    return index


def time_index(filesystem, *entries):
    index = TimeIndex(filesystem, "/log/a.timeindex", base_offset=100)
    for timestamp, offset in entries:
        index.append_if_newer(timestamp, offset)
    return index


def garble(filesystem, path, content):
    filesystem.open(path, create=True).write_at(0, [content])


def test_offset_index_file_is_kafkas(filesystem):
    index = offset_index(filesystem, (103, 0x1234), (110, 0x5678))

    index.entries.write()

    assert read_if_exists(filesystem, "/log/a.index") == bytes.fromhex(
        "00000003 00001234 0000000a 00005678"
    )


def test_time_index_file_is_kafkas(filesystem):
    index = time_index(filesystem, (0x0102030405, 107))

    index.entries.write()

    assert read_if_exists(filesystem, "/log/a.timeindex") == bytes.fromhex(
        "0000000102030405 00000007"
    )


@pytest.mark.parametrize("is_written", [False, True])
def test_position_is_that_of_the_last_entry_not_after_the_offset(filesystem, is_written):
    index = offset_index(filesystem, (103, 10), (110, 20))
    if is_written:
        index.entries.write()
    index.append(120, 30)

    positions = [index.position_at_or_before(o) for o in (100, 102, 103, 109, 110, 119, 120, 999)]

    assert positions == [0, 0, 10, 10, 20, 20, 30, 30]


def test_empty_offset_index_leads_to_the_beginning(filesystem):
    index = offset_index(filesystem)

    assert index.position_at_or_before(500) == 0
    assert index.last_entry() == (100, 0)


def test_time_leads_to_an_offset_before_which_all_is_older(filesystem):
    index = time_index(filesystem, (1000, 103), (2000, 110))

    offsets = [index.offset_before(t) for t in (0, 1000, 1001, 2000, 2001)]

    assert offsets == [100, 100, 103, 103, 110]


def test_time_index_takes_only_newer_entries(filesystem):
    index = time_index(filesystem, (1000, 103), (1000, 104), (900, 105), (1001, 106))

    assert len(index) == 2
    assert index.last_entry() == (1001, 106)


@pytest.mark.parametrize("is_written", [False, True])
@pytest.mark.parametrize(("offset", "count"), [(100, 0), (103, 0), (104, 1), (110, 1), (999, 2)])
def test_truncation_keeps_the_entries_below_the_offset(filesystem, is_written, offset, count):
    offsets = offset_index(filesystem, (103, 10), (110, 20))
    times = time_index(filesystem, (1000, 103), (2000, 110))
    if is_written:
        offsets.entries.write()
        times.entries.write()

    offsets.truncate_to(offset)
    times.truncate_to(offset)

    assert (len(offsets), len(times)) == (count, count)
    offsets.append(1000, 99)
    assert offsets.last_entry() == (1000, 99)


def test_index_is_read_again_from_its_file(filesystem):
    offset_index(filesystem, (103, 10)).entries.write()
    time_index(filesystem, (1000, 103)).entries.write()

    assert offset_index(filesystem).last_entry() == (103, 10)
    assert time_index(filesystem).last_entry() == (1000, 103)
    assert offset_index(filesystem).is_sound(log_size=11)
    assert time_index(filesystem).is_sound()


@pytest.mark.parametrize(
    "content",
    [
        "00",  # a part of an entry
        "00000003 00001234 00",
        "00000003 7fffffff",  # a position behind the segment
        "ffffffff 00000001",  # an offset before the segment
        "00000003 00000001 00000000 00000000",  # preallocated by Kafka and never trimmed
    ],
)
def test_garbled_offset_index_is_not_sound(filesystem, content):
    garble(filesystem, "/log/a.index", bytes.fromhex(content))

    assert not offset_index(filesystem).is_sound(log_size=1000)


@pytest.mark.parametrize(
    "content",
    [
        "00",
        "0000000000001000 00000003 0000000000000000 00000000",
        "0000000000001000 ffffffff",
    ],
)
def test_garbled_time_index_is_not_sound(filesystem, content):
    garble(filesystem, "/log/a.timeindex", bytes.fromhex(content))

    assert not time_index(filesystem).is_sound()


def test_missing_index_is_not_sound(filesystem):
    assert not offset_index(filesystem).is_sound(log_size=1000)
    assert not time_index(filesystem).is_sound()


def test_cleared_index_forgets_whatever_its_file_held(filesystem):
    garble(filesystem, "/log/a.index", b"garbage of some length")
    index = offset_index(filesystem)

    index.clear()

    assert len(index) == 0
    index.entries.write()
    assert filesystem.size("/log/a.index") == 0


def segment_indexes(filesystem) -> SegmentIndexes:
    return SegmentIndexes(filesystem, "/log/a", 100)


def entries(index) -> list[tuple[int, int]]:
    return [index.entries[number] for number in range(len(index))]


def test_a_batch_has_entries_once_enough_bytes_were_appended_since_the_last(filesystem):
    indexes = segment_indexes(filesystem)
    for number in range(5):
        indexes.append(10, 100 + number, 1000 + number, 10 * number, interval_bytes=19)

    assert entries(indexes.offsets) == [(2, 20), (4, 40)]
    assert entries(indexes.times) == [(1002, 2), (1004, 4)]


def test_the_time_index_ends_with_the_largest_timestamp_when_it_is_complete(filesystem):
    indexes = segment_indexes(filesystem)
    for offset, timestamp in ((100, 1000), (101, 3000), (102, 2000)):
        indexes.append(10, offset, timestamp, 0, interval_bytes=4096)

    indexes.complete()

    assert indexes.newest == (3000, 101)
    assert indexes.times.last_entry() == (3000, 101)


def test_truncated_indexes_know_only_the_batches_that_are_noted_again(filesystem):
    indexes = segment_indexes(filesystem)
    indexes.append(10, 100, 1000, 0, interval_bytes=0)
    indexes.append(10, 101, 3000, 10, interval_bytes=0)

    indexes.truncate_to(101)
    assert indexes.newest == (-1, 100)
    indexes.note_timestamp(1000, 100)

    assert indexes.newest == (1000, 100)


@pytest.mark.parametrize(
    ("last_offset", "max_index_bytes", "has_room"),
    [
        (100 + MAX_RELATIVE_OFFSET, 24, True),
        (101 + MAX_RELATIVE_OFFSET, 24, False),
        (200, 23, False),
    ],
)
def test_indexes_have_room_for_an_entry_that_they_can_express(
    filesystem, last_offset, max_index_bytes, has_room
):
    indexes = segment_indexes(filesystem)
    indexes.append(10, 100, 1000, 0, interval_bytes=4096)
    indexes.complete()

    assert indexes.has_room_for(last_offset, max_index_bytes) is has_room


def test_saved_indexes_are_read_again(filesystem):
    indexes = segment_indexes(filesystem)
    indexes.append(10, 100, 1000, 0, interval_bytes=4096)
    indexes.complete()

    assert (indexes.is_written, indexes.save(), indexes.save()) == (False, True, False)
    assert indexes.is_written
    assert segment_indexes(filesystem).newest == (1000, 100)
