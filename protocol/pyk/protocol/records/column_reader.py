"""Read spans of batches into columns.

This is the plain form; ``compiled/column_reader.pyx`` is the compiled one, which fills the
buffers with the GIL released.
"""

from __future__ import annotations

from array import array
from collections.abc import Collection, Iterable, Iterator, Sequence

from pyk.protocol.records.columns import (
    ALL_FIELDS,
    MAX_CHUNK_BYTES,
    BinaryColumn,
    HeadersColumn,
    RecordColumns,
    check_fields,
)
from pyk.protocol.records.reader import RecordSpan
from pyk.protocol.records.record import Fields, RecordOrigin


def read_columns(
    spans: Iterable[RecordSpan],
    fields: Collection[str] = ALL_FIELDS,
    *,
    max_chunk_bytes: int = MAX_CHUNK_BYTES,
) -> list[RecordColumns]:
    """Return the records of ``spans`` as columns, only those that ``fields`` names.

    There is one chunk of them, or more where a column would pass ``max_chunk_bytes``; none if
    there are no records.
    """
    check_fields(fields, max_chunk_bytes)
    return [_columns(records, fields) for records in _chunks(spans, fields, max_chunk_bytes)]


def _chunks(
    spans: Iterable[RecordSpan], fields: Collection[str], max_chunk_bytes: int
) -> Iterator[list[tuple[RecordOrigin, Fields]]]:
    chunk: list[tuple[RecordOrigin, Fields]] = []
    sizes = [0] * 5
    for span in spans:
        for record in span._fields():
            sizes = [
                total + size for total, size in zip(sizes, _sizes(record, fields), strict=True)
            ]
            if chunk and max(sizes) > max_chunk_bytes:
                yield chunk
                chunk, sizes = [], _sizes(record, fields)
            chunk.append((span.origin, record))
    if chunk:
        yield chunk


def _sizes(record: Fields, fields: Collection[str]) -> list[int]:
    """Return what the record adds to each thing that int32 offsets count."""
    _, _, key, value, headers = record
    if "headers" not in fields:
        headers = ()
    return [
        len(key or b"") if "key" in fields else 0,
        len(value or b"") if "value" in fields else 0,
        len(headers),
        sum(len(name.encode()) for name, _ in headers),
        sum(len(header_value or b"") for _, header_value in headers),
    ]


def _columns(chunk: list[tuple[RecordOrigin, Fields]], fields: Collection[str]) -> RecordColumns:
    origins: list[tuple[RecordOrigin, int]] = []
    for origin, _ in chunk:
        if origins and origins[-1][0] is origin:
            origins[-1] = (origin, origins[-1][1] + 1)
        else:
            origins.append((origin, 1))
    offsets, timestamps, keys, values, headers = zip(*(record for _, record in chunk), strict=True)
    return RecordColumns(
        count=len(chunk),
        origins=tuple(origins),
        offsets=_int64_column(offsets) if "offset" in fields else None,
        timestamps=_int64_column(timestamps) if "timestamp" in fields else None,
        keys=_binary_column(keys) if "key" in fields else None,
        values=_binary_column(values) if "value" in fields else None,
        headers=_headers_column(headers) if "headers" in fields else None,
    )


def _int64_column(numbers: Sequence[int]) -> bytearray:
    return bytearray(array("q", numbers).tobytes())


def _binary_column(values: Sequence[bytes | None]) -> BinaryColumn:
    offsets = _list_offsets([len(value or b"") for value in values])
    data = bytearray().join(value or b"" for value in values)
    return BinaryColumn(
        len(values), offsets, data, _validity([value is not None for value in values])
    )


def _headers_column(headers: Sequence[Sequence[tuple[str, bytes | None]]]) -> HeadersColumn:
    flat = [header for record_headers in headers for header in record_headers]
    return HeadersColumn(
        len(headers),
        _list_offsets([len(record_headers) for record_headers in headers]),
        _binary_column([name.encode() for name, _ in flat]),
        _binary_column([value for _, value in flat]),
        _validity([bool(record_headers) for record_headers in headers]),
    )


def _list_offsets(sizes: Sequence[int]) -> bytearray:
    offsets = array("i", [0])
    for size in sizes:
        offsets.append(offsets[-1] + size)
    return bytearray(offsets.tobytes())


def _validity(are_valid: Sequence[bool]) -> bytearray | None:
    if all(are_valid):
        return None
    validity = bytearray((len(are_valid) + 7) // 8)
    for index, is_valid in enumerate(are_valid):
        validity[index >> 3] |= is_valid << (index & 7)
    return validity
