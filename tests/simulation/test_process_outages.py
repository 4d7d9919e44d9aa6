"""Handlers fail while no broker answers: their records are moved once brokers are back."""

from __future__ import annotations

import asyncio
from random import Random
from typing import Any

import pytest

from pyk.clients import (
    AlterConfig,
    AsyncAdmin,
    AsyncShareConsumer,
    BootstrapError,
    ConfigResource,
    ConfigResourceType,
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
        clients = client_options(network_of(cluster))
        async with AsyncAdmin(cluster.bootstrap, **clients) as admin:
            group = ConfigResource(ConfigResourceType.GROUP, "g")
            changes = [AlterConfig("share.auto.offset.reset", "earliest")]
            await admin.incremental_alter_configs({group: changes})

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
