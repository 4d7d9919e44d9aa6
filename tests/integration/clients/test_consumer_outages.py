"""The blocking consumer with a broker that is down, restarts or returns corrupt records."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from pyk.clients import (
    BootstrapError,
    Consumer,
    CorruptRecordError,
    KafkaTimeoutError,
    Producer,
    TopicPartition,
)
from pyk.reference_broker import Cluster
from support.blocking_consuming import partitions, produce, read, reader
from support.real_time import IN_TIME, took


def test_a_port_without_a_listener_raises_one_bootstrap_error_soon():
    before = time.monotonic()

    with pytest.raises(BootstrapError, match=r"127\.0\.0\.1:1"), Consumer("127.0.0.1:1"):
        pass

    assert time.monotonic() - before < IN_TIME


def test_calls_end_at_their_timeouts_when_the_broker_is_down(tmp_path: Path):
    with Cluster(data_dir=tmp_path) as cluster:
        cluster.create_topic("orders", partitions=3)
        produce(cluster, "orders", 30)
        consumer = reader(cluster, "orders", group_id="g")
        read(consumer, 30)
        cluster.kill()

        assert took(lambda: consumer.poll(0.3)) < IN_TIME
        for call in (
            lambda: consumer.commit(timeout=0.3),
            lambda: consumer.end_offsets(partitions("orders"), timeout=0.3),
            lambda: consumer.committed(partitions("orders"), timeout=0.3),
        ):
            before = time.monotonic()
            with pytest.raises(KafkaTimeoutError):
                call()
            assert time.monotonic() - before < IN_TIME
        assert took(lambda: consumer.close(1)) < IN_TIME


def test_reading_continues_after_the_broker_restarts(tmp_path: Path):
    with Cluster(data_dir=tmp_path) as cluster:
        cluster.create_topic("orders", partitions=3)
        produce(cluster, "orders", 30)
        with reader(cluster, "orders", group_id="g") as consumer:
            assert len(read(consumer, 30)) == 30
            cluster.kill()
            cluster.start()
            produce(cluster, "orders", 30)
            assert len(read(consumer, 30)) >= 30


def test_corrupt_records_raise_and_can_be_skipped(cluster, topic):
    with Producer(cluster.bootstrap, linger_ms=0) as producer:
        for n in range(3):
            producer.send_and_wait(topic, b"value %d" % n, partition=0)
    partition = TopicPartition(topic, 0)

    with reader(cluster) as consumer, cluster.faults.on("Fetch").corrupt(-8):
        consumer.assign([partition])
        assert [record.value for record in consumer.poll(5)] == [b"value 0", b"value 1"]
        for _ in range(2):
            with pytest.raises(CorruptRecordError) as caught:
                consumer.poll(5)
        assert caught.value.offset == consumer.position(partition) == 2
    with reader(cluster) as consumer:
        consumer.assign([partition])
        assert len(read(consumer, 3)) == 3
