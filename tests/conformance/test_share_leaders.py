"""Share consumers go on when a leader of Apache Kafka dies, and lose no record."""

from __future__ import annotations

import threading
from collections import Counter

import pytest

from pyk.clients import (
    Admin,
    AlterConfig,
    ConfigResource,
    ConfigResourceType,
    NewTopic,
    Producer,
    ShareConsumer,
)
from pyk.clients.errors import KafkaError
from support import apache_kafka
from support.apache_kafka import ApacheKafkaCluster
from support.real_time import eventually

pytestmark = pytest.mark.conformance
RECORDS = 3000
CONFIG = {
    "group.share.min.record.lock.duration.ms": "1000",
    "group.share.record.lock.duration.ms": "5000",
}


def test_records_are_handled_while_a_broker_dies_and_comes_back() -> None:
    if why := apache_kafka.missing():
        pytest.skip(why)
    handled = Counter[bytes]()
    stopping = threading.Event()
    with ApacheKafkaCluster(3, config=CONFIG) as kafka:
        group = ConfigResource(ConfigResourceType.GROUP, "shared")
        with Admin(kafka.bootstrap) as admin:
            admin.create_topics([NewTopic("shared", partitions=6, replication_factor=3)])
            begin = AlterConfig("share.auto.offset.reset", "earliest")
            admin.incremental_alter_configs({group: [begin]})

        def read() -> None:
            options = {"topics": ["shared"], "group_id": "shared", "max_poll_records": 50}
            with ShareConsumer(kafka.bootstrap, **options) as consumer:  # type: ignore[arg-type]
                while not stopping.is_set():
                    try:
                        handled.update(record.value for record in consumer.poll(0.5))
                    except KafkaError:
                        continue

        readers = [threading.Thread(target=read) for _ in range(2)]
        for reader in readers:
            reader.start()
        with Producer(kafka.bootstrap) as producer:
            for number in range(RECORDS):
                producer.send("shared", b"%d" % number)
                if number == RECORDS // 3:
                    producer.flush()
                    eventually(lambda: len(handled) > 100, timeout=60)
                    kafka.nodes[1].kill()
                if number == 2 * RECORDS // 3:
                    producer.flush()
                    kafka.nodes[1].start()

        try:
            eventually(lambda: len(handled) == RECORDS, timeout=120)
        finally:
            stopping.set()
            for reader in readers:
                reader.join()
