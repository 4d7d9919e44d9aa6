"""Arrow arrays in and out, through their buffers; Arrow itself is needed by these tests only."""

from __future__ import annotations

from typing import Any

import pytest

from pyk.protocol.records import (
    BinaryColumn,
    FetchedRecords,
    HeadersColumn,
    RecordBatchBuilder,
    read_batches,
    read_columns,
)
from support.record_batches import NOW_MS, binary_values, sealed

pa = pytest.importorskip("pyarrow")

VALUES = [b"a", None, b"", b"four"]
HEADERS = [[("h", b"x"), ("i", None)], None, [], [("", b"")]]
HEADERS_TYPE = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))


def headers_array(headers: list[Any]) -> Any:
    rows = [
        None if row is None else [{"key": key, "value": value} for key, value in row]
        for row in headers
    ]
    return pa.array(rows, HEADERS_TYPE)


@pytest.mark.parametrize("kind", ["binary", "large_binary", "string", "large_string"])
def test_every_kind_of_binary_and_string_is_read_where_it_lies(kind: str) -> None:
    array = pa.array([None if value is None else value.decode() for value in VALUES])
    column = BinaryColumn.from_arrow(array.cast(kind))

    assert binary_values(column) == VALUES
    assert column.null_count == 1


@pytest.mark.parametrize(("start", "length"), [(0, 4), (1, 2), (3, 1), (4, 0), (1, 0)])
def test_a_slice_is_a_window_on_the_same_buffers(start: int, length: int) -> None:
    column = BinaryColumn.from_arrow(pa.array(VALUES, pa.binary()).slice(start, length))

    assert binary_values(column) == VALUES[start : start + length]


def test_an_empty_array_is_an_empty_column() -> None:
    assert binary_values(BinaryColumn.from_arrow(pa.array([], pa.binary()))) == []
    assert len(HeadersColumn.from_arrow(headers_array([]))) == 0


def test_other_types_are_refused_by_name() -> None:
    with pytest.raises(TypeError, match="Arrow type int64 is neither binary nor string"):
        BinaryColumn.from_arrow(pa.array([1]))
    with pytest.raises(TypeError, match=r"not Arrow type list<item: int64>"):
        HeadersColumn.from_arrow(pa.array([[1]]))


@pytest.mark.parametrize(("start", "length"), [(0, 4), (1, 2), (2, 2)])
def test_headers_are_read_from_lists_of_structs(start: int, length: int) -> None:
    column = HeadersColumn.from_arrow(headers_array(HEADERS).slice(start, length))

    expected = [tuple(row or ()) for row in HEADERS[start : start + length]]
    assert [column[row] for row in range(len(column))] == expected


def test_a_null_header_is_refused() -> None:
    with pytest.raises(ValueError, match="a header is null"):
        HeadersColumn.from_arrow(pa.array([[None]], HEADERS_TYPE))


def test_a_table_becomes_a_batch() -> None:
    builder = RecordBatchBuilder()
    timestamps = pa.array([NOW_MS, NOW_MS + 1, NOW_MS + 2, NOW_MS - 3])

    taken = builder.extend_columns(
        timestamps.buffers()[1],
        BinaryColumn.from_arrow(pa.array(VALUES, pa.large_binary())),
        BinaryColumn.from_arrow(pa.array(["k", None, "", "l"])),
        HeadersColumn.from_arrow(headers_array(HEADERS)),
    )

    (batch,) = read_batches(builder.seal())
    assert taken == 4
    assert [one.value for one in batch] == VALUES
    assert [one.key for one in batch] == [b"k", None, b"", b"l"]
    assert [one.headers for one in batch] == [tuple(row or ()) for row in HEADERS]
    assert [one.timestamp for one in batch] == timestamps.to_pylist()


def test_columns_become_arrow_arrays_without_a_copy() -> None:
    fetched = FetchedRecords("orders", 0, sealed(*VALUES), 0)
    (columns,) = read_columns([fetched.next_span(10)])

    def as_array(column: BinaryColumn) -> Any:
        validity = None if column.validity is None else pa.py_buffer(column.validity)
        buffers = [validity, pa.py_buffer(column.offsets), pa.py_buffer(column.data)]
        return pa.Array.from_buffers(pa.binary(), column.count, buffers)

    array = as_array(columns.values)

    array.validate(full=True)
    assert array.to_pylist() == VALUES
    assert array.null_count == 1
