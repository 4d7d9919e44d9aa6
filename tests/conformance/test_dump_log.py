"""``pyk dump-log`` prints the same lines as Kafka's own tool."""

from __future__ import annotations

import base64
import re
import signal
from pathlib import Path
from uuid import UUID

import pytest
from click.testing import CliRunner

from pyk.command_line.main import main
from support.apache_kafka import ApacheKafka
from support.groups import write_transactional_offsets
from support.kafka_tools import dump_log_segments, run_tool
from support.logs import write_log_on_disk, write_transactions_on_disk
from support.record_batches import control_batch

pytestmark = [pytest.mark.conformance, pytest.mark.usefixtures("_apache_kafka_can_run")]

DASHED = re.compile(r'"([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})"')
DECODERS = {
    "__consumer_offsets": "--offsets-decoder",
    "__transaction_state": "--transaction-log-decoder",
    "__cluster_metadata": "--cluster-metadata-decoder",
}


def printed_by_kafka(files: list[Path], *options: str) -> list[str]:
    printed = dump_log_segments(files, *options)
    printed = re.sub(r"OptionalLong\[(\d+)\]", r"\1", printed.replace("OptionalLong.empty", "none"))
    lines = printed.splitlines()
    return [line for line in lines if not line.startswith("Log starting offset")]


def printed_by_us(files: list[Path], *options: str) -> list[str]:
    done = CliRunner().invoke(main, ["dump-log", *options, *map(str, files)])
    assert done.exit_code == 0, done.stderr
    return DASHED.sub(_as_kafka_writes_it, done.stdout).splitlines()


def _as_kafka_writes_it(dashed: re.Match[str]) -> str:
    return f'"{base64.urlsafe_b64encode(UUID(dashed[1]).bytes).decode().rstrip("=")}"'


def test_the_files_of_a_log_are_printed_as_kafka_prints_them(tmp_path: Path) -> None:
    files = write_log_on_disk(tmp_path / "orders-0", batches=40, producer_id=7, producer_epoch=1)

    assert printed_by_us(files, "--print-data-log") == printed_by_kafka(files, "--print-data-log")


def test_the_files_of_transactions_are_printed_as_kafka_prints_them(tmp_path: Path) -> None:
    written = write_transactions_on_disk(tmp_path / "orders-0")
    files = [file for file in written if file.suffix in {".log", ".txnindex", ".snapshot"}]
    assert [file.suffix for file in files].count(".txnindex") == 1

    ours = printed_by_us(files, "--print-data-log")

    assert ours == printed_by_kafka(files, "--print-data-log")
    assert "version: 0 producerId: 2 firstOffset: 1 lastOffset: 3 lastStableOffset: 4" in ours
    assert any("endTxnMarker: ABORT" in line for line in ours)
    assert any("producerId: 3" in line and "currentTxnFirstOffset: 4" in line for line in ours)


def test_transaction_markers_are_printed_as_kafka_prints_them(tmp_path: Path) -> None:
    path = tmp_path / "00000000000000000000.log"
    path.write_bytes(control_batch(1, base_offset=0) + control_batch(0, base_offset=1))

    ours = printed_by_us([path], "--deep-iteration")

    assert ours == printed_by_kafka([path], "--deep-iteration")


def test_offsets_of_a_transaction_are_printed_as_kafka_prints_them(tmp_path: Path) -> None:
    path = write_transactional_offsets(tmp_path / "__consumer_offsets-7")

    ours = printed_by_us([path], "--offsets-decoder")

    assert any("endTxnMarker: COMMIT" in line for line in ours)
    assert ours == printed_by_kafka([path], "--offsets-decoder")


def test_internal_topics_are_printed_as_kafka_prints_them() -> None:
    with ApacheKafka() as kafka:
        server = ("--bootstrap-server", kafka.bootstrap)
        run_tool("TopicCommand", *server, "--create", "--topic", "orders")
        run_tool(
            "ProducerPerformance", "--topic", "orders", "--num-records", "10",
            "--record-size", "5", "--throughput", "-1", "--transactional-id", "shop",
            "--transaction-duration-ms", "100",
            "--command-property", f"bootstrap.servers={kafka.bootstrap}",
        )  # fmt: skip
        for protocol in ("classic", "consumer"):
            run_tool(
                "consumer.ConsoleConsumer", *server, "--topic", "orders",
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
