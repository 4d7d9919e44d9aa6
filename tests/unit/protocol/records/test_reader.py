from __future__ import annotations

from typing import Any

import pytest

from pyk.protocol.records import (
    ConsumerRecord,
    RecordBlock,
    RecordIterator,
    RecordSpan,
    parse_batch,
    read_batches,
    read_columns,
)
from pyk.protocol.records.record import RecordOrigin, TimestampType, owner_of
from support.record_batches import NOW_MS, ORIGIN, raw_batch, record, rows, sealed


def block_of(data: bytes) -> RecordBlock:
    batch = parse_batch(memoryview(data))
    assert batch is not None
    return batch.open()


def span_of(*values: bytes | None, base_offset: int = 0) -> RecordSpan:
    return block_of(sealed(*values, base_offset=base_offset)).span(ORIGIN)


def test_a_block_has_the_facts_that_a_broker_checks_before_it_appends() -> None:
    records = record(0, 5) + record(1, 90, key=None) + record(2, 90) + record(3, -7, key=None)

    block = block_of(raw_batch(records, 4, base_offset=10))

    assert block.are_offsets_dense
    assert (block.max_timestamp, block.max_timestamp_offset) == (NOW_MS + 90, 11)
    assert block.null_key_count == 2
    assert (len(block), block.size) == (4, len(records))


def test_gaps_between_offsets_are_noticed() -> None:
    assert not block_of(raw_batch(record(0) + record(2), 2, last_offset_delta=2)).are_offsets_dense
    assert not block_of(raw_batch(record(1), 1, last_offset_delta=1)).are_offsets_dense


UNCOUNTED = [(0, 0, 0), (2, 1, 0), (0, 5, 9), (-1, -(1 << 31), 1), ((1 << 31) - 1,) * 3]
"""Offset deltas that Apache Kafka stores as they come, counting an offset for each record."""


@pytest.mark.parametrize("deltas", UNCOUNTED)
def test_records_for_every_offset_are_counted_whatever_their_deltas_are(
    deltas: tuple[int, ...],
) -> None:
    records = b"".join(
        record(delta, index, value=b"v%d" % index, headers=[(b"h", b"x" * 60)])
        for index, delta in enumerate(deltas)
    )

    block = block_of(raw_batch(records, 3, base_offset=40))

    assert [(one.offset, one.timestamp, one.value) for one in block] == [
        (40, NOW_MS, b"v0"),
        (41, NOW_MS + 1, b"v1"),
        (42, NOW_MS + 2, b"v2"),
    ]
    assert [one.headers for one in block] == [(("h", b"x" * 60),)] * 3
    assert not block.are_offsets_dense
    assert block.max_timestamp_offset == 42


def test_counted_records_are_read_on_from_any_of_them() -> None:
    records = b"".join(record(0, value=b"v%d" % index) for index in range(200))
    block = block_of(raw_batch(records, 200, base_offset=1000))

    span = block.span(ORIGIN, 1150)
    head, rest = span.split(10)

    assert (span.first_offset, span.next_offset, len(span)) == (1150, 1200, 50)
    assert [one.offset for one in head] == list(range(1150, 1160))
    assert rest is not None
    assert [(one.offset, one.value) for one in rest][-1] == (1199, b"v199")
    (columns,) = read_columns([span])
    assert [row[0] for row in rows(columns)] == list(range(1150, 1200))
    assert rows(columns)[0][3] == b"v150"


def test_a_block_without_records_has_no_largest_timestamp() -> None:
    block = block_of(raw_batch(b"", 0, last_offset_delta=5))

    assert (block.count, block.max_timestamp, block.max_timestamp_offset) == (0, -1, -1)
    assert list(block) == []


def test_log_append_time_replaces_every_timestamp() -> None:
    data = raw_batch(record(0, 5) + record(1, 9), 2, attributes=8, max_timestamp=NOW_MS + 1000)

    block = block_of(data)

    assert [one.timestamp for one in block] == [NOW_MS + 1000] * 2
    assert block.max_timestamp == NOW_MS + 1000


def test_records_outlive_the_bytes_they_were_read_from() -> None:
    data = bytearray(sealed(b"a", b"b"))
    (batch,) = read_batches(memoryview(data))
    records = list(batch)
    del batch

    data[61:] = bytes(len(data) - 61)

    assert [one.value for one in records] == [b"a", b"b"]


def test_a_span_makes_consumer_records_that_share_their_origin() -> None:
    first, second = span_of(b"a", None, base_offset=40)

    assert first == ConsumerRecord(
        "orders", 3, 40, NOW_MS, ORIGIN.timestamp_type, b"k", b"a", (), leader_epoch=7
    )
    assert (second.offset, second.value) == (41, None)


def test_a_span_may_begin_at_an_offset_within_the_batch() -> None:
    block = block_of(raw_batch(record(0) + record(3) + record(9), 3, last_offset_delta=20))

    expected = {0: [0, 3, 9], 1: [3, 9], 3: [3, 9], 4: [9], 10: [], 21: []}
    for from_offset, offsets in expected.items():
        span = block.span(ORIGIN, from_offset)

        assert [one.offset for one in span] == offsets
        assert span.next_offset == 21
        assert span.first_offset == (offsets[0] if offsets else 21)


def test_a_split_span_is_the_same_records_in_two_pieces() -> None:
    span = span_of(b"a", b"b", b"c", base_offset=5)

    head, rest = span.split(2)

    assert rest is not None
    assert [one.value for one in head] == [b"a", b"b"]
    assert [one.value for one in rest] == [b"c"]
    assert (head.first_offset, head.next_offset) == (5, 7)
    assert (rest.first_offset, rest.next_offset) == (7, 8)


def test_the_head_of_a_split_ends_after_its_last_record_and_the_rest_after_the_batch() -> None:
    block = block_of(raw_batch(record(0) + record(5) + record(8), 3, last_offset_delta=30))

    head, rest = block.span(ORIGIN).split(2)

    assert rest is not None
    assert (head.next_offset, rest.next_offset) == (6, 31)


def test_a_split_beyond_the_end_has_no_rest() -> None:
    span = span_of(b"a", b"b")

    for count in (2, 3):
        head, rest = span.split(count)
        assert len(head) == 2
        assert rest is None
    with pytest.raises(ValueError, match="count=0"):
        span.split(0)


SPARSE = record(0) + record(2) + record(3) + record(6)


@pytest.mark.parametrize(
    ("first", "last", "part", "rest"),
    [
        (10, 19, [10, 12, 13, 16], None),
        (0, 99, [10, 12, 13, 16], None),
        (10, 12, [10, 12], [13, 16]),
        (11, 13, [12, 13], [16]),
        (12, 15, [12, 13], [16]),
        (14, 15, None, [16]),
        (16, 16, [16], None),
        (17, 30, None, None),
        (0, 9, None, [10, 12, 13, 16]),
    ],
)
def test_a_span_is_cut_at_offsets_whether_they_have_records_or_not(
    first: int, last: int, part: list[int] | None, rest: list[int] | None
) -> None:
    span = block_of(raw_batch(SPARSE, 4, last_offset_delta=9, base_offset=10)).span(ORIGIN)

    cut = span.cut(ORIGIN, first, last)

    assert [None if one is None else [each.offset for each in one] for one in cut] == [part, rest]


def test_a_cut_part_has_an_origin_of_its_own_and_ends_with_its_last_record_or_its_batch() -> None:
    acquired = RecordOrigin("orders", 3, 7, TimestampType.CREATE_TIME, "owner", 2)
    span = block_of(raw_batch(SPARSE, 4, last_offset_delta=9, base_offset=10)).span(ORIGIN)

    part, rest = span.cut(acquired, 10, 14)
    whole, nothing = span.cut(acquired, 10, 19)

    assert part is not None
    assert rest is not None
    assert whole is not None
    assert {(one.delivery_count, owner_of(one)) for one in part} == {(2, "owner")}
    assert (rest.origin, next(iter(rest)).delivery_count) == (ORIGIN, 0)
    assert (part.next_offset, rest.next_offset, whole.next_offset) == (14, 20, 20)
    assert nothing is None


def test_an_iterator_passes_through_several_spans_and_empty_ones() -> None:
    empty = block_of(sealed(b"x")).span(ORIGIN, 99)
    spans = [empty, span_of(b"a"), empty, span_of(b"b", b"c", base_offset=1), empty]

    assert [one.value for one in RecordIterator(spans)] == [b"a", b"b", b"c"]


def test_an_iterator_names_the_record_that_comes_next() -> None:
    records = RecordIterator([span_of(b"a"), span_of(b"b", base_offset=8)])

    assert (records.next_offset, records.origin) == (0, ORIGIN)
    assert records.next_record() is not None
    assert records.next_offset == 8
    records.skip()
    records.skip()
    assert (records.next_offset, records.origin, records.next_record()) == (None, None, None)
    assert list(records) == []


def test_deserializers_see_bytes_and_never_null() -> None:
    seen: list[bytes] = []

    def upper(data: bytes) -> str:
        seen.append(data)
        return data.decode().upper()

    spans = [span_of(b"a", None)]

    assert [(one.key, one.value) for one in RecordIterator(spans, upper, upper)] == [
        ("K", "A"),
        ("K", None),
    ]
    assert seen == [b"k", b"a", b"k"]


def test_an_iterator_stays_before_a_record_that_cannot_be_deserialized() -> None:
    records = RecordIterator([span_of(b"1", b"x", b"3")], None, int)
    assert next(records).value == 1

    for _ in range(2):
        with pytest.raises(ValueError, match="invalid literal"):
            next(records)
        assert records.next_offset == 1
    records.skip()

    assert [one.value for one in records] == [3]


def test_a_refused_record_can_be_looked_at_as_it_was_fetched() -> None:
    records = RecordIterator([span_of(b"1", b"x", b"3")], None, int)
    next(records)
    with pytest.raises(ValueError, match="invalid literal"):
        next(records)

    raw = records.peek()

    assert raw is not None
    assert (raw.offset, raw.value) == (records.next_offset, b"x")
    records.skip()
    assert [one.value for one in records] == [3]
    assert records.peek() is None


def test_a_deserializer_that_uses_its_own_iterator_gets_an_error() -> None:
    taken: list[Any] = []

    def meddle(data: bytes) -> bytes:
        if not taken:
            taken.append(data)
            records.skip()
        return data

    records = RecordIterator([span_of(b"a", b"b")], None, meddle)

    with pytest.raises(RuntimeError, match="used by two threads, or by a deserializer"):
        next(records)
    assert [one.value for one in records] == [b"b"]


def test_spans_are_made_by_blocks() -> None:
    with pytest.raises(TypeError):
        RecordSpan()  # type: ignore[call-arg]
