"""A blocking producer in transactions: Ctrl-C anywhere, forked children, the end of a program."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

import pytest

from pyk.clients import Consumer, Producer, TopicPartition
from pyk.clients.errors import ForkedClientError, KafkaError
from pyk.reference_broker import Cluster
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
        child = os.fork()
        if child == 0:
            os._exit(try_to_end(producer))
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0

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
