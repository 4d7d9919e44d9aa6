"""The records of a ``send_batch`` that came as an Arrow table: no Python object per record."""

from __future__ import annotations

from typing import Any, Literal

from pyk.clients.producer.batching.budget import RECORD_OVERHEAD_BYTES
from pyk.clients.producer.batching.row_source import ColumnRows
from pyk.clients.producer.bulk.batch_delivery import PartitionRecords
from pyk.clients.producer.bulk.iterable_records import PartitioningContext, check_numbers
from pyk.protocol.records import BinaryColumn, HeadersColumn
from pyk.protocol.records.murmur2 import partitions_for_keys, rows_by_partition

COLUMNS = ("key", "value", "headers", "partition", "timestamp")


def is_table(records: Any) -> bool:
    """Return whether records are an Arrow table, or an object that exports one."""
    return hasattr(records, "__arrow_c_stream__") or hasattr(records, "__arrow_c_array__")


class ArrowRecords:
    """An Arrow table with the column ``value``, and maybe the others of ``COLUMNS``."""

    def __init__(self, records: Any) -> None:
        import pyarrow

        table = pyarrow.table(records) if not hasattr(records, "to_batches") else records
        unknown = set(table.schema.names) - set(COLUMNS)
        if "value" not in table.schema.names or unknown:
            raise ValueError(
                f"a table with the columns {', '.join(table.schema.names)}: there must be 'value', "
                f"and may be {', '.join(column for column in COLUMNS if column != 'value')}"
            )
        self._blocks = [_Block(batch) for batch in table.to_batches() if len(batch)]
        partitions = [b.highest_partition for b in self._blocks if b.highest_partition is not None]
        self.highest_partition = max(partitions, default=None)
        self.largest_size = max((block.largest_size for block in self._blocks), default=0)

    def by_partition(self, context: PartitioningContext) -> list[PartitionRecords]:
        parts = []
        first_row = 0
        for block in self._blocks:
            parts += block.by_partition(context, first_row)
            first_row += block.count
        return parts


class _Block:
    """One record batch of the table."""

    def __init__(self, batch: Any) -> None:
        import pyarrow
        import pyarrow.compute

        self._arrow, self._compute = pyarrow, pyarrow.compute
        columns = dict(zip(batch.schema.names, batch.columns, strict=True))
        values, keys = columns["value"], columns.get("key")
        self.count = len(values)
        self._values = self._binary("value", values)
        self._keys = None if keys is None else self._binary("key", keys)
        self._headers = self._headers_column(columns.get("headers"))
        self._partitions = self._partition_column(columns.get("partition"))
        self._timestamps = self._timestamp_column(columns.get("timestamp"))
        compute = self._compute
        self.highest_partition: int | None = None
        if self._partitions is not None:
            extremes = compute.min_max(self._partitions).as_py()
            check_numbers(extremes["min"], None)
            self.highest_partition = extremes["max"]
        if self._timestamps is not None:
            check_numbers(None, compute.min(self._timestamps).as_py())
        self.largest_size = RECORD_OVERHEAD_BYTES + sum(
            compute.max(compute.binary_length(column)).as_py() or 0
            for column in (values, keys)
            if column is not None
        )

    def by_partition(self, context: PartitioningContext, first_row: int) -> list[PartitionRecords]:
        timestamps = self._timestamp_view(context.time_ms)
        partitions = self._chosen(context)
        if partitions is None:
            return [PartitionRecords(-1, self._rows(timestamps, None), first_row)]
        grouped = rows_by_partition(partitions, context.partition_count)
        return [
            PartitionRecords(partition, self._rows(timestamps, rows), first_row, rows)
            for partition, numbers in enumerate(grouped)
            if (rows := memoryview(numbers).cast("B").cast("i"))
        ]

    def _rows(self, timestamps: int | memoryview, rows: memoryview | None) -> ColumnRows:
        return ColumnRows(timestamps, self._values, self._keys, self._headers, rows)

    def _chosen(self, context: PartitioningContext) -> Any:
        """Return the partition of every row as int32, None if every row may go to any partition."""
        pa, compute = self._arrow, self._compute
        chosen = self._partitions
        if context.has_partitioner:
            keys = self._keys
            by_key = [
                context.partition_of(None if keys is None else keys[row])
                for row in range(self.count)
            ]
            chosen = _coalesced(compute, chosen, pa.array(by_key, pa.int32()))
        elif self._keys is not None and self._keys.null_count < self.count:
            hashed = partitions_for_keys(self._keys, context.partition_count)
            by_key = pa.Array.from_buffers(pa.int32(), self.count, [None, pa.py_buffer(hashed)])
            by_key = compute.if_else(compute.less(by_key, 0), None, by_key)
            chosen = _coalesced(compute, chosen, by_key)
        if chosen is None or chosen.null_count == self.count:
            return None
        if chosen.null_count:
            # One partition for all of them, so that every partition keeps the order of its rows.
            chosen = compute.fill_null(chosen, context.sticky_partition())
        return _numbers(chosen, "i")

    def _timestamp_view(self, now: int) -> int | memoryview:
        if self._timestamps is None:
            return now
        return _numbers(self._compute.fill_null(self._timestamps, now), "q")

    def _binary(self, name: str, column: Any) -> BinaryColumn:
        try:
            return BinaryColumn.from_arrow(column)
        except TypeError:  # a dictionary, a view, a fixed size: one copy makes it plain
            plain = self._cast(name, column, self._arrow.large_binary(), "bytes or str")
            return BinaryColumn.from_arrow(plain)

    def _cast(self, name: str, column: Any, wanted: Any, described: str) -> Any:
        try:
            return column.cast(wanted)
        except (self._arrow.ArrowInvalid, self._arrow.ArrowNotImplementedError) as error:
            raise TypeError(
                f"the column {name!r} must hold {described}, not {column.type}"
            ) from error

    def _headers_column(self, column: Any) -> HeadersColumn | None:
        if column is None or column.null_count == self.count:
            return None
        pa = self._arrow
        fields = [(field.name, field.type) for field in column.type.value_type]
        wanted = pa.list_(pa.struct([(fields[0][0], pa.string()), (fields[1][0], pa.binary())]))
        return HeadersColumn.from_arrow(column.cast(wanted))

    def _partition_column(self, column: Any) -> Any:
        if column is None:
            return None
        return self._cast("partition", column, self._arrow.int32(), "ints of 32 bits")

    def _timestamp_column(self, column: Any) -> Any:
        if column is None:
            return None
        pa = self._arrow
        if pa.types.is_timestamp(column.type):
            column = column.cast(pa.timestamp("ms", tz=column.type.tz), safe=False)
        elif not (pa.types.is_integer(column.type) or pa.types.is_null(column.type)):
            raise TypeError(
                "the column 'timestamp' must hold timestamps, or ints of milliseconds since 1970, "
                f"not {column.type}"
            )
        return column.cast(pa.int64())


def _coalesced(compute: Any, first: Any, second: Any) -> Any:
    return second if first is None else compute.coalesce(first, second)


def _numbers(column: Any, kind: Literal["i", "q"]) -> memoryview[int]:
    """Return the numbers of an Arrow array without nulls, from its own first row on."""
    numbers = memoryview(column.buffers()[1]).cast("B").cast(kind)
    return numbers[column.offset : column.offset + len(column)]
