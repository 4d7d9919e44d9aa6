"""Apache Kafka and the reference broker read and append to each other's log files."""

from __future__ import annotations

import asyncio
import itertools
import re
import signal
from pathlib import Path
from random import Random
from uuid import UUID

import pytest

from pyk.clients import Admin, OffsetSpec
from pyk.protocol.topics import TopicPartition
from pyk.reference_broker.config import BrokerConfig, LogConfig
from pyk.reference_broker.coordinator.shards import partition_for
from pyk.reference_broker.partition import Partition
from pyk.reference_broker.partition_log import PartitionLog
from pyk.reference_broker.storage import Log, LogManager, TransactionMarker
from pyk.runtime.filesystem import OsFileSystem
from pyk.runtime.system_clock import SystemClock
from support.apache_kafka import ApacheKafka
from support.groups import Groups, offset
from support.kafka_tools import dump_log_segments, run_tool
from support.logs import (
    ORDERS,
    aborted_transactions,
    append,
    transactional_batch,
    values,
    write_log_on_disk,
)
from support.raw_transactions import RawTransactions
from support.real_time import eventually

pytestmark = [pytest.mark.conformance, pytest.mark.usefixtures("_apache_kafka_can_run")]

OFFSETS_PARTITIONS = 5

# What DumpLogSegments prints about a damaged file.
COMPLAINTS = ("isvalid: false", "mismatch", "Mismatch", "non monotonic", "out of order")


def test_apache_kafka_reads_every_file_of_a_log(tmp_path: Path) -> None:
    files = write_log_on_disk(tmp_path / "orders-0", batches=60, producer_id=7, producer_epoch=1)
    log_segments = [file for file in files if file.suffix == ".log"]
    assert len(log_segments) > 2

    dump = dump_log_segments(files, "--deep-iteration", "--print-data-log")

    assert re.findall(r"payload: (.+)", dump) == [f"value {number}" for number in range(60)]
    assert [complaint for complaint in COMPLAINTS if complaint in dump] == []
    assert re.search(r"producerId: 7 producerEpoch: 1 coordinatorEpoch.* lastSequence: 59", dump)


def test_apache_kafka_and_the_reference_broker_share_a_data_directory_in_turn() -> None:
    values_of_kafka = [b"Kafka %d" % number for number in range(50)]
    values_of_pyk = [b"pyk %d" % number for number in range(50)]

    with ApacheKafka(config={"log.index.interval.bytes": "100"}) as kafka:
        create_topic(kafka)
        produce(kafka, values_of_kafka)
        kafka.kill(signal.SIGTERM)

        manager = open_log_manager(kafka.data_folder())
        assert manager.data_directory.was_shut_down_cleanly
        assert ORDERS in manager.data_directory.partitions()
        log = manager.get_or_create(ORDERS, LogConfig(index_interval_bytes=100))
        assert values(log) == values_of_kafka
        assert log.high_watermark == len(values_of_kafka)
        for value in values_of_pyk:
            append(log, value, leader_epoch=log.leader_epochs.latest_epoch)
        manager.close(manager.data_directory.previous_broker_epoch or 0)

        kafka.start()
        assert consume(kafka, count=100) == values_of_kafka + values_of_pyk


def test_apache_kafka_and_the_reference_broker_know_each_others_transactions() -> None:
    with ApacheKafka() as kafka:
        create_topic(kafka)
        left_open = leave_a_transaction_open_and_abort_one(kafka)
        kafka.kill(signal.SIGTERM)

        manager = open_log_manager(kafka.data_folder())
        log = manager.get_or_create(ORDERS, LogConfig())
        assert log.log_end_offset == 3  # two records and a marker
        assert log.last_stable_offset == 1
        (of_open,) = (entry for entry in log.producers if entry.has_open_transaction)
        assert of_open.current_txn_first_offset == 1
        assert [first_offset for _, first_offset in aborted_transactions(log)] == [0]

        write_transactions(log)
        # Kafka's coordinator still has the transaction; this is as if it had aborted it.
        log.end_transaction(
            TransactionMarker(of_open.producer_id, of_open.epoch, 0, is_commit=False),
            log.leader_epochs.latest_epoch,
        )
        append(log, b"after the open transaction", leader_epoch=log.leader_epochs.latest_epoch)
        manager.close(manager.data_directory.previous_broker_epoch or 0)

        kafka.start()
        assert consume(kafka, 1, "--isolation-level", "read_committed") == [b"of pyk 10001"]
        described = run_tool(
            "TransactionsCommand", "--bootstrap-server", kafka.bootstrap, "describe-producers",
            "--topic", ORDERS.topic, "--partition", "0",
        )  # fmt: skip
        (line,) = (line for line in described.splitlines() if line.startswith("10003"))
        assert line.split()[-1] == "7"  # where the open transaction begins
        del left_open


def leave_a_transaction_open_and_abort_one(kafka: ApacheKafka) -> object:
    """Write a record in each; return the producer whose transaction is open as long as it lives."""
    confluent_kafka = pytest.importorskip("confluent_kafka")
    aborted, left_open = (
        confluent_kafka.Producer(
            {"bootstrap.servers": kafka.bootstrap, "transactional.id": transactional_id}
        )
        for transactional_id in ("aborted", "left open")
    )
    for producer in (aborted, left_open):
        producer.init_transactions(30)
        producer.begin_transaction()
        producer.produce(ORDERS.topic, b"of Kafka", partition=0)
        assert producer.flush(30) == 0
    aborted.abort_transaction(30)
    # It returns before the marker is written. That would not be, if the broker ended meanwhile.
    records_and_marker = 3
    with Admin(kafka.bootstrap) as admin:
        latest = {ORDERS: OffsetSpec.LATEST}
        eventually(lambda: admin.list_offsets(latest)[ORDERS].offset == records_and_marker)
    return left_open


def write_transactions(log: Log) -> None:
    """Write a transaction that is committed, one that is aborted, and one that stays open."""
    leader_epoch = log.leader_epochs.latest_epoch
    for producer_id, is_commit in ((10_001, True), (10_002, False), (10_003, None)):
        sent = transactional_batch(b"of pyk %d" % producer_id, producer_id=producer_id)
        log.append_as_leader(sent, leader_epoch)
        if is_commit is not None:
            log.end_transaction(TransactionMarker(producer_id, 0, 0, is_commit), leader_epoch)


def test_apache_kafka_and_the_reference_broker_know_each_others_pending_offsets() -> None:
    ended, left_open, of_pyk, open_of_pyk = groups_of_one_partition(4)

    with ApacheKafka() as kafka:
        create_topic(kafka)
        asyncio.run(commit_in_transactions(kafka.bootstrap, ended, left_open))
        kafka.kill(signal.SIGTERM)

        manager = open_log_manager(kafka.data_folder())
        name = TopicPartition("__consumer_offsets", partition_for(ended, OFFSETS_PARTITIONS))
        log = manager.get_or_create(name, LogConfig())
        partition = Partition(name, UUID(int=1), 0, log)
        partition.become_leader(log.leader_epochs.latest_epoch, (0,), (0,))
        groups = Groups(PartitionLog(partition))
        assert [groups.committed(group=each) for each in (ended, left_open)] == [5, 1]
        assert [groups.unstable(each) for each in (ended, left_open)] == [set(), {("orders", 0)}]

        for producer_id, group in ((10_001, of_pyk), (10_002, open_of_pyk)):
            groups.commit(offset(1), group=group)
            groups.commit_in_transaction(producer_id, offset(5), group=group)
        partition.end_transaction(10_001, 0, 0, True)
        manager.close(manager.data_directory.previous_broker_epoch or 0)

        kafka.start()
        for group, committed, is_unstable in (
            (ended, 5, False),
            (left_open, 1, True),
            (of_pyk, 5, False),
            (open_of_pyk, 1, True),
        ):
            assert asyncio.run(read_offset(kafka.bootstrap, group)) == (committed, is_unstable)


def groups_of_one_partition(count: int) -> list[str]:
    """Return names of groups that one partition of ``__consumer_offsets`` has."""
    names = (f"group-{number}" for number in itertools.count())
    wanted = (name for name in names if partition_for(name, OFFSETS_PARTITIONS) == 0)
    return list(itertools.islice(wanted, count))


async def commit_in_transactions(bootstrap: str, ended: str, left_open: str) -> None:
    """Commit 1, and then 5 in a transaction, for both groups; end that of the first."""
    for group in (ended, left_open):
        async with RawTransactions(bootstrap, "orders", group) as offsets:
            await offsets.commit_outside(1)
            await offsets.commit(5)
            if group == ended:
                await offsets.end(is_commit=True)
                await offsets.stable()


async def read_offset(bootstrap: str, group: str) -> tuple[int, bool]:
    """Return what a group has committed, and whether a transaction may change it."""
    async with RawTransactions(bootstrap, "orders", group, transactional_id="reader") as offsets:
        return await offsets.committed(), await offsets.is_unstable()


def create_topic(kafka: ApacheKafka) -> None:
    run_tool(
        "TopicCommand", "--bootstrap-server", kafka.bootstrap, "--create", "--topic", ORDERS.topic
    )


def produce(kafka: ApacheKafka, values: list[bytes]) -> None:
    """Send these values with Kafka's own producer, five to a batch."""
    run_tool(
        "ConsoleProducer", "--bootstrap-server", kafka.bootstrap, "--topic", ORDERS.topic,
        "--batch-size", "5", input="".join(f"{value.decode()}\n" for value in values),
    )  # fmt: skip


def consume(kafka: ApacheKafka, count: int, *options: str) -> list[bytes]:
    """Read the first values with Kafka's own consumer."""
    printed = run_tool(
        "consumer.ConsoleConsumer", "--bootstrap-server", kafka.bootstrap, "--topic", ORDERS.topic,
        "--from-beginning", "--max-messages", str(count), "--timeout-ms", "20000", *options,
    )  # fmt: skip
    return [line.encode() for line in printed.splitlines()]


def open_log_manager(data_directory: Path) -> LogManager:
    return LogManager.open(
        OsFileSystem(),
        str(data_directory),
        BrokerConfig(node_id=0),
        clock=SystemClock(),
        random=Random(1),
    )
