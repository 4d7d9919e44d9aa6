"""Which of the batches that a share fetch has read are sent, and which are aborted."""

from __future__ import annotations

import pytest

from pyk.reference_broker.share.acquisition import AcquiredRecords
from pyk.reference_broker.share.log_batches import (
    aborted_ranges,
    batches_of,
    records_of,
    without,
)
from pyk.reference_broker.storage.file_records import NO_RECORDS, FileRecords
from pyk.reference_broker.storage.unstable_transactions import EndedTransaction
from support.logs import append, append_in_transaction, open_log


def three_batches() -> FileRecords:
    log = open_log()
    for _ in range(3):
        append(log, b"a", b"b")
    return log.reader.read(0, 1 << 20)


def test_a_batch_that_is_cut_off_is_left_out() -> None:
    records = three_batches()
    size = records.size // 3

    for cut in (1, 30, size - 1):
        found = batches_of(FileRecords(records.file, records.position, 2 * size + cut), 99)
        assert [batch.base_offset for batch in found] == [0, 2]
    assert len(batches_of(records, 99)) == 3


def test_no_more_batches_are_looked_at_than_needed() -> None:
    for enough in (2, 3):
        assert [batch.base_offset for batch in batches_of(three_batches(), enough)] == [0, 2]
    assert batches_of(NO_RECORDS, 2) == []


def test_what_is_sent_begins_and_ends_with_what_was_acquired() -> None:
    records = three_batches()
    size = records.size // 3
    batches = batches_of(records, 99)

    sent = records_of(records, batches, [AcquiredRecords(3, 3, 1), AcquiredRecords(4, 4, 1)])

    assert (sent.position, sent.size) == (records.position + size, 2 * size)
    sent = records_of(records, batches, [AcquiredRecords(2, 3, 1)])
    assert (sent.position, sent.size) == (records.position + size, size)
    assert records_of(records, batches, [AcquiredRecords(9, 9, 1)]) is NO_RECORDS


def test_batches_of_aborted_transactions_are_found() -> None:
    log = open_log()
    append_in_transaction(log, b"a", b"b")
    append(log, b"c")
    append_in_transaction(log, b"d", producer_id=8)
    records = log.reader.read(0, 1 << 20)
    batches = batches_of(records, 99)

    ended = [EndedTransaction(7, 0, 4, 5), EndedTransaction(8, 9, 12, 13)]

    assert aborted_ranges(batches, ended) == [(0, 1)]


def test_several_transactions_of_one_producer_may_have_been_aborted() -> None:
    log = open_log()
    for number in range(2):
        append_in_transaction(log, b"a", base_sequence=number)
    batches = batches_of(log.reader.read(0, 1 << 20), 99)

    ended = [EndedTransaction(7, 0, 1, 1), EndedTransaction(7, 1, 2, 2)]

    assert aborted_ranges(batches, ended) == [(0, 0), (1, 1)]


@pytest.mark.parametrize(
    ("ranges", "left"),
    [
        ([], [(0, 9)]),
        ([(0, 9)], []),
        ([(0, 3)], [(4, 9)]),
        ([(3, 4)], [(0, 2), (5, 9)]),
        ([(1, 1), (5, 20)], [(0, 0), (2, 4)]),
        ([(20, 30)], [(0, 9)]),
        ([(0, 8)], [(9, 9)]),
        ([(9, 9)], [(0, 8)]),
    ],
)
def test_aborted_records_are_taken_out(
    ranges: list[tuple[int, int]], left: list[tuple[int, int]]
) -> None:
    found = without([AcquiredRecords(0, 9, 2)], ranges)

    assert found == [AcquiredRecords(first, last, 2) for first, last in left]


@pytest.mark.parametrize(
    ("ranges", "left"),
    [
        ([(0, 3)], [(5, 9)]),
        ([(0, 4)], [(5, 9)]),
        ([(0, 5)], [(6, 9)]),
        ([(9, 12)], [(5, 8)]),
        ([(10, 12)], [(5, 9)]),
        ([(0, 3), (10, 12)], [(5, 9)]),
    ],
)
def test_what_was_aborted_around_acquired_records_is_left_alone(
    ranges: list[tuple[int, int]], left: list[tuple[int, int]]
) -> None:
    found = without([AcquiredRecords(5, 9, 2)], ranges)

    assert found == [AcquiredRecords(first, last, 2) for first, last in left]
