"""Transactions that lost a part: they must not be committed, and the next one must be whole."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Any
from uuid import UUID

import pytest

from pyk.clients.errors import (
    BufferExhaustedError,
    KafkaTimeoutError,
    RecordTooLargeError,
    SerializationError,
    StateError,
    TransactionAbortableError,
    TransactionAbortedError,
)
from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.produce import ProduceRequest
from pyk.runtime.virtual_time import virtual_time
from support.scripted_broker import SILENCE
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


# -- sends that fail -------------------------------------------------------------------------------


async def refuses_to_commit(producer: Any, match: str) -> bool:
    """Return whether the transaction has to be aborted, which is done."""
    with pytest.raises(TransactionAbortableError, match=match):
        await producer.send("orders", b"more", partition=0)
    with pytest.raises(TransactionAbortableError, match=match):
        await producer.commit_transaction()
    await producer.abort_transaction(timeout=10)
    await producer.begin_transaction()
    await send_and_commit(producer, b"next")
    return True


@BOTH
@virtual_time
async def test_a_record_that_is_too_large_costs_its_transaction_though_its_error_is_swallowed(
    version,
):
    async with transacting(version, max_request_size=1000) as (cluster, producer):
        await producer.begin_transaction()
        await producer.send("orders", b"small", partition=0)
        with suppress(RecordTooLargeError):
            await producer.send("orders", b"x" * 2000)

        assert await refuses_to_commit(producer, "exceeds max_request_size")
    assert cluster.committed == [b"next"]


@BOTH
@virtual_time
async def test_a_record_whose_topic_is_missing_costs_its_transaction(version):
    async with transacting(version, max_block_ms=500) as (cluster, producer):
        await producer.begin_transaction()
        with suppress(KafkaTimeoutError):
            await producer.send("missing", b"a")

        assert await refuses_to_commit(producer, "missing")
    assert cluster.committed == [b"next"]


@virtual_time
async def test_a_record_that_finds_no_room_costs_its_transaction():
    async with transacting(max_block_ms=500, buffer_memory=1000, request_timeout_ms=1000) as (
        cluster,
        producer,
    ):
        cluster.once(ProduceRequest, SILENCE)
        await producer.begin_transaction()
        await producer.send("orders", b"x" * 900, partition=0)
        with suppress(BufferExhaustedError):
            await producer.send("orders", b"x" * 900, partition=0)

        assert await refuses_to_commit(producer, "no room in the buffer")
    assert cluster.committed == [b"next"]


@virtual_time
async def test_a_batch_of_records_that_finds_no_room_halfway_costs_its_transaction():
    async with transacting(
        max_block_ms=500, buffer_memory=2000, batch_size=1000, request_timeout_ms=1000
    ) as (cluster, producer):
        cluster.once(ProduceRequest, SILENCE)
        await producer.begin_transaction()
        records = [{"value": b"x" * 400, "partition": 0} for _ in range(20)]
        delivery = await producer.send_batch("orders", records)

        assert await refuses_to_commit(producer, "no room in the buffer")
        assert len(delivery.failures()) == 20
    assert cluster.committed == [b"next"]


@virtual_time
async def test_a_batch_of_records_that_is_cancelled_halfway_costs_its_transaction():
    async with transacting(buffer_memory=2000, batch_size=1000, request_timeout_ms=5000) as (
        cluster,
        producer,
    ):
        cluster.once(ProduceRequest, SILENCE)
        await producer.begin_transaction()
        records = [{"value": b"x" * 400, "partition": 0} for _ in range(20)]
        with suppress(TimeoutError):
            async with asyncio.timeout(1):
                await producer.send_batch("orders", records)

        assert await refuses_to_commit(producer, "was interrupted")
    assert cluster.committed == [b"next"]


@virtual_time
async def test_what_a_caller_does_wrong_concerns_the_caller_only():
    """As in Java: nothing was sent, and the error is raised where the mistake is."""

    def serialize(value: bytes) -> bytes:
        return value if value.isalpha() else bytes(1 // 0)

    async with transacting(value_serializer=serialize) as (cluster, producer):
        await producer.begin_transaction()
        with pytest.raises(SerializationError):
            await producer.send("orders", b"1")
        with pytest.raises(TypeError):
            await producer.send(7, b"a")
        with pytest.raises(ValueError, match="partition"):
            await producer.send("orders", b"a", partition=-1)
        await send_and_commit(producer, b"good")

    assert cluster.committed == [b"good"]


# -- sends that wait -------------------------------------------------------------------------------


@BOTH
@virtual_time
async def test_a_record_that_waits_for_its_topic_at_the_commit_costs_its_transaction(version):
    async with transacting(version) as (cluster, producer):
        await producer.begin_transaction()
        waiting = asyncio.ensure_future(producer.send("later", b"late"))
        await asyncio.sleep(0.2)
        with pytest.raises(TransactionAbortableError, match="1 send still waited"):
            await producer.commit_transaction()
        await producer.abort_transaction()
        await producer.begin_transaction()
        cluster.add_topic("later", [1])
        with pytest.raises(StateError, match="transaction that has ended"):
            await waiting
        await send_and_commit(producer, b"next")

    assert cluster.committed == [b"next"]


@BOTH
@virtual_time
async def test_a_record_that_waits_for_its_topic_does_not_slip_into_the_next_transaction(version):
    async with transacting(version) as (cluster, producer):
        await producer.begin_transaction()
        waiting = asyncio.ensure_future(producer.send("later", b"late"))
        await asyncio.sleep(0.2)
        await producer.abort_transaction()
        await producer.begin_transaction()
        cluster.add_topic("later", [1])
        with pytest.raises(StateError, match="transaction that has ended"):
            await waiting
        await send_and_commit(producer, b"next")

    assert cluster.committed == [b"next"]


@virtual_time
async def test_a_send_that_is_awaited_in_the_next_transaction_is_refused():
    async with transacting() as (cluster, producer):
        cluster.add_topic("later", [1])
        await producer.begin_transaction()
        forgotten = producer.send("later", b"late")
        await producer.commit_transaction()
        await producer.begin_transaction()
        with pytest.raises(StateError, match="transaction that has ended"):
            await forgotten
        await send_and_commit(producer, b"next")

    assert cluster.committed == [b"next"]


@virtual_time
async def test_a_failed_send_outside_of_transactions_concerns_no_other():
    async with transacting(transactional_id=None, max_request_size=1000) as (cluster, producer):
        with pytest.raises(RecordTooLargeError):
            await producer.send("orders", b"x" * 2000)
        await producer.send_and_wait("orders", b"good")

    assert cluster.values() == [b"good"]
