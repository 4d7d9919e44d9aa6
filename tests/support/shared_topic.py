"""Topics that one share group reads from the beginning, at a broker where locks are short."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from pyk.clients import (
    Admin,
    AlterConfig,
    ConfigResource,
    ConfigResourceType,
    NewTopic,
    Producer,
    ShareConsumer,
    TopicPartition,
)
from pyk.reference_broker import Cluster
from support import apache_kafka
from support.apache_kafka import ApacheKafkaCluster

LOCK_SECONDS = 2
CONFIG = {
    "group.share.min.record.lock.duration.ms": "1000",
    "group.share.record.lock.duration.ms": str(LOCK_SECONDS * 1000),
}
BROKERS = ["reference", pytest.param("apache", marks=pytest.mark.conformance)]

_numbers = itertools.count()


class Shared:
    """One topic, and a share group that reads it from the beginning."""

    def __init__(self, bootstrap: str, name: str, **configs: str) -> None:
        self.bootstrap = bootstrap
        self.topic = self.group = f"{name}-{next(_numbers)}"
        self.p0 = TopicPartition(self.topic, 0)
        group = ConfigResource(ConfigResourceType.GROUP, self.group)
        configs = {"share_auto_offset_reset": "earliest", **configs}
        changes = [AlterConfig(name.replace("_", "."), value) for name, value in configs.items()]
        self.create()
        with Admin(bootstrap) as admin:
            admin.incremental_alter_configs({group: changes})

    def create(self) -> None:
        """Create the topic."""
        with Admin(self.bootstrap) as admin:
            admin.create_topics([NewTopic(self.topic, partitions=1)])

    def produce(self, *values: bytes) -> None:
        """Write the values as one batch."""
        with Producer(self.bootstrap, linger_ms=50) as producer:
            for value in values:
                producer.send(self.topic, value, partition=0)

    def consumer(self, **options: Any) -> ShareConsumer[Any, Any]:
        return ShareConsumer(self.bootstrap, topics=[self.topic], group_id=self.group, **options)


@contextmanager
def broker_with_short_locks(kind: str) -> Iterator[str]:
    """Run a broker where locks of records last for two seconds; yield its address."""
    if kind == "reference":
        with Cluster(config=CONFIG) as cluster:
            yield cluster.bootstrap
        return
    if why := apache_kafka.missing():
        pytest.skip(why)
    with ApacheKafkaCluster(1, config=CONFIG) as kafka:
        yield kafka.bootstrap


def poll(consumer: ShareConsumer[Any, Any], count: int = 1, seconds: float = 30) -> list[Any]:
    """Return the records of the first poll that has some; there must be so many."""
    until = time.monotonic() + seconds
    while not (records := list(consumer.poll(1.0))):
        assert time.monotonic() < until
    assert len(records) == count
    return records
