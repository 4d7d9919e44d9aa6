"""Columns as Arrow lays them out: what records are read into, and batches built from, with no object per
record.

A buffer is any object with the buffer protocol (``bytearray``, ``pyarrow.Buffer``); Arrow itself is not
needed.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, Self

import attrs

from pyk.protocol.records.record import RecordOrigin

ALL_FIELDS = ("offset", "timestamp", "key", "value", "headers")
MAX_CHUNK_BYTES = (
    1 << 31
) - 1  # Arrow's int32 offsets count the bytes, or the headers, of one chunk

_OFFSET_BYTES = {"binary": 4, "string": 4, "large_binary": 8, "large_string": 8}


class BinaryColumn:
    """``count`` values, of which number i is ``data[offsets[i]:offsets[i + 1]]``.

    ``offsets`` are int32, or int64 with ``offset_bytes`` 8, in the byte order of the machine. ``validity``
    has bit i set where the value is not null; None means that none is. A column may be a window on longer
    buffers: its first value is then number ``first``. The buffers are any objects with the buffer protocol;
    what does not fit together is refused here, so that nobody reads beyond them.
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
            raise ValueError(
                f"offset_bytes={offset_bytes}: Arrow's offsets have 4 bytes, or 8 in large columns"
            )
        self.count = count
        self.first = first
        self.offset_bytes = offset_bytes
        self.offsets = memoryview(offsets).cast("B").cast("i" if offset_bytes == 4 else "q")
        self.data = memoryview(data if data is not None else b"").cast("B")
        self.validity = None if validity is None else memoryview(validity).cast("B")
        if count < 0 or first < 0 or len(self.offsets) < first + count + 1:
            raise ValueError(
                f"{len(self.offsets)} offsets are too few for {count} values from number {first}"
            )
        if self.validity is not None and len(self.validity) * 8 < first + count:
            raise ValueError(
                f"{len(self.validity)} bytes of validity are too few for {first + count} values"
            )

    @classmethod
    def from_arrow(cls, array: Any) -> Self:
        """Return the column of a ``pyarrow`` array of binary or string, large or not, without copying it."""
        type_name = str(array.type)
        if type_name not in _OFFSET_BYTES:
            raise TypeError(f"a column of Arrow type {type_name} is neither binary nor string")
        validity, offsets, data = array.buffers()
        offset_bytes = _OFFSET_BYTES[type_name]
        # An empty array may come without offsets.
        offsets = offsets if offsets is not None else bytes(offset_bytes)
        return cls(
            len(array), offsets, data, validity, first=array.offset, offset_bytes=offset_bytes
        )

    def __len__(self) -> int:
        return self.count

    @property
    def null_count(self) -> int:
        return sum(not self._is_valid(index) for index in range(self.count))

    def __getitem__(self, index: int) -> bytes | None:
        """Return value ``index``, None for null; raise ``ValueError`` if it lies outside of the data."""
        if not 0 <= index < self.count:
            raise IndexError(f"value {index} of {self.count}")
        if not self._is_valid(index):
            return None
        start, end = self.offsets[self.first + index], self.offsets[self.first + index + 1]
        if not 0 <= start <= end <= len(self.data):
            raise ValueError(
                f"value {index} of a column lies at {start} to {end} in {len(self.data)} bytes"
            )
        return bytes(self.data[start:end])

    def _is_valid(self, index: int) -> bool:
        position = self.first + index
        return self.validity is None or bool(self.validity[position >> 3] >> (position & 7) & 1)


@attrs.frozen
class HeadersColumn:
    """The headers of each record: those of record i are ``names`` and ``values`` ``offsets[i]`` to
    ``offsets[i + 1]``.

    This is Arrow's list<struct<key: string, value: binary>>, offsets as int32.
    """

    offsets: bytearray
    names: BinaryColumn
    values: BinaryColumn


@attrs.frozen
class RecordColumns:
    """``count`` records as columns; None for a column that was not asked for.

    ``offsets`` and ``timestamps`` (milliseconds) are int64 in the byte order of the machine. ``origins``
    says where the records are from: each with the number of records, in order, that share it.
    """

    count: int
    origins: tuple[tuple[RecordOrigin, int], ...]
    offsets: bytearray | None
    timestamps: bytearray | None
    keys: BinaryColumn | None
    values: BinaryColumn | None
    headers: HeadersColumn | None


def check_fields(fields: Collection[str]) -> None:
    """Raise ``ValueError`` for a field that records do not have."""
    for field in fields:
        if field not in ALL_FIELDS:
            raise ValueError(
                f"records have no field {field!r}: use some of {', '.join(ALL_FIELDS)}"
            )
