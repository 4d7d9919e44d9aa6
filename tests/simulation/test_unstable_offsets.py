"""Committed offsets that an open transaction may still change are waited for (KIP-447)."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from pyk.clients import OffsetAndMetadata, PartitionState, TopicPartition
from pyk.clients.errors import KafkaTimeoutError
from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartitions,
    OffsetFetchResponseTopics,
)
from pyk.runtime.virtual_time import eventually, virtual_time
from support.consuming import fetching, read

P0, P1, P2 = (TopicPartition("orders", number) for number in range(3))


class Transaction:
    """A transaction that may still change the committed offset of partition 0."""

    def __init__(self) -> None:
        self.is_open = True

    def answer(self, request: OffsetFetchRequest) -> OffsetFetchResponse:
        assert request.require_stable
        partitions = [
            self._answer_for(number)
            for topic in request.groups[0].topics or ()
            for number in topic.partition_indexes
        ]
        topics = [OffsetFetchResponseTopics(name="orders", partitions=partitions)]
        return OffsetFetchResponse(groups=[OffsetFetchResponseGroup(group_id="g", topics=topics)])

    def _answer_for(self, number: int) -> OffsetFetchResponsePartitions:
        is_unstable = self.is_open and number == 0
        return OffsetFetchResponsePartitions(
            partition_index=number,
            committed_offset=-1 if is_unstable else 1,
            error_code=ErrorCode.UNSTABLE_OFFSET_COMMIT if is_unstable else ErrorCode.NONE,
        )


@asynccontextmanager
async def waiting() -> AsyncIterator[tuple[Transaction, Any]]:
    """Run a consumer of three partitions; a transaction holds back the offset of the first."""
    async with fetching(
        group_id="g", isolation_level="read_committed", enable_auto_commit=False
    ) as (cluster, consumer):
        for number in range(3):
            cluster.append([b"before", b"%d" % number], partition=number)
        transaction = Transaction()
        cluster.on(OffsetFetchRequest, transaction.answer)
        yield transaction, consumer


@virtual_time
async def test_one_open_transaction_holds_back_its_partition_alone() -> None:
    async with waiting() as (transaction, consumer):
        assert sorted(await read(consumer, 2)) == [b"1", b"2"]

        assert await consumer.poll(5) == []
        transaction.is_open = False

        assert await read(consumer, 1) == [b"0"]


@virtual_time
async def test_a_long_transaction_is_healthy_and_no_error() -> None:
    async with waiting() as (transaction, consumer):
        await read(consumer, 2)

        assert await consumer.poll(600) == []

        health = consumer.health()
        assert health.is_healthy
        assert health.partitions[P0].state is PartitionState.LOCATING
        transaction.is_open = False
        assert await read(consumer, 1) == [b"0"]


@virtual_time
async def test_a_long_transaction_is_a_warning_once_a_minute(caplog: Any) -> None:
    caplog.set_level(logging.WARNING)
    async with waiting() as (_, consumer):
        await read(consumer, 2)
        await asyncio.sleep(75)

        warnings = [r.message for r in caplog.records if "committed offset" in r.message]

        assert len(warnings) == 2
        assert "Group g waits for 10 s for the committed offset of orders-0" in warnings[0]


@virtual_time
async def test_committed_waits_until_the_transaction_ends() -> None:
    async with waiting() as (transaction, consumer):
        asking = asyncio.create_task(consumer.committed([P0, P1]))
        await asyncio.sleep(20)
        assert not asking.done()

        transaction.is_open = False

        assert await asking == {P0: OffsetAndMetadata(1), P1: OffsetAndMetadata(1)}


@virtual_time
async def test_committed_keeps_its_timeout() -> None:
    async with waiting() as (_, consumer):
        with pytest.raises(KafkaTimeoutError, match="UNSTABLE_OFFSET_COMMIT"):
            await consumer.committed([P0], timeout=5)


@virtual_time
async def test_health_and_position_name_the_open_transaction() -> None:
    async with waiting() as (transaction, consumer):
        await read(consumer, 2)

        error = consumer.health().partitions[P0].error
        with pytest.raises(KafkaTimeoutError, match="end of a transaction that commits it"):
            await consumer.position(P0, timeout=5)

        assert "the committed offset of orders-0 waits for the end of a transaction" in str(error)
        transaction.is_open = False
        assert await read(consumer, 1) == [b"0"]
        assert consumer.health().partitions[P0].error is None


@virtual_time
async def test_a_seek_does_not_wait_for_the_transaction() -> None:
    async with waiting() as (_, consumer):
        await read(consumer, 2)

        consumer.seek(P0, 0)

        assert await read(consumer, 2) == [b"before", b"0"]
        await eventually(lambda: consumer.health().is_healthy)
