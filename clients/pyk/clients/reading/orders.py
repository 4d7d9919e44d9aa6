"""The orders in which a bounded read returns the records of several partitions. Pure.

Both take tables of one partition each and give tables to the caller. ``wanted`` says from which
partitions more is needed now: the others are paused, which bounds the memory.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from pyk.clients.topic_partition import TopicPartition

if TYPE_CHECKING:
    import pyarrow

KEY = "order key"


class ArrivalOrder:
    """Records come as brokers return them, those of one partition in the order of their offsets."""

    def __init__(self, partitions: Collection[TopicPartition]) -> None:
        self._open = set(partitions)
        self._tables: list[pyarrow.Table] = []

    @property
    def wanted(self) -> set[TopicPartition]:
        return set(self._open)

    def add(self, partition: TopicPartition, table: pyarrow.Table) -> None:
        """Take the next records of a partition."""
        self._tables.append(table)

    def finish(self, partition: TopicPartition) -> None:
        """Take note that a partition has no more records."""
        self._open.discard(partition)

    def take(self) -> pyarrow.Table | None:
        """Return the records that can be returned now, None if there are none."""
        tables, self._tables = self._tables, []
        return pa.concat_tables(tables) if tables else None


class TimeOrder:
    """Records come by their timestamps, and those of one partition in the order of their offsets.

    Where the timestamps of a partition do not ascend, which producers may set, a record counts as
    of the latest timestamp before it. A record can be returned once every open partition has a
    later one: of which there is none here, more is wanted.
    """

    def __init__(self, partitions: Collection[TopicPartition]) -> None:
        self._open = set(partitions)
        self._pending: dict[TopicPartition, pyarrow.Table] = {}
        self._latest: dict[TopicPartition, int] = {}

    @property
    def wanted(self) -> set[TopicPartition]:
        return self._open - self._pending.keys()

    def add(self, partition: TopicPartition, table: pyarrow.Table) -> None:
        """Take the next records of a partition."""
        timestamps = table.column("timestamp").cast(pa.int64())
        keys = pc.cumulative_max(timestamps, start=self._latest.get(partition))
        self._latest[partition] = keys[-1].as_py()
        keyed = table.append_column(KEY, keys)
        before = self._pending.get(partition)
        self._pending[partition] = keyed if before is None else pa.concat_tables([before, keyed])

    def finish(self, partition: TopicPartition) -> None:
        """Take note that a partition has no more records."""
        self._open.discard(partition)

    def take(self) -> pyarrow.Table | None:
        """Return the records that can be returned now, None if there are none."""
        if self.wanted or not self._pending:
            return None
        until = min(
            (self._latest[partition] for partition in self._open),
            default=max(self._latest[partition] for partition in self._pending),
        )
        taken, left = [], {}
        for partition, table in sorted(self._pending.items()):
            count = rows_below(table.column(KEY), until + 1)
            taken.append(table.slice(0, count))
            if count < table.num_rows:
                left[partition] = table.slice(count)
        self._pending = left
        merged = pa.concat_tables(taken)
        return merged.take(pc.sort_indices(merged.column(KEY))).drop_columns([KEY])


def rows_below(ascending: pyarrow.ChunkedArray, end: int) -> int:
    """Return how many of these ascending numbers are below ``end``."""
    low, high = 0, len(ascending)
    while low < high:
        middle = (low + high) // 2
        if ascending[middle].as_py() < end:
            low = middle + 1
        else:
            high = middle
    return low
