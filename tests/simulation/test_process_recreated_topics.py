"""Topics are deleted and created again while ``process()`` writes results in transactions."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from pyk.clients import AsyncAdmin, AsyncProducer, NewTopic
from pyk.clients.errors import CommitFailedError
from pyk.runtime.virtual_time import eventually, virtual_time
from support.consumer_groups import of_both_protocols
from support.consuming import make_consumer, network_of, reference_cluster
from support.environments import client_options
from support.simulated_billers import Biller, values_of


@asynccontextmanager
async def cluster_without_orders() -> AsyncIterator[Any]:
    async with reference_cluster(auto_create_topics_enable=False) as cluster:
        await cluster.create_topic("orders", partitions=3)
        await cluster.create_topic("bills", partitions=1)
        yield cluster


def patient_biller(cluster: Any, protocol: str) -> Biller:
    """Return a member whose handlers may take minutes, as by default."""
    biller = Biller(cluster, group_protocol=protocol)
    biller.consumer = make_consumer(
        cluster,
        group_id="billing",
        topics=["orders"],
        enable_auto_commit=False,
        isolation_level="read_committed",
        group_protocol=protocol,
    )
    return biller


@asynccontextmanager
async def ordering(cluster: Any) -> AsyncIterator[None]:
    """Write orders all the time."""
    producer: AsyncProducer[Any, Any] = AsyncProducer(
        cluster.bootstrap, **client_options(network_of(cluster))
    )

    async def write() -> None:
        for number in range(1_000_000):
            await producer.send("orders", b"%d" % number)
            await asyncio.sleep(0.05)

    async with producer:
        writing = asyncio.create_task(write())
        yield
        writing.cancel()
        await asyncio.wait({writing})
        await producer.close(1)


async def recreate_orders(cluster: Any, *, partitions: int, seconds_away: float) -> None:
    async with AsyncAdmin(cluster.bootstrap, **client_options(network_of(cluster))) as admin:
        await admin.delete_topics(["orders"])
        await asyncio.sleep(seconds_away)
        await admin.create_topics([NewTopic("orders", partitions=partitions)])


async def all_are_billed_once(cluster: Any, seconds: float) -> None:
    """Wait for a bill of each order that there is now."""
    orders = {record.value for record in await cluster.records("orders")}
    bills: list[bytes] = []
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            while not orders <= set(bills):
                await asyncio.sleep(3)
                bills = await values_of(cluster, "bills")
    assert orders - set(bills) == set()
    assert len(bills) == len(set(bills))


@pytest.mark.parametrize("seconds_away", [0.0, 0.3])
@of_both_protocols
@virtual_time
async def test_offsets_of_a_deleted_topic_are_not_those_of_the_next_one(protocol, seconds_away):
    async with cluster_without_orders() as cluster:
        members = [patient_biller(cluster, protocol).start()]
        async with ordering(cluster):
            await eventually(lambda: len(members[0].handled) > 60)
            await recreate_orders(cluster, partitions=3, seconds_away=seconds_away)
            await asyncio.sleep(3)

        await all_are_billed_once(cluster, 30)
        await members[0].wake()


@of_both_protocols
@virtual_time
async def test_results_of_a_deleted_topic_hold_up_nothing(protocol):
    async with cluster_without_orders() as cluster:
        biller = patient_biller(cluster, protocol).start()
        async with ordering(cluster):
            await eventually(lambda: len(biller.handled) > 60)
            await recreate_orders(cluster, partitions=1, seconds_away=12)
            await asyncio.sleep(3)

        await all_are_billed_once(cluster, 60)
        await biller.wake()


@of_both_protocols
@virtual_time
async def test_a_transaction_block_is_aborted_if_its_offsets_are_of_a_deleted_topic(protocol):
    async with cluster_without_orders() as cluster:
        biller = patient_biller(cluster, protocol)
        async with ordering(cluster), biller.producer, biller.consumer as consumer:
            records = await consumer.poll(10)

            async def bill_what_is_deleted() -> None:
                async with biller.producer.transaction(consumer) as transaction:
                    for record in records:
                        await biller.producer.send("bills", record.value)
                    await transaction.send_offsets(consumer)
                    await recreate_orders(cluster, partitions=3, seconds_away=3)

            with pytest.raises(CommitFailedError, match="'orders' was deleted since"):
                await bill_what_is_deleted()

            assert await values_of(cluster, "bills") == []
