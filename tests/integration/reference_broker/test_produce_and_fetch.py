"""Records through a broker over a real socket, in the broker's own words."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from pyk.protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from pyk.protocol.records import read_batches
from pyk.reference_broker import AsyncCluster
from support.raw_client import RawClient, batch


@pytest.fixture
async def client() -> AsyncIterator[RawClient]:
    async with AsyncCluster() as cluster:
        await cluster.create_topic("orders")
        async with RawClient(cluster.bootstrap) as client:
            yield client


def produce(records: bytes, acks: int = -1) -> ProduceRequest:
    data = PartitionProduceData(index=0, records=records)
    topic = TopicProduceData(name="orders", partition_data=[data])
    return ProduceRequest(acks=acks, timeout_ms=1000, topic_data=[topic])


def fetch(offset: int, **more: object) -> FetchRequest:
    partition = FetchPartition(partition=0, fetch_offset=offset, partition_max_bytes=1 << 20)
    topic = FetchTopic(topic="orders", partitions=[partition])
    return FetchRequest(**{"max_wait_ms": 0, "min_bytes": 1, "topics": [topic], **more})


async def test_what_was_produced_is_fetched(client: RawClient) -> None:
    produced = await client.ask(produce(batch(b"one", b"two")), 12)
    fetched = await client.ask(fetch(0), 12)

    assert produced.responses[0].partition_responses[0].base_offset == 0
    partition = fetched.responses[0].partitions[0]
    assert partition.high_watermark == 2
    values = [record.value for part in read_batches(partition.records) for record in part]
    assert values == [b"one", b"two"]


async def test_a_fetch_waits_for_records(client: RawClient) -> None:
    async with RawClient(f"127.0.0.1:{client.writer.get_extra_info('peername')[1]}") as producer:
        client.send(fetch(0, max_wait_ms=5000), 12)
        await client.writer.drain()
        await producer.ask(produce(batch(b"one")), 12)

        fetched = await client.receive(timeout=2)

    assert fetched.responses[0].partitions[0].high_watermark == 1


async def test_an_offset_beyond_the_end_is_refused(client: RawClient) -> None:
    fetched = await client.ask(fetch(7), 12)

    assert fetched.responses[0].partitions[0].error_code == ErrorCode.OFFSET_OUT_OF_RANGE
