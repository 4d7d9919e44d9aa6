"""kafka-python with the reference broker."""

from __future__ import annotations

from typing import Any

import pytest

pytestmark = pytest.mark.conformance

kafka = pytest.importorskip("kafka")
admin = pytest.importorskip("kafka.admin")

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
