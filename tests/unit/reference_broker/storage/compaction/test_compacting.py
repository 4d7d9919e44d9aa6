"""What is left of a log after compaction."""

from __future__ import annotations

import pytest

from pyk.protocol.records import Compression, TimestampType
from pyk.runtime.virtual_time import START_MS
from support.compaction import CompactedLog
from support.logs import end_transaction, open_log

DAY_MS = 86_400_000


def filled(**config: str) -> CompactedLog:
    """Return a log with three values of ``a``, one of ``b``, and an active segment with ``c``."""
    log = CompactedLog(**config)
    log.append((b"a", b"1"), (b"b", b"2"), (b"a", b"3"))
    log.append((b"a", b"4"))
    log.roll()
    log.append((b"c", b"5"))
    return log


def test_last_record_of_each_key_stays_at_its_offset():
    log = filled()

    log.compact()

    assert log.records() == [(1, b"b", b"2"), (3, b"a", b"4"), (4, b"c", b"5")]
    assert log.log.log_start_offset == 0
    assert log.log.log_end_offset == 5


def test_offset_that_was_removed_reads_from_the_next_one():
    log = filled()
    log.compact()

    records = log.log.reader.read(2, 1 << 20)

    assert records.size
    assert log.log.reader.read(0, 1 << 20).size


def test_active_segment_is_not_compacted():
    log = CompactedLog()
    log.append((b"a", b"1"))
    log.append((b"a", b"2"))

    log.compact()

    assert log.values() == [b"1", b"2"]


def test_records_of_the_active_segment_remove_nothing_of_others():
    log = CompactedLog()
    log.append((b"a", b"1"))
    log.roll()
    log.append((b"a", b"2"))

    log.compact()

    assert log.values() == [b"1", b"2"]


def test_later_passes_remove_what_was_kept_before():
    log = filled()
    log.compact()
    log.append((b"a", b"6"), (b"c", b"7"))
    log.roll()

    log.compact()

    assert log.records() == [(1, b"b", b"2"), (5, b"a", b"6"), (6, b"c", b"7")]


def test_segments_that_shrink_become_one():
    log = CompactedLog()
    for number in range(20):
        log.append((b"a", b"%d" % number))
        log.roll()
    assert len(log.log.segments) == 21

    log.compact()

    assert log.values() == [b"19"]
    assert log.log.segments.base_offsets[0] == 0
    assert len(log.log.segments) < 21
    assert not [name for name in log.names() if name.endswith((".cleaned", ".swap"))]


def test_segments_stay_within_the_size_of_a_segment():
    log = CompactedLog()
    for number in range(30):
        log.append((b"%d" % number, b"x" * 100))
    log.roll()

    log.compact()

    assert len(log.values()) == 30
    assert max(segment.size for segment in log.log.segments) <= 400
    assert len(log.log.segments) > 5


@pytest.mark.parametrize("compression", list(Compression))
def test_rewritten_batches_keep_their_codec_and_timestamps(compression):
    log = CompactedLog()
    log.append((b"a", b"1"), (b"b", b"2"), timestamp_ms=START_MS + 7, compression=compression)
    log.append((b"a", b"3"))
    log.roll()

    log.compact()

    first = log.batches()[0]
    assert first.compression_type is compression
    assert [(each.offset, each.timestamp) for each in first] == [(1, START_MS + 7)]
    assert (first.base_offset, first.last_offset, first.max_timestamp) == (0, 1, START_MS + 7)


def test_batches_that_lose_nothing_stay_byte_for_byte():
    log = filled()
    before = [bytes(batch.data) for batch in log.batches()]

    log.compact()

    after = [bytes(batch.data) for batch in log.batches()]
    assert after[-2:] == before[-2:]


def test_log_append_time_stays():
    log = CompactedLog(message_timestamp_type="LogAppendTime")
    log.append((b"a", b"1"), (b"b", b"2"), timestamp_ms=5)
    stamped = log.batches()[0].max_timestamp
    log.append((b"a", b"3"))
    log.roll()

    log.compact()

    first = log.batches()[0]
    assert first.timestamp_type is TimestampType.LOG_APPEND_TIME
    assert [each.timestamp for each in first] == [stamped]


# Tombstones


def test_tombstone_stays_for_delete_retention_and_then_goes():
    log = CompactedLog(delete_retention_ms=str(DAY_MS))
    log.append((b"a", b"1"))
    log.append((b"a", None))
    log.roll()
    log.compact()
    assert log.records() == [(1, b"a", None)]
    horizon = log.batches()[-1].delete_horizon_ms
    assert horizon == log.clock.time_ms() + DAY_MS

    log.clock.advance(DAY_MS / 1000 - 1)
    log.append((b"b", b"2"))
    log.roll()
    log.compact()
    assert log.records() == [(1, b"a", None), (2, b"b", b"2")]
    assert log.batches()[-2].delete_horizon_ms == horizon

    log.clock.advance(1)
    log.append((b"b", b"3"))
    log.roll()
    log.compact()
    assert log.records() == [(3, b"b", b"3")]


def test_timestamps_of_tombstones_survive_the_delete_horizon():
    log = CompactedLog()
    log.append((b"a", None), (b"b", b"1"), timestamp_ms=START_MS - 99)
    log.roll()

    log.compact()

    assert [each.timestamp for each in log.batches()[0]] == [START_MS - 99, START_MS - 99]


def test_value_after_a_tombstone_removes_it_at_once():
    log = CompactedLog()
    log.append((b"a", None))
    log.append((b"a", b"1"))
    log.roll()

    log.compact()

    assert log.records() == [(1, b"a", b"1")]


# Producers and transactions


def test_last_batch_of_a_producer_keeps_its_header():
    log = CompactedLog()
    log.append((b"a", b"1"), producer_id=5, producer_epoch=2, base_sequence=0)
    log.append((b"a", b"2"), producer_id=5, producer_epoch=2, base_sequence=1)
    log.append((b"a", b"3"))
    log.roll()

    log.compact()

    kept = [(b.producer_id, b.producer_epoch, b.base_sequence, b.count) for b in log.batches()]
    assert kept == [(5, 2, 1, 0), (-1, -1, -1, 1)]
    assert log.records() == [(2, b"a", b"3")]


def test_segment_says_where_it_ends_although_its_last_record_went():
    log = CompactedLog()
    log.append((b"b", b"0"))
    log.append((b"a", b"1"))
    log.roll()
    log.append((b"a", b"2" * 300))
    log.roll()

    log.compact()

    first = next(iter(log.log.segments))
    assert [batch.last_offset for batch in first.batches()] == [0, 1]


def test_records_of_aborted_transactions_go():
    log = CompactedLog()
    log.append((b"a", b"1"))
    producer = {"producer_id": 7, "producer_epoch": 0, "is_transactional": True}
    log.append((b"a", b"aborted"), base_sequence=0, **producer)
    end_transaction(log.log, commit=False)
    log.append((b"a", b"committed"), base_sequence=1, **producer)
    end_transaction(log.log, commit=True)
    log.append((b"b", b"2"))
    log.roll()

    log.compact()

    assert [each for each in log.values() if each in (b"1", b"aborted", b"committed", b"2")] == [
        b"committed",
        b"2",
    ]


def test_records_of_aborted_transactions_remove_nothing():
    log = CompactedLog()
    log.append((b"a", b"1"))
    log.append(
        (b"a", b"aborted"), producer_id=7, producer_epoch=0, base_sequence=0, is_transactional=True
    )
    end_transaction(log.log, commit=False)
    log.roll()

    log.compact()

    assert log.values()[0] == b"1"
    assert b"aborted" not in log.values()


def test_records_are_found_by_their_timestamps_after_compaction():
    log = CompactedLog()
    for number in range(3):
        log.append((b"%d" % number, b"x"), timestamp_ms=START_MS + number)
    log.append((b"0", b"y"), timestamp_ms=START_MS + 3)
    log.roll()

    log.compact()

    found = [log.log.reader.find_timestamp(START_MS + number)[0] for number in range(4)]
    assert found == [1, 1, 2, 3]
    assert next(iter(log.log.segments)).largest_timestamp_ms == START_MS + 3


def test_transaction_after_an_aborted_one_of_the_same_producer_counts():
    log = CompactedLog()
    producer = {"producer_id": 7, "producer_epoch": 0, "is_transactional": True}
    log.append((b"a", b"aborted"), base_sequence=0, **producer)
    end_transaction(log.log, commit=False)
    log.roll()
    log.compact()
    log.append((b"a", b"1"), (b"a", b"2"), base_sequence=1, **producer)
    end_transaction(log.log, commit=True)
    log.roll()

    log.compact()

    assert [value for _, key, value in log.records() if key == b"a"] == [b"2"]


INT_0, INT_1 = b"\0\0\0\0", b"\0\0\0\1"
"""Keys that are integers, and the same bytes as those of markers that abort and that commit."""


def test_marker_removes_no_record_whose_key_is_as_its_own():
    log = CompactedLog()
    log.append((INT_1, b"1"))
    log.append(
        (b"a", b"2"), producer_id=7, producer_epoch=0, base_sequence=0, is_transactional=True
    )
    end_transaction(log.log, commit=True)
    log.roll()

    log.compact()

    assert [each for each in log.values() if each in (b"1", b"2")] == [b"1", b"2"]


def test_aborted_record_whose_key_is_as_that_of_a_marker_ends_no_transaction():
    log = CompactedLog()
    log.append((b"a", b"1"))
    producer = {"producer_id": 7, "producer_epoch": 0, "is_transactional": True}
    log.append((INT_0, b"aborted"), base_sequence=0, **producer)
    log.append((b"a", b"aborted"), base_sequence=1, **producer)
    end_transaction(log.log, commit=False)
    log.roll()

    log.compact()

    assert log.values()[0] == b"1"


def test_marker_stays_as_long_as_the_header_of_a_batch_of_its_aborted_transaction():
    log = CompactedLog(delete_retention_ms="0")
    log.append(
        (b"a", b"1"), producer_id=7, producer_epoch=0, base_sequence=0, is_transactional=True
    )
    end_transaction(log.log, commit=False)
    for value in (b"2", b"3", b"4"):
        log.append((b"b", value))
        log.roll()
        log.compact()
        log.clock.advance(1)
    log.manager.close()

    reopened = CompactedLog(log.filesystem, clock=log.clock)

    assert [batch.is_control for batch in reopened.batches()][:2] == [False, True]
    assert reopened.log.last_stable_offset == reopened.log.log_end_offset


def test_aborted_transaction_is_noted_in_the_index_of_its_own_segment_alone():
    log = CompactedLog()
    log.append(
        (b"a", b"1"), producer_id=7, producer_epoch=0, base_sequence=0, is_transactional=True
    )
    end_transaction(log.log, commit=False)
    for key in (b"b", b"c", b"d"):
        log.append((key, b"x" * 200))
        log.roll()

    log.compact()

    indexes = [segment.indexes.transactions for segment in log.log.segments]
    assert [len(index.overlapping(0, 100)[0]) for index in indexes] == [1, 0, 0, 0, 0]


def test_log_is_opened_by_its_records_although_a_marker_was_emptied():
    log = CompactedLog(delete_retention_ms="0")
    end_transaction(log.log, commit=True)
    for value in (b"1", b"2", b"3"):
        log.append((b"a", value))
        log.roll()
        log.compact()
        log.clock.advance(1)
    assert next((batch.is_control, batch.count) for batch in log.batches()) == (True, 0)
    log.manager.close()
    for name in log.names():
        if name.endswith(".snapshot"):
            log.filesystem.remove(f"{log.log.directory}/{name}")

    reopened = CompactedLog(log.filesystem, clock=log.clock)

    assert reopened.values()[-1] == b"3"


def test_marker_goes_after_its_records_and_the_delete_horizon():
    log = CompactedLog(delete_retention_ms="1000")
    log.append(
        (b"a", b"1"), producer_id=7, producer_epoch=0, base_sequence=0, is_transactional=True
    )
    end_transaction(log.log, commit=True)
    log.append((b"a", b"2"))
    log.roll()
    log.log.producers.expire(log.clock.time_ms() + 10 * DAY_MS, 1)

    log.compact()  # removes the record
    assert [batch.is_control for batch in log.batches()] == [True, False]
    assert log.batches()[0].delete_horizon_ms is None

    log.append((b"a", b"3"))
    log.roll()
    log.compact()  # finds that the marker ends nothing
    horizon = log.batches()[0].delete_horizon_ms
    assert horizon == log.clock.time_ms() + 1000

    log.clock.advance(1)
    log.append((b"a", b"4"))
    log.roll()
    log.compact()
    assert [batch.is_control for batch in log.batches()] == [False]


def test_nothing_above_an_open_transaction_is_compacted():
    log = CompactedLog()
    log.append((b"a", b"1"))
    log.roll()
    log.append(
        (b"t", b"open"), producer_id=7, producer_epoch=0, base_sequence=0, is_transactional=True
    )
    log.append((b"a", b"2"))
    log.roll()
    log.append((b"a", b"3"))
    log.roll()

    log.compact()

    assert log.values() == [b"1", b"open", b"2", b"3"]


def test_aborted_transactions_are_still_known_to_readers_after_a_restart():
    log = CompactedLog()
    log.append(
        (b"a", b"1"), producer_id=7, producer_epoch=0, base_sequence=0, is_transactional=True
    )
    end_transaction(log.log, commit=False)
    log.append((b"b", b"2"))
    log.roll()
    log.compact()
    log.manager.close()

    reopened = CompactedLog(log.filesystem, clock=log.clock)

    assert reopened.values()[-1] == b"2"
    assert [(entry.producer_id, entry.epoch) for entry in reopened.log.producers] == [(7, 0)]


def test_records_without_keys_go_from_a_log_that_became_compacted():
    log = CompactedLog(cleanup_policy="delete")
    log.append((None, b"1"), (b"a", b"2"))
    log.roll()
    log.log.config = CompactedLog().config

    log.compact()

    assert log.values() == [b"2"]


def test_plain_logs_are_left_alone():
    log = CompactedLog(cleanup_policy="delete")
    log.append((b"a", b"1"))
    log.append((b"a", b"2"))
    log.roll()

    log.compact()

    assert log.values() == [b"1", b"2"]
    assert open_log().compacted_to == 0
