"""``wakeup`` interrupts what the task that polls waits for, and nothing else."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from pyk.clients import AsyncConsumer, RebalanceListener, TopicPartition
from pyk.clients.consumer.buffer.read_buffer import PROCESS_ENDS
from pyk.clients.errors import ClosedError, WakeupError
from pyk.runtime.virtual_time import eventually, virtual_time
from support.consumer_groups import Group
from support.consuming import (
    P0,
    cluster_with_orders,
    make_consumer,
    produce,
    read,
    reference_cluster,
)
from support.share_consuming import sharing_orders, values_of

Call = Callable[[AsyncConsumer[Any, Any]], Awaitable[Any]]

FOREVER_MS = 600_000


@pytest.mark.parametrize(
    ("api", "call"),
    [
        ("OffsetCommit", lambda consumer: consumer.commit({P0: 1})),
        ("OffsetFetch", lambda consumer: consumer.committed([P0])),
        ("OffsetFetch", lambda consumer: consumer.position(P0)),
        ("OffsetFetch", lambda consumer: consumer.lag()),
        ("OffsetFetch", lambda consumer: consumer.poll(None)),
        ("ListOffsets", lambda consumer: consumer.beginning_offsets([P0])),
        ("ListOffsets", lambda consumer: consumer.end_offsets([P0])),
        ("ListOffsets", lambda consumer: consumer.offsets_for_times({P0: 0})),
        ("Metadata", lambda consumer: consumer.partitions_for("others")),
        ("ApiVersions", lambda consumer: consumer.poll(None)),
        ("ApiVersions", lambda consumer: consumer.commit({P0: 1})),
    ],
)
@virtual_time
async def test_a_call_that_waits_for_brokers_is_interrupted(api: str, call: Call) -> None:
    async with cluster_with_orders(3) as cluster:
        consumer = make_consumer(cluster, group_id="g")
        if api != "ApiVersions":
            await consumer.start()
        with cluster.faults.on(api).delay(FOREVER_MS):
            consumer.assign([P0])
            waiting = asyncio.ensure_future(call(consumer))
            await asyncio.sleep(1)

            consumer.wakeup()

            with pytest.raises(WakeupError):
                await asyncio.wait_for(waiting, 0.1)
        await consumer.close()


@virtual_time
async def test_a_commit_that_was_interrupted_leaves_what_it_finished_to_close() -> None:
    async with cluster_with_orders(3) as cluster:
        consumer = make_consumer(cluster, group_id="g", topics=["orders"])
        await read(consumer, 3)
        with cluster.faults.on("OffsetCommit").once().delay(2_000):
            asyncio.get_running_loop().call_later(1, consumer.wakeup)
            with pytest.raises(WakeupError, match="may have been stored") as raised:
                await consumer.commit()
        assert not raised.value.definite

        await produce(cluster, "orders", 1)
        await read(consumer, 1)
        await consumer.close()

        assert await Group(cluster).committed() == {P0: 3}


@pytest.mark.parametrize(
    "call",
    [
        lambda consumer: consumer.commit(),
        lambda consumer: consumer.position(P0),
        lambda consumer: consumer.committed([P0]),
        lambda consumer: consumer.poll(),
    ],
)
@virtual_time
async def test_without_a_call_that_waits_the_next_one_raises_before_it_does_anything(
    call: Call,
) -> None:
    async with (
        cluster_with_orders(3) as cluster,
        make_consumer(
            cluster, group_id="g", topics=["orders"], enable_auto_commit=False
        ) as consumer,
    ):
        await read(consumer, 3)
        consumer.wakeup()

        with pytest.raises(WakeupError) as raised:
            await call(consumer)

        assert raised.value.definite
        assert await Group(cluster).committed() == {}
        await consumer.commit()
        assert await Group(cluster).committed() == {P0: 3}


@virtual_time
async def test_closing_is_not_interrupted() -> None:
    async with cluster_with_orders(3) as cluster:
        consumer = make_consumer(cluster, group_id="g", topics=["orders"])
        async for record in consumer:
            if record.offset == 2:
                break
        with cluster.faults.on("OffsetCommit").once().delay(2_000):
            consumer.wakeup()
            asyncio.get_running_loop().call_later(1, consumer.wakeup)
            await consumer.close()

        assert await Group(cluster).committed() == {P0: 2}
        with pytest.raises(ClosedError):
            await consumer.position(P0)


class CommittingListener(RebalanceListener):
    """Commits before partitions are given up."""

    def __init__(self, consumer: AsyncConsumer[Any, Any]) -> None:
        self._consumer = consumer

    async def on_partitions_revoked(self, partitions: list[TopicPartition]) -> None:
        await self._consumer.commit()


@pytest.mark.parametrize("leave", [AsyncConsumer.close, AsyncConsumer.unsubscribe])
@virtual_time
async def test_no_commit_of_a_listener_is_interrupted_when_a_consumer_leaves(
    leave: Callable[[AsyncConsumer[Any, Any]], Awaitable[None]],
) -> None:
    async with (
        cluster_with_orders(3) as cluster,
        make_consumer(cluster, group_id="g", enable_auto_commit=False) as consumer,
    ):
        consumer.subscribe(["orders"], listener=CommittingListener(consumer))
        await read(consumer, 3)
        with cluster.faults.on("OffsetCommit").once().delay(2_000):
            consumer.wakeup()
            asyncio.get_running_loop().call_later(1, consumer.wakeup)
            await leave(consumer)

        assert await Group(cluster).committed() == {P0: 3}


@virtual_time
async def test_a_wakeup_that_comes_while_a_consumer_unsubscribes_is_left_to_the_next_poll() -> None:
    async with (
        cluster_with_orders(3) as cluster,
        make_consumer(cluster, group_id="g", enable_auto_commit=False) as consumer,
    ):
        consumer.subscribe(["orders"], listener=CommittingListener(consumer))
        await read(consumer, 3)
        consumer.wakeup()
        await consumer.unsubscribe()
        consumer.subscribe(["orders"])

        with pytest.raises(WakeupError):
            await consumer.poll()


@virtual_time
async def test_calls_that_never_wait_leave_a_wakeup_to_the_next_poll() -> None:
    async with (
        cluster_with_orders(3) as cluster,
        make_consumer(cluster, group_id="g", topics=["orders"]) as consumer,
    ):
        await read(consumer, 3)
        errors: list[Any] = []
        consumer.wakeup()

        consumer.commit_async(callback=lambda _, error: errors.append(error))
        consumer.pause(P0)
        consumer.seek(P0, 0)

        with pytest.raises(WakeupError):
            await consumer.poll()
        await consumer.poll()
        assert errors == [None]


@virtual_time
async def test_a_commit_of_another_task_than_the_one_that_polls_goes_on() -> None:
    async with (
        cluster_with_orders(3) as cluster,
        make_consumer(cluster, group_id="g", topics=["orders"]) as consumer,
    ):
        await read(consumer, 3)
        with cluster.faults.on("OffsetCommit").once().delay(2_000):
            committing = asyncio.create_task(consumer.commit({P0: 1}))
            await asyncio.sleep(1)
            consumer.wakeup()
            await committing
        with pytest.raises(WakeupError):
            await consumer.poll()


@virtual_time
async def test_a_call_that_is_cancelled_at_once_leaves_a_wakeup_to_the_next_one() -> None:
    async with cluster_with_orders(3) as cluster, make_consumer(cluster, group_id="g") as consumer:
        with cluster.faults.on("OffsetFetch").delay(FOREVER_MS):
            waiting = asyncio.create_task(consumer.committed([P0]))
            await asyncio.sleep(1)
            consumer.wakeup()
            waiting.cancel()
            with pytest.raises(asyncio.CancelledError):
                await waiting
        with pytest.raises(WakeupError):
            await consumer.committed([P0])


@virtual_time
async def test_a_poll_that_commits_before_partitions_go_is_interrupted() -> None:
    async with reference_cluster() as cluster:
        await cluster.create_topic("orders", partitions=2)
        await produce(cluster, "orders", 2, partitions=2)
        async with (
            make_consumer(cluster, group_id="g", topics=["orders"]) as consumer,
            make_consumer(cluster, group_id="g", topics=["orders"]) as other,
        ):
            await read(consumer, 2)
            with cluster.faults.on("OffsetCommit").once().delay(20_000):
                joining = asyncio.create_task(other.poll(40))
                waiting = asyncio.create_task(consumer.poll(None))
                await asyncio.sleep(6)
                consumer.wakeup()
                with pytest.raises(WakeupError):
                    await asyncio.wait_for(waiting, 0.1)
                await consumer.poll(30)
            await eventually(lambda: len(other.assignment()) == 1)
            await joining
            assert len(consumer.assignment()) == 1


@virtual_time
async def test_a_failed_handler_of_process_ends_its_polls_and_no_commit_of_a_listener() -> None:
    async with (
        cluster_with_orders(3) as cluster,
        make_consumer(cluster, group_id="g", topics=["orders"]) as consumer,
    ):
        await read(consumer, 3)
        with cluster.faults.on("OffsetCommit").once().delay(2_000):
            fail = consumer._core.buffer.call_attention
            asyncio.get_running_loop().call_later(1, fail, PROCESS_ENDS)
            await consumer.commit()
        with pytest.raises(WakeupError):
            await consumer.poll()


@virtual_time
async def test_the_commit_of_a_share_consumer_is_interrupted() -> None:
    async with cluster_with_orders(3) as cluster:
        consumer = await sharing_orders(cluster)
        async with consumer:
            assert await values_of(consumer, 3) == [b"0", b"1", b"2"]
            with (
                cluster.faults.on("ShareAcknowledge").delay(3_000),
                cluster.faults.on("ShareFetch").delay(3_000),
            ):
                asyncio.get_running_loop().call_later(1, consumer.wakeup)
                with pytest.raises(WakeupError):
                    await consumer.commit()
            assert not await consumer.poll(5)
