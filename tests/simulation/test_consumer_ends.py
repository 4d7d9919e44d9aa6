"""Consumers begin when they are first used, and end when they are closed, cancelled or dropped."""

from __future__ import annotations

import asyncio
import gc
import warnings
from typing import Any

import pytest

from pyk.clients import TopicPartition
from pyk.clients.errors import StateError
from pyk.runtime.virtual_time import current_clock, eventually, run_virtual, virtual_time
from support.consumer_groups import Group
from support.consuming import (
    P0,
    cluster_with_orders,
    make_consumer,
    produce,
    read,
    reference_cluster,
)


async def seconds_of(awaitable: Any) -> float:
    began = current_clock().now()
    await awaitable
    return current_clock().now() - began


@virtual_time
async def test_closing_in_an_outage_gives_the_commit_up_soon():
    async with cluster_with_orders(10) as cluster:
        consumer = make_consumer(cluster, group_id="g", topics=["orders"])
        await read(consumer, 10)
        await consumer.poll(0.1)
        await cluster.kill(0)

        assert await seconds_of(consumer.close()) < 10


@virtual_time
async def test_closing_with_a_timeout_waits_that_long_for_the_commit():
    async with cluster_with_orders(10) as cluster:
        consumer = make_consumer(cluster, group_id="g", topics=["orders"])
        await read(consumer, 10)
        await consumer.poll(0.1)
        await cluster.kill(0)
        closing = asyncio.create_task(consumer.close(60))
        await asyncio.sleep(20)
        await cluster.start(0)
        await closing

        assert await Group(cluster).committed() == {P0: 10}


@virtual_time
async def test_a_close_that_is_cancelled_ends_at_once_and_commits_once():
    async with cluster_with_orders(10) as cluster:
        consumer = make_consumer(cluster, group_id="g", topics=["orders"])
        await read(consumer, 10)
        await consumer.poll(0.1)
        with cluster.faults.on("OffsetCommit").drop_before_apply():
            closing = asyncio.create_task(consumer.close(60))
            await asyncio.sleep(1)
            closing.cancel()
            seconds = await seconds_of(asyncio.wait({closing}))

        assert closing.cancelled()
        assert seconds < 2


@virtual_time
async def test_a_consumer_needs_no_context_manager():
    async with cluster_with_orders(10) as cluster:
        consumer = make_consumer(cluster, group_id="g")

        consumer.subscribe(["orders"])
        assert len(await read(consumer, 10)) == 10

        await consumer.commit()
        await consumer.close()
        assert await Group(cluster).committed() == {P0: 10}


@pytest.mark.parametrize("options", [{"group_id": "g"}, {}], ids=["group", "no group"])
@virtual_time
async def test_partitions_may_be_assigned_and_sought_before_the_first_poll(options: Any):
    async with cluster_with_orders(10) as cluster:
        consumer = make_consumer(cluster, **options)

        consumer.assign([P0])
        consumer.seek(P0, 7)
        assert consumer.paused() == set()

        assert await read(consumer, 3) == [b"7", b"8", b"9"]
        await consumer.close()


@pytest.mark.parametrize("call", ["position", "committed", "end_offsets", "lag", "commit"])
@virtual_time
async def test_whatever_asks_the_cluster_connects_first(call: str):
    async with cluster_with_orders(10) as cluster:
        consumer = make_consumer(cluster, group_id="g")
        consumer.assign([P0])
        arguments: dict[str, Any] = {
            "position": P0, "committed": [P0], "end_offsets": [P0], "commit": {P0: 3},
        }  # fmt: skip

        found = await getattr(consumer, call)(*[arguments[call]] if call in arguments else [])

        expected = {
            "position": 0,
            "committed": {P0: None},
            "end_offsets": {P0: 10},
            "lag": {P0: 10},
        }
        assert found == expected.get(call)
        await consumer.close()


@virtual_time
async def test_a_pattern_may_be_subscribed_to_before_the_first_poll():
    async with cluster_with_orders(3) as cluster:
        consumer = make_consumer(cluster)

        consumer.subscribe(pattern="ord.*")

        assert len(await read(consumer, 3)) == 3
        await consumer.close()


@virtual_time
async def test_a_consumer_that_is_dropped_says_so_and_leaves_its_group():
    async with reference_cluster() as cluster:
        await cluster.create_topic("orders", partitions=4)
        await produce(cluster, "orders", 40, partitions=4)
        dropped: Any = make_consumer(cluster, group_id="g", topics=["orders"])
        await read(dropped, 40)
        await dropped.poll(0.1)
        other = make_consumer(cluster, group_id="g", topics=["orders"])

        with pytest.warns(ResourceWarning, match=r"was dropped without close\(\)"):
            del dropped
        await other.poll(5)

        assert other.assignment() == {TopicPartition("orders", number) for number in range(4)}
        assert await Group(cluster).committed() == dict.fromkeys(other.assignment(), 10)
        await other.close()


def test_a_consumer_that_outlives_its_event_loop_leaves_nothing_unawaited():
    async def start() -> Any:
        async with reference_cluster() as cluster:
            consumer = make_consumer(cluster, group_id="g", topics=["orders"])
            await consumer.start()
            return consumer

    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        dropped = run_virtual(start())
        del dropped
        gc.collect()

    assert [one.category for one in warned] == [ResourceWarning]


@virtual_time
async def test_entering_and_leaving_at_once_leaves_nothing_unawaited():
    async with reference_cluster() as cluster:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            async with make_consumer(cluster, group_id="g", topics=["orders"]):
                pass
            gc.collect()


@virtual_time
async def test_the_next_record_may_be_a_task_whether_or_not_it_is_at_hand():
    async with (
        cluster_with_orders(4) as cluster,
        make_consumer(cluster, topics=["orders"]) as consumer,
    ):
        seen = [(await asyncio.create_task(consumer.__anext__())).offset for _ in range(3)]
        given_up = asyncio.create_task(consumer.__anext__())
        given_up.cancel()
        await asyncio.wait({given_up})
        seen.append((await asyncio.wait_for(consumer.__anext__(), 5)).offset)

        assert seen == [0, 1, 2, 3]
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(consumer.__anext__(), 1)
        assert await consumer.position(P0) == 4
        once = consumer.__anext__()
        await produce(cluster, "orders", 1)
        await eventually(lambda: consumer.stats().buffered_bytes > 0)
        await once
        with pytest.raises(RuntimeError, match="already awaited"):
            await once


@virtual_time
async def test_an_unsubscribe_that_is_cancelled_while_it_leaves_reads_nothing_more():
    async with reference_cluster() as cluster:
        await cluster.create_topic("orders", partitions=2)
        await produce(cluster, "orders", 10, partitions=2)
        consumer = make_consumer(cluster, group_id="g", topics=["orders"])
        other = make_consumer(cluster, group_id="g", topics=["orders"])
        async with consumer, other:
            await read(consumer, 10)
            await consumer.poll(0)
            with cluster.faults.on("LeaveGroup").delay(2000):
                unsubscribing = asyncio.create_task(consumer.unsubscribe())
                await asyncio.sleep(1)
                unsubscribing.cancel()
                await asyncio.wait({unsubscribing})

                assert consumer.assignment() == set()
                with pytest.raises(StateError, match="nothing to read: call subscribe"):
                    await consumer.poll(0.1)
                await asyncio.sleep(2)
            await produce(cluster, "orders", 10, partitions=2)
            assert len(await read(other, 10, timeout=5)) == 10
