"""Apache Kafka and the reference broker read and append to each other's log files."""

from __future__ import annotations

import re
import signal
from pathlib import Path
from random import Random

import pytest

from pyk.reference_broker.config import BrokerConfig, LogConfig
from pyk.reference_broker.storage import LogManager
from pyk.runtime.filesystem import OsFileSystem
from pyk.runtime.system_clock import SystemClock
from support.apache_kafka import ApacheKafka
from support.kafka_tools import dump_log_segments, run_tool
from support.logs import ORDERS, append, values, write_log_on_disk

pytestmark = [pytest.mark.conformance, pytest.mark.usefixtures("_apache_kafka_can_run")]

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


def consume(kafka: ApacheKafka, count: int) -> list[bytes]:
    """Read the first values with Kafka's own consumer."""
    printed = run_tool(
        "consumer.ConsoleConsumer", "--bootstrap-server", kafka.bootstrap, "--topic", ORDERS.topic,
        "--from-beginning", "--max-messages", str(count), "--timeout-ms", "20000",
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
