"""The law of groups: once faults end, every partition progresses within a bound.

A group that keeps its members needs two seconds. A coordinator cannot tell a member that ended
without a word from a slow one, so the partitions of such a member wait until its session ends. And
it cannot speak first: the member that gives up a partition, and the one that takes it over, each
hear of that with their next heartbeat.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import attrs
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from pyk.clients import AsyncConsumer
from pyk.clients.errors import ClosedError, KafkaError
from pyk.reference_broker import AsyncCluster
from pyk.runtime.virtual_time import current_clock, run_virtual
from support.consuming import make_consumer, network_of, produce, reference_cluster

MEMBERS = 3
PARTITIONS = 4
SESSION = 6.0
HEARTBEAT = 1.0
CLASSIC = {"session_timeout_ms": 6_000, "heartbeat_interval_ms": 1_000}
BROKER = {
    "group_consumer_min_session_timeout_ms": 6_000,
    "group_consumer_session_timeout_ms": 6_000,
    "group_consumer_min_heartbeat_interval_ms": 1_000,
    "group_consumer_heartbeat_interval_ms": 1_000,
}
"""The same times for the consumer protocol, where the broker decides on them."""

BOUND = 2.0
BOUND_WITH_LOST_MEMBERS = SESSION + 2 * HEARTBEAT + BOUND
GROUP_APIS = ("JoinGroup", "SyncGroup", "Heartbeat", "ConsumerGroupHeartbeat")
COORDINATOR_APIS = (*GROUP_APIS, "FindCoordinator", "OffsetFetch", "OffsetCommit")
APIS = (*COORDINATOR_APIS, "Metadata", "ListOffsets", "Fetch")
LOSSES = ("close", "drop_before_apply", "apply_then_lose_response")
REFUSALS = ("NOT_COORDINATOR", "COORDINATOR_LOAD_IN_PROGRESS", "COORDINATOR_NOT_AVAILABLE")

members = st.integers(0, MEMBERS - 1)
counts = st.sampled_from([1, 2, 5])
faults = st.one_of(
    st.sampled_from([("kill",), ("start",), ("heal",)]),
    st.tuples(st.sampled_from(["isolate", "reset"]), members),
    st.tuples(st.just("lose"), st.sampled_from(APIS), st.sampled_from(LOSSES), counts),
    st.tuples(
        st.just("refuse"), st.sampled_from(COORDINATOR_APIS), st.sampled_from(REFUSALS), counts
    ),
)
departures = st.tuples(st.sampled_from(["leave", "crash"]), members)
pauses = st.floats(0.0, 10.0)


@attrs.define(eq=False)
class PolledMember:
    """A member that is polled all the time, on a host of its own."""

    host: str
    consumer: AsyncConsumer[Any, Any]
    seen: set[bytes]
    task: asyncio.Task[None] | None = None

    def begin(self) -> PolledMember:
        self.task = asyncio.create_task(self._run())
        return self

    async def _run(self) -> None:
        async with self.consumer:
            while True:
                try:
                    records = await self.consumer.poll(0.1)
                    self.seen.update(record.value for record in records)
                except KafkaError:
                    await asyncio.sleep(0.01)  # an error that lasts is raised by every poll

    async def leave(self) -> None:
        assert self.task is not None
        self.task.cancel()
        await asyncio.wait({self.task})

    async def crash(self) -> None:
        """End without leaving the group."""
        await self.consumer._core.client.close(0)
        await self.leave()
        assert self.task is not None
        if not self.task.cancelled():
            assert isinstance(self.task.exception(), ClosedError)


@attrs.define(eq=False)
class FaultyGroup:
    """Members of one group at a broker that goes wrong."""

    cluster: AsyncCluster
    protocol: str
    members: list[PolledMember] = attrs.Factory(list)
    seen: set[bytes] = attrs.Factory(set)
    is_up: bool = True
    started: int = 0

    def add(self) -> None:
        self.started += 1
        host = f"member-{self.started}"
        protocol = self.protocol
        if protocol == "both":
            protocol = ("classic", "consumer")[self.started % 2]
        consumer = make_consumer(
            self.cluster,
            group_id="g",
            topics=["orders"],
            network=network_of(self.cluster).host(host),
            **(CLASSIC if protocol == "classic" else {"group_protocol": protocol}),
        )
        self.members.append(PolledMember(host, consumer, self.seen).begin())

    async def play(self, fault: Sequence[Any]) -> None:
        network = network_of(self.cluster)
        match fault:
            case ("kill",) if self.is_up:
                await self.cluster.kill()
                self.is_up = False
            case ("start",) if not self.is_up:
                await self.cluster.start()
                self.is_up = True
            case ("isolate", number):
                network.isolate(self.members[number].host)
            case ("reset", number):
                network.reset(self.members[number].host)
            case ("heal",):
                network.heal()
            case ("leave" | "crash" as how, number):
                member = self.members.pop(number)
                self.add()
                await (member.leave() if how == "leave" else member.crash())
            case ("lose", api, how, count):
                rule = self.cluster.faults.on(api).times(count)
                getattr(rule, how)()
            case ("refuse", api, code, count):
                self.cluster.faults.on(api).times(count).error(code)

    async def end_faults(self) -> None:
        self.cluster.faults.clear()
        network = network_of(self.cluster)
        network.heal()
        if not self.is_up:
            await self.cluster.start()
        for member in self.members:
            network.reset(member.host)

    async def longest_wait(self, limit: float) -> float:
        """Return the longest time until one more record of every partition was polled."""
        clock, longest = current_clock(), 0.0
        end = clock.now() + limit
        while clock.now() < end:
            before = clock.now()
            self.seen.clear()
            await produce(self.cluster, "orders", PARTITIONS, partitions=PARTITIONS)
            wanted = {b"%d" % number for number in range(PARTITIONS)}
            while not wanted <= self.seen and clock.now() < before + limit:
                await asyncio.sleep(0.01)
            longest = max(longest, clock.now() - before)
            await asyncio.sleep(HEARTBEAT)
        return longest


async def simulate(
    protocol: str, schedule: Sequence[tuple[Sequence[Any], float]], bound: float
) -> None:
    async with reference_cluster(**BROKER) as cluster:
        await cluster.create_topic("orders", partitions=PARTITIONS)
        group = FaultyGroup(cluster, protocol)
        for _ in range(MEMBERS):
            group.add()
        await asyncio.sleep(10)
        for fault, pause in schedule:
            await group.play(fault)
            await asyncio.sleep(pause)

        await group.end_faults()
        waited = await group.longest_wait(limit=2 * bound)

        health = [member.consumer.health() for member in group.members]
        for member in group.members:
            await member.leave()
        assert waited <= bound, (waited, health)


of_all_protocols = pytest.mark.parametrize("protocol", ["classic", "consumer", "both"])


@of_all_protocols
@settings(max_examples=6)
@given(st.lists(st.tuples(faults, pauses), max_size=8))
@example([(("kill",), 0.1), (("isolate", 0), 3.5)])
@example([(("isolate", 1), 20.0)])
@example([(("isolate", 0), 0.0), (("isolate", 1), 0.0), (("isolate", 2), 20.0)])
@example([(("kill",), 30.0)])
def test_a_group_that_keeps_its_members_progresses_within_two_seconds_after_faults(
    protocol: str, schedule: list[tuple[tuple[Any, ...], float]]
) -> None:
    run_virtual(simulate(protocol, schedule, BOUND))


@of_all_protocols
@settings(max_examples=6)
@given(st.lists(st.tuples(st.one_of(faults, departures), pauses), max_size=8))
@example([(("crash", 0), 0.0), (("crash", 1), 0.0), (("crash", 2), 0.0)])
@example([(("kill",), 2.0), (("leave", 2), 1.5)])
@example([(("isolate", 1), 2.0), (("lose", "JoinGroup", "close", 1), 3.8), (("leave", 1), 0.3)])
def test_a_group_that_loses_members_progresses_once_their_sessions_have_ended(
    protocol: str, schedule: list[tuple[tuple[Any, ...], float]]
) -> None:
    run_virtual(simulate(protocol, schedule, BOUND_WITH_LOST_MEMBERS))
