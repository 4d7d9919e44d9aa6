"""Members of a group that write a bill for each order with ``process()``, in virtual time."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from pyk.clients import (
    AsyncProducer,
    OffsetAndMetadata,
    ProducerRecord,
    TopicPartition,
)
from pyk.runtime.virtual_time import current_clock
from support.consuming import make_consumer, network_of, produce, reference_cluster
from support.environments import client_options

PARTITIONS = [TopicPartition("orders", number) for number in range(3)]
COUNT = 60


@asynccontextmanager
async def cluster_with_orders(count: int = COUNT, **options: Any) -> AsyncIterator[Any]:
    async with reference_cluster(**options) as cluster:
        await cluster.create_topic("orders", partitions=3)
        for topic in ("bills", "orders.dead"):
            await cluster.create_topic(topic, partitions=1)
        await produce(cluster, "orders", count, partitions=3, key=lambda n: b"%d" % (n // 3 % 5))
        yield cluster


def make_producer(cluster: Any, name: str = "billing-1", **options: Any) -> AsyncProducer[Any, Any]:
    settings = {
        "transactional_id": name,
        "transaction_timeout_ms": 6000,
        "request_timeout_ms": 500,
        "delivery_timeout_ms": 3000,
        "max_block_ms": 2000,
        "linger_ms": 0,
        **options,
    }
    return AsyncProducer(cluster.bootstrap, **client_options(network_of(cluster)), **settings)


class Biller:
    """A member of the group that writes a bill for each order."""

    def __init__(self, cluster: Any, name: str = "billing-1", **options: Any) -> None:
        if "group_protocol" not in options:
            options |= {"session_timeout_ms": 6000, "heartbeat_interval_ms": 1000}
        self.consumer = make_consumer(
            cluster,
            group_id="billing",
            topics=["orders"],
            enable_auto_commit=False,
            isolation_level="read_committed",
            max_poll_interval_ms=10_000,
            **options,
        )
        self.producer = make_producer(cluster, name)
        self.handled: list[bytes] = []
        self.options: dict[str, Any] = {"concurrency": 8, "ordering": "key"}
        self.duration = lambda: 0.01
        self.failure = bool
        self.stuck: set[bytes] = set()

    async def bill(self, order: Any) -> ProducerRecord:
        await asyncio.sleep(1e9 if order.value in self.stuck else self.duration())
        if self.failure():
            raise LookupError("no such customer")
        self.handled.append(order.value)
        return ProducerRecord("bills", order.value, order.key)

    def start(self) -> Biller:
        self.task = asyncio.create_task(self._run())
        return self

    async def _run(self) -> None:
        async with self.producer, self.consumer:
            await self.consumer.process(self.bill, producer=self.producer, **self.options)

    async def wake(self) -> None:
        self.consumer.wakeup()
        await self.task

    async def cancel(self) -> None:
        self.task.cancel()
        await asyncio.wait({self.task})
        assert self.task.cancelled() or self.task.exception()

    async def crash(self) -> None:
        """End both clients at once, in the middle of whatever they do."""
        await asyncio.gather(
            self.producer._core.client.close(0), self.consumer._core.client.close(0)
        )
        await self.cancel()


async def values_of(cluster: Any, topic: str, **options: Any) -> list[bytes]:
    consumer = make_consumer(cluster, isolation_level="read_committed", **options)
    consumer.assign([TopicPartition(topic, 0)])
    values = []
    async with consumer:
        while records := await consumer.poll(0.2):
            values += [record.value for record in records]
    return values


async def all_bills(cluster: Any, timeout: float = 300) -> list[int]:
    """Return the bills, sorted, once there is one for each order."""
    deadline = current_clock().now() + timeout
    while len(bills := await values_of(cluster, "bills")) < COUNT:
        assert current_clock().now() < deadline, f"{len(set(bills))} bills"
        await asyncio.sleep(1)
    return sorted(map(int, bills))


async def committed(cluster: Any) -> dict[TopicPartition, int]:
    found = await all_committed(cluster)
    return {partition: one.offset for partition, one in found.items()}


async def committed_epochs(cluster: Any) -> dict[TopicPartition, int | None]:
    found = await all_committed(cluster)
    return {partition: one.leader_epoch for partition, one in found.items()}


async def all_committed(cluster: Any) -> dict[TopicPartition, OffsetAndMetadata]:
    async with make_consumer(cluster, group_id="billing") as observer:
        found = await observer.committed(PARTITIONS)
    return {partition: one for partition, one in found.items() if one is not None}
