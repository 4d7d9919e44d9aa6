"""How calls of ``process()`` end, and how their handlers let partitions go."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from pyk.runtime.virtual_time import current_clock, eventually, virtual_time
from support.consuming import (
    cluster_with_orders,
    make_consumer,
    produce,
    read,
    reference_cluster,
)
from support.processing import Processor, Processors


@virtual_time
async def test_workers_without_a_job_do_not_hold_up_the_end():
    async with (
        cluster_with_orders(20) as cluster,
        make_consumer(cluster, group_id="g", topics=["orders"]) as consumer,
    ):
        handled: list[int] = []

        async def handle(record: Any) -> None:
            await asyncio.sleep(1)
            handled.append(record.offset)

        task = asyncio.create_task(consumer.process(handle, ordering="none"))
        await eventually(lambda: len(handled) == 20)
        began = current_clock().now()
        consumer.wakeup()
        await task

        assert current_clock().now() - began < 1


@virtual_time
async def test_the_first_of_several_failures_is_raised_and_the_next_poll_reads_on():
    async with (
        cluster_with_orders(4) as cluster,
        make_consumer(cluster, group_id="g", topics=["orders"]) as consumer,
    ):

        async def handle(record: Any) -> None:
            await asyncio.sleep(1 + record.offset)
            raise LookupError(f"no customer {record.offset}")

        with pytest.raises(LookupError, match="no customer 0"):
            await consumer.process(handle, ordering="none")

        assert [record.offset for record in await consumer.poll(60)] == [0, 1, 2, 3]


@virtual_time
async def test_handlers_that_never_wait_let_other_tasks_run():
    async with (
        cluster_with_orders(400) as cluster,
        make_consumer(cluster, group_id="g", topics=["orders"]) as consumer,
    ):
        handled: list[int] = []
        turns: set[int] = set()
        watching: list[asyncio.Task[None]] = []

        async def take_turns() -> None:
            for _ in range(1000):
                turns.add(len(handled))
                await asyncio.sleep(0)

        def handle(record: Any) -> None:
            if not handled:
                watching.append(asyncio.create_task(take_turns()))
            handled.append(record.offset)

        task = asyncio.create_task(consumer.process(handle, concurrency=1))
        await eventually(lambda: len(handled) == 400)
        await asyncio.wait(watching)
        consumer.wakeup()
        await task

        assert len(turns) > 4


@virtual_time
async def test_a_revocation_waits_for_each_handler_as_long_as_it_takes():
    async with reference_cluster() as cluster:
        await cluster.create_topic("orders", partitions=2)
        await produce(cluster, "orders", 8, partitions=2)
        members = Processors(cluster)
        durations = iter([float(n) for n in (1, 5, 9, 13, 17, 21, 25, 29)])
        first = members.member(seconds=0, duration=lambda: next(durations, 0.1), ordering="none")
        await eventually(lambda: first.running == 8)

        second = members.member(seconds=0.1)
        await eventually(lambda: len(members.handled) == 8, timeout=300)
        await asyncio.sleep(10)

        assert len(members.handled) == 8
        assert not first.cancelled
        assert not second.handled
        await first.wake()
        await second.wake()


@virtual_time
async def test_a_revocation_waits_for_the_handler_of_one_of_its_partitions():
    async with reference_cluster() as cluster:
        await cluster.create_topic("orders", partitions=2)
        await produce(cluster, "orders", 2, partitions=2)
        members = Processors(cluster)
        durations = iter([0.01, 20.0])
        first = members.member(seconds=0, duration=lambda: next(durations, 0.1))
        await eventually(lambda: len(first.handled) == first.running == 1)

        second = members.member(seconds=0.1)
        await asyncio.sleep(60)

        assert first.cancelled == []
        assert len(first.handled) == 2
        assert second.handled == []
        await first.wake()
        await second.wake()


@virtual_time
async def test_a_consumer_that_is_closed_during_a_revocation_does_not_wait_for_its_handlers():
    async with reference_cluster() as cluster:
        await cluster.create_topic("orders", partitions=2)
        await produce(cluster, "orders", 2, partitions=2)
        members = Processors(cluster)
        first = members.member(seconds=1e9)
        await eventually(lambda: first.running == 2)
        second = members.member(seconds=0.1)
        await asyncio.sleep(20)  # the group waits for the first member

        began = current_clock().now()
        await first.consumer.close()
        await first.task

        assert current_clock().now() - began < 10
        assert len(first.cancelled) == 2
        await eventually(lambda: len(second.handled) == 2)
        await second.wake()


@virtual_time
async def test_what_the_application_reads_again_from_the_beginning_is_not_skipped_by_the_end():
    async with reference_cluster() as cluster:
        await cluster.create_topic("orders", partitions=1)
        await produce(cluster, "orders", 10)
        async with make_consumer(cluster, group_id="g", topics=["orders"]) as consumer:
            member = Processor(consumer, 0.01, {(0, 5)}, [], {})
            task = asyncio.create_task(consumer.process(member.handle))
            await eventually(lambda: member.running == 1 and len(member.handled) == 5)
            with cluster.faults.on("ListOffsets").delay(2_000):
                consumer.seek_to_beginning(("orders", 0))
                task.cancel()
                await asyncio.wait({task})

            values = await read(consumer, 10)

        assert values == [b"%d" % number for number in range(10)]


@virtual_time
async def test_the_next_poll_returns_deserialized_records_and_nothing_watches_handlers():
    async with reference_cluster() as cluster:
        await cluster.create_topic("orders", partitions=1)
        await produce(cluster, "orders", 2)
        options = {"group_id": "g", "topics": ["orders"], "value_deserializer": int}
        async with make_consumer(cluster, **options) as consumer:

            async def handle(record: Any) -> None:
                consumer.wakeup()
                await asyncio.sleep(1e9 if record.offset else 0)

            task = asyncio.create_task(consumer.process(handle))
            await asyncio.sleep(1)
            task.cancel()
            await asyncio.wait({task})

            assert "watch handlers" not in {one.get_name() for one in asyncio.all_tasks()}
            assert await read(consumer, 1) == [1]


@virtual_time
async def test_a_call_that_has_ended_leaves_nothing_of_itself_in_its_consumer():
    async with reference_cluster() as cluster:
        await cluster.create_topic("orders", partitions=1)
        await produce(cluster, "orders", 3)
        async with make_consumer(cluster, group_id="g", topics=["orders"]) as consumer:
            core = consumer._core
            assert core.group is not None

            async def handle(record: Any) -> None:
                assert core.group is not None
                assert None not in (
                    core.group.progress.handled,
                    core.position_calls.handled,
                    core.long_calls,
                )
                consumer.wakeup()

            await consumer.process(handle)

            assert core.group.progress.handled is None
            assert core.position_calls.handled is None
            assert core.long_calls is None
            assert "watch handlers" not in core.client.supervisor.task_names
