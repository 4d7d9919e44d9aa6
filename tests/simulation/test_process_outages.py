"""Handlers fail while no broker answers: their records are moved once brokers are back."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from random import Random
from typing import Any

import pytest

from pyk.clients import (
    AlterConfig,
    AsyncAdmin,
    AsyncProducer,
    AsyncShareConsumer,
    BootstrapError,
    ConfigResource,
    ConfigResourceType,
    ProducerRecord,
    RetryPolicy,
)
from pyk.runtime.virtual_time import virtual_time
from support.consuming import make_consumer, network_of, produce, reference_cluster
from support.environments import client_options
from support.processing import records_of

TOPICS = ("orders", "orders.aside")
LONG = 400
"""Seconds: longer than a producer tries to deliver a record."""


@pytest.mark.parametrize(
    "options",
    [
        {"dead_letter": "orders.aside"},
        {"retry": RetryPolicy(attempts=1, topics={"orders.aside": 3600})},
    ],
)
@virtual_time
async def test_a_long_outage_does_not_keep_a_record_from_being_moved(options, caplog):
    async with reference_cluster() as cluster:
        for topic in TOPICS:
            await cluster.create_topic(topic, partitions=1)
        await produce(cluster, "orders", 1)
        group = {"group_id": "g", "group_protocol": "consumer", "topics": ["orders"]}

        async with make_consumer(cluster, **group) as consumer:
            task = asyncio.create_task(consumer.process(_once_away(cluster), **options))
            await asyncio.sleep(LONG)
            assert not task.done(), task.exception()
            await cluster.start(0)
            assert len(await records_of(cluster, "orders.aside", 1)) == 1
            consumer.wakeup()
            await task

    assert "orders-0 at offset 0, attempt 1 is not moved to 'orders.aside' yet" in caplog.text


@virtual_time
async def test_a_long_outage_does_not_end_the_handlers_of_a_share_consumer():
    async with reference_cluster() as cluster:
        for topic in TOPICS:
            await cluster.create_topic(topic, partitions=1)
        await produce(cluster, "orders", 1)
        await _begin_at_the_start(cluster)
        clients = client_options(network_of(cluster))
        consumer: AsyncShareConsumer[Any, Any] = AsyncShareConsumer(
            cluster.bootstrap, topics=["orders"], group_id="g", **{**clients, "random": Random(1)}
        )
        async with consumer:
            handling = consumer.process(_once_away(cluster), dead_letter="orders.aside")
            task = asyncio.create_task(handling)
            await asyncio.sleep(LONG)
            assert not task.done(), task.exception()
            await cluster.start(0)
            await records_of(cluster, "orders.aside", 1)
            consumer.wakeup()
            await task


@virtual_time
async def test_a_call_that_is_to_end_does_not_wait_for_the_end_of_an_outage():
    async with reference_cluster() as cluster:
        for topic in TOPICS:
            await cluster.create_topic(topic, partitions=1)
        await produce(cluster, "orders", 1)

        async with make_consumer(cluster, group_id="g", topics=["orders"]) as consumer:
            handling = consumer.process(_once_away(cluster), dead_letter="orders.aside")
            task = asyncio.create_task(handling)
            await asyncio.sleep(10)
            consumer.wakeup()

            with pytest.raises(BootstrapError) as raised:
                await asyncio.wait_for(task, 60)
            assert "orders-0 at offset 0" in raised.value.__notes__[0]


@pytest.mark.parametrize("kind", ["classic", "consumer", "exactly-once", "share"])
@virtual_time
async def test_an_outage_does_not_hold_up_the_end_of_a_call_for_long(kind):
    async with reference_cluster() as cluster:
        await cluster.create_topic("orders", partitions=1)
        await produce(cluster, "orders", 1000)

        async with _handling(cluster, kind) as (consumer, task):
            await asyncio.sleep(20)
            await cluster.kill(0)
            await asyncio.sleep(1)
            consumer.wakeup()

            await asyncio.wait_for(task, 17)


@asynccontextmanager
async def _handling(cluster: Any, kind: str) -> AsyncIterator[tuple[Any, asyncio.Task[None]]]:
    """Handle orders for a tenth of a second each."""
    clients = client_options(network_of(cluster))
    options: dict[str, Any] = {"group_id": "g", "topics": ["orders"]}
    if kind == "exactly-once":
        options |= {"enable_auto_commit": False, "isolation_level": "read_committed"}
    elif kind != "share":
        options["group_protocol"] = kind

    async def handle(record: Any) -> Any:
        await asyncio.sleep(0.1)
        return ProducerRecord("orders.out", record.value) if kind == "exactly-once" else None

    async with AsyncExitStack() as stack:
        producer: Any = None
        if kind == "exactly-once":
            await cluster.create_topic("orders.out", partitions=1)
            producer = AsyncProducer(cluster.bootstrap, transactional_id="t", **clients)
            await stack.enter_async_context(producer)
        if kind == "share":
            await _begin_at_the_start(cluster)
            consumer: Any = AsyncShareConsumer(cluster.bootstrap, **options, **clients)
        else:
            consumer = make_consumer(cluster, **options)
        await stack.enter_async_context(consumer)
        given = {"producer": producer} if producer else {}
        yield consumer, asyncio.create_task(consumer.process(handle, **given))


async def _begin_at_the_start(cluster: Any) -> None:
    """Let the share group ``g`` read what was written before it came."""
    async with AsyncAdmin(cluster.bootstrap, **client_options(network_of(cluster))) as admin:
        group = ConfigResource(ConfigResourceType.GROUP, "g")
        changes = [AlterConfig("share.auto.offset.reset", "earliest")]
        await admin.incremental_alter_configs({group: changes})


def _once_away(cluster: Any) -> Any:
    """Return a handler that fails once it has killed the broker."""

    is_up = True

    async def handle(record: Any) -> None:
        nonlocal is_up
        if is_up:
            is_up = False
            await cluster.kill(0)
        raise LookupError("no such customer")

    return handle
