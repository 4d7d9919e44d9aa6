"""An application that makes a bill of each order, in transactions with the offsets of the orders.

After an error it does what comes next: it polls again, with a new producer if the old one failed.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

from pyk.clients import AsyncProducer, TopicPartition
from pyk.clients.errors import KafkaError
from pyk.protocol.messages.update_features import FeatureUpdateKey, UpdateFeaturesRequest
from pyk.reference_broker import AsyncCluster
from support.consuming import make_consumer, network_of, produce, reference_cluster
from support.environments import client_options

RECORDS = 30
ONCE = list(range(RECORDS))
SAFE_DOWNGRADE = 2


Step = Callable[[], Awaitable[object]]


async def nothing() -> None:
    pass


class Billing:
    """One instance of the application."""

    def __init__(self, cluster: AsyncCluster, *, name: str = "billing-1", **options: Any) -> None:
        self.cluster = cluster
        self.name = name
        self.errors: list[KafkaError] = []
        self.producer = self._make_producer()
        self.consumer = make_consumer(
            cluster,
            topics=["orders"],
            group_id="billing",
            enable_auto_commit=False,
            isolation_level="read_committed",
            session_timeout_ms=6000,
            heartbeat_interval_ms=1000,
            max_poll_records=7,
            **options,
        )

    def _make_producer(self) -> AsyncProducer[bytes, bytes]:
        return AsyncProducer(
            self.cluster.bootstrap,
            transactional_id=self.name,
            transaction_timeout_ms=6000,
            max_block_ms=1000,
            request_timeout_ms=500,
            delivery_timeout_ms=3000,
            linger_ms=0,
            **client_options(network_of(self.cluster)),
        )

    async def bill(self, *, before_offsets: Step = nothing, after_offsets: Step = nothing) -> int:
        """Poll once, and write what came in a transaction; return how many records that was."""
        records = await self.consumer.poll(0.3)
        if not records:
            return 0
        async with self.producer.transaction(self.consumer) as transaction:
            for record in records:
                await self.producer.send("bills", record.value)
            await before_offsets()
            await transaction.send_offsets(self.consumer)
            await after_offsets()
        return len(records)

    async def go_on(self, is_done: Callable[[], Awaitable[bool]]) -> None:
        """Bill until that is done, whatever happens."""
        while True:
            try:
                if not await self.bill() and await is_done():
                    return
            except KafkaError as error:
                self.errors.append(error)
                if error.fatal:
                    await self.replace_producer()
                await asyncio.sleep(0.1)

    async def replace_producer(self) -> None:
        await self.producer.close(1.0)
        self.producer = self._make_producer()
        with contextlib.suppress(KafkaError):
            await self.producer.start()

    async def close(self) -> None:
        await self.producer.close(5.0)
        await self.consumer.close()

    async def positions(self) -> dict[TopicPartition, int]:
        assigned = sorted(self.consumer.assignment())
        return {partition: await self.consumer.position(partition) for partition in assigned}


async def use_version(cluster: AsyncCluster, version: int) -> None:
    """Finalize a level of ``transaction.version``."""
    update = FeatureUpdateKey(
        feature="transaction.version", max_version_level=version, upgrade_type=SAFE_DOWNGRADE
    )
    async with AsyncProducer(cluster.bootstrap, **client_options(network_of(cluster))) as producer:
        client = producer._core.client
        answer = await client.send_to_any(
            UpdateFeaturesRequest(feature_updates=[update]), client.clock.now() + 5
        )
    assert answer.error_code == 0, answer


@asynccontextmanager
async def billing(version: int) -> AsyncIterator[tuple[AsyncCluster, Billing]]:
    """Run a broker with orders, and an instance that has billed the first of them."""
    async with reference_cluster() as cluster:
        if version == 1:
            await use_version(cluster, 1)
        await cluster.create_topic("orders", partitions=3)
        await cluster.create_topic("bills", partitions=1)
        await produce(cluster, "orders", RECORDS, partitions=3)
        instance = Billing(cluster)
        await instance.producer.start()
        while not await bills(cluster):
            await instance.bill()
        try:
            yield cluster, instance
        finally:
            cluster.faults.clear()
            await instance.close()


async def bills(cluster: AsyncCluster) -> list[int]:
    """Return the committed bills, sorted."""
    consumer = make_consumer(cluster, isolation_level="read_committed")
    consumer.assign([TopicPartition("bills", 0)])
    values = []
    async with consumer:
        while records := await consumer.poll(0.2):
            values += [int(record.value) for record in records]
    return sorted(values)


def all_billed(cluster: AsyncCluster, count: int = RECORDS) -> Callable[[], Awaitable[bool]]:
    async def is_done() -> bool:
        try:
            return len(await bills(cluster)) >= count
        except KafkaError:
            return False  # the broker is down

    return is_done


async def bill_the_rest(cluster: AsyncCluster, instance: Billing) -> list[int]:
    """Go on without faults; return the bills."""
    async with asyncio.timeout(120):
        await instance.go_on(all_billed(cluster))
    await asyncio.sleep(10)
    return await bills(cluster)
