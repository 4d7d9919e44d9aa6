"""The asyncio consumer over real sockets, among other tasks."""

from __future__ import annotations

import asyncio
import os

import pytest

from pyk.clients import AsyncConsumer, ConcurrentUseError
from support.blocking_consuming import partitions, produce
from support.forks import refused_in_a_fork


async def test_the_asyncio_consumer_iterates_polls_commits_and_seeks(cluster, topic):
    await asyncio.to_thread(produce, cluster, topic, 300)
    first, *_ = partitions(topic)
    seen = []

    consumer: AsyncConsumer[bytes, bytes] = AsyncConsumer(
        cluster.bootstrap, topics=[topic], group_id=topic, auto_offset_reset="earliest"
    )
    async with consumer:
        async for record in consumer:
            seen.append(record.value)
            if len(seen) == 100:
                break
        await consumer.commit()
        committed = await consumer.committed(partitions(topic))
        assert sum(offset.offset for offset in committed.values() if offset) == 100
        while len(seen) < 300:
            seen += [record.value for record in await consumer.poll(5)]
        await consumer.seek(first, 0)
        assert (await anext(consumer)).offset == 0
        assert await consumer.position(first) == 1
        assert (await consumer.lag())[first] == 99

    assert sorted(seen, key=int) == [b"%d" % n for n in range(300)]


async def test_other_tasks_run_while_buffered_records_are_read(cluster, topic):
    await asyncio.to_thread(produce, cluster, topic, 3000)
    turns = 0

    async def count() -> None:
        nonlocal turns
        while True:
            await asyncio.sleep(0)
            turns += 1

    counting = asyncio.create_task(count())
    async with AsyncConsumer(
        cluster.bootstrap, topics=[topic], auto_offset_reset="earliest", max_poll_records=100
    ) as consumer:
        await anext(consumer)
        await asyncio.sleep(0.5)
        turns, read_so_far = 0, 0
        async for _ in consumer:
            read_so_far += 1
            if read_so_far == 2000:
                break
    counting.cancel()

    assert turns >= 15


async def test_two_tasks_cannot_use_a_consumer_at_once(cluster, topic):
    async with AsyncConsumer(cluster.bootstrap, topics=[topic]) as consumer:
        polling = asyncio.create_task(consumer.poll(1))
        await asyncio.sleep(0.1)

        with pytest.raises(ConcurrentUseError):
            await consumer.poll(0)
        await polling


async def test_a_task_that_waits_for_a_record_can_be_cancelled(cluster, topic):
    async with AsyncConsumer(cluster.bootstrap, topics=[topic]) as consumer:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(anext(consumer), 0.2)
        await asyncio.to_thread(produce, cluster, topic, 3)
        assert (await asyncio.wait_for(anext(consumer), 5)).value in (b"0", b"1", b"2")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_forked_child_can_only_close_the_asyncio_consumer_of_its_parent(cluster, topic):
    produce(cluster, topic, 1)
    loop = asyncio.new_event_loop()
    consumer = AsyncConsumer(cluster.bootstrap, auto_offset_reset="earliest")
    consumer.assign(partitions(topic))
    loop.run_until_complete(consumer.start())

    class Closing:
        def close(self):
            asyncio.run(consumer.close())

    uses = (lambda: asyncio.run(consumer.poll(0)), lambda: asyncio.run(consumer.lag()))
    assert refused_in_a_fork(Closing(), *uses) == len(uses)
    assert len(loop.run_until_complete(consumer.poll(10))) == 1
    loop.run_until_complete(consumer.close())
    loop.close()
