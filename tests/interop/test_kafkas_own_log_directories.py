"""Apache Kafka's tools for log directories, with the reference broker."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pyk.clients import NewTopic
from pyk.clients.admin import Admin
from pyk.reference_broker import Cluster
from support import apache_kafka
from support.kafka_tools import run_tool

pytestmark = [
    pytest.mark.conformance,
    pytest.mark.skipif(bool(apache_kafka.missing()), reason=str(apache_kafka.missing())),
]


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    """A cluster with two disks, and a topic with a partition on each."""
    with Cluster(log_dirs=2) as cluster:
        with Admin(cluster.bootstrap) as admin:
            admin.create_topics([NewTopic("orders", partitions=2)])
        cluster.seed({"orders": [{"value": b"x" * 1000, "partition": 0}]})
        yield cluster


def log_dirs(cluster: Cluster) -> list[dict[str, Any]]:
    """Return what kafka-log-dirs prints of each directory, by path: it prints them in any order."""
    printed = run_tool(
        "LogDirsCommand", "--bootstrap-server", cluster.bootstrap, "--describe",
        "--topic-list", "orders",
    )  # fmt: skip
    (line,) = [line for line in printed.splitlines() if line.startswith("{")]
    (broker,) = json.loads(line)["brokers"]
    return sorted(broker["logDirs"], key=lambda each: str(each["logDir"]))


def test_log_dirs_shows_each_directory_with_its_partitions(cluster: Cluster) -> None:
    first, second = log_dirs(cluster)

    assert (first["logDir"], second["logDir"]) == cluster.log_dirs()
    assert [each["partition"] for each in first["partitions"]] == ["orders-0"]
    assert [each["partition"] for each in second["partitions"]] == ["orders-1"]


def test_log_dirs_shows_a_broken_directory(cluster: Cluster) -> None:
    cluster.disk.fail(cluster.log_dirs()[1])
    cluster.kill()
    cluster.start()

    first, second = log_dirs(cluster)

    assert first["error"] is None
    assert "KafkaStorageException" in second["error"]
    assert second["partitions"] == []


def test_reassign_partitions_moves_a_replica_to_another_directory(
    cluster: Cluster, tmp_path: Path
) -> None:
    second = cluster.log_dirs()[1]
    plan = tmp_path / "plan.json"
    moved = {"topic": "orders", "partition": 0, "replicas": [0], "log_dirs": [second]}
    plan.write_text(json.dumps({"version": 1, "partitions": [moved]}))
    where = ("--bootstrap-server", cluster.bootstrap, "--reassignment-json-file", str(plan))

    executed = run_tool("reassign.ReassignPartitionsCommand", *where, "--execute")
    verified = run_tool("reassign.ReassignPartitionsCommand", *where, "--verify")

    assert f"Successfully started moving log directory to {second} for replica orders-0" in executed
    assert "Reassignment of replica orders-0-0 completed successfully" in verified
    moved_to = {each["partition"] for each in log_dirs(cluster)[1]["partitions"]}
    assert moved_to == {"orders-0", "orders-1"}
