"""Batches that open a transaction wait for the coordinator: none overtakes an earlier one."""

from __future__ import annotations

import pytest

from pyk.reference_broker.storage import OutOfOrderSequenceError
from pyk.runtime.virtual_time import START_MS
from support.logs import append_in_transaction, end_transaction, open_log


def expect(log, sequence, *, epoch=0, begins_at_zero=False):
    log.producers.expected.expect(
        7, epoch, sequence, begins_at_zero=begins_at_zero, now_ms=START_MS
    )


def test_later_batch_does_not_open_the_transaction_of_an_unknown_producer():
    log = open_log()
    expect(log, 10)  # the coordinator did not answer for this one
    expect(log, 11)

    with pytest.raises(OutOfOrderSequenceError, match="at sequence 11, expected was 10"):
        append_in_transaction(log, b"11", base_sequence=11)
    append_in_transaction(log, b"10", base_sequence=10)
    append_in_transaction(log, b"11", base_sequence=11)


def test_earlier_batch_may_come_second():
    log = open_log()
    expect(log, 11)
    expect(log, 10)

    with pytest.raises(OutOfOrderSequenceError):
        append_in_transaction(log, b"11", base_sequence=11)
    append_in_transaction(log, b"10", base_sequence=10)


def test_producer_of_version_2_begins_at_zero_where_it_is_not_known():
    log = open_log()
    expect(log, 1, begins_at_zero=True)

    with pytest.raises(OutOfOrderSequenceError, match="expected was 0"):
        append_in_transaction(log, b"1", base_sequence=1)
    append_in_transaction(log, b"0", base_sequence=0)


def test_newer_epoch_replaces_what_was_expected():
    log = open_log()
    expect(log, 0)
    expect(log, 5, epoch=1)
    expect(log, 0)  # late

    append_in_transaction(log, b"5", producer_epoch=1, base_sequence=5)


def test_nothing_is_expected_any_more_once_the_transaction_is_open_or_has_ended():
    log = open_log()
    expect(log, 0)
    append_in_transaction(log, b"0")
    append_in_transaction(log, b"1", base_sequence=1)
    expect(log, 0)
    end_transaction(log, commit=True)
    assert not log.producers.expected.producers

    append_in_transaction(log, b"2", base_sequence=2)
    assert not log.producers.expected.producers


def test_batch_of_a_known_producer_does_not_overtake_one_that_waits():
    log = open_log()
    append_in_transaction(log, b"0")
    end_transaction(log, commit=True)
    expect(log, 0, begins_at_zero=True)  # late, and sent before the marker

    with pytest.raises(OutOfOrderSequenceError, match="at sequence 1, expected was 0"):
        append_in_transaction(log, b"1", base_sequence=1)


def test_producer_of_version_2_goes_on_where_it_is_known():
    log = open_log()
    append_in_transaction(log, b"0")
    end_transaction(log, commit=True)
    expect(log, 1, begins_at_zero=True)

    append_in_transaction(log, b"1", base_sequence=1)


def test_other_producers_write_while_one_waits():
    log = open_log()
    expect(log, 0)

    append_in_transaction(log, b"0", producer_id=8, base_sequence=42)


def test_expectation_expires_with_the_producers():
    log = open_log()
    expect(log, 0)

    log.producers.expire(START_MS + 999, expiration_ms=1000)
    assert log.producers.expected.producers
    log.producers.expire(START_MS + 1000, expiration_ms=1000)
    assert not log.producers.expected.producers
