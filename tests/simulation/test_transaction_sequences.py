"""Calls about transactions one after the other: what each finds after those before."""

from __future__ import annotations

import asyncio

import pytest

from pyk.clients.errors import ProducerFencedError, StateError
from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.add_partitions_to_txn import AddPartitionsToTxnRequest
from pyk.protocol.messages.end_txn import EndTxnRequest, EndTxnResponse
from pyk.runtime.virtual_time import virtual_time
from support.scripted_broker import SILENCE
from support.transactional_cluster import transacting

BOTH = pytest.mark.parametrize("version", [1, 2])


@virtual_time
async def test_partitions_are_added_whenever_they_are_written_to():
    async with transacting(1) as (cluster, producer), asyncio.timeout(5):
        await producer.begin_transaction()
        for partition in range(3):
            await producer.send_and_wait("orders", b"%d" % partition, partition=partition)
        await producer.commit_transaction()

    assert len(cluster.requests(AddPartitionsToTxnRequest)) == 3
    assert cluster.committed == [b"0", b"1", b"2"]


@pytest.mark.parametrize("call", ["commit_transaction", "abort_transaction"])
@BOTH
@virtual_time
async def test_a_record_behind_a_transaction_says_that_none_was_begun(version, call):
    async with transacting(version) as (_, producer):
        await producer.begin_transaction()
        await producer.send("orders", b"a")
        await getattr(producer, call)()

        with pytest.raises(StateError, match=r"call begin_transaction\(\) first"):
            await producer.send("orders", b"late")


@BOTH
@virtual_time
async def test_a_producer_that_has_failed_cannot_be_initialized_again(version):
    async with transacting(version) as (cluster, producer):
        cluster.on(EndTxnRequest, lambda _: EndTxnResponse(error_code=ErrorCode.PRODUCER_FENCED))
        await producer.begin_transaction()
        await producer.send("orders", b"a")
        with pytest.raises(ProducerFencedError):
            await producer.commit_transaction()

        with pytest.raises(ProducerFencedError):
            await producer.init_transactions()


@BOTH
@virtual_time
async def test_closing_waits_for_a_commit_no_longer_than_it_may(version):
    async with transacting(version) as (cluster, producer):
        cluster.on(EndTxnRequest, lambda _: SILENCE)
        await asyncio.sleep(100)
        await producer.begin_transaction()
        await producer.send_and_wait("orders", b"a")
        committing = asyncio.ensure_future(producer.commit_transaction())
        await asyncio.sleep(0.1)
        began_at = asyncio.get_running_loop().time()

        await producer.close(timeout=2)

        assert 2 <= asyncio.get_running_loop().time() - began_at < 3
        await asyncio.wait([committing])


@BOTH
@virtual_time
async def test_closing_waits_for_an_abort_no_longer_than_it_may(version):
    async with transacting(version) as (cluster, producer):
        cluster.on(EndTxnRequest, lambda _: SILENCE)
        await asyncio.sleep(100)
        await producer.begin_transaction()
        await producer.send_and_wait("orders", b"a")
        began_at = asyncio.get_running_loop().time()

        await producer.close(timeout=2)

        assert 2 <= asyncio.get_running_loop().time() - began_at < 3
