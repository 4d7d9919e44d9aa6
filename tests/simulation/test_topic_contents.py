"""What tests put into topics, read of them and expect there, without a client."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from pyk.clients import AsyncConsumer, AsyncProducer
from pyk.protocol.errors import ErrorCode
from pyk.reference_broker import AsyncCluster
from pyk.reference_broker.errors import ApiError
from pyk.runtime.simulation import World
from pyk.runtime.virtual_time import virtual_time


def new_cluster(world: World, **options: Any) -> AsyncCluster:
    return AsyncCluster(**world.host("broker").environment, **options)


def new_producer(world: World, cluster: AsyncCluster, **options: Any) -> AsyncProducer:
    return AsyncProducer(cluster.bootstrap, **world.host("shop").client_options, **options)


@virtual_time
async def test_seeded_records_are_read_by_a_consumer() -> None:
    world = World()
    async with new_cluster(world) as cluster:
        await cluster.seed({"orders": [b"first", ("key", "second")]})

        async with AsyncConsumer(
            cluster.bootstrap,
            topics=["orders"],
            group_id="shop",
            auto_offset_reset="earliest",
            **world.host("shop").client_options,
        ) as consumer:
            records = [await anext(aiter(consumer)) for _ in range(2)]

    assert [(record.key, record.value) for record in records] == [
        (None, b"first"),
        (b"key", b"second"),
    ]


@virtual_time
async def test_seeds_come_after_what_is_there_and_know_where_keys_belong() -> None:
    world = World()
    async with new_cluster(world) as cluster, new_producer(world, cluster) as producer:
        await cluster.create_topic("orders", partitions=8)
        sent = await producer.send_and_wait("orders", b"sent", key=b"order-1")

        await cluster.seed({"orders": [("order-1", "seeded")]})
        records = await cluster.records("orders")

    assert [(record.partition, record.value) for record in records] == [
        (sent.partition, b"sent"),
        (sent.partition, b"seeded"),
    ]


@virtual_time
async def test_seeds_are_safe_when_they_are_stored() -> None:
    world = World()
    async with new_cluster(world, config={"flush.messages": 1}) as cluster:
        await cluster.seed({"orders": [b"first"]})
        await cluster.kill()
        world.host("broker").cut_power()
        await cluster.start()

        assert [record.value for record in await cluster.records("orders")] == [b"first"]


@virtual_time
async def test_internal_topics_are_not_seeded() -> None:
    async with new_cluster(World()) as cluster:
        with pytest.raises(ValueError, match="'__consumer_offsets' is written by the broker only"):
            await cluster.seed({"__consumer_offsets": [b"x"]})


@virtual_time
async def test_records_of_an_unknown_topic_are_an_error() -> None:
    async with new_cluster(World()) as cluster:
        with pytest.raises(ApiError, match="there is no topic 'orders'") as caught:
            await cluster.records("orders")

    assert caught.value.code is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


@virtual_time
async def test_many_records_of_many_segments_are_all_read() -> None:
    async with new_cluster(World()) as cluster:
        await cluster.create_topic("orders", configs={"segment.bytes": 1_048_576})
        values = [f"{number:06}".encode() * 100 for number in range(4_000)]

        await cluster.seed({"orders": values})

        assert [record.value for record in await cluster.records("orders")] == values


@virtual_time
async def test_records_of_aborted_and_open_transactions_are_left_out() -> None:
    world = World()
    async with (
        new_cluster(world) as cluster,
        new_producer(world, cluster, transactional_id="shop") as producer,
    ):
        async with producer.transaction():
            await producer.send_and_wait("orders", b"committed")
        await producer.begin_transaction()
        await producer.send_and_wait("orders", b"aborted")
        await producer.abort_transaction()
        async with producer.transaction():
            await producer.send_and_wait("orders", b"open")

            committed = await cluster.records("orders")
            stored = await cluster.records("orders", committed=False)

    assert [record.value for record in committed] == [b"committed"]
    assert [record.value for record in stored] == [b"committed", b"aborted", b"open"]


async def after(seconds: float, action: Callable[[], Any]) -> None:
    await asyncio.sleep(seconds)
    await action()


@virtual_time
async def test_a_test_waits_for_what_it_expects() -> None:
    world = World()
    loop = asyncio.get_running_loop()
    async with new_cluster(world) as cluster, new_producer(world, cluster) as producer:
        application = asyncio.create_task(
            after(3, lambda: producer.send_and_wait("orders", b"late"))
        )

        (record,) = await cluster.expect("orders", b"late", timeout=10)
        waited = loop.time()
        await application

    assert record.value == b"late"
    assert 3 <= waited < 4


@virtual_time
async def test_expected_records_may_be_among_others() -> None:
    async with new_cluster(World()) as cluster:
        await cluster.seed({"orders": [b"a", b"b", b"c"]})

        matched = await cluster.expect(
            "orders", b"a", lambda record: record.value > b"b", exactly=False
        )

    assert [record.value for record in matched] == [b"a", b"c"]


@virtual_time
async def test_a_test_that_expects_in_vain_is_told_what_came() -> None:
    loop = asyncio.get_running_loop()
    async with new_cluster(World()) as cluster:
        await cluster.seed({"orders": [b"other"]})

        with pytest.raises(AssertionError, match=r"1 of 1 missing, 1 others[^$]*b'other'"):
            await cluster.expect("orders", b"first", timeout=2)

    assert 2 <= loop.time() < 3


@virtual_time
async def test_a_test_may_expect_a_topic_that_never_comes() -> None:
    async with new_cluster(World()) as cluster:
        with pytest.raises(AssertionError, match="1 of 1 missing, 0 others"):
            await cluster.expect("orders", b"first", timeout=0.1)


@virtual_time
async def test_expectations_outlive_a_crash_of_the_node() -> None:
    world = World()
    async with new_cluster(world) as cluster:
        await cluster.seed({"orders": [b"before"]})
        await cluster.kill()
        expected = asyncio.create_task(cluster.expect("orders", b"before", b"after"))
        await asyncio.sleep(1)

        await cluster.start()
        await cluster.seed({"orders": [b"after"]})

        assert len(await expected) == 2
