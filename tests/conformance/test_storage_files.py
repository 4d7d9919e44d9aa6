"""The files of a log are Kafka's: each reads, and goes on with, what the other wrote."""

from __future__ import annotations

import re
import signal
from pathlib import Path
from random import Random

import pytest

from pyk.protocol.io import SystemClock
from pyk.protocol.records import Compression
from pyk.reference_broker.config import BrokerConfig, LogConfig
from pyk.reference_broker.filesystem import OsFileSystem
from pyk.reference_broker.storage import LogManager
from support import apache_kafka
from support.logs import ORDERS, append, batch, open_log, values

pytestmark = pytest.mark.conformance

TOOLS = "org.apache.kafka.tools."


@pytest.fixture(autouse=True)
def _apache_kafka_can_run() -> None:
    if why := apache_kafka.missing():
        pytest.skip(why)


def dump(*files: Path) -> str:
    names = ",".join(map(str, files))
    done = apache_kafka.tool(
        f"{TOOLS}DumpLogSegments", "--deep-iteration", "--print-data-log", "--files", names
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_kafka_reads_all_files_of_a_log(tmp_path: Path) -> None:
    directory = tmp_path / "orders-0"
    log = open_log(
        OsFileSystem(), directory=str(directory), segment_bytes=2000, index_interval_bytes=300
    )
    for number in range(60):
        sent = batch(
            b"value %d" % number,
            producer_id=7,
            producer_epoch=1,
            base_sequence=number,
            compression=list(Compression)[number % 5],
        )
        log.append_as_leader(sent, leader_epoch=number // 20)
    log.close()
    assert len(log.segment_base_offsets) > 2

    files = [path for path in directory.iterdir() if re.match(r"\d{20}\.", path.name)]
    printed = dump(*sorted(files))

    assert [int(n) for n in re.findall(r"payload: value (\d+)", printed)] == list(range(60))
    assert "isvalid: false" not in printed
    for complaint in ("mismatch", "Mismatch", "non monotonic", "out of order"):
        assert complaint not in printed
    assert re.findall(
        r"producerId: 7 producerEpoch: 1 coordinatorEpoch.* lastSequence: 59", printed
    )


def test_kafka_and_we_take_turns_with_a_data_directory() -> None:
    with apache_kafka.ApacheKafka(config={"log.index.interval.bytes": "100"}) as kafka:
        server = ("--bootstrap-server", kafka.bootstrap)
        made = apache_kafka.tool(
            f"{TOOLS}TopicCommand", *server, "--create", "--topic", ORDERS.topic
        )
        assert made.returncode == 0, made.stderr
        theirs = [b"theirs %d" % number for number in range(50)]
        apache_kafka.tool(
            f"{TOOLS}ConsoleProducer", *server, "--topic", ORDERS.topic, "--batch-size", "5",
            input="".join(f"{value.decode()}\n" for value in theirs),
        )  # fmt: skip
        kafka.kill(signal.SIGTERM)

        ours = [b"ours %d" % number for number in range(50)]
        manager = LogManager.open(
            OsFileSystem(),
            str(kafka.data_folder()),
            BrokerConfig(node_id=0),
            clock=SystemClock(),
            random=Random(1),
        )
        assert manager.data_directory.was_shut_down_cleanly
        assert ORDERS in manager.stored_partitions()
        log = manager.get_or_create(ORDERS, LogConfig(index_interval_bytes=100))
        assert values(log) == theirs
        assert log.high_watermark == len(theirs)
        for value in ours:
            append(log, value, leader_epoch=log.leader_epochs.latest_epoch)
        manager.close(manager.data_directory.previous_broker_epoch or 0)

        kafka.start()
        read = apache_kafka.tool(
            f"{TOOLS}consumer.ConsoleConsumer", *server, "--topic", ORDERS.topic,
            "--from-beginning", "--max-messages", "100", "--timeout-ms", "20000",
        )  # fmt: skip
        assert [line.encode() for line in read.stdout.splitlines()] == theirs + ours
