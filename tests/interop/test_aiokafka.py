"""aiokafka with the reference broker."""

from __future__ import annotations

import asyncio
import itertools
from typing import Any

import pytest

pytestmark = pytest.mark.conformance

aiokafka = pytest.importorskip("aiokafka")
admin = pytest.importorskip("aiokafka.admin")

VALUES = [b"%d" % number for number in range(500)]


async def create(bootstrap: str, topic: str) -> None:
    client = admin.AIOKafkaAdminClient(bootstrap_servers=bootstrap)
    await client.start()
    await client.create_topics([admin.NewTopic(topic, num_partitions=4, replication_factor=1)])
    await client.close()


async def produce(bootstrap: str, topic: str, **config: Any) -> None:
    async with aiokafka.AIOKafkaProducer(bootstrap_servers=bootstrap, **config) as producer:
        sent = [await producer.send(topic, value, value) for value in VALUES]
        await asyncio.gather(*sent)


@pytest.mark.parametrize("codec", [None, "gzip", "snappy", "lz4", "zstd"])
async def test_records_of_every_codec_are_produced_and_consumed(
    bootstrap: str, codec: str | None
) -> None:
    topic = f"aiokafka-{codec}"
    await create(bootstrap, topic)
    await produce(bootstrap, topic, compression_type=codec)

    consumer = aiokafka.AIOKafkaConsumer(
        topic, bootstrap_servers=bootstrap, group_id=topic, auto_offset_reset="earliest"
    )
    async with consumer, asyncio.timeout(20):
        found = [(await consumer.getone()).value for _ in VALUES]

    assert sorted(found) == sorted(VALUES)


async def test_the_members_of_a_group_share_a_topic(bootstrap: str) -> None:
    await create(bootstrap, "aiokafka-group")
    await produce(bootstrap, "aiokafka-group", enable_idempotence=True)
    found: list[bytes] = []

    async def read() -> None:
        consumer = aiokafka.AIOKafkaConsumer(
            "aiokafka-group",
            bootstrap_servers=bootstrap,
            group_id="aiokafka-group",
            auto_offset_reset="earliest",
        )
        async with consumer:
            while len(set(found)) < len(VALUES):
                batches = await consumer.getmany(timeout_ms=100)
                found.extend(record.value for batch in batches.values() for record in batch)

    async with asyncio.timeout(30):
        await asyncio.gather(read(), read())

    assert sorted(set(found)) == sorted(VALUES)


async def test_offsets_for_times_finds_offsets_by_timestamp(bootstrap: str) -> None:
    await create(bootstrap, "aiokafka-times")
    await produce(bootstrap, "aiokafka-times")
    partition = aiokafka.TopicPartition("aiokafka-times", 0)

    async with aiokafka.AIOKafkaConsumer(bootstrap_servers=bootstrap) as consumer:
        first = await consumer.offsets_for_times({partition: 0})
        begin = await consumer.beginning_offsets([partition])
        end = await consumer.end_offsets([partition])

    assert first[partition].offset == begin[partition] == 0
    assert end[partition] > 0


async def test_offsets_are_committed_in_transactions(bootstrap: str) -> None:
    source, target = "aiokafka-source", "aiokafka-target"
    await create(bootstrap, source)
    await create(bootstrap, target)
    await produce(bootstrap, source)
    consumer = aiokafka.AIOKafkaConsumer(
        source,
        bootstrap_servers=bootstrap,
        group_id="aiokafka-mover",
        auto_offset_reset="earliest",
        enable_auto_commit=False,
        isolation_level="read_committed",
    )
    producer = aiokafka.AIOKafkaProducer(
        bootstrap_servers=bootstrap, transactional_id="aiokafka-mover"
    )

    async with producer, consumer, asyncio.timeout(60):
        await move_in_transactions(consumer, producer, target)
        committed = [await consumer.committed(each) for each in consumer.assignment()]

    assert sum(filter(None, committed)) == len(VALUES)
    assert sorted(await read_committed(bootstrap, target)) == sorted(VALUES)


async def move_in_transactions(consumer: Any, producer: Any, target: str) -> None:
    """Copy all values to another topic, and abort every other transaction."""
    moved = 0
    for is_aborted in itertools.cycle([False, True]):
        batches: dict[Any, Any] = {}
        while not batches:
            batches = await consumer.getmany(timeout_ms=100, max_records=100)
        records = [record for batch in batches.values() for record in batch]
        await producer.begin_transaction()
        for record in records:
            await producer.send(target, record.value)
        offsets = {partition: each[-1].offset + 1 for partition, each in batches.items()}
        await producer.send_offsets_to_transaction(offsets, "aiokafka-mover")
        if is_aborted:
            await producer.abort_transaction()
            for partition, each in batches.items():
                consumer.seek(partition, each[0].offset)
            continue
        await producer.commit_transaction()
        moved += len(records)
        if moved == len(VALUES):
            return


async def read_committed(bootstrap: str, topic: str) -> list[bytes]:
    """Return the values of as many committed records as were produced."""
    consumer = aiokafka.AIOKafkaConsumer(
        topic,
        bootstrap_servers=bootstrap,
        auto_offset_reset="earliest",
        isolation_level="read_committed",
    )
    async with consumer, asyncio.timeout(20):
        return [(await consumer.getone()).value for _ in VALUES]
