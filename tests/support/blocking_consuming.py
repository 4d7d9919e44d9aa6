"""Blocking consumers on real sockets, and records for them."""

from __future__ import annotations

import time
from typing import Any

from pyk.clients import Consumer, Producer, TopicPartition
from pyk.reference_broker import Cluster


def produce(cluster: Cluster, topic: str, count: int, **options: Any) -> None:
    """Write values 0, 1, 2 … to the three partitions in turn."""
    with Producer[bytes, bytes](cluster.bootstrap, **options) as producer:
        for n in range(count):
            producer.send(topic, b"%d" % n, b"key %d" % n, partition=n % 3)


def partitions(topic: str) -> list[TopicPartition]:
    return [TopicPartition(topic, number) for number in range(3)]


def reader(cluster: Cluster, topic: str | None = None, **options: Any) -> Consumer[Any, Any]:
    """Return a consumer that begins at the beginning."""
    options.setdefault("auto_offset_reset", "earliest")
    return Consumer(cluster.bootstrap, topics=None if topic is None else [topic], **options)


def read(consumer: Consumer[Any, Any], count: int, timeout: float = 20.0) -> list[Any]:
    """Return the values of so many records."""
    values: list[Any] = []
    deadline = time.monotonic() + timeout
    while len(values) < count:
        assert time.monotonic() < deadline, f"{len(values)} of {count} records came"
        values += [record.value for record in consumer.poll(0.2)]
    return values
