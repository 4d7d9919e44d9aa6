"""What an application finishes, in which task it may commit, and the errors that it gets."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Awaitable, Callable, Collection
from typing import Any

import pytest

from pyk.clients import AsyncConsumer, ConcurrentUseError, RebalanceListener, TopicPartition
from pyk.clients.consumer.fetching import node_fetcher
from pyk.clients.errors import StateError
from pyk.protocol.messages.list_offsets import ListOffsetsRequest
from pyk.runtime.virtual_time import current_clock, eventually, virtual_time
from support.consumer_groups import Group, Recorder
from support.consuming import (
    P0,
    cluster_with_orders,
    fetching,
    make_consumer,
    produce,
    read,
    reference_cluster,
)
from support.scripted_broker import SILENCE


async def take_one(consumer: AsyncConsumer[Any, Any]) -> None:
    """Take three records one by one, and fail at the third."""
    taken = 0
    async for _ in consumer:
        taken += 1
        if taken == 3:
            raise ValueError("the loop body fails")


async def take_a_batch(consumer: AsyncConsumer[Any, Any]) -> None:
    """Take a batch of two, then another one, and fail."""
    for _ in range(2):
        assert len(await consumer.poll(5, max_records=2)) == 2
    raise ValueError("the batch is not processed")


@pytest.mark.parametrize("take", [take_one, take_a_batch])
@virtual_time
async def test_closing_does_not_finish_the_record_in_hand(
    take: Callable[[AsyncConsumer[Any, Any]], Awaitable[None]],
) -> None:
    async with cluster_with_orders(10) as cluster:
        consumer = make_consumer(cluster, group_id="g", topics=["orders"])

        with contextlib.suppress(ValueError):
            await take(consumer)
        await consumer.close()

        assert await Group(cluster).committed() == {P0: 2}


@virtual_time
async def test_a_loop_that_was_left_has_finished_all_but_its_last_record() -> None:
    async with cluster_with_orders(10) as cluster:
        consumer = make_consumer(cluster, group_id="g", topics=["orders"])

        async for record in consumer:
            if record.offset == 4:
                break
        await consumer.close()

        assert await Group(cluster).committed() == {P0: 4}


@virtual_time
async def test_leaving_the_block_without_an_exception_finishes_the_record_in_hand() -> None:
    async with cluster_with_orders(10) as cluster:
        async with make_consumer(cluster, group_id="g", topics=["orders"]) as consumer:
            await read(consumer, 10)

        assert await Group(cluster).committed() == {P0: 10}


@virtual_time
async def test_leaving_the_block_by_an_error_does_not() -> None:
    async with cluster_with_orders(10) as cluster:
        with pytest.raises(ValueError, match="loop body"):
            async with make_consumer(cluster, group_id="g", topics=["orders"]) as consumer:
                await take_one(consumer)

        assert await Group(cluster).committed() == {P0: 2}


@virtual_time
async def test_only_the_task_that_took_records_commits_them_without_naming_them() -> None:
    async with (
        cluster_with_orders(10) as cluster,
        make_consumer(cluster, group_id="g", topics=["orders"]) as consumer,
    ):
        async for record in consumer:
            with pytest.raises(ConcurrentUseError, match=r"what is finished.*asyncio\.timeout"):
                await asyncio.create_task(consumer.commit())
            if record.offset == 2:
                break

        assert (await consumer.committed([P0]))[P0] is None
        await asyncio.create_task(consumer.commit(record))
        committed = (await consumer.committed([P0]))[P0]
        assert committed is not None
        assert committed.offset == 3
        await consumer.commit()


@virtual_time
async def test_a_task_that_has_ended_leaves_its_records_to_others() -> None:
    async with cluster_with_orders(10) as cluster:
        async with make_consumer(cluster, group_id="g", topics=["orders"]) as consumer:
            await asyncio.create_task(read(consumer, 10))

            await consumer.commit()

        assert await Group(cluster).committed() == {P0: 10}


@virtual_time
async def test_no_other_task_unsubscribes_while_one_polls() -> None:
    async with reference_cluster() as cluster:
        await cluster.create_topic("orders", partitions=1)
        async with make_consumer(cluster, group_id="g", topics=["orders"]) as consumer:
            polling = asyncio.create_task(consumer.poll(20))
            await asyncio.sleep(10)

            with pytest.raises(ConcurrentUseError):
                await consumer.unsubscribe()

            assert consumer.assignment() == {P0}
            await polling


def on_another_loop(call: Callable[[], Awaitable[Any]]) -> list[BaseException]:
    """Return the error of a call on an event loop of another thread."""
    raised: list[BaseException] = []

    async def use() -> None:
        await call()

    def run() -> None:
        try:
            asyncio.run(use())
        except BaseException as error:
            raised.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    return raised


@pytest.mark.parametrize("call", ["poll", "__anext__", "commit", "unsubscribe", "close"])
@virtual_time
async def test_another_event_loop_is_refused_although_records_are_at_hand(call: str) -> None:
    async with (
        cluster_with_orders(10) as cluster,
        make_consumer(cluster, group_id="g", topics=["orders"]) as consumer,
    ):
        await consumer.poll(5, max_records=1)

        raised = on_another_loop(getattr(consumer, call))

        assert [type(error) for error in raised] == [StateError]
        assert "belongs to another event loop" in str(raised[0])
        assert not consumer._core.is_closed
        assert len(await read(consumer, 9)) == 9


class Fails(RebalanceListener):
    """A listener that is kept from ending when partitions are lost."""

    def __init__(self, *, raises: bool) -> None:
        self.events: list[str] = []
        self._raises = raises

    async def on_partitions_assigned(self, partitions: Collection[TopicPartition]) -> None:
        self.events.append("assigned")

    async def on_partitions_lost(self, partitions: Collection[TopicPartition]) -> None:
        self.events.append("lost")
        if self._raises:
            raise RuntimeError("the listener fails")
        await asyncio.sleep(1)


@pytest.mark.parametrize("raises", [True, False], ids=["raises", "is cancelled"])
@virtual_time
async def test_a_listener_that_is_broken_off_does_not_keep_the_next_event_unheard(
    raises: bool,
) -> None:
    async with cluster_with_orders(10) as cluster:
        listener = Fails(raises=raises)
        options = {"session_timeout_ms": 6000, "heartbeat_interval_ms": 1000}
        async with make_consumer(cluster, group_id="g", **options) as consumer:
            consumer.subscribe(["orders"], listener=listener)
            await read(consumer, 1)
            with cluster.faults.on("Heartbeat").once().error("UNKNOWN_MEMBER_ID"):
                await eventually(lambda: consumer.assignment() == set())
            await eventually(lambda: consumer.assignment() == {P0})
            await asyncio.sleep(5)

            with pytest.raises(RuntimeError if raises else TimeoutError):
                await asyncio.wait_for(consumer.poll(1), 0.5)

            assert await read(consumer, 1, timeout=5)
            assert listener.events == ["assigned", "lost", "assigned"]


@virtual_time
async def test_a_slow_application_that_comes_back_joins_its_group_at_once() -> None:
    async with cluster_with_orders(10) as cluster:
        options = {"max_poll_interval_ms": 10_000, "heartbeat_interval_ms": 3000}
        async with make_consumer(cluster, group_id="g", topics=["orders"], **options) as consumer:
            await consumer.poll(5, max_records=1)
            await asyncio.sleep(20)
            began = current_clock().now()

            assert len(await read(consumer, 1)) > 0

            assert current_clock().now() - began < 1


@virtual_time
async def test_auto_commit_follows_a_seek_back_even_after_a_call_of_committed() -> None:
    async with cluster_with_orders(10) as cluster:
        async with make_consumer(cluster, group_id="g", topics=["orders"]) as consumer:
            await read(consumer, 10)
            await consumer.commit()
            consumer.seek(P0, 3)
            await consumer.committed([P0])
            assert len(await consumer.poll(5, max_records=2)) == 2

        assert await Group(cluster).committed() == {P0: 5}


@pytest.mark.parametrize("options", [{}, {"group_id": "g"}], ids=["alone", "in a group"])
@virtual_time
async def test_nothing_is_read_after_unsubscribe(options: dict[str, str]) -> None:
    async with (
        cluster_with_orders(10) as cluster,
        make_consumer(cluster, **options) as consumer,
    ):
        consumer.assign([P0])
        await consumer.poll(5, max_records=1)

        await consumer.unsubscribe()

        assert consumer.assignment() == set()
        assert consumer.subscription() == set()
        consumer.subscribe(["orders"])
        assert [record.offset for record in await consumer.poll(5)] == list(range(10))


@virtual_time
async def test_partitions_that_are_assigned_away_are_committed() -> None:
    async with reference_cluster() as cluster:
        await cluster.create_topic("orders", partitions=2)
        await produce(cluster, "orders", 10)
        options = {"group_id": "g", "auto_commit_interval_ms": 600_000}
        async with make_consumer(cluster, **options) as consumer:
            consumer.assign([P0])
            await read(consumer, 10)
            await consumer.poll(0.1)

            consumer.assign([TopicPartition("orders", 1)])
            await consumer.poll(1)

            committed = (await consumer.committed([P0]))[P0]
            assert committed is not None
            assert committed.offset == 10


@virtual_time
async def test_a_close_reports_a_loss_that_the_listener_has_not_heard_of() -> None:
    async with cluster_with_orders(10) as cluster:
        listener = Recorder()
        options = {"session_timeout_ms": 6000, "heartbeat_interval_ms": 1000}
        async with make_consumer(cluster, group_id="g", **options) as consumer:
            consumer.subscribe(["orders"], listener=listener)
            await read(consumer, 1)
            with cluster.faults.on("Heartbeat").once().error("UNKNOWN_MEMBER_ID"):
                await eventually(lambda: consumer.assignment() == set())
            await eventually(lambda: consumer.assignment() == {P0})

        assert listener.events == [("assigned", 1), ("lost", 1)]


@pytest.mark.parametrize("is_lost", [False, True], ids=["assigned", "assigned and lost"])
@virtual_time
async def test_a_close_reports_no_loss_of_partitions_that_the_listener_never_got(
    is_lost: bool,
) -> None:
    async with reference_cluster() as cluster:
        await cluster.create_topic("orders", partitions=1)
        listener = Recorder()
        options = {"session_timeout_ms": 6000, "heartbeat_interval_ms": 1000}
        async with make_consumer(cluster, group_id="g", **options) as consumer:
            consumer.subscribe(["orders"], listener=listener)
            await eventually(lambda: consumer.assignment() == {P0})
            if is_lost:
                with cluster.faults.on("Heartbeat").once().error("UNKNOWN_MEMBER_ID"):
                    await eventually(lambda: consumer.assignment() == set())

        assert listener.events == []


@virtual_time
async def test_position_knows_at_once_of_a_seek_that_was_made_meanwhile() -> None:
    async with fetching(leaders=(1,)) as (cluster, consumer):
        cluster.on(ListOffsetsRequest, SILENCE)
        consumer.seek_to_end(P0)
        asking = asyncio.create_task(consumer.position(P0))
        await asyncio.sleep(1)
        began = current_clock().now()

        consumer.seek(P0, 3)

        assert await asking == 3
        assert current_clock().now() - began < 0.1


@virtual_time
async def test_lag_leaves_out_partitions_that_are_gone_meanwhile() -> None:
    async with fetching(leaders=(1,)) as (cluster, consumer):
        cluster.on(ListOffsetsRequest, SILENCE)
        consumer.seek_to_end(P0)
        asking = asyncio.create_task(consumer.lag())
        await asyncio.sleep(1)

        consumer.assign([])

        assert await asking == {}


@virtual_time
async def test_a_bug_in_pyk_is_named_as_one_and_not_as_a_timeout(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*arguments: object) -> None:
        raise ValueError("a bug")

    async with fetching(leaders=(1,)) as (cluster, consumer):
        cluster.append([b"a"])
        await read(consumer, 1)
        monkeypatch.setattr(node_fetcher, "find_end", fail)
        cluster.append([b"b"])

        with pytest.raises(StateError, match="because of a bug in pyk"):
            await consumer.poll(10)

        assert not consumer.health().is_healthy
        assert current_clock().now() < 5
    monkeypatch.undo()
    caplog.clear()


@pytest.mark.parametrize("case", ["paused", "slow application", "absent application"])
@virtual_time
async def test_an_outage_that_is_over_is_not_raised(case: str) -> None:
    async with fetching(leaders=(1,), max_poll_records=1) as (cluster, consumer):
        cluster.append([b"a"])
        await read(consumer, 1)
        if case == "paused":
            consumer.pause(P0)
        elif case == "slow application":
            for _ in range(3):
                cluster.append([b"b"] * 10)
                await asyncio.sleep(1)
            await consumer.poll(1)
        for leader, seconds in ((99, 50), (1, 5)):  # nobody, then the same one as before
            cluster.topics["orders"].leaders[0] = leader
            consumer._core.client.metadata_keeper.request_update()
            await asyncio.sleep(seconds)
        assert consumer.health().partitions[P0].error is None

        consumer.resume(P0)
        cluster.append([b"c"])

        assert await read(consumer, 1) == [b"b" if case == "slow application" else b"c"]
        assert consumer.health().is_healthy


@virtual_time
async def test_health_names_partitions_held_by_a_rebalance_that_waits_for_the_application() -> None:
    async with (
        cluster_with_orders(10) as cluster,
        make_consumer(cluster, group_id="g", topics=["orders"]) as consumer,
    ):
        await eventually(lambda: consumer.assignment() == {P0})
        assert consumer.health().is_healthy

        await asyncio.sleep(60)
        assert consumer.health().problems == (
            "orders-0 waits until the application polls and hears of a rebalance",
        )

        await read(consumer, 10)
        assert consumer.health().is_healthy
