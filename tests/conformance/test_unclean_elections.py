"""What ``process()`` has noted as finished, after an unclean leader election of Apache Kafka."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
import pytest_asyncio

from pyk.clients import (
    AsyncAdmin,
    AsyncConsumer,
    AsyncProducer,
    KafkaError,
    NewTopic,
    OffsetAndMetadata,
    TopicPartition,
)
from pyk.clients.processing.gaps import decode_finished
from support import apache_kafka
from support.apache_kafka import ApacheKafkaCluster

pytestmark = pytest.mark.conformance
of_both_protocols = pytest.mark.parametrize("protocol", ["classic", "consumer"])

SOON_FENCED = {"broker.session.timeout.ms": "3000", "broker.heartbeat.interval.ms": "500"}
UNCLEAN = {"unclean.leader.election.enable": "true", "min.insync.replicas": "1"}
WAITS = b"waits 1"
KEPT, LOST = [b"kept 0", b"kept 2", b"kept 3"], [b"lost 4", b"lost 5", b"lost 6"]
NEW = [b"new 4", b"new 5", b"new 6", b"new 7"]


@pytest.fixture(scope="module")
def cluster() -> Iterator[ApacheKafkaCluster]:
    """Three nodes, so that the metadata has a quorum although one of them is down."""
    if why := apache_kafka.missing():
        pytest.skip(why)
    with ApacheKafkaCluster(3, config=SOON_FENCED) as real:
        yield real


@pytest_asyncio.fixture
async def orders(cluster: ApacheKafkaCluster, group: str) -> AsyncIterator[TopicPartition]:
    """A topic of node 0 and node 1, with records that only node 0 has; both are up at the end."""
    topic = f"orders-of-{group}"
    async with AsyncAdmin(cluster.bootstrap) as admin:
        await admin.create_topics([NewTopic(topic, assignments={0: (0, 1)}, configs=UNCLEAN)])
    await write(cluster, topic, [KEPT[0], WAITS, *KEPT[1:]])
    await asyncio.to_thread(cluster.nodes[1].kill)
    await write(cluster, topic, LOST)
    yield TopicPartition(topic, 0)
    for node in cluster.nodes:
        if not node.has_started:
            await asyncio.to_thread(node.start)


async def let_node_1_lead(cluster: ApacheKafkaCluster, orders: TopicPartition) -> None:
    """Elect node 1, which lacks the last records, and write others at their offsets."""
    await asyncio.to_thread(cluster.nodes[0].kill)
    await asyncio.to_thread(cluster.nodes[1].start)
    await write(cluster, orders.topic, NEW)


async def write(cluster: ApacheKafkaCluster, topic: str, values: list[bytes]) -> None:
    async with AsyncProducer(cluster.bootstrap) as producer:
        for value in values:
            await producer.send_and_wait(topic, value, partition=0)


class Handler:
    """Handles all records at once, but one waits for as long as ``is_stuck``."""

    def __init__(self, *, is_stuck: bool) -> None:
        self.may_go_on = asyncio.Event()
        self.handled: list[bytes] = []
        if not is_stuck:
            self.may_go_on.set()

    async def __call__(self, record: Any) -> None:
        if record.value == WAITS:
            await self.may_go_on.wait()
        self.handled.append(record.value)


@asynccontextmanager
async def processing(
    cluster: ApacheKafkaCluster, orders: TopicPartition, handle: Handler, **options: str
) -> AsyncIterator[AsyncConsumer[Any, Any]]:
    async with AsyncConsumer(
        cluster.bootstrap, topics=[orders.topic], auto_offset_reset="earliest",
        auto_commit_interval_ms=200, **options,
    ) as consumer:  # fmt: skip
        task = asyncio.create_task(consumer.process(handle, ordering="none"))
        try:
            yield consumer
        finally:
            task.cancel()
            await asyncio.wait({task})


async def noted(
    consumer: AsyncConsumer[Any, Any], orders: TopicPartition
) -> tuple[int, list[int], int | None]:
    """Return the committed offset, the offsets that its note names, and its epoch."""
    committed = (await consumer.committed([orders]))[orders] or OffsetAndMetadata(0)
    finished = decode_finished(committed.offset, committed.metadata)
    assert finished is not None
    return committed.offset, sorted(finished), committed.leader_epoch


async def eventually(is_true: Callable[[], Awaitable[bool]]) -> None:
    async with asyncio.timeout(60):
        while True:
            try:
                if await is_true():
                    return
            except KafkaError:
                pass  # a node is down
            await asyncio.sleep(0.1)


@of_both_protocols
async def test_the_next_owner_handles_what_is_new_at_the_offsets_of_a_note(
    cluster: ApacheKafkaCluster, orders: TopicPartition, group: str, protocol: str
) -> None:
    options = {"group_id": group, "group_protocol": protocol}
    first = Handler(is_stuck=True)
    async with processing(cluster, orders, first, **options) as consumer:

        async def all_are_noted() -> bool:
            offset, finished, _ = await noted(consumer, orders)
            return (offset, finished) == (1, [2, 3, 4, 5, 6])

        await eventually(all_are_noted)
        _, _, epoch = await noted(consumer, orders)

    await let_node_1_lead(cluster, orders)
    second = Handler(is_stuck=False)
    async with processing(cluster, orders, second, **options) as consumer:

        async def all_is_committed() -> bool:
            return (await noted(consumer, orders))[:2] == (8, [])

        await eventually(all_is_committed)
        _, _, later_epoch = await noted(consumer, orders)

    assert sorted(first.handled) == [*KEPT, *LOST]
    assert sorted(second.handled) == [*NEW, WAITS]
    assert epoch is not None
    assert later_epoch is not None
    assert epoch < later_epoch


@of_both_protocols
async def test_who_goes_on_notes_only_what_the_new_leader_has(
    cluster: ApacheKafkaCluster, orders: TopicPartition, group: str, protocol: str
) -> None:
    handler = Handler(is_stuck=True)
    async with processing(
        cluster, orders, handler, group_id=group, group_protocol=protocol
    ) as consumer:

        async def all_are_noted() -> bool:
            return (await noted(consumer, orders))[1] == [2, 3, 4, 5, 6]

        async def others_are_noted() -> bool:
            return (await noted(consumer, orders))[1] == [2, 3, 4, 5, 6, 7]

        async def all_is_committed() -> bool:
            return (await noted(consumer, orders))[:2] == (8, [])

        await eventually(all_are_noted)
        await let_node_1_lead(cluster, orders)
        await eventually(others_are_noted)
        handler.may_go_on.set()
        await eventually(all_is_committed)

    assert sorted(handler.handled) == [*KEPT, *LOST, *NEW, WAITS]
