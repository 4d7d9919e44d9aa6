from __future__ import annotations

from typing import Any

import pytest

from pyk.protocol.records import (
    NO_PARTITION,
    BinaryColumn,
    FetchedRecords,
    HeadersColumn,
    RecordBatchBuilder,
    RecordOrigin,
    RecordSpan,
    TimestampType,
    parse_batch,
    partition_for_key,
    partitions_for_keys,
    read_batches,
    read_columns,
    rows_by_partition,
)
from support.record_batches import NOW_MS, ORIGIN, binary_values, raw_batch, record, rows, sealed


def spans_of(data: bytes, fetch_offset: int = 0, max_records: int = 1000) -> list[RecordSpan]:
    fetched = FetchedRecords("orders", 3, data, fetch_offset)
    return list(iter(lambda: fetched.next_span(max_records), None))


def int32s(*numbers: int) -> bytes:
    return memoryview(__import__("array").array("i", numbers)).tobytes()


VARIED = (
    record(0, 0, b"k0", b"v0")
    + record(1, -5, None, b"")
    + record(2, 70, b"", None, [(b"h", b"x"), (b"h", None)])
    + record(4, 3, None, None, [(b"", b"")])
)
VARIED_ROWS = [
    (10, NOW_MS, b"k0", b"v0", ()),
    (11, NOW_MS - 5, None, b"", ()),
    (12, NOW_MS + 70, b"", None, (("h", b"x"), ("h", None))),
    (14, NOW_MS + 3, None, None, (("", b""),)),
]


def varied(**header: Any) -> bytes:
    return raw_batch(VARIED, 4, base_offset=10, last_offset_delta=4, **header)


def test_columns_hold_what_records_hold() -> None:
    (columns,) = read_columns(spans_of(varied(), 10))

    assert rows(columns) == VARIED_ROWS
    assert columns.count == 4


def test_a_span_from_within_a_batch_gives_its_own_rows_only() -> None:
    (columns,) = read_columns(spans_of(varied(), 11, max_records=2)[:1])

    assert rows(columns) == VARIED_ROWS[1:3]


def test_log_append_time_is_in_every_row() -> None:
    (columns,) = read_columns(spans_of(varied(attributes=8, max_timestamp=99), 10))

    assert [timestamp for _, timestamp, *_ in rows(columns)] == [99] * 4


def test_columns_that_were_not_requested_are_missing() -> None:
    (columns,) = read_columns(spans_of(varied(), 10), ["value"])

    assert binary_values(columns.values) == [b"v0", b"", None, None]
    assert [columns.offsets, columns.timestamps, columns.keys, columns.headers] == [None] * 4


def test_a_field_that_records_do_not_have_is_refused_by_name() -> None:
    with pytest.raises(ValueError, match="records have no field 'topic': use some of offset"):
        read_columns([], ["topic"])


def test_origins_say_how_many_rows_share_each() -> None:
    first, second = RecordOrigin("a", 0, 1, TimestampType.CREATE_TIME), ORIGIN
    blocks = [batch.open() for batch in read_batches(sealed(b"1", b"2") + sealed(b"3"))]
    spans = [blocks[0].span(first), blocks[1].span(first), blocks[0].span(second)]

    (columns,) = read_columns(spans)

    assert columns.origins == ((first, 3), (second, 2))


def test_a_column_without_nulls_has_no_bitmap_and_one_with_them_marks_them() -> None:
    (columns,) = read_columns(spans_of(sealed(*[b"v", None] * 9)))

    assert columns.keys is not None
    assert columns.values is not None
    assert columns.keys.validity is None
    assert columns.values.validity is not None
    assert columns.values.validity.tobytes() == bytes((0b01010101, 0b01010101, 0b01))
    assert (columns.keys.null_count, columns.values.null_count) == (0, 9)


def test_no_records_are_no_chunks() -> None:
    assert read_columns([]) == []
    batch = parse_batch(memoryview(sealed(b"a")))
    assert batch is not None
    assert read_columns([batch.open().span(ORIGIN, 5)]) == []


@pytest.mark.parametrize("limit", [1, 2, 3, 5, 8, 1000])
def test_rows_beyond_the_size_of_a_chunk_go_into_the_next(limit: int) -> None:
    data = sealed(*[b"x" * size for size in (1, 2, 3, 0, 8, 1, 1)]) + varied(max_timestamp=0)

    chunks = read_columns(spans_of(data), max_chunk_bytes=limit)

    assert [row for columns in chunks for row in rows(columns)][7:] == VARIED_ROWS
    for columns in chunks:
        assert columns.values is not None
        assert columns.count == 1 or len(columns.values.data) <= limit
    assert len(chunks) == 1 or limit < 1000


def test_a_chunk_larger_than_int32_offsets_can_count_is_refused() -> None:
    for limit in (0, 1 << 31):
        with pytest.raises(ValueError, match=f"max_chunk_bytes={limit}"):
            read_columns([], max_chunk_bytes=limit)


def test_large_batches_give_the_same_columns_as_records() -> None:
    values = [b"%d" % number * 20 for number in range(5000)]

    (columns,) = read_columns(spans_of(sealed(*values)), ("value", "offset"))

    assert binary_values(columns.values) == values
    assert columns.offsets is not None
    assert memoryview(columns.offsets).cast("q").tolist() == list(range(5000))


def test_columns_that_were_read_can_be_written() -> None:
    (columns,) = read_columns(spans_of(varied(), 10))
    assert columns.values is not None
    assert columns.timestamps is not None
    builder = RecordBatchBuilder()

    taken = builder.extend_columns(
        columns.timestamps, columns.values, columns.keys, columns.headers
    )

    (batch,) = read_batches(builder.seal())
    assert taken == 4
    assert [(one.timestamp, one.key, one.value, one.headers) for one in batch] == [
        row[1:] for row in VARIED_ROWS
    ]


def test_rows_are_picked_by_number_and_taken_as_many_as_fit() -> None:
    values = BinaryColumn(4, int32s(0, 1, 2, 3, 4), b"abcd")
    builder = RecordBatchBuilder(max_bytes=61 + 3 * 8)

    assert builder.extend_columns(NOW_MS, values, rows=int32s(3, 1, 1, 0), start=1) == 3
    assert builder.extend_columns(NOW_MS, values, rows=int32s(3)) == 0

    (batch,) = read_batches(builder.seal())
    assert [one.value for one in batch] == [b"b", b"b", b"a"]


@pytest.mark.parametrize("row", [-1, 4, 1 << 30])
def test_a_row_that_is_not_there_is_refused(row: int) -> None:
    values = BinaryColumn(4, int32s(0, 1, 2, 3, 4), b"abcd")

    with pytest.raises(IndexError):
        RecordBatchBuilder().extend_columns(NOW_MS, values, rows=int32s(row))


def test_fewer_keys_or_timestamps_than_rows_are_refused() -> None:
    values = BinaryColumn(2, int32s(0, 1, 2), b"ab")

    with pytest.raises(IndexError):
        RecordBatchBuilder().extend_columns(NOW_MS, values, BinaryColumn(1, int32s(0, 1), b"k"))
    with pytest.raises(IndexError):
        RecordBatchBuilder().extend_columns(bytes(8), values)


@pytest.mark.parametrize("offsets", [(0, 5), (3, 1), (-1, 1), (0, 1 << 30)])
def test_values_outside_of_the_data_are_refused(offsets: tuple[int, int]) -> None:
    column = BinaryColumn(1, int32s(*offsets), b"abcd")

    with pytest.raises(ValueError, match="row 0 lies at"):
        RecordBatchBuilder().extend_columns(NOW_MS, column)


@pytest.mark.parametrize(
    "arguments",
    [
        {"count": 2, "offsets": int32s(0, 1)},
        {"count": -1, "offsets": int32s(0)},
        {"count": 1, "offsets": int32s(0, 1), "first": 1},
        {"count": 1, "offsets": int32s(0, 1), "first": -1},
        {"count": 9, "offsets": int32s(*range(10)), "validity": b"\xff"},
        {"count": 1, "offsets": int32s(0, 1), "offset_bytes": 2},
    ],
    ids=repr,
)
def test_buffers_that_do_not_go_together_are_refused(arguments: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"offset|validity"):
        BinaryColumn(data=b"abcdefghi", **arguments)


def test_headers_outside_of_their_columns_are_refused() -> None:
    names = BinaryColumn(1, int32s(0, 1), b"h")
    headers = HeadersColumn(1, int32s(0, 2), names, names)
    values = BinaryColumn(1, int32s(0, 1), b"v")

    with pytest.raises(ValueError, match="row 0 has headers 0 to 2 of 1"):
        RecordBatchBuilder().extend_columns(NOW_MS, values, None, headers)


def test_a_header_key_that_is_null_is_refused() -> None:
    null = BinaryColumn(1, int32s(0, 0), b"", b"\x00")
    headers = HeadersColumn(1, int32s(0, 1), null, null)

    with pytest.raises(ValueError, match="the key of header 0 is null"):
        headers[0]


def test_rows_are_sorted_into_partitions_in_order() -> None:
    keys = [b"a", None, b"b", b"a", b"c", None]
    (columns,) = read_columns(spans_of(b"".join(keyed(keys))), ("key",))
    assert columns.keys is not None

    partitions = partitions_for_keys(columns.keys, 3)
    rows_of = [memoryview(found).cast("i").tolist() for found in rows_by_partition(partitions, 3)]

    expected = [NO_PARTITION if key is None else partition_for_key(key, 3) for key in keys]
    assert memoryview(partitions).cast("i").tolist() == expected
    assert rows_of[3] == [1, 5]
    for partition in range(3):
        assert rows_of[partition] == [
            row for row, wanted in enumerate(expected) if wanted == partition
        ]


def keyed(keys: list[bytes | None]) -> list[bytes]:
    builder = RecordBatchBuilder()
    for key in keys:
        builder.append(NOW_MS, key, b"")
    return [bytes(builder.seal())]


@pytest.mark.parametrize("partition", [3, -2, 1 << 30])
def test_a_partition_that_the_topic_does_not_have_is_refused(partition: int) -> None:
    with pytest.raises(ValueError, match=f"row 1 names partition {partition} of 3"):
        rows_by_partition(int32s(0, partition), 3)


@pytest.mark.parametrize("count", [0, -1, 1 << 31])
def test_a_topic_has_a_possible_number_of_partitions(count: int) -> None:
    with pytest.raises(ValueError, match=f"partition_count={count}"):
        partition_for_key(b"k", count)
    with pytest.raises(ValueError, match=f"partition_count={count}"):
        rows_by_partition(b"", count)
