from __future__ import annotations

from typing import Any

import pytest

from pyk.protocol.records import (
    Compression,
    FetchedRecords,
    RecordBatchError,
    TimestampType,
    UnsupportedMagicError,
)
from support.record_batches import control_batch, raw_batch, record, sealed

ABORT, COMMIT, LEADER_CHANGE = 0, 1, 2


def transactional(*values: bytes, base_offset: int, producer_id: int = 1) -> bytes:
    return sealed(
        *values,
        base_offset=base_offset,
        producer_id=producer_id,
        producer_epoch=0,
        base_sequence=0,
        is_transactional=True,
    )


def fetched(data: bytes, fetch_offset: int = 0, **options: Any) -> FetchedRecords:
    return FetchedRecords("orders", 3, data, fetch_offset, **options)


def drain(records: FetchedRecords, max_records: int = 100) -> list[bytes | None]:
    values: list[bytes | None] = []
    while (span := records.next_span(max_records)) is not None:
        values += [one.value for one in span]
    return values


@pytest.mark.parametrize("item", ["c", "b", "B"])
def test_records_are_read_from_views_of_any_items(item: str) -> None:
    data = memoryview(sealed(b"a", b"b")).cast(item)

    assert drain(FetchedRecords("orders", 3, data, 0)) == [b"a", b"b"]


def test_records_are_read_from_views_of_longer_items() -> None:
    data = sealed(b"a" * 100)
    filler = sealed(b"b" * (100 + -len(data) % 8), base_offset=1)
    words = memoryview((data + filler)[: (len(data) + len(filler)) // 8 * 8]).cast("q")

    assert drain(FetchedRecords("orders", 3, words, 0))[0] == b"a" * 100


def test_records_come_in_spans_of_at_most_max_records() -> None:
    records = fetched(sealed(b"a", b"b", b"c") + sealed(b"d", base_offset=3))

    sizes, offsets = [], []
    while (span := records.next_span(2)) is not None:
        sizes.append(len(span))
        offsets.append(records.next_offset)

    assert sizes == [2, 1, 1]
    assert offsets == [2, 3, 4]


@pytest.mark.parametrize("compression", list(Compression))
def test_records_below_the_fetch_offset_are_left_out(compression: Compression) -> None:
    data = sealed(b"a", b"b", b"c", base_offset=10, compression=compression)

    assert drain(fetched(data, 11)) == [b"b", b"c"]


def test_batches_below_the_fetch_offset_are_left_out() -> None:
    data = sealed(b"a") + sealed(b"b", base_offset=1) + sealed(b"c", base_offset=2)

    assert drain(fetched(data, 2)) == [b"c"]


def test_a_fetch_offset_after_everything_stays() -> None:
    records = fetched(sealed(b"a"), 50)

    assert drain(records) == []
    assert records.next_offset == 50


def test_a_batch_that_comes_twice_is_delivered_once() -> None:
    data = sealed(b"a", b"b") + sealed(b"a", b"b") + sealed(b"b", b"c", base_offset=1)

    assert drain(fetched(data)) == [b"a", b"b", b"c"]


def test_the_origin_says_where_records_are_from() -> None:
    span = fetched(sealed(b"a", leader_epoch=9)).next_span(1)

    assert span is not None
    assert (span.origin.topic, span.origin.partition, span.origin.leader_epoch) == ("orders", 3, 9)
    assert span.origin.timestamp_type is TimestampType.CREATE_TIME


def test_batches_emptied_by_compaction_are_passed() -> None:
    data = raw_batch(b"", 0, base_offset=100, last_offset_delta=9)
    records = fetched(data, 100)

    assert records.next_span(10) is None
    assert records.next_offset == 110


def test_the_offset_moves_after_records_that_compaction_removed_at_the_end() -> None:
    data = raw_batch(record(0) + record(3), 2, base_offset=10, last_offset_delta=9)
    records = fetched(data, 10)

    records.next_span(1)
    assert records.next_offset == 11
    records.next_span(1)
    assert records.next_offset == 20


def test_a_fetch_offset_in_a_gap_at_the_end_of_a_batch_moves_after_it() -> None:
    data = raw_batch(record(0), 1, base_offset=10, last_offset_delta=9)
    records = fetched(data, 15)

    assert records.next_span(10) is None
    assert records.next_offset == 20


def test_control_batches_are_never_delivered() -> None:
    data = (
        control_batch(LEADER_CHANGE, base_offset=0)
        + transactional(b"a", base_offset=1)
        + control_batch(COMMIT, base_offset=2)
    )
    records = fetched(data)

    assert drain(records) == [b"a"]
    assert records.next_offset == 3
    assert records.unknown_control_batches == 0


def test_uncommitted_reading_delivers_aborted_records() -> None:
    data = transactional(b"a", base_offset=0) + control_batch(ABORT, base_offset=1)

    assert drain(fetched(data)) == [b"a"]


def test_committed_reading_leaves_aborted_records_out_and_moves_past_them() -> None:
    data = transactional(b"a", base_offset=0) + control_batch(ABORT, base_offset=1)
    records = fetched(data, aborted_transactions=[(1, 0)])

    assert drain(records) == []
    assert records.next_offset == 2


def test_a_producer_is_read_again_after_its_abort_marker() -> None:
    data = (
        transactional(b"aborted", base_offset=0)
        + control_batch(ABORT, base_offset=1)
        + transactional(b"committed", base_offset=2)
        + control_batch(COMMIT, base_offset=3)
        + transactional(b"aborted again", base_offset=4)
        + control_batch(ABORT, base_offset=5)
    )

    assert drain(fetched(data, aborted_transactions=[(1, 0), (1, 4)])) == [b"committed"]


def test_only_the_aborted_producer_is_left_out() -> None:
    data = (
        transactional(b"a1", base_offset=0, producer_id=1)
        + transactional(b"b1", base_offset=1, producer_id=2)
        + sealed(b"plain", base_offset=2)
        + sealed(b"idempotent", base_offset=3, producer_id=1, producer_epoch=0, base_sequence=9)
        + control_batch(ABORT, base_offset=4, producer_id=1)
        + control_batch(COMMIT, base_offset=5, producer_id=2)
    )

    values = drain(fetched(data, aborted_transactions=[(1, 0)]))

    assert values == [b"b1", b"plain", b"idempotent"]


@pytest.mark.parametrize(
    "aborted",
    [
        [(2, 1), (1, 0)],
        [(1, 0), (2, 1), (1, 0), (2, 1)],
        [(9, 0), (1, 0), (9, 5), (2, 1), (7, 1 << 62)],
    ],
    ids=["out of order", "repeated", "of strangers"],
)
def test_the_list_of_aborted_transactions_may_be_in_any_state(
    aborted: list[tuple[int, int]],
) -> None:
    data = (
        transactional(b"a", base_offset=0, producer_id=1)
        + transactional(b"b", base_offset=1, producer_id=2)
        + control_batch(ABORT, base_offset=2, producer_id=2)
        + control_batch(ABORT, base_offset=3, producer_id=2)
        + transactional(b"c", base_offset=4, producer_id=2)
        + control_batch(ABORT, base_offset=5, producer_id=1)
    )

    assert drain(fetched(data, aborted_transactions=aborted)) == [b"c"]


def test_a_marker_without_a_transaction_is_no_more_than_a_marker() -> None:
    data = control_batch(ABORT, base_offset=0) + transactional(b"a", base_offset=1)

    assert drain(fetched(data, aborted_transactions=[])) == [b"a"]


def test_a_transaction_that_was_aborted_before_the_fetch_began_is_left_out() -> None:
    data = transactional(b"a", b"b", base_offset=10)

    assert drain(fetched(data, 11, aborted_transactions=[(1, 3)])) == []


def test_a_partial_batch_ends_the_response_without_an_error() -> None:
    data = sealed(b"a") + sealed(b"b", base_offset=1)[:-1]
    records = fetched(data)

    assert drain(records) == [b"a"]
    assert records.next_offset == 1


def test_batches_before_an_unreadable_one_come_first() -> None:
    records = fetched(sealed(b"a") + raw_batch(b"", 0, base_offset=1, magic=3))

    assert records.next_span(10) is not None
    with pytest.raises(UnsupportedMagicError) as caught:
        records.next_span(10)
    assert caught.value.base_offset == 1


def test_a_consumer_may_seek_past_an_unreadable_batch() -> None:
    bad = raw_batch(record(0) + b"?", 1, base_offset=1)
    data = sealed(b"a") + bad + sealed(b"c", base_offset=2)
    records = fetched(data)
    records.next_span(10)

    with pytest.raises(RecordBatchError) as caught:
        records.next_span(10)

    assert caught.value.next_offset == 2
    # A broker answers a fetch from there with the batches after it.
    assert drain(fetched(data[len(sealed(b"a")) + len(bad) :], 2)) == [b"c"]


def test_a_span_has_at_least_one_record() -> None:
    with pytest.raises(ValueError, match="max_records=0"):
        fetched(sealed(b"a")).next_span(0)


def test_an_empty_response_holds_nothing() -> None:
    assert fetched(b"").next_span(1) is None
