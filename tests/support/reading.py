"""Read a topic without a consumer: the simplest way to check the records of a broker."""

from __future__ import annotations

import asyncio
from typing import Any

from pyk.clients.config import ClientConfig
from pyk.clients.engine.client import Client
from pyk.clients.topic_partition import TopicPartition
from pyk.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from pyk.protocol.records import Record, read_batches


def read_topic(bootstrap: str, topic: str) -> dict[int, list[Record]]:
    """Return every record of a topic by partition, up to its present end."""
    return asyncio.run(_read_topic(bootstrap, topic))


async def _read_topic(bootstrap: str, topic: str) -> dict[int, list[Record]]:
    client = Client(ClientConfig.from_kwargs(bootstrap))
    await client.start(10)
    try:
        found = await client.topics.find(topic, client.clock.now() + 10)
        return {
            partition.partition: await _read(client, TopicPartition(topic, partition.partition))
            for partition in found.partitions
        }
    finally:
        await client.close()


async def _read(client: Client, place: TopicPartition) -> list[Record]:
    records: list[Record] = []
    offset = 0
    while True:
        answer = await _fetch(client, place, offset)
        assert answer.error_code == 0, answer
        for batch in read_batches(answer.records or b""):
            records += [record for record in batch if record.offset >= offset]
            offset = batch.last_offset + 1
        if offset >= answer.high_watermark:
            return records


async def _fetch(client: Client, place: TopicPartition, offset: int) -> Any:
    partition = FetchPartition(
        partition=place.partition, fetch_offset=offset, partition_max_bytes=1 << 26
    )
    request = FetchRequest(
        max_wait_ms=100,
        min_bytes=1,
        max_bytes=1 << 26,
        topics=[FetchTopic(topic=place.topic, partitions=[partition])],
    )
    node_id = client.metadata.leader(place)
    assert node_id is not None
    response = await client.send(node_id, request, max_version=12, lane="fetch")
    return response.responses[0].partitions[0]
