"""Producers and a group of consumers through faults of all kinds, recorded for ``pykcheck``.

All is in memory and in virtual time, and all randomness comes from one seed.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterable
from random import Random
from typing import Any

from pyk.clients import AsyncConsumer, AsyncProducer, TopicPartition
from pyk.clients.errors import KafkaError
from pyk.reference_broker import AsyncCluster
from pyk.runtime.simulation import World
from pykcheck import Recorder
from support.nemesis import Nemesis
from support.recorded_clients import RecordedConsumer, RecordedProducer

TOPICS = ("orders", "payments")
PARTITIONS = [TopicPartition(topic, number) for topic in TOPICS for number in range(3)]
GROUP = "readers"
PRODUCERS = 3
MEMBERS = 3
VALUES = 120
"""How many each producer sends."""
SECONDS_TO_CATCH_UP = 300


async def send_values(
    producer: RecordedProducer, random: Random, numbers: Iterable[int], longest_pause: float = 2.0
) -> None:
    """Send a value of its own for each number, in bursts with pauses (seconds) between them."""
    for number in numbers:
        await producer.send(random.choice(PARTITIONS), f"{producer.process}-{number}")
        if random.random() < 0.3:
            await asyncio.sleep(random.uniform(0.0, longest_pause))


async def read_and_commit(member: RecordedConsumer, random: Random) -> None:
    """Poll once, and mostly commit."""
    try:
        await member.poll(1.0)
        if random.random() < 0.7:
            await member.commit()
    except KafkaError:
        await asyncio.sleep(0.5)


class RecordedGroup:
    """Producers that send distinct values, and members that read and commit them."""

    def __init__(self, world: World, cluster: AsyncCluster, recorder: Recorder) -> None:
        self._world = world
        self._cluster = cluster
        self._recorder = recorder
        self._random = Random(f"{world.seed} clients")
        self._members: dict[str, asyncio.Task[None]] = {}
        self._started = 0
        self._is_faulty = True
        self._is_over = False

    async def play(self, nemesis: Nemesis) -> None:
        """Send everything through faults, let the group read it, and audit the logs."""
        producers = [asyncio.create_task(self._produce(f"producer{n}")) for n in range(PRODUCERS)]
        for _ in range(MEMBERS):
            self._start_member()
        await nemesis.run(40)
        self._is_faulty = False
        await asyncio.gather(*producers)
        await self._catch_up()
        self._is_over = True
        await asyncio.gather(*self._members.values())
        auditor = self._consumer("auditor", None, enable_auto_commit=False)
        async with auditor.consumer:
            await auditor.read_to_the_end(PARTITIONS)

    # -- producers ---------------------------------------------------------------------------------

    async def _produce(self, name: str) -> None:
        producer: AsyncProducer[bytes, bytes] = AsyncProducer(
            self._cluster.bootstrap,
            client_id=name,
            linger_ms=self._random.choice((0, 20)),
            request_timeout_ms=3_000,
            delivery_timeout_ms=self._random.choice((5_000, 120_000)),
            **self._world.host(name).client_options,
        )
        recorded = RecordedProducer(self._recorder, name, producer)
        async with producer:
            await send_values(recorded, self._random, range(VALUES))

    # -- members -----------------------------------------------------------------------------------

    def _start_member(self) -> None:
        name = f"member{self._started}"
        self._started += 1
        self._members[name] = asyncio.create_task(self._read(name))

    def _consumer(self, name: str, group: str | None, **options: Any) -> RecordedConsumer:
        consumer: AsyncConsumer[bytes, bytes] = AsyncConsumer(
            self._cluster.bootstrap,
            client_id=name,
            group_id=group,
            auto_offset_reset="earliest",
            isolation_level="read_uncommitted",
            **options,
            **self._world.host(name).client_options,
        )
        return RecordedConsumer(
            self._recorder, name, consumer, isolation="read_uncommitted", group=group
        )

    async def _read(self, name: str) -> None:
        """Read and commit until all is over, or this member leaves or crashes."""
        member = self._consumer(
            name,
            GROUP,
            enable_auto_commit=False,
            session_timeout_ms=6_000,
            heartbeat_interval_ms=1_000,
            # A JoinGroup that is lost on a living connection is given up 5 s after this.
            max_poll_interval_ms=60_000,
            max_poll_records=self._random.choice((1, 10, 500)),
        )
        member.subscribe(TOPICS)
        while not self._is_over:
            if self._is_faulty and self._random.random() < 0.03:
                self._start_member()
                if self._random.random() < 0.5:
                    await self._crash(name, member)
                    return
                break
            await read_and_commit(member, self._random)
        await member.consumer.close(30)

    async def _crash(self, name: str, member: RecordedConsumer) -> None:
        self._world.network.isolate(name)
        self._recorder.invoke(name, "crash")
        await member.consumer._core.client.close(0)
        with contextlib.suppress(KafkaError):  # it has no connection to leave the group by
            await member.consumer.close(0)

    async def _catch_up(self) -> None:
        """Wait until the group has committed all that there is."""
        observer = self._consumer("observer", GROUP, enable_auto_commit=False)
        async with observer.consumer:
            deadline = self._world.clock.now() + SECONDS_TO_CATCH_UP
            while self._world.clock.now() < deadline:
                committed = await observer.read_offsets(PARTITIONS)
                ends = await observer.consumer.end_offsets(PARTITIONS)
                if all(committed.get(each, 0) == end for each, end in ends.items()):
                    return
                await asyncio.sleep(2.0)
        raise AssertionError(f"the group did not catch up: {committed} of {ends}")


async def play_group(seed: int) -> tuple[Recorder, Nemesis]:
    """Return what happened in one run, and what went wrong in it."""
    world = World(seed, latency=0.002)
    recorder = Recorder(world.clock.now)
    config = {"offsets.topic.num.partitions": 4}
    async with AsyncCluster(config=config, **world.host("broker").environment) as cluster:
        for topic in TOPICS:
            await cluster.create_topic(topic, partitions=3)
        nemesis = Nemesis(world, cluster, Random(f"{seed} nemesis"))
        await RecordedGroup(world, cluster, recorder).play(nemesis)
    return recorder, nemesis
