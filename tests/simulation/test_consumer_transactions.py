"""A consumer that reads committed: aborted records, markers, and logs without anything to read."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from pyk.clients import TopicPartition
from pyk.protocol.messages.fetch import AbortedTransaction, FetchRequest, PartitionData
from pyk.runtime.virtual_time import virtual_time
from support.batches import batch
from support.consuming import P0, fetching, read
from support.fetching_cluster import FetchingCluster
from support.record_batches import control_batch

ABORT, COMMIT = 0, 1
COMMITTED = {"isolation_level": "read_committed"}


def write(cluster: FetchingCluster, *values: bytes, producer_id: int, partition: int = 0) -> None:
    """Write a batch of a transaction."""
    base = cluster.end(partition=partition)
    data = batch(base, values, producer_id=producer_id, is_transactional=True)
    cluster.append_bytes(bytes(data), base, base + len(values), partition=partition)


def end(
    cluster: FetchingCluster, control_type: int, *, producer_id: int, partition: int = 0
) -> None:
    """Write the marker that ends a transaction."""
    base = cluster.end(partition=partition)
    data = control_batch(control_type, base_offset=base, producer_id=producer_id)
    cluster.append_bytes(data, base, base + 1, partition=partition)


def list_aborted(cluster: FetchingCluster, *aborted: tuple[int, int]) -> None:
    """Name aborted transactions, (producer id, first offset), in all answers for partition 0."""

    def edit(topic: str, number: int, asked: Any, data: PartitionData) -> PartitionData:
        if number == 0:
            data.aborted_transactions = [
                AbortedTransaction(producer_id=producer, first_offset=first)
                for producer, first in aborted
            ]
        return data

    cluster.edit = edit


async def values_by(road: str, consumer: Any, count: int) -> list[Any]:
    """Return so many values, read by a road through the consumer."""
    values: list[Any] = []
    if road == "iteration":
        async for record in consumer:
            values.append(record.value)
            if len(values) == count:
                return values
    while len(values) < count:
        records = await consumer.poll(1.0)
        if road == "columns" and records:
            values += records.to_arrow(["value"])["value"].to_pylist()
        elif road == "poll":
            values += [record.value for record in records]
    return values


@pytest.mark.parametrize("road", ["poll", "iteration", "columns"])
@virtual_time
async def test_aborted_records_are_left_out_on_every_road(road: str) -> None:
    async with fetching(**COMMITTED) as (cluster, consumer):
        write(cluster, b"aborted", b"aborted", producer_id=1)
        write(cluster, b"a", producer_id=2)
        cluster.append([b"b"])
        write(cluster, b"aborted", producer_id=1)
        end(cluster, COMMIT, producer_id=2)
        end(cluster, ABORT, producer_id=1)
        write(cluster, b"c", producer_id=1)
        end(cluster, COMMIT, producer_id=1)
        list_aborted(cluster, (1, 0), (1, 0))

        assert await values_by(road, consumer, 3) == [b"a", b"b", b"c"]


@virtual_time
async def test_without_read_committed_aborted_records_are_read() -> None:
    async with fetching() as (cluster, consumer):
        write(cluster, b"aborted", producer_id=1)
        end(cluster, ABORT, producer_id=1)
        cluster.append([b"plain"])

        assert await read(consumer, 2) == [b"aborted", b"plain"]


@virtual_time
async def test_the_position_passes_aborted_records_and_markers_at_the_end() -> None:
    async with fetching(**COMMITTED) as (cluster, consumer):
        cluster.append([b"plain"])
        write(cluster, b"aborted", b"aborted", producer_id=1)
        end(cluster, ABORT, producer_id=1)
        list_aborted(cluster, (1, 1))
        assert await read(consumer, 1) == [b"plain"]

        assert await consumer.poll(5) == []

        assert await consumer.position(P0) == 4
        assert await consumer.lag() == dict.fromkeys(consumer.assignment(), 0)


@virtual_time
async def test_a_long_run_of_aborted_transactions_starves_no_other_partition() -> None:
    async with fetching(max_poll_records=10, **COMMITTED) as (cluster, consumer):
        for _ in range(200):
            write(cluster, b"aborted", producer_id=1)
            end(cluster, ABORT, producer_id=1)
        list_aborted(cluster, *((1, 2 * n) for n in range(200)))
        cluster.append([b"one"], partition=1)
        cluster.append([b"two"], partition=2)

        assert sorted(await read(consumer, 2, timeout=5)) == [b"one", b"two"]
        await consumer.poll(5)
        assert await consumer.position(P0) == 400


@virtual_time
async def test_waiting_behind_markers_asks_no_more_often_than_a_quiet_log() -> None:
    async with fetching(leaders=(1,), **COMMITTED) as (cluster, consumer):
        write(cluster, b"aborted", producer_id=1)
        end(cluster, ABORT, producer_id=1)
        list_aborted(cluster, (1, 0))
        await consumer.poll(1)
        before = len(cluster.requests(FetchRequest))

        await consumer.poll(10)

        assert len(cluster.requests(FetchRequest)) - before <= 21


@virtual_time
async def test_a_transaction_that_ends_is_read_at_once() -> None:
    async with fetching(**COMMITTED) as (cluster, consumer):
        cluster.stable_ends[P0] = 0
        write(cluster, b"one", producer_id=1)
        polling = asyncio.create_task(consumer.poll(60))
        await asyncio.sleep(20)
        assert not polling.done()

        del cluster.stable_ends[TopicPartition("orders", 0)]
        end(cluster, COMMIT, producer_id=1)

        assert [record.value for record in await polling] == [b"one"]
