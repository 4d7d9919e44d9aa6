"""Share consumers go on when leaders of Apache Kafka die, hang or move, and lose no record."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections import Counter
from collections.abc import Mapping
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


class Handlers:
    """What the handlers of ``process()`` have got, and what the brokers have confirmed."""

    def __init__(self) -> None:
        self.handled = Counter[bytes]()
        self.most_deliveries = 0
        self.confirmed: dict[tuple[TopicPartition, int], float] = {}
        self.delivered_again: list[tuple[TopicPartition, int]] = []
        """Records that were delivered although their acceptance was confirmed."""
        self._lock = threading.Lock()

    def handle(self, record: Any) -> None:
        name = TopicPartition(record.topic, record.partition), record.offset
        with self._lock:
            if name in self.confirmed:
                self.delivered_again.append(name)
            self.most_deliveries = max(self.most_deliveries, record.delivery_count)
        time.sleep(0.005)
        with self._lock:
            self.handled[record.value] += 1

    def acknowledged(
        self, offsets: Mapping[TopicPartition, tuple[range, ...]], error: KafkaError | None
    ) -> None:
        if error is None:
            with self._lock:
                for partition, ranges in offsets.items():
                    for each in ranges:
                        for offset in each:
                            self.confirmed[partition, offset] = time.monotonic()

    def run(self, consumer: ShareConsumer[bytes, bytes]) -> None:
        with consumer:
            consumer.set_acknowledgement_commit_callback(self.acknowledged)
            consumer.process(self.handle, concurrency=8)


def test_handlers_get_every_record_while_brokers_hang_and_leaders_move() -> None:
    if why := apache_kafka.missing():
        pytest.skip(why)
    handlers = Handlers()
    with ApacheKafkaCluster(3, config=CONFIG) as kafka:
        group = ConfigResource(ConfigResourceType.GROUP, "handled")
        topic = NewTopic("handled", partitions=6, replication_factor=3)
        with Admin(kafka.bootstrap) as admin:
            admin.create_topics([topic])
            begin = AlterConfig("share.auto.offset.reset", "earliest")
            admin.incremental_alter_configs({group: [begin]})
        consumers: list[ShareConsumer[bytes, bytes]] = [
            ShareConsumer(kafka.bootstrap, topics=["handled"], group_id="handled") for _ in range(2)
        ]
        threads = [threading.Thread(target=handlers.run, args=(one,)) for one in consumers]
        for thread in threads:
            thread.start()
        with Producer(kafka.bootstrap) as producer:
            for number in range(RECORDS):
                producer.send("handled", b"%d" % number)
                if number == RECORDS // 3:
                    producer.flush()
                    eventually(lambda: len(handlers.handled) > 100, timeout=60)
                    os.kill(kafka.nodes[1].pid, signal.SIGSTOP)
                if number == 2 * RECORDS // 3:
                    producer.flush()
                    os.kill(kafka.nodes[1].pid, signal.SIGCONT)
                    kafka.nodes[2].kill()
        kafka.nodes[2].start()

        try:
            eventually(lambda: len(handlers.handled) == RECORDS, timeout=120)
        finally:
            for one in consumers:
                one.wakeup()
            for thread in threads:
                thread.join()

    assert handlers.delivered_again == []
    assert handlers.most_deliveries <= 5
