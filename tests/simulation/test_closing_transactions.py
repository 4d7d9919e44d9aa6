"""Closing a producer whose transaction is open while its brokers do not answer."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any

import pytest

from pyk.clients import AsyncProducer
from pyk.clients.errors import KafkaTimeoutError
from pyk.reference_broker import AsyncCluster
from pyk.runtime.virtual_time import current_clock, virtual_time
from support.consuming import network_of, reference_cluster
from support.environments import client_options

FOREVER_MS = 600_000


@asynccontextmanager
async def open_transaction() -> AsyncIterator[tuple[AsyncCluster, AsyncProducer[Any, Any]]]:
    async with reference_cluster() as cluster:
        await cluster.create_topic("orders", partitions=1)
        producer: AsyncProducer[Any, Any] = AsyncProducer(
            cluster.bootstrap, transactional_id="t", **client_options(network_of(cluster))
        )
        await producer.start()
        await producer.begin_transaction()
        await producer.send_and_wait("orders", b"1")
        yield cluster, producer


async def seconds_to_close(producer: AsyncProducer[Any, Any], timeout: float | None) -> float:
    began = current_clock().now()
    await producer.close(timeout)
    return round(current_clock().now() - began, 1)


@pytest.mark.parametrize(("timeout", "expected"), [(None, 30.0), (5.0, 5.0), (45.0, 45.0)])
@virtual_time
async def test_an_abort_is_tried_no_longer_than_a_request_may_take(
    timeout: float | None, expected: float
) -> None:
    async with open_transaction() as (cluster, producer):
        with cluster.faults.on("EndTxn").delay(FOREVER_MS):
            assert await seconds_to_close(producer, timeout) == expected


@virtual_time
async def test_an_abort_that_was_called_before_is_waited_for_no_longer() -> None:
    async with open_transaction() as (cluster, producer):
        with cluster.faults.on("EndTxn").delay(FOREVER_MS):
            with suppress(KafkaTimeoutError):
                await producer.abort_transaction(timeout=1.0)

            assert await seconds_to_close(producer, None) == 30.0


@virtual_time
async def test_a_commit_that_was_called_before_is_waited_for_as_long_as_a_commit_may_take() -> None:
    async with open_transaction() as (cluster, producer):
        with cluster.faults.on("EndTxn").delay(FOREVER_MS):
            with suppress(KafkaTimeoutError):
                await producer.commit_transaction(timeout=1.0)

            assert await seconds_to_close(producer, None) == 60.0
