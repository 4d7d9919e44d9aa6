"""One simulated scenario: a broker, a producer, three members of a group, and what goes wrong.

Everything is in memory and in virtual time, and all randomness comes from one seed, so every run
does the same in the same order.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from pyk.clients import AsyncConsumer, AsyncProducer
from pyk.reference_broker import AsyncCluster
from pyk.runtime.simulation import World
from pyk.runtime.virtual_time import current_clock, run_virtual

TOPICS = ("orders", "payments", "returns")
PARTITIONS = 3
MEMBERS = 3
RECORDS_WITH_FAULTS = 600
"""How many records are produced while things go wrong."""


class GroupScenario:
    """A running broker, and the members of a group, each read by a task of its own."""

    def __init__(self, world: World, cluster: AsyncCluster) -> None:
        self.world = world
        self.cluster = cluster
        self.received: list[tuple[str, str, int]] = []
        """Member, partition and offset of each record, in the order in which they were read."""
        self._members: dict[str, asyncio.Task[None]] = {}
        self._sent = 0

    def join(self, name: str) -> None:
        """Start a member."""
        self._members[name] = asyncio.create_task(self._read(name))

    async def leave(self, name: str) -> None:
        """Close a member as an application does that has to end."""
        member = self._members.pop(name)
        member.cancel()
        await asyncio.wait([member])

    async def produce(self, seconds: float, records_per_second: float) -> None:
        """Send records at a steady rate for so long, each partition in turn."""
        producer: AsyncProducer[bytes, bytes] = AsyncProducer(
            self.cluster.bootstrap,
            client_id="producer",
            **self.world.host("producer").client_options,
        )
        async with producer:
            for _ in range(int(seconds * records_per_second)):
                topic, partition = TOPICS[self._sent % 3], self._sent // 3 % PARTITIONS
                await producer.send(topic, b"%d" % self._sent, partition=partition)
                self._sent += 1
                await asyncio.sleep(1 / records_per_second)

    async def end(self) -> None:
        """Close all members."""
        for name in list(self._members):
            await self.leave(name)

    async def _read(self, name: str) -> None:
        consumer: AsyncConsumer[bytes, bytes] = AsyncConsumer(
            self.cluster.bootstrap,
            topics=TOPICS,
            group_id="readers",
            client_id=name,
            auto_offset_reset="earliest",
            **self.world.host(name).client_options,
        )
        async with consumer:
            async for record in consumer:
                self.received.append((name, f"{record.topic}-{record.partition}", record.offset))


@asynccontextmanager
async def group_scenario(world: World) -> AsyncIterator[GroupScenario]:
    """Run a broker with three topics, and ``member1``, ``member2`` and ``member3`` that read it."""
    config = {"offsets.topic.num.partitions": 4}
    async with AsyncCluster(config=config, **world.host("broker").environment) as cluster:
        for topic in TOPICS:
            await cluster.create_topic(topic, partitions=PARTITIONS)
        scenario = GroupScenario(world, cluster)
        for number in range(1, MEMBERS + 1):
            scenario.join(f"member{number}")
        try:
            yield scenario
        finally:
            await scenario.end()


async def play_faults(scenario: GroupScenario) -> None:
    """Let links, members, responses and the broker fail while records are produced."""
    network, cluster = scenario.world.network, scenario.cluster
    producing = asyncio.create_task(scenario.produce(60, RECORDS_WITH_FAULTS / 60))
    await asyncio.sleep(5)
    cluster.faults.on("Produce").once().apply_then_lose_response()
    network.cut("member1", "broker", one_way=True)
    await asyncio.sleep(4)
    network.heal()
    network.delay("member2", "broker", 0.3)
    cluster.faults.on("Heartbeat").times(2).close()
    await asyncio.sleep(8)
    await scenario.leave("member3")
    scenario.join("member4")
    await asyncio.sleep(8)
    network.reset("producer", "broker")
    await cluster.kill()
    await asyncio.sleep(1)
    await cluster.start()
    scenario.join("member3")
    await producing
    await asyncio.sleep(10)


def trace(seed: int) -> list[str]:
    """Return everything that hosts send each other and members read in a run with faults."""
    events: list[str] = []

    async def main() -> None:
        clock = current_clock()

        def observe(source: str, target: str, data: bytes) -> None:
            events.append(f"{clock.now():.6f} {source} to {target}: {data.hex()}")

        async with group_scenario(World(seed, latency=0.001, observe=observe)) as scenario:
            await play_faults(scenario)
        events.extend(map(str, scenario.received))

    run_virtual(main())
    return events
