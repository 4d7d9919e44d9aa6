"""Columns as Arrow lays them out: read from batches and written into them, no object per record.

A buffer is any object with the buffer protocol (``bytearray``, ``pyarrow.Buffer``). Arrow itself is
not needed. Numbers in buffers are in the byte order of the machine, as Arrow has them. What does
not fit together is refused when a column is made, so that no reader goes beyond its buffers.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, Self

from pyk.protocol.records.record import Headers, RecordOrigin
from pyk.runtime import slotted

ALL_FIELDS = ("offset", "timestamp", "key", "value", "headers")
MAX_CHUNK_BYTES = (1 << 31) - 1  # Arrow's int32 offsets count the bytes, or headers, of one chunk

_OFFSET_BYTES = {"binary": 4, "string": 4, "large_binary": 8, "large_string": 8}


class BinaryColumn:
    """``count`` values, of which number i is ``data[offsets[i]:offsets[i + 1]]``.

    ``offsets`` are int32, or int64 with ``offset_bytes`` 8. ``validity`` has bit i set where the
    value is not null; None means that none is. A column may be a window on longer buffers: its
    first value is then their number ``first``.
    """

    __slots__ = ("count", "data", "first", "offset_bytes", "offsets", "validity")

    def __init__(
        self,
        count: int,
        offsets: Any,
        data: Any,
        validity: Any = None,
        *,
        first: int = 0,
        offset_bytes: int = 4,
    ) -> None:
        if offset_bytes not in (4, 8):
            raise ValueError(f"offset_bytes={offset_bytes}: Arrow's offsets have 4 bytes, or 8")
        self.count = count
        self.first = first
        self.offset_bytes = offset_bytes
        self.offsets = memoryview(offsets).cast("B").cast("i" if offset_bytes == 4 else "q")
        self.data = memoryview(data if data is not None else b"").cast("B")
        self.validity = None if validity is None else memoryview(validity).cast("B")
        _check_window(count, first, self.offsets, self.validity)

    @classmethod
    def from_arrow(cls, array: Any) -> Self:
        """Return the column of a ``pyarrow`` array of binary or string, large or not, uncopied."""
        type_name = str(array.type)
        if type_name not in _OFFSET_BYTES:
            raise TypeError(f"a column of Arrow type {type_name} is neither binary nor string")
        validity, offsets, data = array.buffers()
        offset_bytes = _OFFSET_BYTES[type_name]
        if len(array) == 0:  # may come without buffers
            return cls(0, bytes(offset_bytes), b"", offset_bytes=offset_bytes)
        return cls(
            len(array), offsets, data, validity, first=array.offset, offset_bytes=offset_bytes
        )

    def __len__(self) -> int:
        return self.count

    @property
    def null_count(self) -> int:
        return sum(not _is_valid(self.validity, self.first + row) for row in range(self.count))

    def __getitem__(self, row: int) -> bytes | None:
        """Return value ``row``, None for null; raise ``ValueError`` if it lies outside the data."""
        if not 0 <= row < self.count:
            raise IndexError(f"row {row} of {self.count}")
        if not _is_valid(self.validity, self.first + row):
            return None
        start, end = self.offsets[self.first + row], self.offsets[self.first + row + 1]
        if not 0 <= start <= end <= len(self.data):
            raise ValueError(f"row {row} lies at {start} to {end} of {len(self.data)} bytes")
        return bytes(self.data[start:end])


class HeadersColumn:
    """The headers of ``count`` records, as list<struct<key: string, value: binary>>.

    Those of record i are ``names`` and ``values`` number ``offsets[i]`` (int32) to
    ``offsets[i + 1]``; none where its bit of ``validity`` is clear.
    """

    __slots__ = ("count", "first", "names", "offsets", "validity", "values")

    def __init__(
        self,
        count: int,
        offsets: Any,
        names: BinaryColumn,
        values: BinaryColumn,
        validity: Any = None,
        *,
        first: int = 0,
    ) -> None:
        self.count = count
        self.first = first
        self.offsets = memoryview(offsets).cast("B").cast("i")
        self.names = names
        self.values = values
        self.validity = None if validity is None else memoryview(validity).cast("B")
        _check_window(count, first, self.offsets, self.validity)

    @classmethod
    def from_arrow(cls, array: Any) -> Self:
        """Return the column of a ``pyarrow`` list array of (key, value) structs, uncopied."""
        if not str(array.type).startswith("list<") or array.type.value_type.num_fields != 2:
            raise TypeError(f"headers are list<struct<key, value>>, not Arrow type {array.type}")
        headers = array.values
        if headers.null_count:
            raise ValueError(
                "a header is null: only a list of headers, and a header's value, may be"
            )
        names, values = (BinaryColumn.from_arrow(headers.field(index)) for index in range(2))
        if len(array) == 0:
            return cls(0, bytes(4), names, values)
        validity, offsets, *_ = array.buffers()
        return cls(len(array), offsets, names, values, validity, first=array.offset)

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, row: int) -> Headers:
        """Return the headers of record ``row``; raise ``ValueError`` if they are not there."""
        if not 0 <= row < self.count:
            raise IndexError(f"row {row} of {self.count}")
        if not _is_valid(self.validity, self.first + row):
            return ()
        start, end = self.offsets[self.first + row], self.offsets[self.first + row + 1]
        if not 0 <= start <= end <= min(self.names.count, self.values.count):
            raise ValueError(f"row {row} has headers {start} to {end} of {self.names.count}")
        return tuple((self._name(index), self.values[index]) for index in range(start, end))

    def _name(self, index: int) -> str:
        name = self.names[index]
        if name is None:
            raise ValueError(f"the key of header {index} is null: only its value may be")
        return name.decode()


@slotted.frozen
class RecordColumns:
    """``count`` records as columns; None for a column that was not asked for.

    ``offsets`` and ``timestamps`` (milliseconds) are int64. ``origins`` says where the records are
    from: each with the number of records, in order, that share it.
    """

    count: int
    origins: tuple[tuple[RecordOrigin, int], ...]
    offsets: bytearray | None
    timestamps: bytearray | None
    keys: BinaryColumn | None
    values: BinaryColumn | None
    headers: HeadersColumn | None


def check_fields(fields: Collection[str], max_chunk_bytes: int) -> None:
    """Raise ``ValueError`` for a field that records do not have, or an impossible chunk size."""
    for field in fields:
        if field not in ALL_FIELDS:
            raise ValueError(
                f"records have no field {field!r}: use some of {', '.join(ALL_FIELDS)}"
            )
    if not 1 <= max_chunk_bytes <= MAX_CHUNK_BYTES:
        raise ValueError(f"max_chunk_bytes={max_chunk_bytes}: 1 to {MAX_CHUNK_BYTES} is possible")


def int64_buffer(data: Any) -> memoryview:
    """Return ``data`` as a view of int64 numbers."""
    return memoryview(data).cast("B").cast("q")


def _check_window(count: int, first: int, offsets: memoryview, validity: memoryview | None) -> None:
    if count < 0 or first < 0 or len(offsets) < first + count + 1:
        raise ValueError(
            f"{len(offsets)} offsets are too few for {count} values from number {first}"
        )
    if validity is not None and len(validity) * 8 < first + count:
        raise ValueError(
            f"{len(validity)} bytes of validity are too few for {first + count} values"
        )


def _is_valid(validity: memoryview | None, position: int) -> bool:
    return validity is None or bool(validity[position >> 3] >> (position & 7) & 1)
