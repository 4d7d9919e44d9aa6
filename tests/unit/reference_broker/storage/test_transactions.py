"""Transactions in a log: who may write and end them, what holds readers back, what was aborted."""

from __future__ import annotations

import pytest

from pyk.protocol.records import Compression, read_batches
from pyk.reference_broker.storage import (
    AppendOrigin,
    InvalidProducerEpochError,
    InvalidTransactionStateError,
    OutOfOrderSequenceError,
    TransactionCoordinatorFencedError,
    TransactionMarker,
)
from pyk.runtime.virtual_time import START_MS
from support.logs import (
    aborted_transactions,
    append,
    append_in_transaction,
    batch,
    end_transaction,
    open_log,
)

# What a reader sees


def test_open_transaction_holds_back_the_last_stable_offset():
    log = open_log()
    append(log, b"before")
    append_in_transaction(log, b"0", b"1")
    append(log, b"behind")

    assert log.last_stable_offset == 1

    assert end_transaction(log, commit=True).base_offset == 4
    assert log.last_stable_offset == log.log_end_offset == 5


def test_oldest_open_transaction_counts():
    log = open_log()
    append_in_transaction(log, b"0", producer_id=1)
    append_in_transaction(log, b"1", producer_id=2)

    end_transaction(log, producer_id=2, commit=True)
    assert log.last_stable_offset == 0
    end_transaction(log, producer_id=1, commit=False)
    assert log.last_stable_offset == log.log_end_offset


def test_transaction_is_unstable_until_the_high_watermark_has_passed_its_marker():
    log = open_log()
    append(log, b"before")
    append_in_transaction(log, b"0")
    end_transaction(log, commit=True)

    log.high_watermark = 2
    assert log.last_stable_offset == 1
    log.high_watermark = 3
    assert log.last_stable_offset == 3


def test_oldest_unstable_transaction_counts_whether_it_is_open_or_has_ended():
    log = open_log()
    append(log, b"before")
    append_in_transaction(log, b"1", producer_id=1)
    append_in_transaction(log, b"2", producer_id=2)
    end_transaction(log, producer_id=1, commit=True)

    log.high_watermark = 3
    assert log.last_stable_offset == 1
    log.high_watermark = 4
    assert log.last_stable_offset == 2


def test_last_stable_offset_is_not_above_the_high_watermark():
    log = open_log()
    append(log, b"0")
    append(log, b"1")
    append_in_transaction(log, b"2")
    log.high_watermark = 1

    assert log.last_stable_offset == 1


def test_last_stable_offset_is_not_below_the_log_start():
    log = open_log()
    append_in_transaction(log, b"0", b"1", b"2")
    log.advance_log_start_offset(2)

    assert log.last_stable_offset == 2


def test_reader_is_told_of_the_aborted_transactions_that_it_overlaps():
    log = open_log()
    append_in_transaction(log, b"0", producer_id=1)  # offset 0, marker at 3
    append_in_transaction(log, b"1", producer_id=2)  # offset 1, marker at 4
    append_in_transaction(log, b"2", producer_id=3)  # offset 2, committed at 5
    end_transaction(log, producer_id=1, commit=False)
    end_transaction(log, producer_id=2, commit=False)
    end_transaction(log, producer_id=3, commit=True)
    append_in_transaction(log, b"6", producer_id=1, base_sequence=1)  # offset 6, marker at 7
    end_transaction(log, producer_id=1, commit=False)

    assert aborted_transactions(log) == [(1, 0), (2, 1), (1, 6)]
    assert aborted_transactions(log, offset=3) == [(1, 0), (2, 1), (1, 6)]
    assert aborted_transactions(log, offset=4) == [(2, 1), (1, 6)]
    assert aborted_transactions(log, offset=5) == [(1, 6)]
    assert aborted_transactions(log, offset=8) == []


def test_reader_of_one_batch_is_told_only_what_may_concern_it():
    log = open_log(index_interval_bytes=0)
    for number in range(50):
        append_in_transaction(log, b"x", producer_id=number)
        end_transaction(log, producer_id=number, commit=False)

    first = aborted_transactions(log, offset=10, max_bytes=1)

    assert first[0] == (5, 10)
    assert len(first) <= 2
    assert len(aborted_transactions(log)) == 50


def test_older_transaction_that_was_aborted_later_is_found():
    log = open_log()
    append_in_transaction(log, b"0", producer_id=1)
    append_in_transaction(log, b"1", producer_id=2)
    end_transaction(log, producer_id=2, commit=False)
    append_in_transaction(log, b"3", producer_id=2, base_sequence=1)
    end_transaction(log, producer_id=1, commit=False)
    end_transaction(log, producer_id=2, commit=False)
    index = log.segments.active.indexes.transactions

    found, is_complete = index.overlapping(0, 2)

    assert [(each.producer_id, each.first_offset) for each in found] == [(2, 1), (1, 0)]
    assert is_complete


def test_aborted_transaction_is_found_in_the_segment_of_its_marker():
    log = open_log()
    append_in_transaction(log, b"0")
    log.roll()
    append(log, b"1")
    log.roll()
    end_transaction(log, commit=False)

    assert aborted_transactions(log, max_bytes=1) == [(7, 0)]


# Who may write


def test_marker_is_a_control_batch_of_the_producer():
    log = open_log()
    append_in_transaction(log, b"x", producer_epoch=3)
    end_transaction(log, commit=False, producer_epoch=3, coordinator_epoch=5)

    _, marker = read_batches(log.reader.read(0, 1 << 20).read())

    assert (marker.is_control, marker.is_transactional) == (True, True)
    assert (marker.producer_id, marker.producer_epoch, marker.base_sequence) == (7, 3, -1)
    (record,) = marker
    assert (record.key, record.value) == (bytes(4), bytes([0, 0, 0, 0, 0, 5]))
    assert record.timestamp == START_MS
    assert TransactionMarker.decode(marker) == TransactionMarker(7, 3, 5, is_commit=False)


@pytest.mark.parametrize(
    "topic_config", [{"compression_type": "zstd"}, {"cleanup_policy": ("compact",)}]
)
def test_marker_is_not_compressed_and_may_be_in_any_topic(topic_config):
    log = open_log(**topic_config)
    append_in_transaction(log, b"x" * 100)
    end_transaction(log, commit=True)

    stored = list(read_batches(log.reader.read(0, 1 << 20).read()))

    assert stored[1].compression_type is Compression.NONE
    assert stored[1].is_control


def test_record_outside_of_the_open_transaction_is_refused():
    log = open_log()
    append_in_transaction(log, b"0")

    with pytest.raises(InvalidTransactionStateError, match="open since offset 0"):
        append(log, b"1", producer_id=7, producer_epoch=0, base_sequence=1)
    assert log.log_end_offset == 1

    end_transaction(log, commit=True)
    append(log, b"1", producer_id=7, producer_epoch=0, base_sequence=1)


def test_retry_of_a_transactional_batch_gets_its_first_offsets():
    log = open_log()
    append_in_transaction(log, b"0")
    sent = batch(b"0", producer_id=7, producer_epoch=0, base_sequence=0, is_transactional=True)

    assert log.append_as_leader(sent, 0).is_duplicate
    end_transaction(log, commit=True)
    assert log.append_as_leader(sent, 0).is_duplicate
    assert log.last_stable_offset == 2


def test_sequences_go_on_after_a_marker_of_the_same_epoch():
    log = open_log()
    append_in_transaction(log, b"0", b"1")
    end_transaction(log, commit=True)

    append_in_transaction(log, b"2", base_sequence=2)


def test_marker_with_a_raised_epoch_begins_the_sequences_again():
    log = open_log()
    append_in_transaction(log, b"0", b"1")
    end_transaction(log, commit=True, producer_epoch=1, transaction_version=2)

    with pytest.raises(InvalidProducerEpochError):
        append_in_transaction(log, b"late", base_sequence=2)
    with pytest.raises(OutOfOrderSequenceError, match="expected was 0"):
        append_in_transaction(log, b"gap", producer_epoch=1, base_sequence=2)
    append_in_transaction(log, b"2", producer_epoch=1, base_sequence=0)


@pytest.mark.parametrize("transaction_version", [0, 1, 2])
def test_marker_of_an_older_epoch_is_refused(transaction_version):
    log = open_log()
    append_in_transaction(log, b"0", producer_epoch=2)

    with pytest.raises(InvalidProducerEpochError, match="with epoch 1, but the last epoch is 2"):
        end_transaction(log, commit=True, producer_epoch=1, transaction_version=transaction_version)
    assert log.log_end_offset == 1


def test_marker_of_version_2_must_raise_the_epoch_of_an_open_transaction():
    log = open_log()
    append_in_transaction(log, b"0")

    with pytest.raises(InvalidProducerEpochError):
        end_transaction(log, commit=True, transaction_version=2)
    end_transaction(log, commit=True, transaction_version=1)


def test_repeated_marker_is_appended_and_changes_nothing():
    log = open_log()
    append_in_transaction(log, b"0")
    for _ in range(2):
        end_transaction(log, commit=False, producer_epoch=1, transaction_version=2)

    assert log.log_end_offset == 3
    assert aborted_transactions(log) == [(7, 0)]
    assert log.last_stable_offset == 3


def test_marker_of_a_late_coordinator_is_refused():
    log = open_log()
    append_in_transaction(log, b"0")
    end_transaction(log, commit=True, coordinator_epoch=4)
    append_in_transaction(log, b"1", base_sequence=1)

    with pytest.raises(TransactionCoordinatorFencedError, match=r"of epoch 3 .* epoch 4"):
        end_transaction(log, commit=False, coordinator_epoch=3)
    end_transaction(log, commit=False, coordinator_epoch=4)


def test_marker_of_an_unknown_producer_fences_its_older_epochs():
    log = open_log()
    end_transaction(log, commit=False, producer_epoch=3)

    assert log.last_stable_offset == 1
    assert aborted_transactions(log) == []
    with pytest.raises(InvalidProducerEpochError):
        append_in_transaction(log, b"late", producer_epoch=2)


def test_coordinator_writes_transactional_records_without_sequence_numbers():
    log = open_log()
    sent = batch(b"offsets", producer_id=7, producer_epoch=1, is_transactional=True)

    for _ in range(2):
        assert not log.append_as_leader(sent, 0, AppendOrigin.COORDINATOR).is_duplicate
    log.high_watermark = 2
    assert log.last_stable_offset == 0
    older = batch(b"offsets", producer_id=7, producer_epoch=0, is_transactional=True)
    with pytest.raises(InvalidProducerEpochError):
        log.append_as_leader(older, 0, AppendOrigin.COORDINATOR)
    end_transaction(log, commit=True, producer_epoch=1)
    assert log.last_stable_offset == 3


def test_producer_with_an_open_transaction_does_not_expire():
    log = open_log()
    append_in_transaction(log, b"0")

    assert log.producers.expire(START_MS + 10**9, expiration_ms=1) == 0
    end_transaction(log, commit=True)
    assert log.producers.expire(START_MS + 10**9, expiration_ms=1) == 1


def test_producer_expires_some_time_after_its_last_marker():
    log = open_log()
    append_in_transaction(log, b"0")
    log.producers.get(7).last_timestamp = START_MS - 1000
    end_transaction(log, commit=True)

    assert log.producers.expire(START_MS + 999, expiration_ms=1000) == 0
    assert log.producers.expire(START_MS + 1000, expiration_ms=1000) == 1


def test_transaction_is_open_for_its_producer_in_its_epoch_only():
    log = open_log()
    append_in_transaction(log, b"0", producer_epoch=2)

    assert log.producers.has_open_transaction(7, 2)
    assert not log.producers.has_open_transaction(7, 1)
    assert not log.producers.has_open_transaction(7, 3)
    assert not log.producers.has_open_transaction(8, 2)
    end_transaction(log, commit=True, producer_epoch=2)
    assert not log.producers.has_open_transaction(7, 2)


def test_truncation_forgets_the_transactions_that_were_cut_off():
    log = open_log()
    append(log, b"before")
    append_in_transaction(log, b"0", b"1")

    log.truncate_to(1)
    append(log, b"behind")

    assert log.last_stable_offset == log.log_end_offset == 2


def test_truncation_opens_the_transactions_whose_markers_were_cut_off():
    log = open_log()
    append(log, b"before")
    append_in_transaction(log, b"0")
    end_transaction(log, commit=True)

    log.truncate_to(2)

    assert log.producers.has_open_transaction(7, 0)
    assert log.producers.map_end_offset == 2
    assert log.last_stable_offset == 1


def test_follower_knows_transactions_too():
    leader, follower = open_log(), open_log()
    append_in_transaction(leader, b"0", producer_id=1)
    end_transaction(leader, producer_id=1, commit=False)
    append_in_transaction(leader, b"2", producer_id=2)

    follower.append_as_follower(leader.reader.read(0, 1 << 20).read())
    follower.high_watermark = 3

    assert follower.last_stable_offset == 2
    assert aborted_transactions(follower) == [(1, 0)]
