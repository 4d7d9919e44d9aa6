"""``pyk broker`` with several data directories."""

from __future__ import annotations

import random
import shutil
import subprocess
import time
from pathlib import Path

import pytest

from pyk.clients import Admin, NewTopic, Producer, TopicPartition, TopicPartitionReplica
from pyk.reference_broker import Cluster
from support.broker_process import COMMAND, BrokerProcess
from support.real_time import IN_TIME


def run(*options: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*COMMAND, "--port", "0", *options],
        capture_output=True,
        text=True,
        timeout=IN_TIME,
        check=False,
    )


def break_directory(path: Path) -> None:
    """Let something stand where a directory should be, as root no rights would hinder."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"")


def test_logs_are_spread_over_the_directories_that_are_named(tmp_path: Path) -> None:
    first, second, third = (tmp_path / name for name in "abc")
    with BrokerProcess(first, "--data-dir", f"{second},{third}") as broker:
        with Admin(broker.bootstrap) as admin:
            admin.create_topics([NewTopic("orders", partitions=3)])
            found = admin.describe_log_dirs([0])[0]

            assert list(found) == [str(path / "node0") for path in (first, second, third)]
            assert [len(each.replicas) for each in found.values()] == [1, 1, 1]
        assert broker.terminate()[0] == 0

    assert (first / "node0" / "__cluster_metadata-0").is_dir()
    assert (third / "node0" / ".kafka_cleanshutdown").exists()


@pytest.mark.parametrize("name", ["log.dirs", "log.dir"])
def test_directories_are_configured_as_in_kafka(tmp_path: Path, name: str) -> None:
    paths = f"{tmp_path / 'a'},{tmp_path / 'b'}"
    command = [*COMMAND, "--port", "0", "--config", f"{name}={paths}"]
    command += ["--config", f"metadata.log.dir={tmp_path / 'b'}"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        ready = process.stdout.readline()
        process.terminate()

    assert ready.startswith("READY ")
    assert (tmp_path / "a" / "meta.properties").exists()
    assert (tmp_path / "b" / "__cluster_metadata-0").is_dir()


def test_directories_by_argument_and_by_configuration_contradict_each_other(
    tmp_path: Path,
) -> None:
    failed = run("--data-dir", str(tmp_path), "--config", "log.dirs=/elsewhere")

    assert failed.returncode == 2
    assert "log.dirs and data_dir= (--data-dir) were given" in failed.stderr


def test_a_broken_directory_is_named_and_the_broker_serves_without_it(tmp_path: Path) -> None:
    first, second = tmp_path / "a", tmp_path / "b"
    break_directory(second / "node0")

    with BrokerProcess(first, "--data-dir", str(second)) as broker:
        with Admin(broker.bootstrap) as admin:
            admin.create_topics([NewTopic("orders", partitions=2)])
        status, _, err = broker.terminate()

    assert status == 0
    assert f"Data directory {second / 'node0'} is offline until the broker is restarted" in err
    assert "Traceback" not in err


@pytest.mark.parametrize("broken", ["a", "ab"])
def test_without_the_directory_of_the_metadata_log_the_broker_does_not_start(
    tmp_path: Path, broken: str
) -> None:
    for name in broken:
        break_directory(tmp_path / name / "node0")

    failed = run("--data-dir", f"{tmp_path / 'a'},{tmp_path / 'b'}")

    assert (failed.returncode, failed.stdout) == (1, "")
    assert f"cannot use data directory {tmp_path / 'a' / 'node0'}" in failed.stderr
    assert "Traceback" not in failed.stderr


def test_a_killed_broker_loses_nothing_of_partitions_that_move(tmp_path: Path) -> None:
    first, second = tmp_path / "a", tmp_path / "b"
    chance, sent = random.Random(5), 0
    for turn in range(6):
        with BrokerProcess(first, "--data-dir", str(second)) as broker:
            with Admin(broker.bootstrap) as admin, Producer(broker.bootstrap) as producer:
                if turn == 0:
                    admin.create_topics([NewTopic("orders", configs={"segment.bytes": "1048576"})])
                for _ in range(4):
                    replica = TopicPartitionReplica("orders", 0, 0)
                    home = admin.describe_replica_log_dirs([replica])[replica].path
                    target = next(path for path in admin.describe_log_dirs([0])[0] if path != home)
                    admin.alter_replica_log_dirs({replica: target})
                    for _ in range(200):
                        producer.send("orders", b"%06d" % sent + b"x" * 5000, partition=0)
                        sent += 1
                    producer.flush()
                    time.sleep(chance.random() / 50)
            broker.kill()

    with Cluster(data_dir=[first, second]) as cluster:
        stored = [int(record.value[:6]) for record in cluster.records("orders")]
        with Admin(cluster.bootstrap) as admin:
            places = [
                path
                for path, each in admin.describe_log_dirs([0])[0].items()
                if any(
                    place == TopicPartition("orders", 0) and not info.is_future
                    for place, info in each.replicas.items()
                )
            ]

    assert stored == list(range(sent))
    assert len(places) == 1


CHECKED_OFTEN = (
    *("--config", "log.initial.task.delay.ms=100"),
    *("--config", "replica.high.watermark.checkpoint.interval.ms=100"),
)


@pytest.mark.parametrize("others", [(), ("b",)])
def test_a_broker_ends_when_the_directory_of_its_metadata_log_is_gone(
    tmp_path: Path, others: tuple[str, ...]
) -> None:
    more = [option for name in others for option in ("--data-dir", str(tmp_path / name))]
    with BrokerProcess(tmp_path / "a", *more, *CHECKED_OFTEN) as broker:
        shutil.rmtree(tmp_path / "a")

        _, err = broker.process.communicate(timeout=IN_TIME)

    (line,) = [each for each in err.splitlines() if "has stopped" in each]
    assert broker.process.returncode == 1
    assert line.startswith("error: node 0 has stopped: data directory")
    assert str(tmp_path / "a" / "node0") in line
    assert "No such file or directory" in line
    assert "Traceback" not in err
