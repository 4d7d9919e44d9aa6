"""The law of fetching: once faults end, every readable partition progresses within two seconds."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import attrs
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from pyk.clients import AsyncConsumer
from pyk.clients.errors import KafkaError
from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.fetch import PartitionData
from pyk.runtime.virtual_time import current_clock, run_virtual
from support.consuming import fetching, make_consumer
from support.fetching_cluster import FetchingCluster

NODES = (1, 2, 3)
LEADERS = (1, 2, 3, 1, 2, 3)
NOBODY = 99
ERRORS = (
    ErrorCode.NOT_LEADER_OR_FOLLOWER,
    ErrorCode.FENCED_LEADER_EPOCH,
    ErrorCode.UNKNOWN_LEADER_EPOCH,
    ErrorCode.KAFKA_STORAGE_ERROR,
    ErrorCode.UNKNOWN_TOPIC_ID,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ErrorCode.OFFSET_NOT_AVAILABLE,
    ErrorCode.UNKNOWN_SERVER_ERROR,
    ErrorCode.TOPIC_AUTHORIZATION_FAILED,
    ErrorCode.CORRUPT_MESSAGE,
)
nodes = st.sampled_from(NODES)
partitions = st.integers(0, len(LEADERS) - 1)
faults = st.one_of(
    st.tuples(st.sampled_from(["kill", "freeze", "reset"]), nodes),
    st.tuples(st.just("move"), partitions, nodes, st.booleans()),
    st.tuples(st.just("lose leader"), partitions),
    st.tuples(st.just("fail"), partitions, st.sampled_from(ERRORS)),
    st.tuples(st.just("append"), partitions),
)
steps = st.lists(st.tuples(faults, st.floats(0.0, 4.0)), max_size=12)


@attrs.define
class Simulation:
    """Three brokers that go wrong, and consumers of six partitions that are polled all the time."""

    cluster: FetchingCluster
    consumers: Sequence[AsyncConsumer[Any, Any]]
    failing: dict[int, ErrorCode] = attrs.Factory(dict)
    dead: set[int] = attrs.Factory(set)
    seen: list[set[bytes]] = attrs.field()
    """The values that each consumer got."""

    @seen.default
    def _nothing_seen(self) -> list[set[bytes]]:
        return [set() for _ in self.consumers]

    def __attrs_post_init__(self) -> None:
        def edit(topic: str, number: int, asked: Any, data: PartitionData) -> PartitionData:
            if number not in self.failing:
                return data
            code = self.failing[number]
            return PartitionData(partition_index=number, error_code=code, high_watermark=-1)

        self.cluster.edit = edit

    async def play(self, fault: Sequence[Any]) -> None:
        topic, network = self.cluster.topics["orders"], self.cluster.network
        match fault:
            case ("kill", node) if node not in self.dead:
                await self.cluster.kill(node)
                self.dead.add(node)
            case ("freeze", node):
                network.isolate(self.cluster.nodes[node])
            case ("reset", node) if node not in self.dead:
                network.reset(self.cluster.nodes[node])
                network.heal(self.cluster.nodes[node])
            case ("move", number, node, has_new_epoch):
                topic.leaders[number] = node
                topic.epochs[number] += has_new_epoch
            case ("lose leader", number):
                topic.leaders[number] = NOBODY
                topic.epochs[number] += 1
            case ("fail", number, code):
                self.failing[number] = code
            case ("append", number):
                self.cluster.append([b"x"], partition=number)

    async def end_faults(self) -> None:
        """Let everything work again, with new connections."""
        self.failing.clear()
        self.cluster.network.heal()
        for node in NODES:
            if node in self.dead:
                await self.cluster.start(node)
            else:
                self.cluster.network.reset(self.cluster.nodes[node])
        topic = self.cluster.topics["orders"]
        for number, leader in enumerate(topic.leaders):
            if leader == NOBODY:
                self.cluster.move(number, 1 + number % 3)

    async def poll(self, seconds: float, until_seen: frozenset[bytes] = frozenset()) -> None:
        """Poll all consumers side by side, each until it has seen these values."""
        until = current_clock().now() + seconds

        async def poll(consumer: AsyncConsumer[Any, Any], seen: set[bytes]) -> None:
            while current_clock().now() < until and not (until_seen and until_seen <= seen):
                try:
                    records = await consumer.poll(min(0.1, until - current_clock().now()))
                    seen.update(record.value for record in records)
                except KafkaError:
                    await asyncio.sleep(0.01)  # an error that lasts is raised by every poll

        await asyncio.gather(*map(poll, self.consumers, self.seen))


async def simulate(schedule: Sequence[tuple[Sequence[Any], float]]) -> None:
    async with (
        fetching(leaders=LEADERS) as (cluster, consumer),
        make_consumer(cluster, isolation_level="read_committed") as other,
    ):
        other.assign([("orders", number) for number in range(len(LEADERS))])
        simulation = Simulation(cluster, [consumer, other])
        await simulation.poll(0.5)
        for fault, pause in schedule:
            await simulation.play(fault)
            await simulation.poll(pause)

        await simulation.end_faults()
        last = frozenset(b"last of %d" % number for number in range(len(LEADERS)))
        for number in range(len(LEADERS)):
            cluster.append([b"last of %d" % number], partition=number)
        await simulation.poll(2.0, until_seen=last)

        for each, seen in zip(simulation.consumers, simulation.seen, strict=True):
            assert last <= seen, (sorted(last - seen), each.health())


@settings(max_examples=20)
@given(steps)
@example([(("move", 0, 2, False), 0.0), (("move", 0, 3, False), 3.0)])
@example([(("kill", 1), 4.0), (("kill", 2), 4.0), (("kill", 3), 4.0)])
@example([(("kill", 1), 0.0), (("freeze", 1), 1.0)])
@example(
    [
        (("lose leader", 4), 0.6),
        (("kill", 2), 0.0),
        (("fail", 2, ErrorCode.NOT_LEADER_OR_FOLLOWER), 0.0),
        (("kill", 1), 2.0),
        (("freeze", 2), 0.5),
        (("lose leader", 1), 1.0),
        (("kill", 1), 1.5),
    ]
)
def test_every_readable_partition_progresses_within_two_seconds_after_faults(
    schedule: list[tuple[tuple[Any, ...], float]],
) -> None:
    run_virtual(simulate(schedule))


@pytest.mark.parametrize("has_new_epoch", [True, False], ids=["new epoch", "same epoch"])
def test_a_thousand_moves_of_leaders_stop_no_partition_for_two_seconds(has_new_epoch: bool) -> None:
    async def main() -> None:
        async with fetching(leaders=LEADERS) as (cluster, consumer):
            simulation = Simulation(cluster, [consumer])
            for move in range(1000):
                number = move % len(LEADERS)
                await simulation.play(("move", number, 1 + (move // 7) % 3, has_new_epoch))
                value = b"%d" % move
                cluster.append([value], partition=number)
                if move % 10 == 0:
                    await simulation.poll(2.0, until_seen=frozenset({value}))
                    assert value in simulation.seen[0]

    run_virtual(main())
