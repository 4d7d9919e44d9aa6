"""A blocking producer in transactions: Ctrl-C anywhere, forked children, the end of a program."""

from __future__ import annotations

import contextlib
import subprocess
import sys
from typing import Any

import pytest

from pyk.clients import Consumer, PartitionState, Producer, TopicPartition
from pyk.clients.errors import ForkedClientError, KafkaError, KafkaTimeoutError
from pyk.reference_broker import Cluster
from support.forks import status_of_fork
from support.interrupts import interrupted_everywhere
from support.real_time import IN_TIME

pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")

LEAVES_OPEN = """
import sys
from pyk.clients import Producer

producer = Producer(sys.argv[1], transactional_id="billing")
producer.init_transactions()
producer.begin_transaction()
producer.send_and_wait(sys.argv[2], b"open")
"""


def committed_values(cluster: Cluster, topic: str) -> list[bytes | None]:
    """Return what is committed in all partitions, up to records behind everything else."""
    with Producer(cluster.bootstrap) as producer:
        partitions = sorted(producer.partitions_for(topic))
        ends = {
            TopicPartition(topic, number): producer.send_and_wait(
                topic, b"the end", partition=number
            ).offset
            for number in partitions
        }
    with Consumer(
        cluster.bootstrap, auto_offset_reset="earliest", isolation_level="read_committed"
    ) as consumer:
        consumer.assign(list(ends))
        values: list[bytes | None] = []
        while any(consumer.position(one) <= end for one, end in ends.items()):
            values += [record.value for record in consumer.poll(IN_TIME)]
    return [value for value in values if value != b"the end"]


class InterruptedTransactions:
    """Transactions whose calls are interrupted, and that are ended after each interrupt."""

    def __init__(self, cluster: Cluster, topic: str) -> None:
        self.topic = topic
        self.count = 0
        self.producer = Producer(cluster.bootstrap, transactional_id="billing")
        self.producer.init_transactions()

    def commit(self) -> None:
        """Write and commit one transaction, as the block of an application does."""
        self.count += 1
        with self.producer.transaction():
            self.producer.send(self.topic, b"%d" % self.count, partition=0)
            self.producer.send(self.topic, b"%d" % self.count, partition=1)

    def end(self, result: object) -> None:
        """End what the interrupt left: by the same call again, or by an abort."""
        for end in (self.producer.commit_transaction, self.producer.abort_transaction):
            try:
                end(IN_TIME)
            except KafkaError:
                continue
            break
        with self.producer.transaction():
            self.producer.send(self.topic, b"after", partition=0)


def test_a_block_that_is_interrupted_anywhere_is_whole_or_not_there(
    cluster: Cluster, topic: str
) -> None:
    it = InterruptedTransactions(cluster, topic)

    assert interrupted_everywhere(it.commit, it.end, step=3) > 0
    it.producer.close()

    values = [value for value in committed_values(cluster, topic) if value != b"after"]
    torn = {value for value in values if values.count(value) != 2}
    assert torn == set()


def test_a_consumer_goes_back_after_an_abort_and_not_after_a_commit(
    cluster: Cluster, topic: str
) -> None:
    with Producer(cluster.bootstrap) as source:
        for number in range(4):
            source.send_and_wait(topic, b"%d" % number, partition=0)
    with (
        Producer(cluster.bootstrap, transactional_id="billing") as producer,
        Consumer(
            cluster.bootstrap,
            group_id="billing",
            enable_auto_commit=False,
            auto_offset_reset="earliest",
            topics=[topic],
        ) as consumer,
    ):
        first = read(consumer, 2)
        with producer.transaction(consumer) as transaction:
            transaction.send_offsets(consumer)
        second = read(consumer, 1)
        with pytest.raises(ZeroDivisionError):
            fail_in_a_transaction(producer, consumer)
        again = read(consumer, 2)

    assert (first, second, again) == ([b"0", b"1"], [b"2"], [b"2", b"3"])


def read(consumer: Consumer[Any, Any], count: int) -> list[bytes | None]:
    """Return the next values, as many as asked for."""
    values: list[bytes | None] = []
    while len(values) < count:
        values += [one.value for one in consumer.poll(IN_TIME, max_records=count - len(values))]
    return values


def fail_in_a_transaction(producer: Producer[Any, Any], consumer: Consumer[Any, Any]) -> None:
    with producer.transaction(consumer) as transaction:
        transaction.send_offsets(consumer)
        raise ZeroDivisionError


def test_a_program_that_ends_in_a_transaction_aborts_it(cluster: Cluster, topic: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", LEAVES_OPEN, cluster.bootstrap, topic],
        check=False,
        capture_output=True,
        text=True,
        timeout=60,
    )

    assert done.returncode == 0, done.stderr
    assert committed_values(cluster, topic) == []


def test_a_forked_child_cannot_end_the_transaction_of_its_parent(
    cluster: Cluster, topic: str
) -> None:
    with (
        Producer(cluster.bootstrap, transactional_id="billing") as producer,
        producer.transaction(),
    ):
        producer.send_and_wait(topic, b"parent")
        assert status_of_fork(lambda: try_to_end(producer)) == 0

    assert committed_values(cluster, topic) == [b"parent"]


def try_to_end(producer: Producer[Any, Any]) -> int:
    """Return how many calls did not raise that the client is the parent's."""
    failures = 0
    for call in (producer.commit_transaction, producer.abort_transaction):
        try:
            call()
        except ForkedClientError:
            continue
        except BaseException:
            pass
        failures += 1
    producer.close()
    return failures


class InterruptedBilling:
    """Records that are read and written in one block, which is interrupted."""

    def __init__(self, cluster: Cluster, source: str, target: str) -> None:
        self.target = target
        self.points = 0
        self.producer = Producer(cluster.bootstrap, transactional_id=source)
        self.consumer = Consumer(
            cluster.bootstrap,
            group_id=source,
            enable_auto_commit=False,
            auto_offset_reset="earliest",
            isolation_level="read_committed",
            topics=[source],
        )
        self.producer.init_transactions()
        self.bill()

    def bill(self) -> None:
        with self.producer.transaction(self.consumer) as transaction:
            for record in self.consumer.poll(IN_TIME, max_records=2):
                self.producer.send(self.target, record.value, partition=0)
            transaction.send_offsets(self.consumer)

    def end(self, result: object) -> None:
        """Wait for a commit that the interrupt left, and go on."""
        self.points += 1
        with contextlib.suppress(KafkaError):
            self.producer.commit_transaction(IN_TIME)
        self.bill()

    def close(self) -> None:
        self.producer.close()
        self.consumer.close()


def test_a_block_with_a_consumer_that_is_interrupted_anywhere_loses_and_doubles_nothing(
    cluster: Cluster, topic: str
) -> None:
    target = f"{topic}-target"
    cluster.create_topic(target, partitions=1)
    with Producer(cluster.bootstrap) as source:
        source.send_batch(topic, [{"value": b"%d" % n, "partition": 0} for n in range(20_000)])
    it = InterruptedBilling(cluster, topic, target)

    assert interrupted_everywhere(it.bill, it.end, step=41) > 0
    it.close()

    values = [int(value or b"") for value in committed_values(cluster, target)]
    assert values == list(range(len(values)))


def test_a_blocking_consumer_waits_for_the_outcome_of_a_commit(
    cluster: Cluster, topic: str
) -> None:
    with Producer(cluster.bootstrap) as source:
        source.send_batch(topic, [{"value": b"%d" % n, "partition": 0} for n in range(6)])
    target = f"{topic}-target"
    with (
        Producer(
            cluster.bootstrap, transactional_id=topic, max_block_ms=2000, request_timeout_ms=500
        ) as producer,
        Consumer(
            cluster.bootstrap,
            group_id=topic,
            enable_auto_commit=False,
            auto_offset_reset="earliest",
            topics=[topic],
        ) as consumer,
    ):
        with cluster.faults.on("EndTxn").drop_before_apply():
            with pytest.raises(KafkaTimeoutError):
                copy(producer, consumer, target)
            states = {one.state for one in consumer.health().partitions.values()}
            assert consumer.poll(0.1) == []
        copy(producer, consumer, target)

    assert states == {PartitionState.IN_DOUBT}
    assert committed_values(cluster, target) == [b"%d" % n for n in range(6)]


def test_a_blocking_producer_keeps_what_the_one_before_has_prepared(topic: str) -> None:
    options: dict[str, Any] = {
        "transactional_id": topic,
        "transaction_two_phase_commit_enable": True,
    }
    with Cluster(config={"transaction.two.phase.commit.enable": "true"}) as cluster:
        with Producer(cluster.bootstrap, **options) as producer:
            producer.begin_transaction()
            producer.send(topic, b"kept", partition=0)
            prepared = producer.prepare_transaction()
        keeper = Producer(cluster.bootstrap, **options)

        kept = keeper.init_transactions(keep_prepared_txn=True)

        assert kept == prepared
        with keeper:
            keeper.complete_transaction(prepared)
        assert committed_values(cluster, topic) == [b"kept"]


def copy(producer: Producer[Any, Any], consumer: Consumer[Any, Any], target: str) -> None:
    """Copy three records in a transaction."""
    values = read(consumer, 3)
    with producer.transaction(consumer) as transaction:
        for value in values:
            producer.send(target, value, partition=0)
        transaction.send_offsets(consumer)
