"""Partitions that several nodes lead are read concurrently, also while one node is slow or down."""

from __future__ import annotations

import contextlib
from collections import Counter

from pyk.clients import Consumer, KafkaError, Producer, TopicPartition
from support.brokers import Kafka, make_topic
from support.real_time import eventually

PARTITIONS = 6


def fill(kafka: Kafka, topic: str, count: int) -> None:
    with Producer(kafka.bootstrap, linger_ms=5) as producer:
        for number in range(count):
            producer.send(topic, b"x" * 1000, partition=number % PARTITIONS)


def test_a_slow_application_gets_records_of_all_partitions(kafka: Kafka) -> None:
    topic = make_topic(kafka, "shares", partitions=PARTITIONS)
    fill(kafka, topic, 3_000)

    with Consumer(
        kafka.bootstrap, auto_offset_reset="earliest", buffer_memory=300_000,
        max_partition_fetch_bytes=50_000, fetch_max_bytes=100_000,
    ) as consumer:  # fmt: skip
        consumer.assign([TopicPartition(topic, number) for number in range(PARTITIONS)])
        # A node may answer late, so wait until records of every partition are buffered.
        eventually(lambda: consumer.stats().buffered_bytes >= 250_000)
        read_from = Counter[int]()
        while read_from.total() < 3_000:
            read_from.update(record.partition for record in consumer.poll(10, max_records=50))
            if read_from.total() < 900:
                assert max(read_from.values()) < 500, "one partition is read to its end first"

        assert read_from == dict.fromkeys(range(PARTITIONS), 500)
        assert consumer.health().is_healthy


def test_all_partitions_are_read_after_a_node_was_killed(kafka: Kafka) -> None:
    topic = make_topic(kafka, "survives", partitions=PARTITIONS)
    fill(kafka, topic, 60)

    with Consumer(kafka.bootstrap, auto_offset_reset="earliest") as consumer:
        consumer.assign([TopicPartition(topic, number) for number in range(PARTITIONS)])
        read_from = Counter[int]()

        def has_read(count: int) -> bool:
            # A long outage raises; reading continues afterwards.
            with contextlib.suppress(KafkaError):
                read_from.update(record.partition for record in consumer.poll(0.5))
            return read_from == dict.fromkeys(range(PARTITIONS), count)

        eventually(lambda: has_read(10))
        kafka.kill_and_restart()
        fill(kafka, topic, 60)
        eventually(lambda: has_read(20))
