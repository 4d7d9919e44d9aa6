"""The sources of the records of a ``send_batch``: each fills a batch in one call. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from pyk.clients.producer.arguments import Headers
from pyk.clients.producer.batching.delivery import BatchResult
from pyk.protocol.records import BinaryColumn, HeadersColumn, RecordBatchBuilder
from pyk.runtime import slotted


class RowSource(Protocol):
    """``count`` records, in order, that are on their way into batches."""

    count: int

    def fill(self, builder: RecordBatchBuilder, start: int) -> int:
        """Append the records from number ``start`` on, as many as fit; return how many."""

    def timestamp(self, position: int) -> int:
        """Return the timestamp of a record, in milliseconds."""


@slotted.frozen
class RowSpan:
    """``count`` records, from position ``start`` of their source, that went into one batch."""

    start: int
    count: int
    result: BatchResult
    first_index: int


class ValueRows:
    """Values without keys."""

    def __init__(self, timestamp: int, values: Sequence[bytes | None]) -> None:
        self.count = len(values)
        self._timestamp = timestamp
        self._values = values

    def fill(self, builder: RecordBatchBuilder, start: int) -> int:
        return builder.extend_values(self._timestamp, self._values, start)

    def timestamp(self, position: int) -> int:
        return self._timestamp


class PairRows:
    """Keys and values."""

    def __init__(self, timestamp: int, pairs: Sequence[tuple[bytes | None, bytes | None]]) -> None:
        self.count = len(pairs)
        self._timestamp = timestamp
        self._pairs = pairs

    def fill(self, builder: RecordBatchBuilder, start: int) -> int:
        return builder.extend_pairs(self._timestamp, self._pairs, start)

    def timestamp(self, position: int) -> int:
        return self._timestamp


class RecordRows:
    """Records with all their parts: (timestamp, key, value, headers)."""

    def __init__(self, records: Sequence[tuple[int, bytes | None, bytes | None, Headers]]) -> None:
        self.count = len(records)
        self._records = records

    def fill(self, builder: RecordBatchBuilder, start: int) -> int:
        for position in range(start, self.count):
            timestamp, key, value, headers = self._records[position]
            if builder.append(timestamp, key, value, headers) < 0:
                return position - start
        return self.count - start

    def timestamp(self, position: int) -> int:
        return self._records[position][0]


class ColumnRows:
    """Rows of Arrow columns; ``rows`` are the numbers (int32) of those to take, None for all.

    ``timestamps`` is one for all, or a view of int64 numbers with one a row.
    """

    def __init__(
        self,
        timestamps: int | memoryview,
        values: BinaryColumn,
        keys: BinaryColumn | None,
        headers: HeadersColumn | None,
        rows: memoryview | None,
    ) -> None:
        self.count = values.count if rows is None else len(rows)
        self._timestamps = timestamps
        self._values = values
        self._keys = keys
        self._headers = headers
        self._rows = rows

    def fill(self, builder: RecordBatchBuilder, start: int) -> int:
        return builder.extend_columns(
            self._timestamps, self._values, self._keys, self._headers, rows=self._rows, start=start
        )

    def timestamp(self, position: int) -> int:
        if isinstance(self._timestamps, int):
            return self._timestamps
        row: int = position if self._rows is None else self._rows[position]
        timestamp: int = self._timestamps[row]
        return timestamp
