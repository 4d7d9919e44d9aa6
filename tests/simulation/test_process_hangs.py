"""Handlers of ``process()`` that never return are named, and keep nothing from its end."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from pyk.clients import RetryPolicy
from pyk.runtime.virtual_time import current_clock, eventually, virtual_time
from support.consuming import P0, cluster_with_orders, make_consumer
from support.share_consuming import share_cluster, share_consumer


async def hang(record: Any) -> None:
    if record.offset == 1:
        await asyncio.Event().wait()


async def hang_although_cancelled(record: Any) -> None:
    while record.offset == 1:
        try:
            await asyncio.sleep(1e6)
        except asyncio.CancelledError:
            if current_clock().now() > 1000:
                raise


@virtual_time
async def test_health_and_a_log_line_name_the_record_of_a_handler_that_does_not_return(caplog):
    async with (
        cluster_with_orders(3) as cluster,
        make_consumer(
            cluster, group_id="g", topics=["orders"], max_poll_interval_ms=60_000
        ) as consumer,
    ):
        task = asyncio.create_task(consumer.process(hang, ordering="none"))
        await asyncio.sleep(55)
        assert consumer.health().is_healthy
        await asyncio.sleep(20)

        [problem] = consumer.health().problems
        assert problem.startswith(
            "the handler of the record of orders-0 at offset 1, attempt 1 has"
        )
        assert problem == consumer.health().handlers[0]
        await asyncio.sleep(600)
        lines = [r for r in caplog.records if r.name.endswith("handler_watch")]
        assert [line.levelno for line in lines] == [logging.WARNING]
        assert "orders-0 at offset 1, attempt 1 has not returned for 60 s" in lines[0].getMessage()
        task.cancel()
        await asyncio.wait({task})
        assert consumer.health().handlers == ()


@virtual_time
async def test_share_consumers_name_it_too():
    async with share_cluster() as cluster, share_consumer(cluster) as consumer:
        cluster.produce(b"one", b"two")
        task = asyncio.create_task(consumer.process(hang))
        await asyncio.sleep(400)

        assert "at offset 1" in consumer.health().problems[0]
        task.cancel()
        await asyncio.wait({task})


@virtual_time
async def test_a_deadline_cancels_the_call_and_the_record_takes_its_road():
    dead: list[int] = []
    async with (
        cluster_with_orders(3) as cluster,
        make_consumer(cluster, group_id="g", topics=["orders"]) as consumer,
    ):
        task = asyncio.create_task(
            consumer.process(
                hang,
                deadline=5,
                retry=RetryPolicy(attempts=2, backoff=1),
                dead_letter=lambda record, error: dead.append(record.offset),
            )
        )
        began = current_clock().now()
        await eventually(lambda: dead == [1])
        assert 10 < current_clock().now() - began < 13
        consumer.wakeup()
        await task

        committed = (await consumer.committed([P0]))[P0]
        assert committed is not None
        assert committed.offset == 3


@pytest.mark.parametrize("handler", [hang, hang_although_cancelled])
@virtual_time
async def test_closing_ends_within_its_timeout_and_the_call_soon_after_it(handler, caplog):
    async with cluster_with_orders(3) as cluster:
        consumer = make_consumer(cluster, group_id="g", topics=["orders"])
        task = asyncio.create_task(consumer.process(handler, ordering="none"))
        await asyncio.sleep(20)
        began = current_clock().now()

        await consumer.close(timeout=3)
        assert current_clock().now() - began <= 3
        await asyncio.wait_for(task, 10)

        is_left = "1 handler did not end when cancelled" in caplog.text
        assert is_left is (handler is hang_although_cancelled)
        async with make_consumer(cluster, group_id="g") as observer:
            committed = (await observer.committed([P0]))[P0]
        assert committed is not None
        assert committed.offset == 1
        await asyncio.sleep(2000)  # so that the handler ends when the test does


@pytest.mark.parametrize("is_share", [False, True])
@virtual_time
async def test_a_call_that_is_woken_up_tells_which_handlers_it_waits_for(is_share, caplog):
    async with _with_two_orders(is_share=is_share) as consumer:
        task = asyncio.create_task(consumer.process(hang, ordering="none"))
        await asyncio.sleep(20)

        consumer.wakeup()
        await asyncio.sleep(30)

        [line] = [r.getMessage() for r in caplog.records if r.name.endswith("handler_watch")]
        assert line.startswith("process() is to end, and waits for 1 handler")
        assert "orders-0 at offset 1, attempt 1" in line
        await asyncio.wait_for(task, 300)


@virtual_time
async def test_handlers_that_end_soon_are_not_named_at_the_end(caplog):
    async def handle(record: Any) -> None:
        await asyncio.sleep(8)

    async with _with_two_orders(is_share=False) as consumer:
        task = asyncio.create_task(consumer.process(handle))
        await asyncio.sleep(5)
        consumer.wakeup()
        await task

    assert "process() is to end" not in caplog.text


@virtual_time
async def test_a_rebalance_that_handlers_hold_up_names_them(caplog):
    async with cluster_with_orders(3) as cluster:
        options = {"group_id": "g", "partition_assignment_strategy": "range"}
        async with (
            make_consumer(cluster, topics=["orders"], **options) as consumer,
            make_consumer(cluster, topics=["orders"], **options) as other,
        ):
            task = asyncio.create_task(consumer.process(hang, ordering="none"))
            await asyncio.sleep(20)
            await other.poll(30)

            [line] = [r.getMessage() for r in caplog.records if r.name.endswith("releases")]
            assert line.startswith("The group waits for 1 handler of partitions")
            assert "orders-0 at offset 1, attempt 1" in line
            task.cancel()
            await asyncio.wait({task})


@asynccontextmanager
async def _with_two_orders(*, is_share: bool) -> AsyncIterator[Any]:
    """Return a consumer, of a group or of a share group."""
    if is_share:
        async with share_cluster() as cluster, share_consumer(cluster) as sharing:
            cluster.produce(b"one", b"two")
            yield sharing
    else:
        async with (
            cluster_with_orders(2) as cluster,
            make_consumer(cluster, group_id="g", topics=["orders"]) as consumer,
        ):
            yield consumer
