"""What readers see of a partition: records, and offsets by time."""

from __future__ import annotations

import pytest

from pyk.reference_broker.partition_reader import Isolation
from pyk.reference_broker.storage import (
    FencedLeaderEpochError,
    OffsetOutOfRangeError,
    UnknownLeaderEpochError,
)
from pyk.runtime.virtual_time import START_MS
from support.logs import batch
from support.partitions import led_partition


def test_reader_with_another_epoch_gets_an_error():
    partition = led_partition(leader_epoch=5)

    partition.reader.read(0, 100, current_leader_epoch=5)
    with pytest.raises(FencedLeaderEpochError, match="is 5, not 4"):
        partition.reader.read(0, 100, current_leader_epoch=4)
    with pytest.raises(UnknownLeaderEpochError, match="is 5, not 6"):
        partition.reader.list_offset(-1, current_leader_epoch=6)


def test_read_says_where_the_partition_stands():
    partition = led_partition()
    partition.append(batch(b"0", b"1", b"2"))
    partition.delete_records(1)

    found = partition.reader.read(1, 1 << 20)

    assert (found.high_watermark, found.last_stable_offset, found.log_start_offset) == (3, 3, 1)
    assert len(found.records) == len(batch(b"0", b"1", b"2"))
    with pytest.raises(OffsetOutOfRangeError):
        partition.reader.read(0, 1 << 20)


def test_readers_see_records_up_to_the_end_of_their_isolation_level():
    partition = led_partition()
    partition.append(batch(b"0"))
    partition.append(batch(b"1"))
    partition.log.high_watermark = 1

    sizes = [len(partition.reader.read(0, 1 << 20, isolation).records) for isolation in Isolation]

    one = len(batch(b"0"))
    assert sizes == [one, one, 2 * one]
    assert len(partition.reader.read(1, 1 << 20).records) == 0


def test_offsets_are_listed():
    partition = led_partition(leader_epoch=3)
    for timestamp in (1000, 5000, 2000):
        partition.append(batch(b"x", b"y", timestamp_ms=START_MS + timestamp))
    partition.delete_records(1)

    assert partition.reader.list_offset(-2) == (1, -1, 3)
    assert partition.reader.list_offset(-1) == (6, -1, 3)
    assert partition.reader.list_offset(-3) == (3, START_MS + 5001, 3)
    assert partition.reader.list_offset(-4) == partition.reader.list_offset(-2)
    assert partition.reader.list_offset(-5) is None
    assert partition.reader.list_offset(0) == (1, START_MS + 1001, 3)
    assert partition.reader.list_offset(START_MS + 1002) == (2, START_MS + 5000, 3)
    assert partition.reader.list_offset(START_MS + 5001) == (3, START_MS + 5001, 3)
    assert partition.reader.list_offset(START_MS + 5002) is None


def test_empty_partition_has_no_newest_record():
    partition = led_partition()

    assert partition.reader.list_offset(-3) is None
    assert partition.reader.list_offset(0) is None
    assert partition.reader.list_offset(-1) == (0, -1, 0)


def test_record_above_the_high_watermark_is_not_listed():
    partition = led_partition()
    partition.append(batch(b"0"))
    partition.log.high_watermark = 0

    assert partition.reader.list_offset(0) is None


def test_offsets_are_found_by_time_across_segments_and_restarts():
    partition = led_partition(segment_bytes=300, index_interval_bytes=0)
    for number in range(50):
        partition.append(batch(b"%d" % number, timestamp_ms=START_MS + 10 * number))

    for number in range(50):
        assert partition.reader.list_offset(START_MS + 10 * number - 5).offset == number
