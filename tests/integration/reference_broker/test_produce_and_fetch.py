"""Produce and fetch records over a real socket with plain requests."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from pyk.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from pyk.protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from pyk.protocol.records import read_batches
from pyk.reference_broker import AsyncCluster
from support.broker_requests import (
    TOPIC,
    create_topic,
    fetch,
    list_offset,
    produce,
    produce_one,
    values,
)
from support.raw_client import RawClient, batch


@pytest.fixture
async def cluster() -> AsyncIterator[AsyncCluster]:
    async with AsyncCluster() as cluster:
        await cluster.create_topic(TOPIC)
        yield cluster


@pytest.fixture
async def client(cluster: AsyncCluster) -> AsyncIterator[RawClient]:
    async with RawClient(cluster.bootstrap) as client:
        yield client


async def test_produced_records_are_fetched(client: RawClient) -> None:
    produced = await client.ask(produce(batch(b"one", b"two")), 12)

    assert produced.responses[0].partition_responses[0].base_offset == 0
    assert await values(client) == [b"one", b"two"]


async def test_large_batches_are_sent_from_their_file_without_change(client: RawClient) -> None:
    large = [bytes([n]) * 200_000 for n in range(4)]
    for value in large:
        await produce_one(client, value)

    assert await values(client) == large


async def test_topics_can_be_named_by_their_ids(client: RawClient) -> None:
    described = await client.ask(MetadataRequest(topics=[MetadataRequestTopic(name=TOPIC)]))
    topic_id = described.topics[0].topic_id
    data = PartitionProduceData(index=0, records=batch(b"one"))
    produced = await client.ask(
        ProduceRequest(
            acks=1, topic_data=[TopicProduceData(topic_id=topic_id, partition_data=[data])]
        ),
        13,
    )
    asked = FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=1 << 20)
    fetched = await client.ask(
        FetchRequest(min_bytes=1, topics=[FetchTopic(topic_id=topic_id, partitions=[asked])]),
        18,
    )

    assert produced.responses[0].topic_id == topic_id
    (found,) = read_batches(fetched.responses[0].partitions[0].records)
    assert [record.value for record in found] == [b"one"]


async def test_a_waiting_fetch_is_answered_as_soon_as_records_arrive(
    cluster: AsyncCluster, client: RawClient
) -> None:
    async with RawClient(cluster.bootstrap) as producer:
        client.send(fetch(0, max_wait_ms=60_000), 12)
        await client.writer.drain()
        await produce_one(producer, b"one")

        fetched = await client.receive(timeout=5)

    assert fetched.responses[0].partitions[0].high_watermark == 1


async def test_a_fetch_without_records_is_answered_at_its_deadline(client: RawClient) -> None:
    fetched = await client.ask(fetch(0, max_wait_ms=20), 12)

    assert fetched.responses[0].partitions[0].records == b""


async def test_a_fetch_waits_for_min_bytes(cluster: AsyncCluster, client: RawClient) -> None:
    async with RawClient(cluster.bootstrap) as producer:
        client.send(fetch(0, max_wait_ms=60_000, min_bytes=150), 12)
        await client.writer.drain()
        await produce_one(producer, b"x" * 10)
        await produce_one(producer, b"x" * 100)

        fetched = await client.receive(timeout=5)

    assert fetched.responses[0].partitions[0].high_watermark == 2


async def test_a_fetch_is_answered_when_its_topic_is_deleted(
    cluster: AsyncCluster, client: RawClient
) -> None:
    from pyk.protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState

    async with RawClient(cluster.bootstrap) as admin:
        client.send(fetch(0, max_wait_ms=60_000), 12)
        await client.writer.drain()
        await admin.ask(DeleteTopicsRequest(topics=[DeleteTopicState(name=TOPIC)]))

        fetched = await client.receive(timeout=5)

    error = fetched.responses[0].partitions[0].error_code
    assert error == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


async def test_max_bytes_bounds_a_response_but_for_the_first_batch(client: RawClient) -> None:
    for _ in range(5):
        await produce_one(client, b"x" * 1000)

    one = await client.ask(fetch(0, max=10), 12)
    two = await client.ask(fetch(0, max=2500), 12)

    assert len(list(read_batches(one.responses[0].partitions[0].records))) == 1
    assert len(list(read_batches(two.responses[0].partitions[0].records))) == 2


async def test_requests_are_answered_in_the_order_in_which_they_arrived(client: RawClient) -> None:
    client.send(fetch(0, max_wait_ms=30), 12)
    client.send(produce(batch(b"one")), 12)
    client.send(create_topic("other"), 7)

    first, second, third = [await client.receive() for _ in range(3)]

    assert first.responses[0].partitions[0].high_watermark == 0
    assert second.responses[0].partition_responses[0].base_offset == 0
    assert third.topics[0].name == "other"


async def test_acks_0_is_not_answered(client: RawClient) -> None:
    client.send(produce(batch(b"one"), acks=0), 12)
    await client.ask(produce(batch(b"two")), 12)

    assert await values(client) == [b"one", b"two"]


async def test_a_failed_produce_with_acks_0_closes_the_connection(client: RawClient) -> None:
    client.send(produce(batch(b"one"), acks=0, topic="nope"), 12)

    assert await client.reader.read() == b""


@pytest.mark.parametrize(
    ("request_", "error"),
    [
        (produce(batch(b"x"), topic="nope"), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        (produce(batch(b"x"), partition=7), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        (produce(batch(b"x"), acks=2), ErrorCode.INVALID_REQUIRED_ACKS),
        (produce(b""), ErrorCode.INVALID_RECORD),
        (produce(b"\0" * 61), ErrorCode.CORRUPT_MESSAGE),
    ],
)
async def test_an_invalid_produce_is_refused(
    client: RawClient, request_: ProduceRequest, error: ErrorCode
) -> None:
    produced = await client.ask(request_, 12)

    assert produced.responses[0].partition_responses[0].error_code == error
    assert await values(client) == []


async def test_producing_to_an_internal_topic_is_refused(client: RawClient) -> None:
    from support.broker_requests import find_coordinator

    await client.ask(find_coordinator())

    refused = await produce_one(client, b"x", topic="__consumer_offsets")

    assert refused.error_code == ErrorCode.INVALID_TOPIC_EXCEPTION


async def test_offsets_beyond_the_log_are_refused(client: RawClient) -> None:
    for offset in (1, -1):
        fetched = await client.ask(fetch(offset), 12)
        assert fetched.responses[0].partitions[0].error_code == ErrorCode.OFFSET_OUT_OF_RANGE


async def test_a_retried_batch_is_appended_once(client: RawClient) -> None:
    sealed = batch(b"one", producer_id=5, producer_epoch=0, base_sequence=0)

    first = await client.ask(produce(sealed), 12)
    again = await client.ask(produce(sealed), 12)

    assert first.responses[0].partition_responses[0].base_offset == 0
    assert again.responses[0].partition_responses[0].base_offset == 0
    assert await values(client) == [b"one"]


@pytest.mark.parametrize(
    ("timestamp", "offset"),
    [(-1, 2), (-2, 0), (-3, 0), (-4, 0), (-5, -1), (1_600_000_000_000, 0), (1_800_000_000_000, -1)],
)
async def test_offsets_are_listed(client: RawClient, timestamp: int, offset: int) -> None:
    await client.ask(produce(batch(b"one", b"two")), 12)

    listed = await client.ask(list_offset(timestamp))

    partition = listed.topics[0].partitions[0]
    assert (partition.error_code, partition.offset) == (0, offset)


async def test_a_special_timestamp_of_a_later_version_is_refused(client: RawClient) -> None:
    listed = await client.ask(list_offset(-3), 6)

    assert listed.topics[0].partitions[0].error_code == ErrorCode.UNSUPPORTED_VERSION


async def test_a_produce_request_with_a_transactional_batch_is_refused(client: RawClient) -> None:
    sent = batch(b"x", is_transactional=True, producer_id=1, producer_epoch=0, base_sequence=0)
    partitions = [
        PartitionProduceData(index=0, records=records) for records in (None, batch(b"x"), sent)
    ]
    data = TopicProduceData(name=TOPIC, partition_data=partitions)

    produced = await client.ask(ProduceRequest(acks=1, topic_data=[data]), 12)

    answered = [each.error_code for each in produced.responses[0].partition_responses]
    assert answered == [ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED] * 3
    assert await values(client) == []
