"""What ``process()`` does while nobody knows how its transactions end."""

from __future__ import annotations

import asyncio
import contextlib

import pytest

from pyk.clients.errors import KafkaError
from pyk.runtime.virtual_time import eventually, virtual_time
from support.simulated_billers import (
    COUNT,
    PARTITIONS,
    Biller,
    all_bills,
    cluster_with_orders,
    committed,
    make_producer,
    values_of,
)


@virtual_time
async def test_a_second_call_asks_the_group_whether_the_last_transaction_was_committed():
    async with cluster_with_orders() as cluster:
        cluster.faults.on("EndTxn").apply_then_lose_response()
        biller = Biller(cluster)
        first, second = biller.producer, make_producer(cluster, "billing-1")
        async with biller.consumer as consumer:
            await first.start()
            task = asyncio.create_task(consumer.process(biller.bill, producer=first))
            await eventually(lambda: len(biller.handled) == COUNT)
            await asyncio.sleep(1)
            task.cancel()
            await asyncio.wait({task})
            cluster.faults.clear()

            async with second:
                task = asyncio.create_task(consumer.process(biller.bill, producer=second))
                bills = await all_bills(cluster)
                await asyncio.sleep(10)
                consumer.wakeup()
                await task
        with contextlib.suppress(KafkaError):
            await first.close()

        assert bills == sorted(map(int, await values_of(cluster, "bills"))) == list(range(COUNT))


@virtual_time
async def test_a_commit_without_an_answer_is_waited_for():
    async with cluster_with_orders() as cluster:
        cluster.faults.on("EndTxn").apply_then_lose_response()
        biller = Biller(cluster).start()
        await eventually(lambda: len(biller.handled) == COUNT)
        await asyncio.sleep(100)  # more than half of transaction.timeout.ms
        cluster.faults.clear()

        assert await all_bills(cluster) == list(range(COUNT))

        await biller.wake()
        assert len(biller.handled) == COUNT
        assert await committed(cluster) == dict.fromkeys(PARTITIONS, COUNT // 3)


@virtual_time
async def test_a_call_that_is_cancelled_leaves_no_transaction_open():
    async with cluster_with_orders() as cluster:
        cluster.faults.on("TxnOffsetCommit").delay(25_000)
        biller = Biller(cluster)
        async with biller.producer as producer, biller.consumer as consumer:
            task = asyncio.create_task(consumer.process(biller.bill, producer=producer))
            await eventually(lambda: len(biller.handled) == COUNT)
            await asyncio.sleep(1)
            task.cancel()
            await asyncio.wait({task})

            async with producer.transaction():
                await producer.send("bills", b"the last one")

        assert await values_of(cluster, "bills") == [b"the last one"]


@pytest.mark.parametrize("request_name", ["TxnOffsetCommit", "AddOffsetsToTxn", "Produce"])
@virtual_time
async def test_each_transaction_that_is_aborted_is_written_again(request_name):
    async with cluster_with_orders() as cluster:
        biller = Biller(cluster)
        biller.duration = lambda: 0.1
        biller.options = {"concurrency": 1}
        biller.start()
        for count in (10, 20, 30):
            await eventually(lambda count=count: len(biller.handled) >= count)
            cluster.faults.on(request_name).once().error("TRANSACTION_ABORTABLE")

        assert await all_bills(cluster) == list(range(COUNT))

        await biller.wake()
        assert len(biller.handled) == COUNT
