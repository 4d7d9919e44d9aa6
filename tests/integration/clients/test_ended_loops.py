"""``asyncio.run`` ends an event loop on which clients are still open."""

from __future__ import annotations

import asyncio
import warnings
from collections.abc import Callable
from typing import Any

import pytest

from pyk.clients import Admin, AsyncConsumer, AsyncProducer, AsyncShareConsumer
from support.blocking_consuming import produce

GROUPS = {
    "classic": lambda **options: AsyncConsumer(auto_offset_reset="earliest", **options),
    "consumer": lambda **options: AsyncConsumer(
        auto_offset_reset="earliest", group_protocol="consumer", **options
    ),
    "share": AsyncShareConsumer,
}

for_each_group = pytest.mark.parametrize("kind", GROUPS)


def make(kind: str, cluster: Any, topic: str) -> Any:
    return GROUPS[kind](bootstrap_servers=cluster.bootstrap, topics=[topic], group_id=topic)


def members(kind: str, cluster: Any, group_id: str) -> int:
    with Admin(cluster.bootstrap) as admin:
        describe: Callable[..., Any] = (
            admin.describe_share_groups if kind == "share" else admin.describe_consumer_groups
        )
        return len(describe([group_id])[group_id].members)


@for_each_group
def test_a_consumer_that_is_open_when_its_loop_ends_leaves_its_group(kind, cluster, topic):
    produce(cluster, topic, 3)
    kept = []

    async def main() -> None:
        kept.append(make(kind, cluster, topic))
        await kept[0].poll(1)

    with pytest.warns(ResourceWarning, match="not closed before its event loop ended"):
        asyncio.run(main())

    assert members(kind, cluster, topic) == 0


@for_each_group
def test_a_consumer_that_is_dropped_as_its_loop_ends_leaves_its_group(kind, cluster, topic):
    async def main() -> None:
        consumer = make(kind, cluster, topic)
        await consumer.poll(1)
        del consumer

    with pytest.warns(ResourceWarning, match=r"was dropped without close\(\); it leaves"):
        asyncio.run(main())

    assert members(kind, cluster, topic) == 0


@for_each_group
def test_a_task_that_the_end_of_its_loop_cancels_closes_its_consumer_itself(kind, cluster, topic):
    closed_after = []

    async def read() -> None:
        async with make(kind, cluster, topic) as consumer:
            try:
                await consumer.poll(30)
            finally:
                await asyncio.sleep(0.1)
                closed_after.append(await consumer.poll(0))

    async def main() -> None:
        reading = asyncio.create_task(read())
        await asyncio.sleep(1)
        assert not reading.done()

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        asyncio.run(main())

    assert [list(records) for records in closed_after] == [[]]
    assert members(kind, cluster, topic) == 0


def test_a_task_that_the_end_of_its_loop_cancels_may_still_send(cluster, topic):
    async def write(number: int) -> None:
        async with AsyncProducer(cluster.bootstrap) as producer:
            try:
                await producer.send_and_wait(topic, b"begins")
                await asyncio.sleep(30)
            finally:
                await asyncio.sleep(0.1)
                await producer.send(topic, b"ends")

    async def main() -> None:
        writing = [asyncio.create_task(write(number)) for number in range(5)]
        await asyncio.to_thread(cluster.expect, topic, *[b"begins"] * 5)
        assert not any(task.done() for task in writing)

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        asyncio.run(main())

    cluster.expect(topic, *[b"begins", b"ends"] * 5)


def test_a_task_that_cancels_all_others_does_not_wait_for_itself(cluster, topic):
    async def main() -> None:
        producer = AsyncProducer(cluster.bootstrap)
        await producer.send(topic, b"one")
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.wait_for(asyncio.gather(*others, return_exceptions=True), 2)

    with pytest.warns(ResourceWarning, match="unclosed <AsyncProducer"):
        asyncio.run(main())

    cluster.expect(topic, b"one")
