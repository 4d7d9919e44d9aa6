"""The rebalance events of an application, also after errors, and what it may do in them."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Collection
from typing import Any

import pytest

from pyk.clients import AsyncConsumer, RebalanceListener, TopicPartition
from pyk.clients.consumer.group.actions import Revoke
from pyk.clients.errors import ClosedError, StateError
from pyk.runtime.virtual_time import eventually, virtual_time
from support.consumer_groups import Recorder
from support.consuming import (
    cluster_with_orders,
    eventually_polled,
    make_consumer,
    produce,
    read,
    reference_cluster,
)


async def has_to_revoke(consumer: AsyncConsumer[Any, Any]) -> None:
    """Wait until partitions are about to be revoked, and their finished records are committed."""
    group = consumer._core.group
    assert group is not None
    await eventually(lambda: any(isinstance(event, Revoke) for event in group._events))
    await consumer.poll(0)
    await eventually(lambda: group._last_commit is not None and group._last_commit.done())


@pytest.mark.parametrize("turns", range(8))
@virtual_time
async def test_a_poll_that_is_cancelled_does_not_keep_a_revocation_unheard(turns: int) -> None:
    async with reference_cluster() as cluster:
        await cluster.create_topic("orders", partitions=4)
        await produce(cluster, "orders", 40, partitions=4)
        listener = Recorder()
        async with make_consumer(cluster, group_id="g") as consumer:
            consumer.subscribe(["orders"], listener=listener)
            await read(consumer, 40)
            async with make_consumer(cluster, group_id="g", topics=["orders"]):
                await has_to_revoke(consumer)

                polling = asyncio.create_task(consumer.poll(5))
                for _ in range(turns):
                    await asyncio.sleep(0)
                polling.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await polling

                await eventually_polled(consumer, lambda: len(listener.events) == 3, timeout=5)
        assert [name for name, _ in listener.events][:3] == ["assigned", "revoked", "assigned"]


async def begin_revocation_that_cannot_be_committed(
    cluster: Any, consumer: AsyncConsumer[Any, Any]
) -> None:
    """Have the group rebalance while its coordinator takes no commits, and wait until it does."""
    group = consumer._core.group
    assert group is not None
    cluster.faults.on("OffsetCommit").error("COORDINATOR_LOAD_IN_PROGRESS")
    cluster.faults.on("Heartbeat").once().error("REBALANCE_IN_PROGRESS")
    await eventually(lambda: any(isinstance(event, Revoke) for event in group._events))


@virtual_time
async def test_partitions_lost_during_the_commit_of_a_revocation_are_reported_as_lost() -> None:
    async with reference_cluster() as cluster:
        await cluster.create_topic("orders", partitions=4)
        await produce(cluster, "orders", 40, partitions=4)
        listener = Recorder()
        consumer = make_consumer(
            cluster, group_id="g", session_timeout_ms=6_000, heartbeat_interval_ms=1_000
        )
        async with consumer:
            consumer.subscribe(["orders"], listener=listener)
            await read(consumer, 40)
            await begin_revocation_that_cannot_be_committed(cluster, consumer)
            cluster.faults.on("Heartbeat").once().error("UNKNOWN_MEMBER_ID")

            await consumer.poll(20)

            assert listener.events[:2] == [("assigned", 4), ("lost", 4)]
            await eventually_polled(consumer, lambda: len(consumer.assignment()) == 4)


@virtual_time
async def test_a_poll_that_commits_before_a_revocation_raises_that_the_consumer_was_closed() -> (
    None
):
    async with reference_cluster() as cluster:
        await cluster.create_topic("orders", partitions=4)
        await produce(cluster, "orders", 40, partitions=4)
        consumer = make_consumer(
            cluster, group_id="g", topics=["orders"], heartbeat_interval_ms=1_000
        )
        await read(consumer, 40)
        await begin_revocation_that_cannot_be_committed(cluster, consumer)
        polling = asyncio.create_task(consumer.poll(60))
        await asyncio.sleep(0.5)

        await consumer.close(timeout=3)

        with pytest.raises(ClosedError):
            await polling


class Polls(RebalanceListener):
    """A listener that comes for records itself."""

    def __init__(self, consumer: AsyncConsumer[Any, Any]) -> None:
        self.calls = 0
        self._consumer = consumer

    async def on_partitions_assigned(self, partitions: Collection[TopicPartition]) -> None:
        self.calls += 1
        await self._consumer.poll(0)


@virtual_time
async def test_a_listener_that_polls_is_refused() -> None:
    async with (
        cluster_with_orders(10) as cluster,
        make_consumer(cluster, group_id="g") as consumer,
    ):
        listener = Polls(consumer)
        consumer.subscribe(["orders"], listener=listener)

        with pytest.raises(StateError, match="a rebalance listener"):
            await read(consumer, 1)

        assert len(await read(consumer, 10)) == 10
        assert listener.calls == 1


async def is_lost(cluster: Any, consumer: AsyncConsumer[Any, Any]) -> None:
    """Have the group forget a member."""
    with cluster.faults.on("Heartbeat").once().error("UNKNOWN_MEMBER_ID"):
        await eventually(lambda: consumer.assignment() == set())


@virtual_time
async def test_partitions_that_are_lost_before_they_are_given_up_are_heard_of_as_lost() -> None:
    async with reference_cluster() as cluster:
        await cluster.create_topic("orders", partitions=4)
        await produce(cluster, "orders", 40, partitions=4)
        listener = Recorder()
        options = {"session_timeout_ms": 6000, "heartbeat_interval_ms": 1000}
        async with make_consumer(cluster, group_id="g", **options) as consumer:
            consumer.subscribe(["orders"], listener=listener)
            await read(consumer, 40)
            async with make_consumer(cluster, group_id="g", topics=["orders"]):
                await has_to_revoke(consumer)
                await is_lost(cluster, consumer)

                await eventually_polled(consumer, lambda: len(listener.events) == 3)
                group = consumer._core.group
                assert group is not None
                assert group._last_commit is None
        assert [name for name, _ in listener.events][:3] == ["assigned", "lost", "assigned"]


class Leaving(RebalanceListener):
    """Makes a call of its consumer when partitions are revoked."""

    def __init__(self, consumer: AsyncConsumer[Any, Any], call: str) -> None:
        self.consumer, self.call, self.revoked = consumer, call, 0

    async def on_partitions_revoked(self, partitions: Collection[TopicPartition]) -> None:
        self.revoked += 1
        await getattr(self.consumer, self.call)()


@pytest.mark.parametrize("inner", ["close", "unsubscribe"])
@pytest.mark.parametrize("outer", ["close", "unsubscribe"])
@virtual_time
async def test_a_listener_that_closes_or_unsubscribes_is_told_once(outer: str, inner: str) -> None:
    async with cluster_with_orders(3) as cluster:
        consumer = make_consumer(cluster, group_id="g")
        listener = Leaving(consumer, inner)
        consumer.subscribe(["orders"], listener=listener)
        await read(consumer, 3)

        await getattr(consumer, outer)()

        assert listener.revoked == 1
        assert len(cluster.requests("LeaveGroup")) == 1
        await consumer.close()


@virtual_time
async def test_what_a_listener_returns_is_awaited_only_if_it_can_be() -> None:
    class Counting(RebalanceListener):
        def on_partitions_assigned(self, partitions: Collection[TopicPartition]) -> Any:
            return len(partitions)

    async with cluster_with_orders(3) as cluster, make_consumer(cluster, group_id="g") as consumer:
        consumer.subscribe(["orders"], listener=Counting())

        assert len(await read(consumer, 3)) == 3
