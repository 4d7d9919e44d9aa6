"""A consumer after a commit whose outcome its process does not know: no record is lost or doubled.

The application reads ``orders`` and writes each to ``bills``, in transactions with its offsets.
After an error it does what comes next: it polls again, with a new producer if the old one failed.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from random import Random
from typing import Any

import pytest

from pyk.clients import AsyncProducer, PartitionState, TopicPartition
from pyk.clients.errors import (
    KafkaError,
    KafkaTimeoutError,
    TransactionAbortableError,
)
from pyk.protocol.messages.update_features import FeatureUpdateKey, UpdateFeaturesRequest
from pyk.reference_broker import AsyncCluster
from pyk.runtime.virtual_time import virtual_time
from support.consuming import make_consumer, network_of, produce, reference_cluster
from support.environments import client_options

BOTH = pytest.mark.parametrize("version", [1, 2])
RECORDS = 30
P0 = TopicPartition("orders", 0)
SAFE_DOWNGRADE = 2


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

    async def bill(self) -> int:
        """Poll once, and write what came in a transaction; return how many records that was."""
        records = await self.consumer.poll(0.3)
        if not records:
            return 0
        async with self.producer.transaction(self.consumer) as transaction:
            for record in records:
                await self.producer.send("bills", record.value)
            await transaction.send_offsets(self.consumer)
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


ONCE = list(range(RECORDS))


# -- the commit goes on after its block ------------------------------------------------------------


@BOTH
@virtual_time
async def test_a_commit_that_succeeds_after_its_block_timed_out_doubles_nothing(version):
    async with billing(version) as (cluster, instance):
        with (
            cluster.faults.on("EndTxn").drop_before_apply(),
            pytest.raises(KafkaTimeoutError, match="call it again"),
        ):
            await instance.bill()
        positions = await instance.positions()
        with pytest.raises(ZeroDivisionError):
            await fail_in_a_block(instance)

        assert await instance.positions() == positions
        assert await bill_the_rest(cluster, instance) == ONCE


async def fail_in_a_block(instance: Billing) -> None:
    async with instance.producer.transaction(instance.consumer):
        await instance.consumer.poll(1.0)
        raise ZeroDivisionError


@BOTH
@virtual_time
async def test_a_commit_that_fails_after_its_block_timed_out_loses_nothing(version):
    async with billing(version) as (cluster, instance):
        with cluster.faults.on("EndTxn").drop_before_apply():
            with pytest.raises(KafkaTimeoutError):
                await instance.bill()
            await asyncio.sleep(20)  # the coordinator aborts the transaction meanwhile

        assert await bill_the_rest(cluster, instance) == ONCE


@BOTH
@virtual_time
async def test_records_that_expire_after_the_block_timed_out_are_read_again(version):
    async with billing(version) as (cluster, instance):
        with cluster.faults.on("Produce", topic="bills").drop_before_apply():
            with pytest.raises(KafkaTimeoutError):
                await instance.bill()
            await asyncio.sleep(5)

        assert await bill_the_rest(cluster, instance) == ONCE


@BOTH
@virtual_time
async def test_no_record_is_handed_out_while_the_outcome_is_unknown(version):
    async with billing(version) as (cluster, instance):
        with cluster.faults.on("EndTxn").drop_before_apply():
            with pytest.raises(KafkaTimeoutError):
                await instance.bill()

            assert await instance.consumer.poll(0.5) == []
            health = instance.consumer.health()
            assert {one.state for one in health.partitions.values()} == {PartitionState.IN_DOUBT}
            with pytest.raises(KafkaTimeoutError, match="outcome of a transaction"):
                await instance.consumer.position(P0, timeout=0.1)

        assert await bill_the_rest(cluster, instance) == ONCE


@BOTH
@virtual_time
async def test_nothing_is_committed_by_hand_while_the_outcome_is_unknown(version):
    async with billing(version) as (cluster, instance):
        with cluster.faults.on("EndTxn").drop_before_apply():
            with pytest.raises(KafkaTimeoutError):
                await instance.bill()
            before = await instance.consumer.committed([P0])
            await instance.consumer.commit()

            assert await instance.consumer.committed([P0]) == before

        assert await bill_the_rest(cluster, instance) == ONCE


@BOTH
@virtual_time
async def test_a_seek_ends_the_doubt_about_its_partition(version):
    async with billing(version) as (cluster, instance):
        with cluster.faults.on("EndTxn").drop_before_apply():
            with pytest.raises(KafkaTimeoutError):
                await instance.bill()
            instance.consumer.seek(P0, 1)
        await instance.producer.commit_transaction()

        assert await instance.consumer.position(P0) == 1


@BOTH
@virtual_time
async def test_a_paused_partition_stays_paused_through_a_doubt(version):
    async with billing(version) as (cluster, instance):
        with cluster.faults.on("EndTxn").drop_before_apply():
            with pytest.raises(KafkaTimeoutError):
                await instance.bill()
            instance.consumer.pause(P0)
        await instance.producer.commit_transaction()

        assert instance.consumer.paused() == {P0}


# -- who waits for the commit later ----------------------------------------------------------------


@BOTH
@virtual_time
async def test_a_commit_that_is_waited_for_later_doubles_nothing(version):
    async with billing(version) as (cluster, instance):
        with cluster.faults.on("EndTxn").drop_before_apply(), pytest.raises(KafkaTimeoutError):
            await instance.bill()
        await instance.producer.commit_transaction()

        with pytest.raises(ZeroDivisionError):
            await fail_in_a_block(instance)
        assert await bill_the_rest(cluster, instance) == ONCE


@virtual_time
async def test_a_commit_that_fails_while_it_is_waited_for_can_be_aborted_by_hand():
    async with billing(2) as (cluster, instance):
        with cluster.faults.on("Produce", topic="bills").drop_before_apply():
            with pytest.raises(KafkaTimeoutError):
                await instance.bill()
            with pytest.raises(TransactionAbortableError):
                await instance.producer.commit_transaction(timeout=10)
        await instance.producer.abort_transaction()

        assert await bill_the_rest(cluster, instance) == ONCE


@pytest.mark.parametrize("fault", ["drop_before_apply", "apply_then_lose_response"])
@BOTH
@virtual_time
async def test_a_producer_that_is_closed_during_a_commit_leaves_it_to_the_group(version, fault):
    async with billing(version) as (cluster, instance):
        rule = getattr(cluster.faults.on("EndTxn"), fault)()
        with rule:
            with pytest.raises(KafkaTimeoutError):
                await instance.bill()
            await instance.producer.close(0.2)
        await instance.replace_producer()

        assert await bill_the_rest(cluster, instance) == ONCE


@pytest.mark.parametrize("fault", ["drop_before_apply", "apply_then_lose_response"])
@BOTH
@virtual_time
async def test_a_producer_that_is_replaced_during_its_commit_leaves_it_to_the_group(version, fault):
    async with billing(version) as (cluster, instance):
        rule = getattr(cluster.faults.on("EndTxn"), fault)()
        with rule:
            with pytest.raises(KafkaTimeoutError):
                await instance.bill()
            former, instance.producer = instance.producer, instance._make_producer()
            await instance.producer.start()
        with contextlib.suppress(KafkaError):
            await former.commit_transaction()

        assert await bill_the_rest(cluster, instance) == ONCE
        await former.close()


@pytest.mark.parametrize("milliseconds", range(0, 40, 4))
@BOTH
@virtual_time
async def test_a_block_that_is_cancelled_anywhere_loses_and_doubles_nothing(version, milliseconds):
    async with billing(version) as (cluster, instance):
        task = asyncio.ensure_future(instance.bill())
        await asyncio.sleep(milliseconds / 1000)
        task.cancel()
        await asyncio.wait([task])

        assert await bill_the_rest(cluster, instance) == ONCE


# -- seeds -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(6))
@BOTH
@virtual_time
async def test_nothing_is_lost_or_doubled_whatever_goes_wrong(version, seed):
    random = Random(seed)
    async with billing(version) as (cluster, instance):
        trouble = asyncio.ensure_future(make_trouble(cluster, random))

        async with asyncio.timeout(300):
            await instance.go_on(all_billed(cluster))
        await trouble
        await asyncio.sleep(10)

        assert await bills(cluster) == ONCE


async def make_trouble(cluster: AsyncCluster, random: Random) -> None:
    """Lose requests and answers about transactions, and restart the broker, for a while."""
    for _ in range(8):
        await asyncio.sleep(random.uniform(0, 0.4))
        api = random.choice(["EndTxn", "EndTxn", "Produce", "TxnOffsetCommit", "InitProducerId"])
        fault = random.choice(["drop_before_apply", "apply_then_lose_response", "kill"])
        if fault == "kill":
            await cluster.kill()
            await asyncio.sleep(random.uniform(0, 2))
            await cluster.start()
            continue
        with getattr(cluster.faults.on(api), fault)():
            await asyncio.sleep(random.uniform(0.1, 6))
