"""Transactions of librdkafka on two kinds of brokers, read and managed by pyk."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator
from typing import Any

import pytest

from pyk.clients import (
    AbortTransactionSpec,
    Admin,
    Consumer,
    NewTopic,
    Producer,
    ProducerState,
    TopicPartition,
    TransactionState,
)
from pyk.reference_broker import Cluster
from support import apache_kafka
from support.apache_kafka import ApacheKafkaCluster
from support.real_time import eventually

pytestmark = pytest.mark.conformance

confluent_kafka = pytest.importorskip("confluent_kafka")
_numbers = itertools.count()
PARTITIONS = 3


@pytest.fixture(scope="module", params=["reference", "apache, three nodes"])
def bootstrap(request: pytest.FixtureRequest) -> Iterator[str]:
    if request.param == "reference":
        with Cluster() as cluster:
            yield cluster.bootstrap
        return
    if why := apache_kafka.missing():
        pytest.skip(why)
    with ApacheKafkaCluster(3) as kafka:
        yield kafka.bootstrap


@pytest.fixture
def topic(bootstrap: str) -> str:
    name = f"transactions-{next(_numbers)}"
    with Admin(bootstrap) as admin:
        admin.create_topics([NewTopic(name, PARTITIONS)])
    return name


def transactional(bootstrap: str, transactional_id: str) -> Any:
    options = {"bootstrap.servers": bootstrap, "transactional.id": transactional_id}
    producer = confluent_kafka.Producer(options)
    producer.init_transactions(30)
    return producer


def write_transactions(bootstrap: str, topic: str, *, seed: int) -> set[bytes]:
    """Interleave transactions of three producers with plain records; return what is committed."""
    chance = random.Random(seed)
    writers = [transactional(bootstrap, f"{topic}-{n}") for n in range(3)]
    numbers = itertools.count()
    committed: set[bytes] = set()
    written: dict[int, set[bytes]] = {}
    with Producer(bootstrap) as plain:
        for _ in range(150):
            choice = chance.randrange(len(writers))
            writer = writers[choice]
            value = b"%d" % next(numbers)
            match chance.choice(["write", "write", "write", "plain", "end"]):
                case "write":
                    if choice not in written:
                        writer.begin_transaction()
                        written[choice] = set()
                    writer.produce(topic, value, partition=chance.randrange(PARTITIONS))
                    assert writer.flush(30) == 0
                    written[choice].add(value)
                case "plain":
                    partition = chance.randrange(PARTITIONS)
                    plain.send_and_wait(topic, value, partition=partition)
                    committed.add(value)
                case "end" if choice in written:
                    if chance.random() < 0.5:
                        writer.commit_transaction(30)
                        committed |= written[choice]
                    else:
                        writer.abort_transaction(30)
                    del written[choice]
    for choice in written:
        writers[choice].abort_transaction(30)
    return committed


def end_of(bootstrap: str, topic: str) -> dict[TopicPartition, int]:
    """Return the last stable offsets, once they are the ends of the log."""
    with (
        Consumer(bootstrap, isolation_level="read_committed") as committed,
        Consumer(bootstrap) as plain,
    ):
        partitions = [TopicPartition(topic, n) for n in range(PARTITIONS)]
        eventually(
            lambda: committed.end_offsets(partitions) == plain.end_offsets(partitions), timeout=30
        )
        return plain.end_offsets(partitions)


def reader(bootstrap: str, topic: str, **options: Any) -> Consumer[Any, Any]:
    consumer: Consumer[Any, Any] = Consumer(
        bootstrap, auto_offset_reset="earliest", isolation_level="read_committed", **options
    )
    consumer.assign([TopicPartition(topic, n) for n in range(PARTITIONS)])
    return consumer


def has_read(consumer: Consumer[Any, Any], ends: dict[TopicPartition, int]) -> bool:
    return all(consumer.position(partition) == end for partition, end in ends.items())


@pytest.mark.parametrize("seed", [1, 2])
def test_exactly_what_was_committed_is_read_by_polls_columns_and_iteration(
    bootstrap: str, topic: str, seed: int
) -> None:
    committed = write_transactions(bootstrap, topic, seed=seed)
    ends = end_of(bootstrap, topic)
    polled: list[Any] = []
    columns: list[Any] = []
    iterated: list[Any] = []

    with reader(bootstrap, topic, max_partition_fetch_bytes=300) as consumer:
        while not has_read(consumer, ends):
            polled += [record.value for record in consumer.poll(1.0, max_records=7)]
    with reader(bootstrap, topic) as consumer:
        while not has_read(consumer, ends):
            columns += consumer.poll(1.0).to_arrow(["value"])["value"].to_pylist()
    with reader(bootstrap, topic) as consumer:
        for record in consumer:
            iterated.append(record.value)
            if len(iterated) == len(committed):
                break

    assert len(polled) == len(columns) == len(iterated) == len(committed)
    assert set(polled) == set(columns) == set(iterated) == committed


def test_an_offset_in_an_open_transaction_is_waited_for(bootstrap: str, topic: str) -> None:
    group = f"{topic}-group"
    with Producer(bootstrap) as plain:
        for number in range(4):
            plain.send_and_wait(topic, b"%d" % number, partition=0)
    writer = transactional(bootstrap, topic)
    writer.begin_transaction()
    offset = confluent_kafka.TopicPartition(topic, 0, 3)
    outsider = confluent_kafka.Consumer({"bootstrap.servers": bootstrap, "group.id": group})
    writer.send_offsets_to_transaction([offset], outsider.consumer_group_metadata(), 30)
    values: list[Any] = []

    with reader(bootstrap, topic, group_id=group, enable_auto_commit=False) as consumer:
        for _ in range(4):
            assert list(consumer.poll(0.5)) == []
        assert consumer.health().is_healthy

        writer.commit_transaction(30)
        while not values:
            values += [record.value for record in consumer.poll(0.5)]

    assert values == [b"3"]
    outsider.close()


class TestAdmin:
    def test_an_open_transaction_is_described(self, bootstrap: str, topic: str) -> None:
        writer = transactional(bootstrap, topic)
        writer.begin_transaction()
        writer.produce(topic, b"open", partition=1)
        assert writer.flush(30) == 0
        place = TopicPartition(topic, 1)

        with Admin(bootstrap) as admin:
            described = admin.describe_transactions([topic])[topic]
            listed = admin.list_transactions(
                states=[TransactionState.ONGOING], producer_ids=[described.producer_id]
            )
            old = admin.list_transactions(duration_ms=3_600_000, transactional_id_pattern=topic)
            (producer,) = admin.describe_producers([place])[place]
            writer.abort_transaction(30)

        assert described.state is TransactionState.ONGOING
        assert described.topic_partitions == {place}
        assert described.transaction_timeout_ms == 60_000
        assert [(one.transactional_id, one.coordinator_id) for one in listed] == [
            (topic, described.coordinator_id)
        ]
        assert old == []
        assert (producer.producer_id, producer.last_sequence) == (described.producer_id, 0)
        assert producer.current_transaction_start_offset == 0

    def test_fencing_aborts_the_transaction_and_ends_the_producer(
        self, bootstrap: str, topic: str
    ) -> None:
        writer = transactional(bootstrap, topic)
        writer.begin_transaction()
        writer.produce(topic, b"fenced", partition=0)
        assert writer.flush(30) == 0

        with Admin(bootstrap) as admin:
            before = admin.describe_transactions([topic])[topic]
            fenced = admin.fence_producers([topic])[topic]

        assert fenced.epoch > before.producer_epoch
        with pytest.raises(confluent_kafka.KafkaException) as caught:
            writer.commit_transaction(30)
        assert caught.value.args[0].fatal()

    def test_a_hanging_transaction_is_aborted(self, bootstrap: str, topic: str) -> None:
        writer = transactional(bootstrap, topic)
        writer.begin_transaction()
        writer.produce(topic, b"hangs", partition=2)
        assert writer.flush(30) == 0
        place = TopicPartition(topic, 2)

        with (
            Admin(bootstrap) as admin,
            Consumer(bootstrap, isolation_level="read_committed") as consumer,
        ):
            (producer,) = admin.describe_producers([place])[place]
            assert consumer.end_offsets([place]) == {place: 0}

            admin.abort_transaction(spec_of(place, producer))

            eventually(lambda: consumer.end_offsets([place]) == {place: 2})
            (after,) = admin.describe_producers([place])[place]
            assert after.current_transaction_start_offset is None


def spec_of(place: TopicPartition, producer: ProducerState) -> AbortTransactionSpec:
    return AbortTransactionSpec(
        place, producer.producer_id, producer.producer_epoch, producer.coordinator_epoch or 0
    )
