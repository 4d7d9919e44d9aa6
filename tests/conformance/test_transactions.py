"""Transactions of the producer: on the reference broker, and on Apache Kafka in both versions."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator
from typing import Protocol

import pytest

from pyk.clients import Consumer, PreparedTransaction, Producer, TopicPartition
from pyk.clients.errors import (
    PreparedTransactionEndedError,
    ProducerFencedError,
    RecordTooLargeError,
    TransactionAbortableError,
)
from pyk.reference_broker import Cluster
from support import apache_kafka
from support.apache_kafka import ApacheKafka

_numbers = itertools.count()
READ = TopicPartition("payments", 0)


class Broker(Protocol):
    """A broker that these scenarios run on."""

    @property
    def bootstrap(self) -> str: ...


@pytest.fixture(
    scope="module",
    params=[
        "reference",
        pytest.param("apache, version 1", marks=pytest.mark.conformance),
        pytest.param("apache, version 2", marks=pytest.mark.conformance),
    ],
)
def kafka(request: pytest.FixtureRequest) -> Iterator[Broker]:
    """A broker that aborts quickly what timed out; its ``transaction.version`` is 2 or 1."""
    config = {"transaction.abort.timed.out.transaction.cleanup.interval.ms": "200"}
    if request.param == "reference":
        with Cluster(config=config) as cluster:
            yield cluster
        return
    if why := apache_kafka.missing():
        pytest.skip(why)
    with ApacheKafka(config=config) as broker:
        if request.param == "apache, version 1":
            set_transaction_version(broker, 1)
        yield broker


@pytest.fixture
def name(request: pytest.FixtureRequest) -> str:
    """A name for the topic and the transactional id of a test."""
    return f"{request.node.originalname[:60]}-{next(_numbers)}"


def set_transaction_version(broker: ApacheKafka, level: int) -> None:
    """Finalize another level with Kafka's own tool; a downgrade is one that loses nothing."""
    change = ["downgrade" if level < 2 else "upgrade", "--feature", f"transaction.version={level}"]
    arguments = ("--bootstrap-server", broker.bootstrap, *change)
    done = apache_kafka.tool("org.apache.kafka.tools.FeatureCommand", *arguments)
    assert done.returncode == 0, done.stdout + done.stderr


def committed_values(broker: Broker, topic: str) -> list[bytes | None]:
    """Return what a consumer sees that reads what is committed, behind a record that ends it."""
    with Producer(broker.bootstrap) as producer:
        end = producer.send_and_wait(topic, b"the end").offset
    with Consumer(
        broker.bootstrap, auto_offset_reset="earliest", isolation_level="read_committed"
    ) as consumer:
        consumer.assign([TopicPartition(topic, 0)])
        values: list[bytes | None] = []
        give_up_at = time.monotonic() + 30
        while consumer.position(TopicPartition(topic, 0)) <= end:
            assert time.monotonic() < give_up_at, "a transaction was left open"
            values += [record.value for record in consumer.poll(1.0)]
    return values[:-1]


def test_commits_are_visible_and_aborts_are_not(kafka: Broker, name: str) -> None:
    with Producer(kafka.bootstrap, transactional_id=name) as producer:
        for number in range(6):
            producer.begin_transaction()
            producer.send_and_wait(name, b"%d" % number)
            if number % 2:
                producer.abort_transaction()
            else:
                producer.commit_transaction()
        producer.begin_transaction()
        producer.commit_transaction()

    assert committed_values(kafka, name) == [b"0", b"2", b"4"]


def test_offsets_of_a_consumer_are_committed_with_the_transaction(kafka: Broker, name: str) -> None:
    with Producer(kafka.bootstrap) as producer:
        for number in range(4):
            producer.send_and_wait(f"{name}-in", b"%d" % number)
    options = {
        "group_id": name,
        "enable_auto_commit": False,
        "auto_offset_reset": "earliest",
        "isolation_level": "read_committed",  # committed() waits for the marker then
        "topics": [f"{name}-in"],
    }
    with (
        Consumer(kafka.bootstrap, **options) as consumer,  # type: ignore[arg-type]
        Producer(kafka.bootstrap, transactional_id=name) as producer,
    ):
        written = 0
        while written < 4:
            with producer.transaction() as transaction:
                for record in consumer.poll(5.0, max_records=2):
                    producer.send(name, record.value)
                    written += 1
                transaction.send_offsets(consumer)
        place = TopicPartition(f"{name}-in", 0)
        found = consumer.committed([place])[place]

    assert found is not None
    assert found.offset == 4
    assert committed_values(kafka, name) == [b"0", b"1", b"2", b"3"]


def test_a_batch_that_is_refused_costs_its_transaction_only(kafka: Broker, name: str) -> None:
    with Producer(kafka.bootstrap, transactional_id=name, max_request_size=8_000_000) as producer:
        producer.begin_transaction()
        delivery = producer.send(name, bytes(2_000_000))
        with pytest.raises(TransactionAbortableError):
            producer.commit_transaction()
        assert isinstance(delivery.exception(1), RecordTooLargeError)
        producer.abort_transaction()
        with producer.transaction():
            producer.send(name, b"next")

    assert committed_values(kafka, name) == [b"next"]


def test_a_later_producer_takes_over_and_what_was_open_is_aborted(kafka: Broker, name: str) -> None:
    with Producer(kafka.bootstrap, transactional_id=name) as first:
        first.begin_transaction()
        first.send_and_wait(name, b"first")
        with Producer(kafka.bootstrap, transactional_id=name) as second:
            with pytest.raises(ProducerFencedError):
                first.commit_transaction()
            with second.transaction():
                second.send(name, b"second")

    assert committed_values(kafka, name) == [b"second"]


def test_a_prepared_transaction_is_ended_by_another_producer(kafka: Broker, name: str) -> None:
    with Producer(kafka.bootstrap, transactional_id=name) as producer:
        producer.begin_transaction()
        producer.send(name, b"prepared")
        text = producer.prepare_transaction().to_json()

    prepared = PreparedTransaction.from_json(text)
    with Producer(kafka.bootstrap) as other:
        other.complete_transaction(prepared)
        other.complete_transaction(prepared)
        with pytest.raises(PreparedTransactionEndedError):
            other.complete_transaction(prepared, commit=False)

    assert committed_values(kafka, name) == [b"prepared"]


def test_a_prepared_transaction_that_timed_out_is_not_committed(kafka: Broker, name: str) -> None:
    with Producer(kafka.bootstrap, transactional_id=name, transaction_timeout_ms=500) as producer:
        producer.begin_transaction()
        producer.send(name, b"too late")
        prepared = producer.prepare_transaction()

    assert committed_values(kafka, name) == []  # which waits for the abort
    with Producer(kafka.bootstrap) as other, pytest.raises(PreparedTransactionEndedError):
        other.complete_transaction(prepared)


@pytest.mark.conformance
def test_transactions_of_a_cluster_without_version_2(name: str) -> None:
    if why := apache_kafka.missing():
        pytest.skip(why)
    with (
        ApacheKafka(version=apache_kafka.LAST_OF_3) as broker,
        Producer(broker.bootstrap, transactional_id=name) as producer,
    ):
        for number in range(6):
            producer.begin_transaction()
            producer.send_and_wait(name, b"%d" % number)
            if number % 2:
                producer.abort_transaction()
            else:
                producer.commit_transaction()
        producer.begin_transaction()
        producer.commit_transaction()
        producer.begin_transaction()
        producer.send(name, b"prepared")
        prepared = producer.prepare_transaction()
        with Producer(broker.bootstrap) as other:
            other.complete_transaction(prepared)
            other.complete_transaction(prepared)

        values = committed_values(broker, name)

    assert prepared.version == 1
    assert values == [b"0", b"2", b"4", b"prepared"]


@pytest.mark.conformance
def test_a_producer_follows_a_cluster_that_changes_its_version(name: str) -> None:
    if why := apache_kafka.missing():
        pytest.skip(why)
    with (
        ApacheKafka() as broker,
        Producer(broker.bootstrap, transactional_id=name, metadata_max_age_ms=100) as producer,
    ):
        for level in (2, 1, 2):
            if level != 2 or producer.stats().delivered_records:
                set_transaction_version(broker, level)
            for number in range(3):
                time.sleep(0.15)  # until the producer looks at the features again
                with producer.transaction():
                    producer.send(name, b"%d-%d" % (level, number))

        values = committed_values(broker, name)

    assert values == [b"2-0", b"2-1", b"2-2", b"1-0", b"1-1", b"1-2", b"2-0", b"2-1", b"2-2"]
