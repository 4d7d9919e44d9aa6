"""How the batches of one request are encoded, and how its answer is read."""

from __future__ import annotations

from uuid import UUID

import pytest

from pyk.clients.producer.batch import ProducerBatch
from pyk.clients.producer.partition_queue import PartitionQueue
from pyk.clients.producer.produce_call import ProduceCall
from pyk.clients.producer.produce_template import ProduceTemplate
from pyk.clients.topic_partition import TopicPartition
from pyk.protocol.messages.produce import (
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
    TopicProduceResponse,
)
from pyk.protocol.records import RecordBatchBuilder
from support.producer_parts import IDENTITY

ORDERS, EVENTS = UUID(int=1), UUID(int=2)
TOPIC_IDS = {"orders": ORDERS, "events": EVENTS}
VERSIONS = range(3, 14)


def request_with(records: bytes | memoryview, topic_id: UUID = ORDERS) -> ProduceRequest:
    partition = PartitionProduceData(index=7, records=records)
    topic = TopicProduceData(name="orders", topic_id=topic_id, partition_data=[partition])
    return ProduceRequest(acks=-1, timeout_ms=30_000, topic_data=[topic])


def queue_of(topic: str, partition: int) -> PartitionQueue:
    queue = PartitionQueue(TopicPartition(topic, partition), is_idempotent=True)
    assert queue.restart(IDENTITY)
    return queue


def add_batch(call: ProduceCall, queue: PartitionQueue, value: bytes = b"value") -> ProducerBatch:
    batch = ProducerBatch(queue.topic_partition, RecordBatchBuilder(), 0.0)
    batch.append(1_000, None, value, ())
    queue.queued.append(batch)
    queue.send(batch, 1)
    call.add(queue, batch)
    return batch


def encoded(call: ProduceCall, version: int) -> bytes:
    return b"".join(call.encode_parts(version, bytearray(b"header")))


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("size", [0, 1, 126, 127, 128, 16_382, 16_383, 100_000])
def test_a_template_gives_what_the_codec_gives(version: int, size: int) -> None:
    template = ProduceTemplate(request_with(b""), ORDERS, version)
    records = memoryview(bytes(size))

    parts = template.fill(records, bytearray(b"header"))

    assert b"".join(parts) == b"header" + request_with(records).encode(version)


@pytest.mark.parametrize("version", VERSIONS)
def test_requests_of_a_partition_follow_each_other_with_their_own_records(version: int) -> None:
    queue = queue_of("orders", 7)
    first, second = ProduceCall(1), ProduceCall(1)
    batches = [add_batch(first, queue, b"a"), add_batch(second, queue, b"b" * 200)]

    for call, batch in zip((first, second), batches, strict=True):
        call.address(-1, 30_000, TOPIC_IDS.get)
        assert encoded(call, version) == b"header" + request_with(batch.data).encode(version)


def test_a_topic_that_was_created_again_is_named_by_its_new_id() -> None:
    queue = queue_of("orders", 7)
    first, second = ProduceCall(1), ProduceCall(1)
    add_batch(first, queue)
    batch = add_batch(second, queue)
    first.address(-1, 30_000, TOPIC_IDS.get)
    encoded(first, 13)

    second.address(-1, 30_000, lambda _: EVENTS)

    assert encoded(second, 13) == b"header" + request_with(batch.data, EVENTS).encode(13)


def test_a_broker_of_another_version_gets_the_request_in_that_version() -> None:
    queue = queue_of("orders", 7)
    call = ProduceCall(1)
    batch = add_batch(call, queue)
    call.address(-1, 30_000, TOPIC_IDS.get)

    for version in (13, 3, 13):
        assert encoded(call, version) == b"header" + request_with(batch.data).encode(version)


def test_batches_of_several_partitions_share_a_request() -> None:
    call = ProduceCall(1)
    places = [("orders", 0), ("events", 0), ("orders", 1)]
    for topic, partition in places:
        add_batch(call, queue_of(topic, partition))
    call.address(1, 30_000, TOPIC_IDS.get)

    request, _ = ProduceRequest.decode_prefix(encoded(call, 13)[len(b"header") :], 13)

    assert [
        (topic.topic_id, [data.index for data in topic.partition_data])
        for topic in request.topic_data
    ] == [(ORDERS, [0, 1]), (EVENTS, [0])]


def test_a_topic_without_an_id_keeps_the_request_to_the_versions_with_names() -> None:
    call = ProduceCall(1)
    add_batch(call, queue_of("orders", 0))

    assert 13 in call.address(-1, 30_000, TOPIC_IDS.get)
    assert 13 not in call.address(-1, 30_000, lambda _: None)


@pytest.mark.parametrize("is_named", [True, False])
def test_each_batch_gets_the_first_answer_of_its_partition(is_named: bool) -> None:
    call = ProduceCall(1)
    for topic, partition in (("orders", 0), ("events", 0), ("orders", 1), ("orders", 2)):
        add_batch(call, queue_of(topic, partition))
    call.address(-1, 30_000, TOPIC_IDS.get)
    orders = TopicProduceResponse(
        partition_responses=[
            PartitionProduceResponse(index=index, base_offset=offset)
            for index, offset in ((1, 11), (9, 99), (0, 10), (1, 12))
        ]
    )
    events = TopicProduceResponse(
        partition_responses=[PartitionProduceResponse(index=0, base_offset=20)]
    )
    for topic, name in ((orders, "orders"), (events, "events")):
        topic.name = name if is_named else ""
        topic.topic_id = UUID(int=0) if is_named else TOPIC_IDS[name]

    answers = call.answers(ProduceResponse(responses=[events, orders]))

    offsets = [answer.base_offset if answer is not None else None for answer in answers]
    assert offsets == [10, 20, 11, None]
