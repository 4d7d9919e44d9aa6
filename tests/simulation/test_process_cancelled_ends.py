"""A call of ``process()`` that is cancelled while it ends leaves its consumer as any other does."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from pyk.runtime.virtual_time import eventually, virtual_time
from support.consuming import make_consumer, produce, reference_cluster
from support.processing import Processor, Processors, records_of
from support.share_consuming import sharing_orders
from support.simulated_billers import COUNT, Biller, all_bills, cluster_with_orders

STUCK = (0, 5)


async def handled_next(consumer: Any, count: int) -> list[int]:
    """Return the offsets of the records that another call handles, as soon as they are so many."""
    offsets: list[int] = []

    async def handle(record: Any) -> None:
        offsets.append(record.offset)
        if len(offsets) == count:
            consumer.wakeup()

    await asyncio.wait_for(consumer.process(handle), 60)
    return offsets


@virtual_time
async def test_a_call_that_is_cancelled_while_its_handlers_finish_cancels_them():
    async with reference_cluster() as cluster:
        await cluster.create_topic("orders", partitions=1)
        await produce(cluster, "orders", 10)
        async with make_consumer(cluster, group_id="g", topics=["orders"]) as consumer:
            member = Processor(consumer, 0.01, {STUCK}, [], {})
            task = asyncio.create_task(consumer.process(member.handle))
            await eventually(lambda: member.running == 1 and len(member.handled) == 5)
            consumer.wakeup()
            await asyncio.sleep(1)

            task.cancel()
            await asyncio.wait({task})

            assert task.cancelled()
            assert member.cancelled == [STUCK]
            assert await handled_next(consumer, 5) == [5, 6, 7, 8, 9]


@virtual_time
async def test_a_handler_that_fails_when_it_is_cancelled_ends_no_later_call():
    async with reference_cluster() as cluster:
        await cluster.create_topic("orders", partitions=1)
        await produce(cluster, "orders", 1)

        async def fail(record: Any) -> None:
            try:
                await asyncio.sleep(60)
            finally:
                raise ValueError(record.offset)

        async with make_consumer(cluster, group_id="g", topics=["orders"]) as consumer:
            task = asyncio.create_task(consumer.process(fail))
            await asyncio.sleep(10)

            task.cancel()
            await asyncio.wait({task})

            assert task.cancelled()
            assert await handled_next(consumer, 1) == [0]


@virtual_time
async def test_a_call_that_is_cancelled_during_its_last_commit_gives_back_what_is_unfinished():
    async with reference_cluster() as cluster:
        await cluster.create_topic("orders", partitions=1)
        await produce(cluster, "orders", 10)
        async with make_consumer(cluster, group_id="g", topics=["orders"]) as consumer:
            member = Processor(consumer, 0.01, {STUCK}, [], {})
            task = asyncio.create_task(consumer.process(member.handle))
            await eventually(lambda: member.running == 1 and len(member.handled) == 5)
            with cluster.faults.on("OffsetCommit").delay(2_000):
                for _ in range(2):
                    task.cancel()
                    await asyncio.sleep(0.1)

            await asyncio.wait({task})
            assert await handled_next(consumer, 5) == [5, 6, 7, 8, 9]


@virtual_time
async def test_a_call_that_is_cancelled_with_all_other_tasks_commits_what_is_finished():
    async with reference_cluster() as cluster:
        await cluster.create_topic("orders", partitions=1)
        await produce(cluster, "orders", 10)
        members = Processors(cluster, auto_commit_interval_ms=600_000)
        async with make_consumer(cluster, **members.options) as consumer:
            member = Processor(consumer, 0.01, (), [], {})
            task = asyncio.create_task(consumer.process(member.handle))
            await eventually(lambda: len(member.handled) == 10)
            await asyncio.sleep(1)

            task.cancel()
            for other in asyncio.all_tasks():  # as at the end of asyncio.run()
                if other.get_name() == "handle records":
                    other.cancel()
            await asyncio.wait({task})

            assert task.cancelled()
            assert set((await members.committed()).values()) == {10}


@virtual_time
async def test_a_call_that_is_cancelled_during_its_last_acknowledgements_closes_its_producer():
    async with reference_cluster() as cluster:
        for topic in ("orders", "orders.dead"):
            await cluster.create_topic(topic, partitions=1)
        await produce(cluster, "orders", 2)
        async with await sharing_orders(cluster) as consumer:

            async def handle(record: Any) -> None:
                if record.offset == 0:
                    raise ValueError("no such customer")
                await asyncio.sleep(1e9)

            task = asyncio.create_task(consumer.process(handle, dead_letter="orders.dead"))
            await records_of(cluster, "orders.dead", 1)
            delayed = cluster.faults.on
            with delayed("ShareAcknowledge").delay(2_000), delayed("ShareFetch").delay(2_000):
                for _ in range(2):
                    task.cancel()
                    await asyncio.sleep(0.1)
            await asyncio.wait({task})

            assert task.cancelled()
            assert "deliver at the end" not in {one.get_name() for one in asyncio.all_tasks()}


@pytest.mark.parametrize("request_name", ["TxnOffsetCommit", "EndTxn"])
@virtual_time
async def test_a_call_that_is_cancelled_during_its_last_transaction_ends_that(request_name):
    async with cluster_with_orders() as cluster:
        biller = Biller(cluster)
        async with biller.producer, biller.consumer as consumer:

            def process() -> Any:
                return asyncio.create_task(
                    consumer.process(biller.bill, producer=biller.producer, **biller.options)
                )

            task = process()
            await eventually(lambda: len(biller.handled) > 20)
            with cluster.faults.on(request_name).delay(3_000):
                await asyncio.sleep(0.2)
                for _ in range(2):
                    task.cancel()
                    await asyncio.sleep(0.1)
                await asyncio.wait({task})
                assert "write results" not in {one.get_name() for one in asyncio.all_tasks()}

            task = process()
            assert await all_bills(cluster) == list(range(COUNT))
            consumer.wakeup()
            await task
