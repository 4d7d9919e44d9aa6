"""The topics of coordinators stay small under compaction, and what they remember stays the same."""

from __future__ import annotations

import asyncio
from random import Random
from typing import Any

import pytest

from pyk.clients import (
    AlterConfig,
    AsyncAdmin,
    AsyncConsumer,
    AsyncProducer,
    ConfigResource,
    ConsumerGroupMetadata,
    OffsetAndMetadata,
    TopicPartition,
)
from pyk.protocol.errors import ErrorCode
from pyk.reference_broker import AsyncCluster
from pyk.reference_broker.coordinator.group.offsets import OffsetToCommit
from pyk.runtime.filesystem.memory import MemoryFileSystem
from pyk.runtime.network import MemoryNetwork
from pyk.runtime.virtual_time import current_clock, virtual_time
from support.nodes import Node

GROUPS = ("readers", "writers", "auditors")
SEGMENT_BYTES = 1 << 20
"""The smallest that topics may have."""
SMALL_BYTES = 20_000
CONFIG = {
    "offsets_topic_segment_bytes": str(SEGMENT_BYTES),
    "transaction_state_log_segment_bytes": str(SEGMENT_BYTES),
    "log_cleaner_backoff_ms": "1000",
    "log_cleaner_delete_retention_ms": "0",
}
COMMITS = 3000


def log_bytes(node: Node, topic: str) -> int:
    return max(node.partition(topic, number).log.segments.size for number in range(2))


@pytest.mark.parametrize("stop", ["stop", "kill", "cut power"])
@virtual_time
async def test_offsets_stay_the_same_in_a_log_that_stays_small(stop: str) -> None:
    filesystem, random = MemoryFileSystem(current_clock().time_ms), Random(5)
    node = await Node(filesystem, random=random, **CONFIG).start()
    await node.create("orders", 3)
    await node.create_groups_topic()
    await asyncio.sleep(1)
    expected: dict[tuple[str, int], int] = {}
    most = 0

    for number in range(COMMITS):
        group, partition = GROUPS[number % len(GROUPS)], number % 2
        committed = OffsetToCommit(
            topic="orders", partition=partition, offset=number, metadata="x" * 4000
        )
        assert node.commit([committed], group) is ErrorCode.NONE
        expected[group, partition] = number
        if number % 100 == 0:
            await asyncio.sleep(1.5)
            most = max(most, log_bytes(node, "__consumer_offsets"))
    await asyncio.sleep(15)

    written = sum(node.partition("__consumer_offsets", n).log.log_end_offset for n in range(2))
    assert written >= COMMITS
    assert most < 4 * SEGMENT_BYTES
    if stop == "stop":
        await node.broker.stop()
    else:
        await node.broker.kill()
        filesystem.crash(loses_unflushed=stop == "cut power")
    node = await Node(filesystem, random=random, **CONFIG).start()
    await asyncio.sleep(1)
    for (group, partition), offset in expected.items():
        found = node.committed("orders", partition, group)
        if stop == "cut power":  # offsets are not flushed when they are committed, as in Kafka
            assert found is not None
            assert 0 < found <= offset
        else:
            assert found == offset
    await node.broker.kill()


async def make_segments_small(cluster: AsyncCluster, options: dict[str, Any]) -> None:
    small = [AlterConfig("internal.segment.bytes", str(SMALL_BYTES))]
    async with AsyncAdmin(cluster.bootstrap, **options) as admin:
        await admin.incremental_alter_configs({ConfigResource.topic("__transaction_state"): small})


@pytest.mark.parametrize("is_killed", [False, True])
@virtual_time
async def test_transactions_go_on_over_a_compacted_log(is_killed: bool) -> None:
    network = MemoryNetwork(latency=0.001)
    config = {name.replace("_", "."): value for name, value in CONFIG.items()}
    cluster = AsyncCluster(clock=current_clock(), network=network, random=Random(3), config=config)
    async with cluster:
        await cluster.create_topic("orders", partitions=2)
        options = {"network": network, "clock": current_clock(), "random": Random(4)}
        for life in range(3):
            async with AsyncProducer(
                cluster.bootstrap, transactional_id="payments", **options
            ) as producer:
                await make_segments_small(cluster, options)
                for number in range(60):
                    async with producer.transaction():
                        await producer.send("orders", b"%d" % (60 * life + number), partition=0)
                        await producer.send_offsets_to_transaction(
                            {TopicPartition("orders", 1): OffsetAndMetadata(60 * life + number)},
                            ConsumerGroupMetadata("readers"),
                        )
                    await asyncio.sleep(0.2)
            await (cluster.kill() if is_killed else cluster.stop())
            await cluster.start()

        (broker,) = cluster._brokers.values()
        states = broker.services.replicas.of_topic("__transaction_state")
        assert max(each.log.compacted_to for each in states) > 0
        assert max(each.log.segments.size for each in states) < 3 * SMALL_BYTES
        async with AsyncConsumer(
            cluster.bootstrap,
            group_id="readers",
            auto_offset_reset="earliest",
            isolation_level="read_committed",
            **options,
        ) as consumer:
            committed = await consumer.committed([TopicPartition("orders", 1)])
            consumer.assign([TopicPartition("orders", 0)])
            consumer.seek(TopicPartition("orders", 0), 0)
            values: list[bytes] = []
            while len(values) < 180:
                values += [record.value for record in await consumer.poll(timeout=5)]
        assert values == [b"%d" % number for number in range(180)]
        assert committed[TopicPartition("orders", 1)].offset == 179
