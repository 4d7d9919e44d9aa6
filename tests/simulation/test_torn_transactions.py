"""Transactions that lost a part: they must not be committed, and the next one must be whole."""

from __future__ import annotations

import asyncio
from typing import Any
from uuid import UUID

import pytest

from pyk.clients.errors import TransactionAbortableError, TransactionAbortedError
from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.produce import ProduceRequest
from pyk.runtime.virtual_time import virtual_time
from support.transactional_cluster import transacting

BOTH = pytest.mark.parametrize("version", [1, 2])
NEW_ID = UUID(int=0xBEEF)


async def send_and_commit(producer: Any, value: bytes) -> None:
    await producer.send("orders", value, partition=0)
    await producer.commit_transaction()


# -- batches that are split ------------------------------------------------------------------------


@BOTH
@virtual_time
async def test_the_halves_of_a_batch_are_of_the_same_transaction(version):
    async with transacting(version, linger_ms=50) as (cluster, producer):
        cluster.once(ProduceRequest, cluster.refuse(ErrorCode.MESSAGE_TOO_LARGE))
        await producer.begin_transaction()
        await producer.send("orders", b"a", partition=0)
        await send_and_commit(producer, b"b")
        await producer.begin_transaction()
        await send_and_commit(producer, b"c")

    assert cluster.committed == [b"a", b"b", b"c"]


@BOTH
@virtual_time
async def test_a_half_that_fails_costs_the_transaction_of_both(version):
    async with transacting(version, linger_ms=50) as (cluster, producer):
        cluster.once(
            ProduceRequest,
            cluster.refuse(ErrorCode.MESSAGE_TOO_LARGE),
            cluster.produce,
            cluster.refuse(ErrorCode.INVALID_RECORD),
        )
        await producer.begin_transaction()
        await producer.send("orders", b"a", partition=0)
        with pytest.raises(TransactionAbortableError):
            await send_and_commit(producer, b"b")
        await producer.abort_transaction()
        await producer.begin_transaction()
        await send_and_commit(producer, b"next")

    assert (cluster.committed, cluster.aborted) == ([b"next"], [b"a"])


@BOTH
@virtual_time
async def test_the_next_transaction_does_not_wait_for_halves_that_an_abort_has_dropped(version):
    """In version 1 they have taken sequence numbers that the broker never sees."""
    async with transacting(version, linger_ms=50) as (cluster, producer):
        too_large = cluster.refuse(ErrorCode.MESSAGE_TOO_LARGE)
        await producer.begin_transaction()
        await send_and_commit(producer, b"first")
        cluster.once(ProduceRequest, cluster.later(0.5, too_large))
        await producer.begin_transaction()
        dropped = [await producer.send("orders", value, partition=0) for value in (b"a", b"b")]
        await asyncio.sleep(0.2)
        await producer.abort_transaction()
        await producer.begin_transaction()
        await send_and_commit(producer, b"next")

        for delivery in dropped:
            with pytest.raises(TransactionAbortedError):
                await delivery
    assert (cluster.committed, cluster.aborted) == ([b"first", b"next"], [])


# -- topics that are created again -----------------------------------------------------------------


@BOTH
@virtual_time
async def test_a_topic_that_is_created_again_costs_the_transaction_that_wrote_to_it(version):
    async with transacting(version, metadata_max_age_ms=500) as (cluster, producer):
        await producer.begin_transaction()
        await producer.send("orders", b"gone", partition=0)
        await producer.flush()
        cluster.topics["orders"].topic_id = NEW_ID
        await asyncio.sleep(2)
        with pytest.raises(TransactionAbortableError, match="created again"):
            await send_and_commit(producer, b"torn")
        await producer.abort_transaction()
        await producer.begin_transaction()
        await send_and_commit(producer, b"next")

    assert cluster.committed == [b"next"]


@BOTH
@virtual_time
async def test_a_topic_that_is_created_again_between_two_transactions_costs_nothing(version):
    async with transacting(version, metadata_max_age_ms=500) as (cluster, producer):
        await producer.begin_transaction()
        await send_and_commit(producer, b"before")
        cluster.topics["orders"].topic_id = NEW_ID
        await asyncio.sleep(2)
        await producer.begin_transaction()
        await send_and_commit(producer, b"after")

    assert cluster.committed == [b"before", b"after"]
