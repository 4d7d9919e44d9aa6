"""What a broker and its clients do for many partitions grows with their number, and not faster.

Counted are operations on files, bytes that are written to them, requests, and calls of functions:
with four times the partitions there may be four times as many.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import attrs

from pyk.clients import (
    AlterConfig,
    AsyncAdmin,
    AsyncConsumer,
    AsyncProducer,
    ConfigResource,
    NewTopic,
    OffsetSpec,
    TopicPartition,
)
from pyk.reference_broker import AsyncCluster
from pyk.runtime.simulation import World
from pyk.runtime.virtual_time import virtual_time
from support.counted_calls import counted_calls
from support.counting_filesystem import CountingFileSystem

FEW, MANY = 50, 200
CLOSE = 1.15
"""Room for the digits of longer numbers, and for what is looked up by name."""
WIDE = "wide"
REQUESTS = ("Produce", "Fetch", "Metadata", "ListOffsets", "OffsetFetch", "OffsetCommit")


@attrs.frozen
class Cost:
    """What a step took."""

    operations: int
    bytes_written: int
    requests: int
    calls: int

    def is_within(self, few: Cost, growth: float) -> bool:
        """Return whether nothing of it is more than that many times ``few``."""
        pairs = zip(attrs.astuple(self), attrs.astuple(few), strict=True)
        return all(many <= before * growth * CLOSE for many, before in pairs)


class Life:
    """A cluster with that many partitions, and what each step of its life has cost."""

    def __init__(self, world: World, count: int) -> None:
        self.count = count
        self.costs: dict[str, Cost] = {}
        environment = world.host("broker").environment
        self._filesystem = CountingFileSystem(environment["filesystem"])
        self.cluster = AsyncCluster(**{**environment, "filesystem": self._filesystem})
        self._rules = [self.cluster.faults.on(name) for name in REQUESTS]
        self._options = world.host("application").client_options

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        operations, written = self._filesystem.operations, self._filesystem.bytes_written
        requests = self._requests
        with counted_calls() as calls:
            yield
        self.costs[name] = Cost(
            self._filesystem.operations - operations,
            self._filesystem.bytes_written - written,
            self._requests - requests,
            calls.count,
        )

    @property
    def _requests(self) -> int:
        return sum(rule.seen for rule in self._rules)

    @property
    def partitions(self) -> list[TopicPartition]:
        return [TopicPartition(WIDE, number) for number in range(self.count)]

    @property
    def topics(self) -> list[str]:
        return [f"narrow-{number}" for number in range(self.count)]

    def admin(self) -> AsyncAdmin:
        return AsyncAdmin(self.cluster.bootstrap, **self._options)

    async def produce(self, partitions: list[TopicPartition]) -> None:
        producer = AsyncProducer(self.cluster.bootstrap, linger_ms=10_000, **self._options)
        async with producer:
            for topic, partition in partitions:
                await producer.send(topic, b"x", partition=partition)

    async def read(self, **options: Any) -> None:
        consumer = AsyncConsumer(
            self.cluster.bootstrap, auto_offset_reset="earliest", **options, **self._options
        )
        async with consumer:
            if "group_id" not in options:
                consumer.assign(self.partitions)
            left = self.count
            while left:
                left -= len(await consumer.poll(10))


async def live_with_one_topic(count: int) -> dict[str, Cost]:
    """Return what the steps of a life with one topic of ``count`` partitions cost."""
    life = Life(World(), count)
    async with life.cluster as cluster:
        with life.step("create"):
            await cluster.create_topic(WIDE, partitions=count)
        async with life.admin() as admin:
            with life.step("list offsets"):
                await admin.list_offsets(dict.fromkeys(life.partitions, OffsetSpec.LATEST))
            with life.step("describe"):
                await admin.describe_topics([WIDE])
        with life.step("produce"):
            await life.produce(life.partitions)
        with life.step("read"):
            await life.read()
        for protocol in ("classic", "consumer"):
            with life.step(f"read in a {protocol} group"):
                await life.read(topics=[WIDE], group_id=protocol, group_protocol=protocol)
        with life.step("two minutes"):
            await asyncio.sleep(120)
        with life.step("stop"):
            await cluster.stop()
        with life.step("start"):
            await cluster.start()
        with life.step("two minutes after the start"):
            await asyncio.sleep(120)
        with life.step("kill and start"):
            await cluster.kill()
            await cluster.start()
        async with life.admin() as admin:
            with life.step("delete"):
                await admin.delete_topics([WIDE])
                await asyncio.sleep(120)
    return life.costs


async def live_with_topics(count: int) -> dict[str, Cost]:
    """Return what the steps of a life with ``count`` topics cost."""
    life = Life(World(), count)
    new_topics = [NewTopic(name, partitions=1) for name in life.topics]
    async with life.cluster as cluster, life.admin() as admin:
        with life.step("create"):
            await admin.create_topics(new_topics)
            await asyncio.sleep(1)  # for logs: they are opened some at a time
        with life.step("produce"):
            await life.produce([TopicPartition(name, 0) for name in life.topics])
        with life.step("describe"):
            await admin.describe_topics(life.topics)
        with life.step("configure"):
            await admin.incremental_alter_configs(
                {
                    ConfigResource.topic(name): [AlterConfig("retention.ms", "1000000")]
                    for name in life.topics
                }
            )
        await asyncio.sleep(120)  # for checkpoints
        with life.step("create another one"):
            await cluster.create_topic("another")
        with life.step("delete and create again"):
            await admin.delete_topics(life.topics)
            await admin.create_topics(new_topics)
            await asyncio.sleep(120)
    return life.costs


def excess(few: dict[str, Cost], many: dict[str, Cost]) -> dict[str, tuple[Cost, Cost]]:
    """Return the steps that cost more than they should."""
    return {
        step: (few[step], many[step])
        for step in few
        if not many[step].is_within(few[step], MANY / FEW)
    }


@virtual_time
async def test_costs_grow_with_the_partitions_of_a_topic_and_not_faster() -> None:
    few, many = await live_with_one_topic(FEW), await live_with_one_topic(MANY)

    assert excess(few, many) == {}


@virtual_time
async def test_costs_grow_with_the_number_of_topics_and_not_faster() -> None:
    few, many = await live_with_topics(FEW), await live_with_topics(MANY)

    assert excess(few, many) == {}
    assert many["create another one"].is_within(few["create another one"], growth=1)
