"""How many batches a fetch returns, and when it is answered: as with Apache Kafka."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from pyk.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from pyk.protocol.records import read_batches
from support.broker_requests import fetch, produce_one, until_led
from support.brokers import Kafka, make_topic_of_node_0
from support.raw_client import RawClient, batch

KIB = 1024
NEVER_MS = 60_000
"""Longer than any test waits for an answer."""


@pytest.fixture
async def client(kafka: Kafka) -> AsyncIterator[RawClient]:
    async with RawClient(kafka.bootstrap) as client:
        yield client


async def fill(client: RawClient, topic: str, *, partition: int = 0, size: int, count: int) -> None:
    await until_led(client, topic, partitions=partition + 1)
    for _ in range(count):
        produced = await produce_one(client, bytes(size), topic=topic, partition=partition)
        assert produced.error_code == 0


def fetch_all(topic: str, partitions: int, *, max_bytes: int, **more: int) -> FetchRequest:
    """Fetch partitions from their start in version 12, which has topic names."""
    asked = [
        FetchPartition(partition=number, fetch_offset=0, partition_max_bytes=1 << 20)
        for number in range(partitions)
    ]
    return FetchRequest(
        max_bytes=max_bytes,
        topics=[FetchTopic(topic=topic, partitions=asked)],
        **{"min_bytes": 1, "max_wait_ms": NEVER_MS, **more},
    )


async def batch_counts(client: RawClient, request: FetchRequest) -> list[int]:
    """Return how many complete batches each partition got."""
    client.send(request, 12)
    fetched = await client.receive(timeout=10)
    partitions = sorted(fetched.responses[0].partitions, key=lambda each: each.partition_index)
    return [len(list(read_batches(each.records))) for each in partitions]


@pytest.mark.parametrize(
    ("max_batches", "expected"),
    [(0.1, [1, 0, 0]), (1, [1, 0, 0]), (2.5, [2, 0, 0]), (3, [2, 1, 0]), (99, [2, 2, 2])],
)
async def test_the_partitions_of_a_fetch_share_its_max_bytes(
    kafka: Kafka, client: RawClient, max_batches: float, expected: list[int]
) -> None:
    topic = make_topic_of_node_0(kafka, "shared", partitions=3)
    for partition in range(3):
        await fill(client, topic, partition=partition, size=KIB, count=2)

    max_bytes = int(max_batches * len(batch(bytes(KIB))))

    assert await batch_counts(client, fetch_all(topic, 3, max_bytes=max_bytes)) == expected


async def test_a_fetch_does_not_wait_for_more_than_its_max_bytes(
    kafka: Kafka, client: RawClient
) -> None:
    topic = make_topic_of_node_0(kafka, "little")
    await fill(client, topic, size=KIB, count=2)

    request = fetch_all(topic, 1, max_bytes=KIB, min_bytes=1 << 30)

    assert await batch_counts(client, request) == [1]


async def test_a_fetch_does_not_wait_at_the_end_of_an_old_segment(
    kafka: Kafka, client: RawClient
) -> None:
    topic = make_topic_of_node_0(kafka, "old", **{"segment.bytes": "1048576"})
    await fill(client, topic, size=700 * KIB, count=2)

    request = fetch_all(topic, 1, max_bytes=50 << 20, min_bytes=30 << 20)

    assert await batch_counts(client, request) == [1]


async def test_a_fetch_waits_in_the_last_segment(kafka: Kafka, client: RawClient) -> None:
    topic = make_topic_of_node_0(kafka, "last", **{"segment.bytes": "1048576"})
    await fill(client, topic, size=700 * KIB, count=2)

    async with RawClient(kafka.bootstrap) as waiting:
        waiting.send(fetch(1, topic=topic, max_wait_ms=NEVER_MS, min_bytes=701 * KIB + 100), 12)
        await waiting.writer.drain()
        await client.ask(fetch(0, topic=topic), 12)
        await fill(client, topic, size=2 * KIB, count=1)
        fetched = await waiting.receive()

    assert fetched.responses[0].partitions[0].high_watermark == 3
