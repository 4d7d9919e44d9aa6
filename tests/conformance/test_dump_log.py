"""``pyk dump-log`` prints what Kafka's own tool prints, line for line."""

from __future__ import annotations

import base64
import re
import signal
from pathlib import Path
from uuid import UUID

import pytest
from click.testing import CliRunner

from pyk.command_line.main import main
from pyk.protocol.records import Compression
from pyk.reference_broker.filesystem import OsFileSystem
from support import apache_kafka
from support.logs import batch, open_log
from support.record_batches import control_batch

pytestmark = pytest.mark.conformance

TOOLS = "org.apache.kafka.tools."
DASHED = re.compile(r'"([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})"')
DECODERS = {
    "__consumer_offsets": "--offsets-decoder",
    "__transaction_state": "--transaction-log-decoder",
    "__cluster_metadata": "--cluster-metadata-decoder",
}


@pytest.fixture(autouse=True)
def _apache_kafka_can_run() -> None:
    if why := apache_kafka.missing():
        pytest.skip(why)


def printed_by_kafka(files: list[Path], *options: str) -> list[str]:
    done = apache_kafka.tool(
        f"{TOOLS}DumpLogSegments", *options, "--files", ",".join(map(str, files))
    )
    assert done.returncode == 0, done.stderr
    lines = done.stdout.replace("OptionalLong.empty", "none").splitlines()
    return [line for line in lines if not line.startswith("Log starting offset")]


def printed_by_us(files: list[Path], *options: str) -> list[str]:
    done = CliRunner().invoke(main, ["dump-log", *options, *map(str, files)])
    assert done.exit_code == 0, done.stderr
    return DASHED.sub(_as_kafka_writes_it, done.stdout).splitlines()


def _as_kafka_writes_it(dashed: re.Match[str]) -> str:
    return f'"{base64.urlsafe_b64encode(UUID(dashed[1]).bytes).decode().rstrip("=")}"'


def test_the_files_of_a_log(tmp_path: Path) -> None:
    directory = tmp_path / "orders-0"
    log = open_log(
        OsFileSystem(), directory=str(directory), segment_bytes=2000, index_interval_bytes=300
    )
    for number in range(40):
        sent = batch(
            b"value %d" % number,
            producer_id=7,
            producer_epoch=1,
            base_sequence=number,
            compression=list(Compression)[number % 5],
        )
        log.append_as_leader(sent, leader_epoch=number // 20)
    log.close()
    files = sorted(path for path in directory.iterdir() if path.name.startswith("0"))

    assert printed_by_us(files, "--print-data-log") == printed_by_kafka(files, "--print-data-log")


def test_the_markers_of_transactions(tmp_path: Path) -> None:
    path = tmp_path / "00000000000000000000.log"
    path.write_bytes(control_batch(1, base_offset=0) + control_batch(0, base_offset=1))

    ours = printed_by_us([path], "--deep-iteration")

    assert ours == printed_by_kafka([path], "--deep-iteration")


def test_the_internal_topics() -> None:
    with apache_kafka.ApacheKafka() as kafka:
        server = ("--bootstrap-server", kafka.bootstrap)
        apache_kafka.tool(f"{TOOLS}TopicCommand", *server, "--create", "--topic", "orders")
        apache_kafka.tool(
            f"{TOOLS}ProducerPerformance", "--topic", "orders", "--num-records", "10",
            "--record-size", "5", "--throughput", "-1", "--transactional-id", "shop",
            "--transaction-duration-ms", "100",
            "--command-property", f"bootstrap.servers={kafka.bootstrap}",
        )  # fmt: skip
        for protocol in ("classic", "consumer"):
            apache_kafka.tool(
                f"{TOOLS}consumer.ConsoleConsumer", *server, "--topic", "orders",
                "--from-beginning", "--group", protocol, "--max-messages", "10",
                "--command-property", f"group.protocol={protocol}", "--timeout-ms", "20000",
            )  # fmt: skip
        kafka.kill(signal.SIGTERM)
        for topic, option in DECODERS.items():
            segments = kafka.data_folder().glob(f"{topic}-*/*.log")
            files = sorted(path for path in segments if path.stat().st_size)

            printed = printed_by_us(files, option, "--show-secrets")

            assert any("payload: {" in line for line in printed), topic
            assert printed == printed_by_kafka(files, option)
