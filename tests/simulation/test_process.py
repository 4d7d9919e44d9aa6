"""``process()`` handles records side by side, in virtual time."""

from __future__ import annotations

import asyncio
import gc
import weakref
from typing import Any

import pytest

from pyk.clients import TopicPartition, current_attempt
from pyk.clients.errors import KafkaTimeoutError
from pyk.runtime.virtual_time import current_clock, eventually, virtual_time
from support.consuming import P0, make_consumer, produce, reference_cluster
from support.processing import Processors


@virtual_time
async def test_handlers_run_side_by_side_and_everything_is_committed():
    async with reference_cluster() as cluster:
        await cluster.create_topic("orders", partitions=4)
        await produce(cluster, "orders", 400, partitions=4)
        members = Processors(cluster)
        began = current_clock().now()
        member = members.member(seconds=1.0, concurrency=100, ordering="none")

        await eventually(lambda: len(member.handled) == 400)

        assert current_clock().now() - began < 10
        await member.wake()
        assert await members.committed() == {TopicPartition("orders", n): 100 for n in range(4)}


@virtual_time
async def test_the_order_of_a_partition_is_kept():
    async with reference_cluster() as cluster:
        await cluster.create_topic("orders", partitions=4)
        await produce(cluster, "orders", 80, partitions=4)
        member = Processors(cluster).member(seconds=0.1)

        await eventually(lambda: len(member.handled) == 80)

        for number in range(4):
            offsets = [offset for partition, offset in member.handled if partition == number]
            assert offsets == list(range(20))
        await member.wake()


@virtual_time
async def test_an_unfinished_record_holds_back_the_commit_and_not_the_others():
    async with reference_cluster() as cluster:
        await cluster.create_topic("orders", partitions=1)
        await produce(cluster, "orders", 20)
        members = Processors(cluster, auto_commit_interval_ms=100)
        member = members.member(seconds=0.01, ordering="none", stuck={(0, 5)})

        await eventually(lambda: len(member.handled) == 19)
        await asyncio.sleep(1)

        assert await members.committed() == {P0: 5}
        await member.crash()
        second = members.member(seconds=0.01, ordering="none")
        await eventually(lambda: second.handled == [(0, 5)], timeout=400)
        await asyncio.sleep(1)
        assert second.handled == [(0, 5)]
        assert await members.committed() == {P0: 20}
        await second.wake()


@virtual_time
async def test_a_second_call_goes_on_where_the_first_one_ended():
    async with reference_cluster() as cluster:
        await cluster.create_topic("orders", partitions=1)
        await produce(cluster, "orders", 20)
        handled: list[int] = []

        async def handle(record: Any) -> None:
            await asyncio.sleep(0)
            if record.offset == 5 and len(handled) < 19:
                while len(handled) < 19:
                    await asyncio.sleep(0.1)
                raise ValueError("not today")
            handled.append(record.offset)

        async with make_consumer(cluster, group_id="g", topics=["orders"]) as consumer:
            with pytest.raises(ValueError, match="not today") as caught:
                await consumer.process(handle, ordering="none")
            ending = asyncio.create_task(consumer.process(handle, ordering="none"))
            await eventually(lambda: len(handled) == 20)
            consumer.wakeup()
            await ending

        assert handled[-1] == 5
        assert caught.value.__notes__ == [
            "while handling the record of orders-0 at offset 5, attempt 1"
        ]


@virtual_time
async def test_a_handler_that_takes_longer_than_its_deadline_is_cancelled():
    async with reference_cluster() as cluster:
        await cluster.create_topic("orders", partitions=1)
        await produce(cluster, "orders", 1)
        async with make_consumer(cluster, group_id="g", topics=["orders"]) as consumer:

            async def handle(record: Any) -> None:
                assert current_attempt().number == 1
                await asyncio.sleep(10)

            with pytest.raises(KafkaTimeoutError, match=r"longer than its deadline of 2\.5 s"):
                await consumer.process(handle, deadline=2.5)


@virtual_time
async def test_a_partition_is_paused_while_its_handlers_have_enough_to_do():
    async with reference_cluster() as cluster:
        await cluster.create_topic("orders", partitions=1)
        await produce(cluster, "orders", 3000)
        member = Processors(cluster).member(seconds=0.01)

        await eventually(lambda: len(member.handled) >= 10)
        assert member.consumer.paused() == {P0}
        assert member.consumer._core.partitions[P0].buffer.position <= 1000

        await eventually(lambda: len(member.handled) == 3000, timeout=120)
        await eventually(lambda: member.consumer.paused() == set())
        await member.wake()


@pytest.mark.parametrize("strategy", ["range", "cooperative-sticky"])
@virtual_time
async def test_revoked_partitions_wait_for_their_handlers_so_that_nothing_is_handled_twice(
    strategy,
):
    async with reference_cluster() as cluster:
        await cluster.create_topic("orders", partitions=4)
        await produce(cluster, "orders", 400, partitions=4)
        members = Processors(cluster, partition_assignment_strategy=strategy)
        first = members.member(seconds=2.0, concurrency=8, ordering="none")
        await eventually(lambda: len(first.handled) > 20)

        second = members.member(seconds=2.0, concurrency=8, ordering="none")
        await eventually(lambda: len(members.handled) == 400, timeout=300)

        assert len(set(members.handled)) == 400
        assert second.handled
        await first.wake()
        await second.wake()
        assert await members.committed() == {TopicPartition("orders", n): 100 for n in range(4)}


@virtual_time
async def test_what_handlers_finish_while_a_revocation_is_committed_is_committed_too():
    async with reference_cluster() as cluster:
        await cluster.create_topic("orders", partitions=4)
        await produce(cluster, "orders", 400, partitions=4)
        members = Processors(cluster, auto_commit_interval_ms=3_600_000)
        first = members.member(seconds=0.1, concurrency=8, ordering="partition")
        await eventually(lambda: len(first.handled) > 20)

        with cluster.faults.on("OffsetCommit").once().delay(20_000):
            second = members.member(seconds=0.1, concurrency=8, ordering="partition")
            await eventually(lambda: len(second.consumer.assignment()) == 2, timeout=60)
        await asyncio.sleep(60)

        assert len(members.handled) == len(set(members.handled)) == 400
        await first.wake()
        await second.wake()


@virtual_time
async def test_handlers_that_outlast_the_patience_of_the_group_are_cancelled():
    async with reference_cluster() as cluster:
        await cluster.create_topic("orders", partitions=2)
        await produce(cluster, "orders", 2, partitions=2)
        members = Processors(cluster, max_poll_interval_ms=10_000)
        first = members.member(seconds=1000.0)
        await eventually(lambda: first.running == 2)

        second = members.member(seconds=0.1)
        await eventually(lambda: len(second.handled) >= 1, timeout=60)

        assert first.cancelled
        assert not first.handled
        await first.cancel()
        await second.wake()


@virtual_time
async def test_heartbeats_do_not_depend_on_handlers():
    async with reference_cluster() as cluster:
        await cluster.create_topic("orders", partitions=1)
        await produce(cluster, "orders", 3)
        members = Processors(cluster, max_poll_interval_ms=10_000, session_timeout_ms=6_000)
        member = members.member(seconds=100.0)

        await eventually(lambda: len(member.handled) == 3, timeout=400)

        assert member.handled == [(0, 0), (0, 1), (0, 2)]
        assert not member.cancelled
        await member.wake()


@virtual_time
async def test_closing_ends_the_call_and_cancels_its_handlers():
    async with reference_cluster() as cluster:
        await cluster.create_topic("orders", partitions=1)
        await produce(cluster, "orders", 10)
        members = Processors(cluster)
        member = members.member(seconds=0.1, stuck={(0, 4)})
        await eventually(lambda: len(member.handled) == 4)

        await member.consumer.close()
        await eventually(member.task.done)

        assert member.cancelled == [(0, 4)]
        assert member.task.exception() is None
        assert await members.committed() == {P0: 4}


@virtual_time
async def test_handlers_do_not_resume_what_the_application_has_paused():
    async with reference_cluster() as cluster:
        await cluster.create_topic("orders", partitions=1)
        await produce(cluster, "orders", 3000)
        member = Processors(cluster).member(seconds=0.01)
        await eventually(lambda: member.consumer.paused() == {P0})

        member.consumer.pause(P0)
        await asyncio.sleep(60)

        assert len(member.handled) < 2000
        assert member.consumer.paused() == {P0}
        member.consumer.resume(P0)
        await eventually(lambda: len(member.handled) == 3000, timeout=120)
        await member.wake()


@virtual_time
async def test_a_resume_of_the_application_waits_for_handlers_that_have_enough():
    async with reference_cluster() as cluster:
        await cluster.create_topic("orders", partitions=1)
        await produce(cluster, "orders", 3000)
        member = Processors(cluster).member(seconds=0.01)
        await eventually(lambda: member.consumer.paused() == {P0})

        for _ in range(5):
            member.consumer.resume(P0)
            await asyncio.sleep(0.05)

        assert member.consumer._core.partitions[P0].buffer.position <= 1000
        await eventually(lambda: len(member.handled) == 3000, timeout=120)
        await member.wake()


@pytest.mark.parametrize("limit", [0, 100])
@virtual_time
async def test_brokers_that_take_short_notes_only_get_short_ones(limit):
    async with reference_cluster(offset_metadata_max_bytes=limit) as cluster:
        await cluster.create_topic("orders", partitions=1)
        await produce(cluster, "orders", 600)
        members = Processors(cluster, auto_commit_interval_ms=100)
        stuck = {(0, n) for n in range(5, 500, 2)}
        member = members.member(seconds=0.01, ordering="none", concurrency=600, stuck=stuck)

        await eventually(lambda: len(member.handled) == 600 - len(stuck))
        await asyncio.sleep(2)

        assert await members.committed() == {P0: 5}
        await member.crash()


@virtual_time
async def test_handlers_that_never_wait_need_few_tasks():
    async with reference_cluster() as cluster:
        await cluster.create_topic("orders", partitions=1)
        await produce(cluster, "orders", 400, partitions=1)
        counts = []

        def handle(record):
            counts.append(sum(t.get_name() == "handle records" for t in asyncio.all_tasks()))

        async with make_consumer(cluster, group_id="g", topics=["orders"]) as consumer:
            call = asyncio.create_task(consumer.process(handle, concurrency=1_000, ordering="none"))
            await eventually(lambda: len(counts) == 400)
            consumer.wakeup()
            await call

        assert max(counts) < 40


@virtual_time
async def test_tasks_that_have_ended_leave_no_work_for_the_garbage_collector():
    async with reference_cluster() as cluster:
        await cluster.create_topic("orders", partitions=1)
        await produce(cluster, "orders", 20)
        tasks: list[weakref.ref[object]] = []

        async def handle(record: Any) -> None:
            tasks.append(weakref.ref(asyncio.current_task()))
            await asyncio.sleep(1)

        async with make_consumer(cluster, topics=["orders"], group_id="g") as consumer:
            gc.disable()
            try:
                running = asyncio.create_task(consumer.process(handle, ordering="none"))
                await eventually(lambda: len(tasks) == 20)
                consumer.wakeup()
                await running
                del running

                assert [task() for task in tasks] == [None] * 20
            finally:
                gc.enable()
