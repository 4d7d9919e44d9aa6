"""Handlers fail while the clock of their host is wrong, so that brokers refuse to move a record."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from pyk.clients import AsyncConsumer, AsyncProducer, InvalidTimestampError, RetryPolicy
from pyk.reference_broker import AsyncCluster, World

HOURS = 3600


async def fail(record: Any) -> None:
    raise LookupError("no such customer")


@asynccontextmanager
async def consumer_of_one_order() -> AsyncIterator[tuple[AsyncCluster, AsyncConsumer[Any, Any]]]:
    """Run a broker that refuses to write aside what is older or newer than an hour."""
    async with AsyncCluster() as cluster:
        limits = {"message.timestamp.before.max.ms": str(1000 * HOURS)}
        await cluster.create_topic("orders", partitions=1)
        await cluster.create_topic("orders.aside", partitions=1, configs=limits)
        async with AsyncProducer(cluster.bootstrap) as producer:
            await producer.send_and_wait("orders", b"one")
        async with AsyncConsumer(
            cluster.bootstrap,
            group_id="g",
            topics=["orders"],
            auto_offset_reset="earliest",
            enable_auto_commit=False,
            isolation_level="read_committed",
        ) as consumer:
            yield cluster, consumer


async def is_moved(
    cluster: AsyncCluster, consumer: AsyncConsumer[Any, Any], handling: asyncio.Task[None]
) -> None:
    """Wait until the order should be aside, end the call, and look for it."""
    await asyncio.sleep(5)
    consumer.wakeup()
    await handling
    records = await cluster.records("orders.aside")
    assert [record.value for record in records] == [b"one"]


@pytest.mark.parametrize(
    "options",
    [
        {"dead_letter": "orders.aside"},
        {"retry": RetryPolicy(attempts=1, topics={"orders.aside": 60})},
    ],
)
@pytest.mark.parametrize("ahead", [-2 * HOURS, 2 * HOURS])
def test_a_record_is_moved_once_the_clock_is_right_again(
    options: dict[str, Any], ahead: int, caplog: pytest.LogCaptureFixture
) -> None:
    world = World()

    async def main() -> None:
        clock = world.host("app").clock
        async with consumer_of_one_order() as (cluster, consumer):
            clock.step(ahead)
            task = asyncio.create_task(consumer.process(fail, **options))
            await asyncio.sleep(30)
            assert not task.done(), task.exception()
            clock.step(-ahead)
            await is_moved(cluster, consumer, task)

    world.run(main())

    assert "is not moved to 'orders.aside' yet: " in caplog.text
    assert "; is the clock of this host right, and " in caplog.text


def test_a_wrong_clock_ends_a_call_with_transactions_and_loses_nothing() -> None:
    world = World()

    async def main() -> None:
        clock = world.host("app").clock
        async with (
            consumer_of_one_order() as (cluster, consumer),
            AsyncProducer(cluster.bootstrap, transactional_id="t") as producer,
        ):
            clock.step(2 * HOURS)
            with pytest.raises(InvalidTimestampError, match="timestamp"):
                await consumer.process(fail, dead_letter="orders.aside", producer=producer)
            clock.step(-2 * HOURS)
            handling = consumer.process(fail, dead_letter="orders.aside", producer=producer)
            task = asyncio.create_task(handling)
            await is_moved(cluster, consumer, task)

    world.run(main())
