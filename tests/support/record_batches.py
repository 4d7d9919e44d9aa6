"""Record batches for tests: good ones in a line, and bad ones byte by byte with a CRC that fits."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any

from crc32c import crc32c

from pyk.protocol.records import (
    BinaryColumn,
    Compression,
    RecordBatchBuilder,
    RecordColumns,
    RecordOrigin,
    TimestampType,
    read_batches,
    set_base_offset_and_epoch,
)
from pyk.protocol.records.varint import encode_varint, encode_varlong

NOW_MS = 1_700_000_000_000
ORIGIN = RecordOrigin("orders", 3, 7, TimestampType.CREATE_TIME)

_HEADER = struct.Struct(">qiibIhiqqqhii")


def sealed(
    *values: bytes | None,
    base_offset: int = 0,
    leader_epoch: int = 0,
    compression: Compression = Compression.NONE,
    **seal: Any,
) -> bytes:
    """Return a batch with these values, in which record i has the key ``b"k"`` and i ms more."""
    builder = RecordBatchBuilder(compression, max_bytes=1 << 30)
    for index, value in enumerate(values):
        builder.append(NOW_MS + index, b"k", value)
    data = builder.seal(**seal)
    set_base_offset_and_epoch(data, base_offset, leader_epoch)
    return bytes(data)


def control_batch(
    control_type: int, *, base_offset: int, producer_id: int = 1, version: int = 0
) -> bytes:
    """Return a control batch: type 0 ends a transaction by aborting it, 1 by committing it."""
    builder = RecordBatchBuilder()
    builder.append(NOW_MS, struct.pack(">hh", version, control_type), struct.pack(">hi", 0, 1))
    data = builder.seal(
        producer_id=producer_id, producer_epoch=0, is_transactional=True, is_control=True
    )
    set_base_offset_and_epoch(data, base_offset, 0)
    return bytes(data)


def raw_batch(
    records: bytes,
    count: int,
    *,
    base_offset: int = 0,
    length: int | None = None,
    magic: int = 2,
    attributes: int = 0,
    last_offset_delta: int | None = None,
    base_timestamp: int = NOW_MS,
    max_timestamp: int = NOW_MS,
) -> bytes:
    """Return a batch with any header and records, and the CRC that belongs to them."""
    header = _HEADER.pack(
        base_offset,
        len(records) + 49 if length is None else length,
        0,
        magic,
        0,
        attributes,
        count - 1 if last_offset_delta is None else last_offset_delta,
        base_timestamp,
        max_timestamp,
        -1,
        -1,
        -1,
        count,
    )
    body = header[21:] + records
    return header[:17] + struct.pack(">I", crc32c(body)) + body


def record(
    offset_delta: int = 0,
    timestamp_delta: int = 0,
    key: bytes | None = b"k",
    value: bytes | None = b"v",
    headers: Sequence[tuple[bytes, bytes | None]] = (),
    *,
    attributes: int = 0,
) -> bytes:
    """Return one encoded record, its length in front."""
    body = bytes((attributes,)) + encode_varlong(timestamp_delta) + encode_varint(offset_delta)
    body += sized(key) + sized(value) + encode_varint(len(headers))
    for name, header_value in headers:
        body += sized(name) + sized(header_value)
    return encode_varint(len(body)) + body


def read_all(data: bytes, **limits: int) -> list[bytes | None]:
    """Return the value of every record."""
    return [one.value for batch in read_batches(data, **limits) for one in batch]


def sized(value: bytes | None) -> bytes:
    return encode_varint(-1) if value is None else encode_varint(len(value)) + value


GOOD = record(0) + record(1)


def binary_values(column: BinaryColumn | None) -> list[bytes | None]:
    assert column is not None
    return [column[row] for row in range(column.count)]


def rows(columns: RecordColumns) -> list[tuple[Any, ...]]:
    """Return columns, all of which were read, as (offset, timestamp, key, value, headers)."""
    assert columns.offsets is not None
    assert columns.timestamps is not None
    assert columns.headers is not None
    return list(
        zip(
            memoryview(columns.offsets).cast("q"),
            memoryview(columns.timestamps).cast("q"),
            binary_values(columns.keys),
            binary_values(columns.values),
            [columns.headers[row] for row in range(columns.count)],
            strict=True,
        )
    )
