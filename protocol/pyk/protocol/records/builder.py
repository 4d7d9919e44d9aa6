"""Build a record batch: append records to one growing buffer, then seal it.

The buffer has room for the header from the start, so an uncompressed batch is written once and handed on as
it is.

This is the plain form; ``builder.pyx`` is the compiled one.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyk.protocol.records.batch import (
    CONTROL,
    DELETE_HORIZON,
    HEADER_BYTES,
    LENGTH_END,
    MAX_BATCH_BYTES,
    TRANSACTIONAL,
    write_header,
)
from pyk.protocol.records.compression import Compression, check_available, compress
from pyk.protocol.records.varint import encode_varint, encode_varlong

Bytes = bytes | bytearray | memoryview

_MIN_INT64, _MAX_INT64 = -(1 << 63), (1 << 63) - 1
_MAX_INT32 = (1 << 31) - 1
MAX_RECORD_BYTES = (
    _MAX_INT32 + LENGTH_END - HEADER_BYTES - 5
)  # an int32 counts the batch, a varint the record
_NULL = encode_varint(-1)


class RecordBatchBuilder:
    """One batch in the making.

    ``max_bytes`` bounds its size before compression, header included; the first record always fits. One
    thread at a time may use a builder. A batch with ``delete_horizon_ms`` counts its timestamps from there,
    as compaction does.
    """

    def __init__(
        self,
        compression: Compression = Compression.NONE,
        level: int | None = None,
        max_bytes: int = 16_384,
        *,
        delete_horizon_ms: int | None = None,
    ) -> None:
        check_available(compression)
        self._compression = compression
        self._level = level
        self._max_bytes = min(max_bytes, MAX_BATCH_BYTES)
        self._delete_horizon_ms = delete_horizon_ms
        self._buffer = bytearray(HEADER_BYTES)
        self._is_sealed = False
        self._next_offset_delta = 0
        self._base_timestamp = -1 if delete_horizon_ms is None else delete_horizon_ms
        self._max_timestamp = -1
        self.count = 0

    @property
    def size(self) -> int:
        """Bytes so far, uncompressed, header included."""
        return len(self._buffer)

    def append(
        self,
        timestamp_ms: int,
        key: Bytes | None,
        value: Bytes | None,
        headers: Sequence[tuple[str, Bytes | None]] = (),
    ) -> int:
        """Append a record and return its offset delta, or -1 if it does not fit and the batch has a record
        already.

        Raises ``ValueError`` for a record that no batch can hold; the batch is then as before.
        """
        return self._append(timestamp_ms, key, value, headers, self._next_offset_delta)

    def append_at(
        self,
        offset_delta: int,
        timestamp_ms: int,
        key: Bytes | None,
        value: Bytes | None,
        headers: Sequence[tuple[str, Bytes | None]] = (),
    ) -> int:
        """Append a record that keeps its offset, as compaction does: with gaps, but in rising order."""
        if not self._next_offset_delta <= offset_delta <= _MAX_INT32:
            raise ValueError(
                f"offset delta {offset_delta} does not lie in {self._next_offset_delta} to {_MAX_INT32}"
            )
        return self._append(timestamp_ms, key, value, headers, offset_delta)

    def extend_values(
        self, timestamp_ms: int, values: Sequence[Bytes | None], start: int = 0
    ) -> int:
        """Append records with ``values[start:]`` and no key, as many as fit; return how many that is."""
        for index in range(start, len(values)):
            if self.append(timestamp_ms, None, values[index]) < 0:
                return index - start
        return len(values) - start

    def extend_pairs(
        self, timestamp_ms: int, pairs: Sequence[tuple[Bytes | None, Bytes | None]], start: int = 0
    ) -> int:
        """Append records with the (key, value) ``pairs[start:]``, as many as fit; return how many that is."""
        for index in range(start, len(pairs)):
            key, value = pairs[index]
            if self.append(timestamp_ms, key, value) < 0:
                return index - start
        return len(pairs) - start

    def seal(
        self,
        *,
        producer_id: int = -1,
        producer_epoch: int = -1,
        base_sequence: int = -1,
        is_transactional: bool = False,
        is_control: bool = False,
        last_offset_delta: int | None = None,
    ) -> memoryview:
        """Finish the batch and return all of it, CRC set; base offset 0, leader epoch -1.

        Without compression this is the buffer that was appended to, not a copy. ``last_offset_delta`` is
        for a batch whose last records were removed.
        """
        self._refuse_if_sealed()
        if last_offset_delta is None:
            last_offset_delta = self._next_offset_delta - 1
        if last_offset_delta < max(0, self._next_offset_delta - 1):
            raise ValueError(
                f"a batch of {self.count} records cannot end at offset delta {last_offset_delta}"
            )
        self._is_sealed = True
        data = self._compressed() if self._compression is not Compression.NONE else self._buffer
        write_header(
            data,
            attributes=self._attributes(is_transactional, is_control),
            last_offset_delta=last_offset_delta,
            base_timestamp=self._base_timestamp,
            max_timestamp=self._max_timestamp,
            producer_id=producer_id,
            producer_epoch=producer_epoch,
            base_sequence=base_sequence,
            count=self.count,
        )
        return memoryview(data)

    def _append(
        self,
        timestamp_ms: int,
        key: Bytes | None,
        value: Bytes | None,
        headers: Sequence[tuple[str, Bytes | None]],
        offset_delta: int,
    ) -> int:
        self._refuse_if_sealed()
        base_timestamp = self._base_timestamp
        if self.count == 0 and self._delete_horizon_ms is None:
            base_timestamp = timestamp_ms
        timestamp_delta = _timestamp_delta(timestamp_ms, base_timestamp)
        record = _encode_record(timestamp_delta, offset_delta, key, value, headers)
        if len(self._buffer) + len(record) > self._max_bytes and self.count:
            return -1
        self._buffer += record
        self._max_timestamp = max(timestamp_ms, self._max_timestamp) if self.count else timestamp_ms
        self._base_timestamp = base_timestamp
        self._next_offset_delta = offset_delta + 1
        self.count += 1
        return offset_delta

    def _compressed(self) -> bytearray:
        data = bytearray(HEADER_BYTES)
        with memoryview(self._buffer) as view:
            data += compress(self._compression, view[HEADER_BYTES:], self._level)
        self._buffer = data
        return data

    def _attributes(self, is_transactional: bool, is_control: bool) -> int:
        attributes = self._compression.codec
        if is_transactional:
            attributes |= TRANSACTIONAL
        if is_control:
            attributes |= CONTROL
        if self._delete_horizon_ms is not None:
            attributes |= DELETE_HORIZON
        return attributes

    def _refuse_if_sealed(self) -> None:
        if self._is_sealed:
            raise ValueError(
                "the batch is sealed: nothing can be added to it, and it is sealed once"
            )


def _timestamp_delta(timestamp_ms: int, base_timestamp: int) -> int:
    if not _MIN_INT64 <= timestamp_ms <= _MAX_INT64:
        raise ValueError(f"timestamp {timestamp_ms} does not fit an int64")
    timestamp_delta = timestamp_ms - base_timestamp
    if not _MIN_INT64 <= timestamp_delta <= _MAX_INT64:
        raise ValueError(
            f"timestamp {timestamp_ms} is too far from the {base_timestamp} of the first record"
        )
    return timestamp_delta


def _encode_record(
    timestamp_delta: int,
    offset_delta: int,
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
        _add_bytes(parts, "header key", name.encode())
        _add_bytes(parts, "header value", header_value)
    length = sum(map(len, parts))
    if length > MAX_RECORD_BYTES:
        raise ValueError(
            f"a record of {length} bytes is larger than any batch: {MAX_RECORD_BYTES} is the most"
        )
    return b"".join((encode_varint(length), *parts))


def _add_bytes(parts: list[bytes | memoryview], name: str, value: Bytes | None) -> None:
    if value is None:
        parts.append(_NULL)
        return
    try:
        part = value if type(value) is bytes else memoryview(value).cast("B")
    except TypeError:
        raise TypeError(f"a {name} is bytes-like or None, not {type(value).__name__}") from None
    if len(part) > MAX_RECORD_BYTES:
        raise ValueError(
            f"a {name} of {len(part)} bytes is larger than any batch: {MAX_RECORD_BYTES} is the most"
        )
    parts += (encode_varint(len(part)), part)
