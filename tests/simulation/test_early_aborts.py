"""A transaction that is aborted while the markers of the one before are being written."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from pyk.clients import AsyncConsumer, AsyncProducer
from pyk.clients.errors import ProducerFencedError, TransactionAbortedError
from pyk.reference_broker import AsyncCluster
from pyk.runtime.network import MemoryNetwork
from pyk.runtime.virtual_time import current_clock, virtual_time
from support.environments import client_options

MARKERS_TAKE_MS = 3_000


class Writers:
    """A cluster whose markers take long, and producers of one transactional id."""

    def __init__(self, cluster: AsyncCluster, network: MemoryNetwork) -> None:
        self._cluster = cluster
        self._network = network

    def producer(self) -> AsyncProducer[Any, Any]:
        return AsyncProducer(
            self._cluster.bootstrap,
            transactional_id="payments",
            linger_ms=0,
            **client_options(self._network),
        )

    async def committed(self, count: int) -> list[bytes]:
        async with AsyncConsumer(
            self._cluster.bootstrap,
            topics=["orders"],
            isolation_level="read_committed",
            auto_offset_reset="earliest",
            **client_options(self._network),
        ) as consumer:
            return [(await anext(consumer)).value for _ in range(count)]


@asynccontextmanager
async def slow_markers() -> AsyncIterator[Writers]:
    network = MemoryNetwork(latency=0.001)
    async with AsyncCluster(clock=current_clock(), network=network) as cluster:
        await cluster.create_topic("orders")
        cluster.faults.on("WriteTxnMarkers").delay(MARKERS_TAKE_MS)
        yield Writers(cluster, network)


async def commit(producer: AsyncProducer[Any, Any], value: bytes) -> None:
    async with producer.transaction():
        await producer.send("orders", value)


@pytest.mark.parametrize("is_committed", [True, False])
@virtual_time
async def test_the_producer_goes_on_after_an_abort_before_the_markers(is_committed: bool) -> None:
    async with slow_markers() as writers, writers.producer() as producer:
        await commit(producer, b"first")
        if not is_committed:
            await producer.begin_transaction()
            await producer.send_and_wait("orders", b"aborted")
            await producer.abort_transaction()

        await producer.begin_transaction()
        delivery = await producer.send("orders", b"early")
        await asyncio.sleep(0.5)
        await producer.abort_transaction()

        with pytest.raises(TransactionAbortedError):
            await delivery
        await commit(producer, b"last")
        assert await writers.committed(2) == [b"first", b"last"]


@virtual_time
async def test_several_early_aborts_in_a_row_are_waited_out() -> None:
    async with slow_markers() as writers, writers.producer() as producer:
        await commit(producer, b"first")
        for _ in range(3):
            await producer.begin_transaction()
            await producer.send("orders", b"early")
            await asyncio.sleep(0.01)
            await producer.abort_transaction()

        await commit(producer, b"last")
        assert await writers.committed(2) == [b"first", b"last"]


@virtual_time
async def test_an_early_abort_of_a_producer_that_was_replaced_is_fenced() -> None:
    async with slow_markers() as writers, writers.producer() as producer:
        await commit(producer, b"first")
        async with writers.producer() as successor:
            await producer.begin_transaction()
            await producer.send("orders", b"late")
            await asyncio.sleep(0.5)
            with pytest.raises(ProducerFencedError):
                await producer.abort_transaction()

            await commit(successor, b"last")
        assert await writers.committed(2) == [b"first", b"last"]


@virtual_time
async def test_closing_waits_for_markers_no_longer_than_it_may() -> None:
    async with slow_markers() as writers:
        producer = writers.producer()
        await producer.start()
        await commit(producer, b"first")
        await producer.begin_transaction()
        await producer.send("orders", b"early")
        await asyncio.sleep(0.5)
        before = current_clock().now()

        await producer.close(timeout=1.0)

        assert current_clock().now() - before <= 1.5
        assert await writers.committed(1) == [b"first"]
