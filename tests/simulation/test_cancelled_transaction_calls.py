"""Calls about a transaction that are cancelled at any moment, and made again."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from pyk.clients import TopicPartition
from pyk.clients.offsets import ConsumerGroupMetadata
from pyk.runtime.network import MemoryNetwork
from pyk.runtime.virtual_time import virtual_time
from support.producing_cluster import make_producer
from support.transactional_cluster import TransactionalCluster, transacting

GROUP = ConsumerGroupMetadata("billing", 3, "member-1")
READ = TopicPartition("payments", 0)
# A request and its answer take 2 ms; a commit with its records twice that.
MOMENTS = pytest.mark.parametrize("moment", [n * 0.0004 for n in range(16)])
BOTH = pytest.mark.parametrize("version", [1, 2])


async def cancelled_and_made_again(call: Callable[[], Awaitable[Any]], moment: float) -> Any:
    """Make a call, cancel it after a while, and make it again if it was not done by then."""
    first = asyncio.ensure_future(call())
    await asyncio.sleep(moment)
    first.cancel()
    await asyncio.wait([first])
    return await call() if first.cancelled() else first.result()


@MOMENTS
@BOTH
@virtual_time
async def test_an_abort_is_done_once(version, moment):
    async with transacting(version) as (cluster, producer):
        await producer.begin_transaction()
        await producer.send_and_wait("orders", b"a")
        await producer.send("orders", b"b")
        await cancelled_and_made_again(producer.abort_transaction, moment)
        async with producer.transaction():
            await producer.send("orders", b"next")

    assert cluster.ends == [False, True]
    assert cluster.committed == [b"next"]


@MOMENTS
@BOTH
@virtual_time
async def test_a_prepare_keeps_all_records_and_ends_nothing(version, moment):
    async with transacting(version) as (cluster, producer):
        await producer.begin_transaction()
        await producer.send("orders", b"a")
        prepared = await cancelled_and_made_again(producer.prepare_transaction, moment)
        assert cluster.ends == []
        await cancelled_and_made_again(lambda: producer.complete_transaction(prepared), moment)

    assert cluster.ends == [True]
    assert cluster.committed == [b"a"]


@MOMENTS
@BOTH
@virtual_time
async def test_offsets_are_part_of_the_transaction_however_often_they_are_sent(version, moment):
    async with transacting(version) as (cluster, producer):
        await producer.begin_transaction()
        await producer.send("orders", b"a")
        await cancelled_and_made_again(
            lambda: producer.send_offsets_to_transaction({READ: 7}, GROUP), moment
        )
        await producer.commit_transaction()

    assert cluster.committed == [b"a"]
    assert cluster.offsets == {("billing", "payments", 0): 7}


@MOMENTS
@BOTH
@virtual_time
async def test_an_initialization_goes_on_when_its_caller_is_gone(version, moment):
    async with TransactionalCluster(MemoryNetwork(latency=0.001), version=version) as cluster:
        cluster.add_topic("orders", [1])
        producer = make_producer(cluster, transactional_id="billing")
        await cancelled_and_made_again(producer.init_transactions, moment)
        async with producer, producer.transaction():
            await producer.send("orders", b"a")

    assert cluster.committed == [b"a"]
    assert cluster.epoch - (version - 1) == 0
