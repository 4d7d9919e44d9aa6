"""Transactions of confluent-kafka (librdkafka) with the coordinator of the reference broker."""

from __future__ import annotations

from typing import Any

import pytest

pytestmark = pytest.mark.conformance

confluent_kafka = pytest.importorskip("confluent_kafka")
admin = pytest.importorskip("confluent_kafka.admin")

TIMEOUT = 30


def create(bootstrap: str, *topics: str) -> None:
    client = admin.AdminClient({"bootstrap.servers": bootstrap})
    created = client.create_topics([admin.NewTopic(each, num_partitions=3) for each in topics])
    for topic in topics:
        created[topic].result(TIMEOUT)


def transactional_producer(bootstrap: str, transactional_id: str) -> Any:
    producer = confluent_kafka.Producer(
        {"bootstrap.servers": bootstrap, "transactional.id": transactional_id}
    )
    producer.init_transactions(TIMEOUT)
    return producer


def committed_reader(bootstrap: str, topic: str, group: str) -> Any:
    consumer = confluent_kafka.Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": group,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            "isolation.level": "read_committed",
        }
    )
    consumer.subscribe([topic])
    return consumer


def read(consumer: Any, count: int) -> list[bytes]:
    found: list[bytes] = []
    while len(found) < count:
        message = consumer.poll(TIMEOUT)
        assert message is not None, f"{len(found)} of {count} records in {TIMEOUT} s"
        assert message.error() is None
        found.append(message.value())
    return found


def test_readers_of_committed_records_see_what_was_committed(bootstrap: str) -> None:
    create(bootstrap, "confluent-tx")
    producer = transactional_producer(bootstrap, "confluent-tx")
    for number in range(6):
        producer.begin_transaction()
        for key in range(10):
            producer.produce("confluent-tx", b"%d" % number, b"%d" % key)
        if number % 2:
            producer.abort_transaction(TIMEOUT)
        else:
            producer.commit_transaction(TIMEOUT)

    consumer = committed_reader(bootstrap, "confluent-tx", "confluent-tx")
    try:
        assert sorted(read(consumer, 30)) == sorted([b"0", b"2", b"4"] * 10)
        assert consumer.poll(1) is None
    finally:
        consumer.close()


def test_a_second_producer_fences_the_first(bootstrap: str) -> None:
    create(bootstrap, "confluent-fenced")
    first = transactional_producer(bootstrap, "confluent-fenced")
    first.begin_transaction()
    first.produce("confluent-fenced", b"of the first")
    assert first.flush(TIMEOUT) == 0

    second = transactional_producer(bootstrap, "confluent-fenced")
    second.begin_transaction()
    second.produce("confluent-fenced", b"of the second")
    second.commit_transaction(TIMEOUT)

    with pytest.raises(confluent_kafka.KafkaException) as caught:
        first.commit_transaction(TIMEOUT)
    assert caught.value.args[0].code() == confluent_kafka.KafkaError._FENCED
    consumer = committed_reader(bootstrap, "confluent-fenced", "confluent-fenced")
    try:
        assert read(consumer, 1) == [b"of the second"]
    finally:
        consumer.close()


def test_offsets_are_committed_with_the_records(bootstrap: str) -> None:
    create(bootstrap, "confluent-in", "confluent-out")
    source = confluent_kafka.Producer({"bootstrap.servers": bootstrap})
    for number in range(20):
        source.produce("confluent-in", b"%d" % number, partition=0)
    assert source.flush(TIMEOUT) == 0
    producer = transactional_producer(bootstrap, "confluent-mover")
    consumer = committed_reader(bootstrap, "confluent-in", "confluent-movers")
    try:
        for is_committed in (False, True):
            values = read(consumer, 20)
            producer.begin_transaction()
            for value in values:
                producer.produce("confluent-out", value)
            producer.send_offsets_to_transaction(
                consumer.position(consumer.assignment()),
                consumer.consumer_group_metadata(),
                TIMEOUT,
            )
            if is_committed:
                producer.commit_transaction(TIMEOUT)
            else:
                producer.abort_transaction(TIMEOUT)
                consumer.seek(confluent_kafka.TopicPartition("confluent-in", 0, 0))
        (committed,) = consumer.committed(
            [confluent_kafka.TopicPartition("confluent-in", 0)], TIMEOUT
        )
    finally:
        consumer.close()

    assert committed.offset == 20
    reader = committed_reader(bootstrap, "confluent-out", "confluent-readers")
    try:
        assert sorted(read(reader, 20)) == sorted(b"%d" % number for number in range(20))
        assert reader.poll(1) is None
    finally:
        reader.close()
