"""Make batches of the records that a test puts into a topic."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pyk.protocol.records import RecordBatchBuilder, partition_for_key

from .record_notation import WrittenRecord, fields_of


def batches_of(
    topic: str, records: Iterable[WrittenRecord], partition_count: int, now_ms: int
) -> list[tuple[int, memoryview]]:
    """Return the batches of all records with their partitions; raise for invalid records.

    A record goes where it says, or where its key belongs; those without either take turns.
    """
    seeds = _Seeds(topic, partition_count, now_ms)
    for record in records:
        seeds.add(fields_of(record))
    return seeds.finish()


class _Seeds:
    def __init__(self, topic: str, partition_count: int, now_ms: int) -> None:
        self._topic = topic
        self._partition_count = partition_count
        self._now_ms = now_ms
        self._turn = 0
        self._builders: dict[int, RecordBatchBuilder] = {}
        self._batches: list[tuple[int, memoryview]] = []

    def add(self, fields: dict[str, Any]) -> None:
        partition = self._partition_of(fields)
        row = (
            fields.get("timestamp_ms", self._now_ms),
            fields.get("key"),
            fields.get("value"),
            fields.get("headers", ()),
        )
        builder = self._builders.setdefault(partition, RecordBatchBuilder())
        if builder.append(*row) < 0:
            self._batches.append((partition, builder.seal()))
            builder = self._builders[partition] = RecordBatchBuilder()
            builder.append(*row)

    def finish(self) -> list[tuple[int, memoryview]]:
        rest = [(partition, builder.seal()) for partition, builder in self._builders.items()]
        return self._batches + rest

    def _partition_of(self, fields: dict[str, Any]) -> int:
        partition, key = fields.get("partition"), fields.get("key")
        if partition is None and key is not None:
            return partition_for_key(key, self._partition_count)
        if partition is None:
            self._turn += 1
            return (self._turn - 1) % self._partition_count
        if partition not in range(self._partition_count):
            raise ValueError(
                f"no partition {partition} of {self._topic!r}, which has {self._partition_count}"
            )
        return int(partition)
