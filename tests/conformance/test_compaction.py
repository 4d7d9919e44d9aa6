"""Compaction leaves the same records, in the same batches, as Apache Kafka does."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from pyk.clients import Admin, AlterConfig, ConfigResource, ConfigResourceType
from pyk.protocol.records import Compression, RecordBatch, read_batches
from support.broker_requests import fetch, produce, until_led
from support.brokers import Kafka, make_topic_of_node_0
from support.compaction import Pair, keyed_batch
from support.raw_client import RawClient

BACKOFF_MS = "100"
SEGMENT_BYTES = 4000
IN_TIME = 60
"""The cleaner of Apache Kafka may be in the middle of its old backoff of 15 s."""


@pytest.fixture
async def client(kafka: Kafka) -> AsyncIterator[RawClient]:
    with Admin(kafka.bootstrap) as admin:
        cluster = ConfigResource(ConfigResourceType.BROKER, "")
        admin.incremental_alter_configs(
            {cluster: [AlterConfig("log.cleaner.backoff.ms", BACKOFF_MS)]}
        )
    async with RawClient(kafka.bootstrap) as client:
        yield client


class Topic:
    """A compacted topic of one partition, whose active segment holds nothing but filling."""

    def __init__(self, client: RawClient, name: str) -> None:
        self.client = client
        self.name = name
        self.fillings = 0

    async def append(self, *pairs: Pair, **more: Any) -> None:
        data = keyed_batch(*pairs, **more)
        response = await self.client.ask(produce(data, topic=self.name), 12)
        assert response.responses[0].partition_responses[0].error_code == 0

    async def roll(self) -> None:
        """Finish the active segment, and begin one that holds a record of its own key."""
        self.fillings += 1
        await self.append((b"filling %d" % self.fillings, b"x" * (SEGMENT_BYTES - 200)))

    async def batches(self) -> list[RecordBatch]:
        found: list[RecordBatch] = []
        offset = 0
        while True:
            fetched = await self.client.ask(fetch(offset, topic=self.name), 12)
            batches = list(read_batches(fetched.responses[0].partitions[0].records))
            if not batches:
                return found
            found += [each for each in batches if isinstance(each, RecordBatch)]
            offset = batches[-1].next_offset

    async def until_compacted(self, expected: list[tuple[int, bytes, bytes | None]]) -> None:
        """Wait until these (offset, key, value) are left, besides the filling."""
        async with asyncio.timeout(IN_TIME):
            while (found := await self.records()) != expected:
                assert set(expected) <= set(found), "compaction removed too much"
                await asyncio.sleep(0.1)

    async def records(self) -> list[tuple[int, bytes, bytes | None]]:
        return [
            (record.offset, record.key or b"", record.value)
            for batch in await self.batches()
            for record in batch
            if not (record.key or b"").startswith(b"filling")
        ]


async def make(kafka: Kafka, client: RawClient, **configs: str) -> Topic:
    name = make_topic_of_node_0(
        kafka,
        "compacted",
        **{
            "cleanup.policy": "compact",
            "internal.segment.bytes": str(SEGMENT_BYTES),
            "min.cleanable.dirty.ratio": "0.0",
            **configs,
        },
    )
    await until_led(client, name)
    return Topic(client, name)


async def test_last_record_of_each_key_is_left(kafka: Kafka, client: RawClient) -> None:
    topic = await make(kafka, client)
    await topic.append((b"a", b"1"), (b"b", b"2"), (b"a", b"3"), (b"c", b"4"))
    await topic.append((b"a", b"5"), compression=Compression.LZ4)
    await topic.append((b"d", b"6"), (b"a", b"7"), (b"d", b"8"), compression=Compression.ZSTD)
    await topic.append((b"b", b""))
    await topic.roll()
    await topic.roll()

    await topic.until_compacted([(3, b"c", b"4"), (6, b"a", b"7"), (7, b"d", b"8"), (8, b"b", b"")])

    shapes = [(b.base_offset, b.last_offset, b.count) for b in await topic.batches()]
    assert shapes[:3] == [(0, 3, 1), (5, 7, 2), (8, 8, 1)]
    codecs = [batch.compression_type for batch in await topic.batches()]
    assert codecs[:3] == [Compression.NONE, Compression.ZSTD, Compression.NONE]


async def test_tombstones_get_a_delete_horizon_and_then_go(kafka: Kafka, client: RawClient) -> None:
    topic = await make(kafka, client, **{"delete.retention.ms": "1500"})
    await topic.append((b"a", b"1"), (b"b", b"2"))
    await topic.append((b"a", None), timestamp_ms=1_600_000_000_000)
    await topic.roll()
    await topic.roll()
    await topic.until_compacted([(1, b"b", b"2"), (2, b"a", None)])
    second = (await topic.batches())[1]
    assert second.delete_horizon_ms is not None
    assert second.delete_horizon_ms > 1_700_000_000_000
    assert [record.timestamp for record in second] == [1_600_000_000_000]

    async with asyncio.timeout(IN_TIME):
        while await topic.records() != [(1, b"b", b"2")]:
            await topic.roll()  # something dirty, for another pass
            await asyncio.sleep(0.3)


async def test_last_batch_of_a_producer_is_left_without_records(
    kafka: Kafka, client: RawClient
) -> None:
    topic = await make(kafka, client)
    producer = {"producer_id": 91_000, "producer_epoch": 3}
    await topic.append((b"a", b"1"), base_sequence=0, **producer)
    await topic.append((b"a", b"2"), base_sequence=1, **producer)
    await topic.append((b"a", b"3"))
    await topic.roll()
    await topic.roll()

    await topic.until_compacted([(2, b"a", b"3")])

    kept = [
        (b.base_offset, b.producer_id, b.producer_epoch, b.base_sequence, b.count)
        for b in await topic.batches()
    ]
    assert kept[:2] == [(1, 91_000, 3, 1, 0), (2, -1, -1, -1, 1)]
    await topic.append((b"a", b"4"), base_sequence=2, **producer)


async def test_dirty_ratio_holds_compaction_back(kafka: Kafka, client: RawClient) -> None:
    topic = await make(kafka, client, **{"min.cleanable.dirty.ratio": "0.9"})
    await topic.append(*((b"%d" % n, b"x" * 1000) for n in range(3)))
    await topic.roll()
    await topic.roll()
    await topic.append((b"0", b"y"))
    await topic.roll()
    await topic.roll()
    with Admin(kafka.bootstrap) as admin:
        admin.incremental_alter_configs(
            {
                ConfigResource.topic(topic.name): [
                    AlterConfig("min.cleanable.dirty.ratio", "0.0"),
                    AlterConfig("min.compaction.lag.ms", "0"),
                ]
            }
        )

    await topic.until_compacted([(1, b"1", b"x" * 1000), (2, b"2", b"x" * 1000), (5, b"0", b"y")])
