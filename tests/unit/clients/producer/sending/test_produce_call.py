"""How the batches of one request are encoded, and how its answer is read."""

from __future__ import annotations

from uuid import UUID

import pytest

from pyk.clients.producer.batching.batch import ProducerBatch
from pyk.clients.producer.sending.node_traffic import NodeTraffic
from pyk.clients.producer.sending.partition_queue import PartitionQueue
from pyk.clients.producer.sending.produce_call import ALL_WRITTEN, ProduceCall
from pyk.clients.producer.sending.produce_template import ProduceTemplate, ProduceTerms
from pyk.clients.topic_partition import TopicPartition
from pyk.protocol.messages.produce import (
    BatchIndexAndErrorMessage,
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
    TopicProduceResponse,
)
from pyk.protocol.records import RecordBatchBuilder
from support.producer_parts import make_identity

ORDERS, EVENTS = UUID(int=1), UUID(int=2)
TOPIC_IDS = {"orders": ORDERS, "events": EVENTS}
VERSIONS = range(3, 14)


def request_with(records: bytes | memoryview, topic_id: UUID = ORDERS) -> ProduceRequest:
    partition = PartitionProduceData(index=7, records=records)
    topic = TopicProduceData(name="orders", topic_id=topic_id, partition_data=[partition])
    return ProduceRequest(acks=-1, timeout_ms=30_000, topic_data=[topic])


def answer_with(
    topic_id: UUID = ORDERS, index: int = 7, throttle_time_ms: int = 0, **more: object
) -> ProduceResponse:
    """The answer of a topic that stamps its records, and whose log does not begin at 0."""
    partition = PartitionProduceResponse(
        index=index, base_offset=2**40, log_append_time_ms=1_700_000_000_000, log_start_offset=12
    )
    for name, value in more.items():
        setattr(partition, name, value)
    topic = TopicProduceResponse(name="orders", topic_id=topic_id, partition_responses=[partition])
    return ProduceResponse(responses=[topic], throttle_time_ms=throttle_time_ms)


def new_call(acks: int = -1) -> ProduceCall:
    return ProduceCall(NodeTraffic(1), ProduceTerms(acks, 30_000))


def queue_of(topic: str, partition: int) -> PartitionQueue:
    queue = PartitionQueue(TopicPartition(topic, partition), must_restart=True)
    queue.topic_id = TOPIC_IDS[topic]
    assert queue.restart(make_identity())
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
def test_a_template_encodes_the_same_bytes_as_the_codec(version: int, size: int) -> None:
    template = ProduceTemplate("orders", ORDERS, 7, version, ProduceTerms(-1, 30_000))
    records = bytearray(size)

    parts = template.fill(records, bytearray(b"header"))

    assert b"".join(parts) == b"header" + request_with(records).encode(version)


@pytest.mark.parametrize("version", VERSIONS)
def test_requests_of_a_partition_follow_each_other_with_their_own_records(version: int) -> None:
    queue = queue_of("orders", 7)
    first, second = new_call(), new_call()
    batches = [add_batch(first, queue, b"a"), add_batch(second, queue, b"b" * 200)]

    for call, batch in zip((first, second), batches, strict=True):
        assert encoded(call, version) == b"header" + request_with(batch.data).encode(version)


def test_a_topic_that_was_created_again_is_named_by_its_new_id() -> None:
    queue = queue_of("orders", 7)
    first, second = new_call(), new_call()
    add_batch(first, queue)
    encoded(first, 13)
    queue.topic_id = EVENTS
    batch = add_batch(second, queue)

    assert encoded(second, 13) == b"header" + request_with(batch.data, EVENTS).encode(13)


def test_a_broker_of_another_version_gets_the_request_in_that_version() -> None:
    queue = queue_of("orders", 7)
    call = new_call()
    batch = add_batch(call, queue)

    for version in (13, 3, 13):
        assert encoded(call, version) == b"header" + request_with(batch.data).encode(version)


def test_batches_of_several_partitions_share_a_request() -> None:
    call = new_call(acks=1)
    places = [("orders", 0), ("events", 0), ("orders", 1)]
    for topic, partition in places:
        add_batch(call, queue_of(topic, partition))

    request, _ = ProduceRequest.decode_prefix(encoded(call, 13)[len(b"header") :], 13)

    assert [
        (topic.topic_id, [data.index for data in topic.partition_data])
        for topic in request.topic_data
    ] == [(ORDERS, [0, 1]), (EVENTS, [0])]


def test_a_topic_without_an_id_keeps_the_request_to_the_versions_with_names() -> None:
    known, unknown = queue_of("orders", 0), queue_of("events", 0)
    unknown.topic_id = None
    call = new_call()

    add_batch(call, known)
    assert 13 in call.within

    add_batch(call, unknown)
    assert 13 not in call.within


@pytest.mark.parametrize("is_named", [True, False])
def test_each_batch_gets_the_first_answer_of_its_partition(is_named: bool) -> None:
    call = new_call()
    for topic, partition in (("orders", 0), ("events", 0), ("orders", 1), ("orders", 2)):
        add_batch(call, queue_of(topic, partition))
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


def one_batch_in(version: int) -> tuple[ProduceCall, ProducerBatch]:
    """A call with one batch that was encoded in a version."""
    call = new_call()
    batch = add_batch(call, queue_of("orders", 7))
    encoded(call, version)
    return call, batch


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview])
def test_the_answer_that_a_batch_was_written_is_read_without_the_codec(
    version: int, kind: type
) -> None:
    call, batch = one_batch_in(version)
    frame = kind(b"head" + answer_with().encode(version))

    assert call.read_response(frame, version, 4) is ALL_WRITTEN

    decoded = ProduceResponse.decode(frame, version, 4).responses[0].partition_responses[0]
    assert batch.base_offset == decoded.base_offset == 2**40
    assert batch.log_append_time == decoded.log_append_time_ms


@pytest.mark.parametrize("version", [8, 13])
@pytest.mark.parametrize(
    "answer",
    [
        answer_with(error_code=6),
        answer_with(error_code=-1),
        answer_with(throttle_time_ms=1),
        answer_with(index=8),
        answer_with(error_message="no"),
        answer_with(record_errors=[BatchIndexAndErrorMessage(batch_index=0)]),
        ProduceResponse(responses=[]),
        ProduceResponse(responses=answer_with().responses * 2),
    ],
)
def test_any_other_answer_is_left_to_the_codec(answer: ProduceResponse, version: int) -> None:
    call, batch = one_batch_in(version)

    assert call.read_response(answer.encode(version), version, 0) is None
    assert batch.base_offset == -1


def test_an_answer_of_another_topic_id_is_left_to_the_codec() -> None:
    call, _ = one_batch_in(13)

    assert call.read_response(answer_with(EVENTS).encode(13), 13, 0) is None


@pytest.mark.parametrize("version", [8, 13])
def test_an_answer_that_was_cut_or_goes_on_is_left_to_the_codec(version: int) -> None:
    call, _ = one_batch_in(version)
    whole = answer_with().encode(version)

    for size in range(len(whole)):
        assert call.read_response(whole[:size], version, 0) is None
    assert call.read_response(whole + b"\0", version, 0) is None


def test_the_answer_to_several_batches_is_left_to_the_codec() -> None:
    call = new_call()
    for partition in (7, 8):
        add_batch(call, queue_of("orders", partition))
    encoded(call, 13)

    assert call.read_response(answer_with().encode(13), 13, 0) is None


def test_an_answer_is_left_to_the_codec_once_its_partition_was_sent_to_in_another_version() -> None:
    queue = queue_of("orders", 7)
    first, second = new_call(), new_call()
    add_batch(first, queue)
    add_batch(second, queue)
    encoded(first, 13)
    encoded(second, 12)

    assert first.read_response(answer_with().encode(13), 13, 0) is None
