"""kafka-python with the reference broker."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

pytestmark = pytest.mark.conformance

kafka = pytest.importorskip("kafka")
admin = pytest.importorskip("kafka.admin")
structs = pytest.importorskip("kafka.structs")

VALUES = [b"%d" % number for number in range(500)]


def create(bootstrap: str, topic: str) -> None:
    client = admin.KafkaAdminClient(bootstrap_servers=bootstrap)
    client.create_topics([admin.NewTopic(topic, num_partitions=4, replication_factor=1)])
    client.close()


def produce(bootstrap: str, topic: str, **config: Any) -> None:
    producer = kafka.KafkaProducer(bootstrap_servers=bootstrap, **config)
    sent = [producer.send(topic, value=value, key=value) for value in VALUES]
    for each in sent:
        each.get(20)
    producer.close()


@pytest.mark.parametrize("codec", [None, "gzip", "lz4", "zstd"])
def test_records_of_every_codec_are_produced_and_consumed(
    bootstrap: str, codec: str | None
) -> None:
    topic = f"kafka-python-{codec}"
    create(bootstrap, topic)
    produce(bootstrap, topic, compression_type=codec)

    consumer = kafka.KafkaConsumer(
        topic,
        bootstrap_servers=bootstrap,
        group_id=topic,
        auto_offset_reset="earliest",
        consumer_timeout_ms=20_000,
    )
    found = [next(consumer).value for _ in VALUES]
    consumer.close()

    assert sorted(found) == sorted(VALUES)


def test_topics_and_configurations_are_administered(bootstrap: str) -> None:
    create(bootstrap, "kafka-python-admin")
    produce(bootstrap, "kafka-python-admin")
    client = admin.KafkaAdminClient(bootstrap_servers=bootstrap)

    assert "kafka-python-admin" in client.list_topics()
    client.delete_topics(["kafka-python-admin"])
    assert "kafka-python-admin" not in client.list_topics()
    client.close()


def test_offsets_are_committed_in_transactions(bootstrap: str) -> None:
    source, target = "kafka-python-source", "kafka-python-target"
    create(bootstrap, source)
    create(bootstrap, target)
    produce(bootstrap, source)
    consumer = kafka.KafkaConsumer(
        source,
        bootstrap_servers=bootstrap,
        group_id="kafka-python-mover",
        auto_offset_reset="earliest",
        enable_auto_commit=False,
        isolation_level="read_committed",
    )
    producer = kafka.KafkaProducer(
        bootstrap_servers=bootstrap, transactional_id="kafka-python-mover"
    )
    producer.init_transactions()

    move_in_transactions(consumer, producer, target)
    committed = [consumer.committed(each) or 0 for each in consumer.assignment()]
    consumer.close()
    producer.close()

    assert sum(committed) == len(VALUES)
    reader = kafka.KafkaConsumer(
        target,
        bootstrap_servers=bootstrap,
        auto_offset_reset="earliest",
        isolation_level="read_committed",
        consumer_timeout_ms=20_000,
    )
    found = [next(reader).value for _ in VALUES]
    reader.close()
    assert sorted(found) == sorted(VALUES)


def move_in_transactions(consumer: Any, producer: Any, target: str) -> None:
    """Copy all values to another topic, and abort every other transaction."""
    moved = 0
    for is_aborted in itertools.cycle([False, True]):
        batches: dict[Any, Any] = {}
        while not batches:
            batches = consumer.poll(timeout_ms=100, max_records=100)
        records = [record for batch in batches.values() for record in batch]
        producer.begin_transaction()
        for record in records:
            producer.send(target, value=record.value)
        offsets = {
            partition: structs.OffsetAndMetadata(each[-1].offset + 1, "", -1)
            for partition, each in batches.items()
        }
        producer.send_offsets_to_transaction(offsets, consumer.group_metadata())
        if is_aborted:
            producer.abort_transaction()
            for partition, each in batches.items():
                consumer.seek(partition, each[0].offset)
            continue
        producer.commit_transaction()
        moved += len(records)
        if moved == len(VALUES):
            return
