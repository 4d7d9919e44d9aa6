"""Read what is committed in a topic, on each road that a consumer offers."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from typing import Any

from pyk.clients import AsyncConsumer, Consumer, TopicPartition

END = b"the end"
"""The value of the last record of each partition."""

POLL_SECONDS = 45.0


class Values:
    """The values of a topic by partition, in their order, until each partition has its end."""

    def __init__(self, topic: str, partitions: int) -> None:
        self.assignment = [TopicPartition(topic, number) for number in range(partitions)]
        self.by_partition: dict[int, list[bytes]] = {number: [] for number in range(partitions)}

    def add(self, partition: int, value: Any) -> None:
        self.by_partition[partition].append(value)

    def add_records(self, records: Iterable[Any]) -> None:
        for record in records:
            self.add(record.partition, record.value)

    @property
    def are_complete(self) -> bool:
        return all(values[-1:] == [END] for values in self.by_partition.values())


OPTIONS: dict[str, Any] = {
    "auto_offset_reset": "earliest",
    "isolation_level": "read_committed",
}


def _polled(bootstrap: str, values: Values) -> None:
    with Consumer(bootstrap, **OPTIONS) as consumer:
        consumer.assign(values.assignment)
        while not values.are_complete:
            records = consumer.poll(POLL_SECONDS, max_records=7)
            assert records
            values.add_records(records)


def _polled_in_batches(bootstrap: str, values: Values) -> None:
    with Consumer(bootstrap, **OPTIONS) as consumer:
        consumer.assign(values.assignment)
        while not values.are_complete:
            records = consumer.poll(POLL_SECONDS, max_records=100_000)
            assert records
            for partition in records.partitions():
                values.add_records(records.of(partition))


def _iterated(bootstrap: str, values: Values) -> None:
    with Consumer(bootstrap, **OPTIONS) as consumer:
        consumer.assign(values.assignment)
        for record in consumer:
            values.add(record.partition, record.value)
            if values.are_complete:
                return


def _as_columns(bootstrap: str, values: Values) -> None:
    with Consumer(bootstrap, **OPTIONS) as consumer:
        consumer.assign(values.assignment)
        while not values.are_complete:
            table = consumer.poll(POLL_SECONDS).to_arrow(["partition", "value"])
            assert table.num_rows
            columns = (table.column(name).to_pylist() for name in ("partition", "value"))
            for partition, value in zip(*columns, strict=True):
                values.add(partition, value)


async def _polled_with_asyncio(bootstrap: str, values: Values) -> None:
    async with AsyncConsumer(bootstrap, **OPTIONS) as consumer:
        consumer.assign(values.assignment)
        while not values.are_complete:
            records = await consumer.poll(POLL_SECONDS)
            assert records
            values.add_records(records)


async def _iterated_with_asyncio(bootstrap: str, values: Values) -> None:
    async with AsyncConsumer(bootstrap, **OPTIONS) as consumer:
        consumer.assign(values.assignment)
        async for record in consumer:
            values.add(record.partition, record.value)
            if values.are_complete:
                return


ROADS: dict[str, Callable[[str, Values], Any]] = {
    "poll": _polled,
    "batches": _polled_in_batches,
    "iteration": _iterated,
    "columns": _as_columns,
    "asyncio, poll": _polled_with_asyncio,
    "asyncio, iteration": _iterated_with_asyncio,
}


def committed_values(
    bootstrap: str, topic: str, partitions: int, road: str = "poll"
) -> dict[int, list[bytes]]:
    """Return the values that are committed in front of :data:`END`, by partition."""
    values = Values(topic, partitions)
    work = ROADS[road](bootstrap, values)
    if work is not None:
        asyncio.run(work)
    return {partition: found[:-1] for partition, found in values.by_partition.items()}
