"""Records of one batch, encoded one after the other into a buffer that grows.

The buffer has room for the batch header from the start, so what is appended is never moved again.

This is the plain form; ``compiled/record_buffer.pyx`` is the compiled one.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyk.protocol.records.columns import BinaryColumn, HeadersColumn, int64_buffer
from pyk.protocol.records.layout import (
    HEADER_BYTES,
    MAX_BATCH_BYTES,
    MAX_INT32,
    MAX_INT64,
    MAX_RECORD_BYTES,
    MIN_INT64,
)
from pyk.protocol.records.varint import encode_varint, encode_varlong

Bytes = bytes | bytearray | memoryview

_NULL = encode_varint(-1)


class RecordBuffer:
    """The records of a batch, ``count`` of them in ``size`` bytes, the header's room included.

    ``max_bytes`` bounds the size; the first record always fits. Timestamps count from
    ``base_timestamp``, which is that of the first record where None is given. One thread at a time.
    """

    __slots__ = (
        "_buffer",
        "_has_base_timestamp",
        "_max_bytes",
        "base_timestamp",
        "count",
        "max_timestamp",
        "next_offset_delta",
        "size",
    )

    def __init__(self, max_bytes: int, base_timestamp: int | None = None) -> None:
        has_base = base_timestamp is not None
        self._start(max_bytes, has_base, -1 if base_timestamp is None else base_timestamp)

    def _start(self, max_bytes: int, has_base: bool, base_timestamp: int) -> None:
        self._buffer: bytearray | None = bytearray(HEADER_BYTES)
        self._has_base_timestamp = has_base
        self._max_bytes = min(max_bytes, MAX_BATCH_BYTES)
        self.base_timestamp = base_timestamp
        self.max_timestamp = -1
        self.next_offset_delta = 0
        self.count = 0
        self.size = HEADER_BYTES

    def append(
        self,
        timestamp_ms: int,
        key: Bytes | None,
        value: Bytes | None,
        headers: Sequence[tuple[str, Bytes | None]] = (),
    ) -> int:
        """Append a record and return its offset delta.

        Returns -1 if it does not fit and the batch has a record already. Raises ``ValueError`` for
        a record that no batch can hold. In both cases the batch is as before.
        """
        return self._append(self.next_offset_delta, timestamp_ms, key, value, headers)

    def append_at(
        self,
        offset_delta: int,
        timestamp_ms: int,
        key: Bytes | None,
        value: Bytes | None,
        *,
        headers: Sequence[tuple[str, Bytes | None]] = (),
    ) -> int:
        """Append a record that keeps its offset, as compaction does: with gaps, but rising."""
        if offset_delta < self.next_offset_delta:
            raise ValueError(
                f"offset delta {offset_delta} is below the next, {self.next_offset_delta}"
            )
        return self._append(offset_delta, timestamp_ms, key, value, headers)

    def extend_values(
        self, timestamp_ms: int, values: Sequence[Bytes | None], start: int = 0
    ) -> int:
        """Append ``values[start:]``, without keys, as many as fit; return how many that is."""
        _check_start(start)
        for index in range(start, len(values)):
            if self.append(timestamp_ms, None, values[index]) < 0:
                return index - start
        return max(0, len(values) - start)

    def extend_pairs(
        self,
        timestamp_ms: int,
        pairs: Sequence[tuple[Bytes | None, Bytes | None]],
        start: int = 0,
    ) -> int:
        """Append the (key, value) ``pairs[start:]``, as many as fit; return how many that is."""
        _check_start(start)
        for index in range(start, len(pairs)):
            key, value = pairs[index]
            if self.append(timestamp_ms, key, value) < 0:
                return index - start
        return max(0, len(pairs) - start)

    def extend_columns(
        self,
        timestamps_ms: int | Bytes,
        values: BinaryColumn,
        keys: BinaryColumn | None = None,
        headers: HeadersColumn | None = None,
        *,
        rows: Bytes | None = None,
        start: int = 0,
    ) -> int:
        """Append rows of Arrow columns, as many as fit; return how many that is.

        ``timestamps_ms`` is one for all, or a buffer of int64 with one for each row. ``rows`` are
        the numbers (int32) of the rows to take, all in order where it is None; ``start`` is an
        index into them. Raises ``IndexError`` for a row that a column does not have.
        """
        _check_start(start)
        numbers = None if rows is None else memoryview(rows).cast("B").cast("i")
        timestamps = None if isinstance(timestamps_ms, int) else int64_buffer(timestamps_ms)
        end = values.count if numbers is None else len(numbers)
        timestamp_ms = timestamps_ms if isinstance(timestamps_ms, int) else -1
        for index in range(start, end):
            row = index if numbers is None else numbers[index]
            if timestamps is not None:
                timestamp_ms = timestamps[row]
            key = None if keys is None else keys[row]
            row_headers = () if headers is None else headers[row]
            if self.append(timestamp_ms, key, values[row], row_headers) < 0:
                return index - start
        return max(0, end - start)

    def close(self) -> bytearray:
        """Return the buffer; nothing can be appended any more. Raises ``ValueError`` if it was."""
        buffer = self._open_buffer()
        self._buffer = None
        return buffer

    def _append(
        self,
        offset_delta: int,
        timestamp_ms: int,
        key: Bytes | None,
        value: Bytes | None,
        headers: Sequence[tuple[str, Bytes | None]],
    ) -> int:
        buffer = self._open_buffer()
        if offset_delta > MAX_INT32:
            raise ValueError(f"offset delta {offset_delta} does not fit an int32")
        is_base = self.count == 0 and not self._has_base_timestamp
        base_timestamp = timestamp_ms if is_base else self.base_timestamp
        timestamp_delta = _timestamp_delta(timestamp_ms, base_timestamp)
        record = _encode_record(offset_delta, timestamp_delta, key, value, headers)
        size = self.size + len(record)
        if size > self._max_bytes and self.count:
            return -1
        max_timestamp = max(timestamp_ms, self.max_timestamp) if self.count else timestamp_ms
        # No calls from here on: the handler of a signal could raise between them.
        buffer += record
        self.size = size
        self.base_timestamp = base_timestamp
        self.max_timestamp = max_timestamp
        self.next_offset_delta = offset_delta + 1
        self.count += 1
        return offset_delta

    def _open_buffer(self) -> bytearray:
        if self._buffer is None:
            raise ValueError("the batch is sealed: nothing can be added, and it is sealed once")
        return self._buffer


def _check_start(start: int) -> None:
    if start < 0:
        raise ValueError(f"start={start}: records are counted from 0")


def _timestamp_delta(timestamp_ms: int, base_timestamp: int) -> int:
    if not MIN_INT64 <= timestamp_ms <= MAX_INT64:
        raise OverflowError(f"timestamp {timestamp_ms} does not fit an int64")
    timestamp_delta = timestamp_ms - base_timestamp
    if not MIN_INT64 <= timestamp_delta <= MAX_INT64:
        raise ValueError(f"timestamp {timestamp_ms} is too far from the first, {base_timestamp}")
    return timestamp_delta


def _encode_record(
    offset_delta: int,
    timestamp_delta: int,
    key: Bytes | None,
    value: Bytes | None,
    headers: Sequence[tuple[str, Bytes | None]],
) -> bytes:
    parts: list[bytes | memoryview] = [
        b"\x00",
        encode_varlong(timestamp_delta),
        encode_varint(offset_delta),
    ]
    _add_bytes(parts, "key", key)
    _add_bytes(parts, "value", value)
    parts.append(encode_varint(len(headers)))
    for name, header_value in headers:
        if not isinstance(name, str):
            raise TypeError(f"a header key is text, not {type(name).__name__}")
        _add_bytes(parts, "header key", name.encode())
        _add_bytes(parts, "header value", header_value)
    length = sum(map(len, parts))
    if length > MAX_RECORD_BYTES:
        raise ValueError(
            f"a record of {length} bytes fits no batch: {MAX_RECORD_BYTES} is the most"
        )
    return b"".join((encode_varint(length), *parts))


def _add_bytes(parts: list[bytes | memoryview], name: str, value: Bytes | None) -> None:
    if value is None:
        parts.append(_NULL)
        return
    try:
        part = value if isinstance(value, bytes) else memoryview(value).cast("B")
    except TypeError:
        raise TypeError(f"a {name} is bytes-like or None, not {type(value).__name__}") from None
    if len(part) > MAX_RECORD_BYTES:
        raise ValueError(
            f"a {name} of {len(part)} bytes fits no batch: {MAX_RECORD_BYTES} is the most"
        )
    parts += (encode_varint(len(part)), part)
