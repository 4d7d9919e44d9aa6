"""Transactions of our clients where leaders and the coordinator are different nodes, and move."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from pyk.clients import Admin, PreparedTransaction, Producer
from support.brokers import Kafka, RealKafka
from support.cluster_changes import move_leaders, set_transaction_version
from support.committed_reading import END, ROADS, committed_values

PARTITIONS = 3
COORDINATORS = "__transaction_state"
IN_TIME = 60.0

PREPARE = """
import sys, time
from pyk.clients import Producer

bootstrap, topic = sys.argv[1:]
producer = Producer(bootstrap, transactional_id=topic)
producer.__enter__()
producer.begin_transaction()
for partition in range(3):
    producer.send(topic, b"prepared", partition=partition)
print(producer.prepare_transaction().to_json(), flush=True)
time.sleep(600)
"""


@pytest.fixture(autouse=True)
def _there_is_something_to_move(kafka: Kafka) -> None:
    if isinstance(kafka, RealKafka) and kafka.nodes == 1:
        pytest.skip("test_transactions has one node of Apache Kafka")


@pytest.fixture(params=[1, 2], ids=["version 1", "version 2"])
def version(kafka: Kafka, request: pytest.FixtureRequest) -> Iterator[int]:
    """Finalize the version of transactions, and the newest one again at the end."""
    level: int = request.param
    set_transaction_version(kafka.bootstrap, level)
    yield level
    set_transaction_version(kafka.bootstrap, 2)


def send_to_all_partitions(producer: Producer[bytes, bytes], topic: str, value: bytes) -> None:
    for partition in range(PARTITIONS):
        producer.send(topic, value, partition=partition)
    producer.flush(IN_TIME)


def everywhere(*values: bytes) -> dict[int, list[bytes]]:
    return {partition: list(values) for partition in range(PARTITIONS)}


def write_end(kafka: Kafka, topic: str) -> None:
    with Producer(kafka.bootstrap) as producer:
        send_to_all_partitions(producer, topic, END)


def move_leaders_of(kafka: Kafka, topic: str) -> None:
    """Give partitions other leaders; where there is one node, kill it and start it again."""
    if kafka.nodes == 1:
        kafka.kill_and_restart()
    else:
        move_leaders(kafka.bootstrap, topic)


@pytest.mark.usefixtures("version")
def test_every_road_reads_what_is_committed(kafka: Kafka, topic: str) -> None:
    with Producer(kafka.bootstrap, transactional_id=topic) as producer:
        for number in range(20):
            producer.begin_transaction()
            send_to_all_partitions(producer, topic, b"%d" % number)
            if number % 3 == 1:
                producer.abort_transaction()
            else:
                producer.commit_transaction()
    write_end(kafka, topic)

    expected = [b"%d" % number for number in range(20) if number % 3 != 1]
    for road in ROADS:
        found = committed_values(kafka.bootstrap, topic, PARTITIONS, road)
        assert found == everywhere(*expected), road


@pytest.mark.parametrize("moving", ["leaders", "coordinator"])
@pytest.mark.usefixtures("version")
def test_a_transaction_is_committed_after_a_move(kafka: Kafka, topic: str, moving: str) -> None:
    with Producer(kafka.bootstrap, transactional_id=topic) as producer:
        producer.begin_transaction()
        send_to_all_partitions(producer, topic, b"before")
        move_leaders_of(kafka, topic if moving == "leaders" else COORDINATORS)
        send_to_all_partitions(producer, topic, b"after")
        producer.commit_transaction(IN_TIME)
        with producer.transaction():
            send_to_all_partitions(producer, topic, b"next")
    write_end(kafka, topic)

    values = committed_values(kafka.bootstrap, topic, PARTITIONS)

    assert values == everywhere(b"before", b"after", b"next")


def test_a_transaction_is_committed_by_a_coordinator_that_was_killed(
    kafka: Kafka, topic: str
) -> None:
    with Producer(kafka.bootstrap, transactional_id=topic) as producer:
        producer.begin_transaction()
        send_to_all_partitions(producer, topic, b"before")
        with Admin(kafka.bootstrap) as admin:
            coordinator = admin.describe_transactions([topic])[topic].coordinator_id
        with ThreadPoolExecutor() as threads:
            restarting = threads.submit(kafka.kill_and_restart, coordinator)
            producer.send(topic, b"meanwhile", partition=0)
            producer.commit_transaction(IN_TIME)
            restarting.result()
    write_end(kafka, topic)

    values = committed_values(kafka.bootstrap, topic, PARTITIONS)

    assert values == {0: [b"before", b"meanwhile"], 1: [b"before"], 2: [b"before"]}


@pytest.mark.parametrize("is_commit", [True, False])
@pytest.mark.usefixtures("version")
def test_the_prepared_transaction_of_a_killed_process_is_ended_here(
    kafka: Kafka, topic: str, is_commit: bool
) -> None:
    command = [sys.executable, "-c", PREPARE, kafka.bootstrap, topic]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        prepared = PreparedTransaction.from_json(process.stdout.readline())
        process.kill()

    with Producer(kafka.bootstrap) as producer:
        producer.complete_transaction(prepared, commit=is_commit)
    write_end(kafka, topic)

    values = committed_values(kafka.bootstrap, topic, PARTITIONS)

    assert values == (everywhere(b"prepared") if is_commit else everywhere())
