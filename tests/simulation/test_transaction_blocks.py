"""The block of a transaction: how it begins, and what ends it besides its own end."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from pyk.clients import AsyncProducer, Consumer, TopicPartition
from pyk.clients.errors import StateError
from pyk.protocol.messages.end_txn import EndTxnRequest
from pyk.protocol.messages.init_producer_id import InitProducerIdRequest
from pyk.runtime.virtual_time import virtual_time
from support.scripted_broker import CLOSE
from support.transactional_cluster import TransactionalCluster, transacting

BOTH = pytest.mark.parametrize("version", [1, 2])


async def write_in_block(producer: AsyncProducer[Any, Any], value: bytes) -> None:
    async with producer.transaction():
        await producer.send("orders", value)


async def need_another_epoch(
    cluster: TransactionalCluster, producer: AsyncProducer[Any, Any]
) -> None:
    """Lose the answer to a commit of version 1, so that the next transaction begins slowly."""
    cluster.once(EndTxnRequest, CLOSE)
    await write_in_block(producer, b"before")


# -- the way in ------------------------------------------------------------------------------------


@virtual_time
async def test_of_two_tasks_that_begin_at_once_one_gets_the_transaction():
    async with transacting(1) as (cluster, producer):
        await need_another_epoch(cluster, producer)

        results = await asyncio.gather(
            producer.begin_transaction(), producer.begin_transaction(), return_exceptions=True
        )

        assert results[0] is None
        assert isinstance(results[1], StateError)
        assert "is in a transaction" in str(results[1])


@virtual_time
async def test_of_two_tasks_that_enter_a_block_at_once_one_is_told_to_take_another_producer():
    async with transacting(1) as (cluster, producer):
        await need_another_epoch(cluster, producer)

        results = await asyncio.gather(
            write_in_block(producer, b"first"),
            write_in_block(producer, b"second"),
            return_exceptions=True,
        )

        assert results[0] is None
        assert isinstance(results[1], StateError)
        assert "one transaction at a time" in str(results[1])
    assert cluster.committed == [b"before", b"first"]


@pytest.mark.parametrize("moment", [number / 2000 for number in range(12)])
@BOTH
@virtual_time
async def test_a_block_that_is_cancelled_on_its_way_in_leaves_no_transaction_open(version, moment):
    async with transacting(version) as (cluster, producer):
        await need_another_epoch(cluster, producer)
        cluster.once(InitProducerIdRequest, CLOSE)
        entering = asyncio.ensure_future(producer.transaction().__aenter__())
        await asyncio.sleep(moment)
        entering.cancel()
        await asyncio.wait([entering])
        await asyncio.sleep(5)

        if entering.cancelled():
            with pytest.raises(StateError, match="not in a transaction"):
                await producer.send("orders", b"outside")
            await write_in_block(producer, b"next")
            assert cluster.committed == [b"before", b"next"]


# -- mistakes --------------------------------------------------------------------------------------


@virtual_time
async def test_a_block_is_entered_once():
    async with transacting() as (cluster, producer):
        transaction = producer.transaction()
        async with transaction:
            await producer.send("orders", b"first")
        with pytest.raises(StateError, match=r"call transaction\(\) for each block"):
            await transaction.__aenter__()
        await write_in_block(producer, b"second")

    assert cluster.committed == [b"first", b"second"]


@pytest.mark.parametrize("given", ["orders", {TopicPartition("orders", 0): 5}, None], ids=repr)
@virtual_time
async def test_what_is_no_consumer_is_a_type_error(given):
    async with transacting() as (_, producer):
        with pytest.raises(TypeError, match=r"transaction\(\) takes the consumer .* not"):
            producer.transaction(given)
        with pytest.raises(TypeError, match=r"send_offsets_to_transaction\(\) takes offsets"):
            await send_offsets_of(producer, given)


async def send_offsets_of(producer: AsyncProducer[Any, Any], given: Any) -> None:
    async with producer.transaction() as transaction:
        await transaction.send_offsets(given)


@virtual_time
async def test_a_blocking_consumer_does_not_fit_an_asyncio_producer():
    consumer = Consumer("localhost:1", group_id="g", enable_auto_commit=False)
    async with transacting() as (_, producer):
        with pytest.raises(TypeError, match="an AsyncConsumer, not Consumer"):
            producer.transaction(consumer)


@virtual_time
async def test_offsets_cannot_be_sent_outside_of_the_block():
    async with transacting() as (_, producer):
        async with producer.transaction() as transaction:
            pass
        with pytest.raises(StateError, match="into the block"):
            await transaction.send_offsets(None)
