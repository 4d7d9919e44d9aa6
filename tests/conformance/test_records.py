"""Produced records are consumed once, in order and unchanged, with every codec."""

from __future__ import annotations

import asyncio

import pytest

from pyk.clients import AsyncConsumer, AsyncProducer, Consumer, Producer, TopicPartition
from pyk.protocol import ApiKey
from pyk.protocol.records import Compression, read_batches
from pyk.protocol.records.compression import compress
from support.broker_requests import fetch, produce, produce_one, until_led
from support.brokers import Kafka, make_topic, make_topic_of_node_0
from support.raw_client import RawClient
from support.record_batches import raw_batch
from support.record_batches import record as encoded


def consume(bootstrap: str, topic: str, count: int, **config: object) -> list[object]:
    """Return the first ``count`` records of a topic, from all partitions."""
    records: list[object] = []
    with Consumer(
        bootstrap,
        topics=[topic],
        group_id=f"{topic}-reader",
        auto_offset_reset="earliest",
        **config,
    ) as consumer:
        for record in consumer:
            records.append(record)
            if len(records) == count:
                return records
    return records


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_records_survive_each_codec(kafka: Kafka, topic: str, codec: str) -> None:
    values = [b"value %d " % n * 20 for n in range(500)]

    with Producer(kafka.bootstrap, compression_type=codec, linger_ms=20) as producer:
        for value in values:
            producer.send(topic, value, key=b"same partition")

    assert [r.value for r in consume(kafka.bootstrap, topic, len(values))] == values


def test_every_part_of_a_record_arrives(kafka: Kafka, topic: str) -> None:
    headers = [("a", b"1"), ("empty", b""), ("none", None), ("a", b"again"), ("ü", b"\xff")]

    with Producer(kafka.bootstrap) as producer:
        sent = producer.send(
            topic, b"v", key=b"k", partition=2, headers=headers, timestamp_ms=1_600_000_000_123
        ).result(10)
        producer.send(topic, None, key=b"", partition=2).result(10)

    first, second = consume(kafka.bootstrap, topic, 2)
    assert (first.topic, first.partition, first.offset) == (topic, 2, sent.offset)
    assert (first.key, first.value, first.headers) == (b"k", b"v", tuple(headers))
    assert first.timestamp == 1_600_000_000_123
    assert (second.key, second.value, second.headers) == (b"", None, ())


def test_records_of_a_partition_stay_in_order(kafka: Kafka, topic: str) -> None:
    with Producer(kafka.bootstrap, batch_size=500) as producer:
        deliveries = [producer.send(topic, b"%d" % n, partition=n % 3) for n in range(3_000)]
        offsets = [delivery.result(30).offset for delivery in deliveries]

    for partition in range(3):
        assert offsets[partition::3] == list(range(1_000))
    by_partition: dict[int, list[int]] = {0: [], 1: [], 2: []}
    for record in consume(kafka.bootstrap, topic, 3_000):
        by_partition[record.partition].append(int(record.value))
    assert by_partition == {p: list(range(p, 3_000, 3)) for p in range(3)}


def test_records_with_the_same_key_go_to_the_same_partition(kafka: Kafka, topic: str) -> None:
    keys = [b"key-%d" % n for n in range(50)]

    with Producer(kafka.bootstrap) as producer:
        first = [producer.send(topic, b"1", key=key).result(10).partition for key in keys]
    with Producer(kafka.bootstrap) as producer:
        second = [producer.send(topic, b"2", key=key).result(10).partition for key in keys]

    assert first == second
    assert set(first) == {0, 1, 2}


def test_a_lost_response_neither_loses_nor_duplicates_records(kafka: Kafka, topic: str) -> None:
    with (
        kafka.losing_reply(ApiKey.PRODUCE) as bootstrap,
        Producer(bootstrap, linger_ms=0, retry_backoff_ms=10) as producer,
    ):
        deliveries = [producer.send(topic, b"%d" % n, partition=0) for n in range(200)]
        offsets = [delivery.result(60).offset for delivery in deliveries]

    assert offsets == list(range(200))
    values = [record.value for record in consume(kafka.bootstrap, topic, 200)]
    assert values == [b"%d" % n for n in range(200)]


def test_large_records_are_produced_and_consumed_when_both_sides_allow_them(kafka: Kafka) -> None:
    topic = make_topic(kafka, "large", **{"max.message.bytes": "8000000"})
    value = bytes(range(256)) * 4 * 4096  # 4 MiB, more than a fetch asks for

    with Producer(kafka.bootstrap, max_request_size=8_000_000) as producer:
        producer.send(topic, value).result(30)
        producer.send(topic, b"after").result(30)

    first, second = consume(kafka.bootstrap, topic, 2, max_partition_fetch_bytes=1_000_000)
    assert first.value == value
    assert second.value == b"after"


@pytest.mark.parametrize("deltas", [(0, 0, 0), (2, 1, 0), (0, 5, 9), (-1, -5, 1)])
async def test_records_are_counted_whatever_offset_deltas_their_producer_wrote(
    kafka: Kafka, deltas: tuple[int, ...]
) -> None:
    topic = make_topic_of_node_0(kafka, "uncounted")
    records = b"".join(encoded(d, value=b"%d" % n) for n, d in enumerate(deltas))
    sent = raw_batch(records, len(deltas))

    async with RawClient(kafka.bootstrap) as client:
        await until_led(client, topic)
        await produce_one(client, b"first", topic=topic)
        results = [(await client.ask(produce(sent, topic=topic), 12)) for _ in range(2)]
        stored = (await client.ask(fetch(1, topic=topic), 12)).responses[0].partitions[0].records

    partitions = [result.responses[0].partition_responses[0] for result in results]
    assert [(each.error_code, each.base_offset) for each in partitions] == [(0, 1), (0, 4)]
    assert bytes(stored[16 : len(sent)]) == sent[16:]
    # Java's consumer skips a record whose offset delta does not increase: pyk returns every record.
    assert [(each.offset, each.value) for each in consume(kafka.bootstrap, topic, 7)] == [
        (0, b"first"), (1, b"0"), (2, b"1"), (3, b"2"), (4, b"0"), (5, b"1"), (6, b"2")
    ]  # fmt: skip


@pytest.mark.parametrize("source", ["none", "zstd"])
async def test_a_batch_that_the_broker_compresses_gets_the_right_offset_deltas(
    kafka: Kafka, source: str
) -> None:
    topic = make_topic_of_node_0(kafka, "rebuilt", **{"compression.type": "lz4"})
    codec = Compression(source)
    records = compress(codec, encoded(0, value=b"0") + encoded(0, value=b"1"))
    sent = raw_batch(records, 2, attributes=codec.codec)

    async with RawClient(kafka.bootstrap) as client:
        await until_led(client, topic)
        await client.ask(produce(sent, topic=topic), 12)
        stored = (await client.ask(fetch(0, topic=topic), 12)).responses[0].partitions[0].records

    (rebuilt,) = read_batches(stored)
    assert rebuilt.compression_type is Compression.LZ4
    assert rebuilt.open().are_offsets_dense
    assert [each.value for each in rebuilt] == [b"0", b"1"]


def test_many_partitions_are_produced_and_consumed(kafka: Kafka) -> None:
    topic = make_topic(kafka, "wide", partitions=120)

    with Producer(kafka.bootstrap, linger_ms=20) as producer:
        for n in range(1_200):
            producer.send(topic, b"%d" % n, partition=n % 120)

    values = sorted(int(record.value) for record in consume(kafka.bootstrap, topic, 1_200))
    assert values == list(range(1_200))


def test_offsets_for_times_finds_the_first_record_at_or_after_a_timestamp(
    kafka: Kafka, topic: str
) -> None:
    partition = TopicPartition(topic, 1)
    with Producer(kafka.bootstrap) as producer:
        for n in range(10):
            producer.send(topic, b"%d" % n, partition=1, timestamp_ms=1_000_000 + n * 1_000)

    with Consumer(kafka.bootstrap) as consumer:
        consumer.assign([partition])
        found = consumer.offsets_for_times({partition: 1_004_500})[partition]
        beyond = consumer.offsets_for_times({partition: 9_999_999})[partition]
        ends = consumer.end_offsets([partition])
        beginnings = consumer.beginning_offsets([partition])

    assert found is not None
    assert (found.offset, found.timestamp) == (5, 1_005_000)
    assert beyond is None
    assert (beginnings[partition], ends[partition]) == (0, 10)


async def test_the_asyncio_clients_do_the_same_as_the_blocking_ones(
    kafka: Kafka, topic: str
) -> None:
    async with AsyncProducer(kafka.bootstrap, linger_ms=5) as producer:
        deliveries = [await producer.send(topic, b"%d" % n) for n in range(300)]
        metadata = await asyncio.gather(*deliveries)

    assert sorted(m.offset for m in metadata if m.partition == metadata[0].partition)[0] == 0
    values = set()
    async with AsyncConsumer(
        kafka.bootstrap, topics=[topic], group_id=f"{topic}-group", auto_offset_reset="earliest"
    ) as consumer:
        async for record in consumer:
            values.add(int(record.value))
            if len(values) == 300:
                break
    assert values == set(range(300))
