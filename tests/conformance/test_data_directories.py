"""Apache Kafka and the reference broker take turns with a whole data directory."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from pyk.clients import Admin, Consumer, FeatureUpdate, NewTopic, Producer
from pyk.reference_broker import Cluster
from support import apache_kafka
from support.apache_kafka import ApacheKafka
from support.kafka_tools import dump_log_segments

pytestmark = [pytest.mark.conformance, pytest.mark.usefixtures("_apache_kafka_can_run")]

TOPIC = "orders"
METADATA = "__cluster_metadata-0"
# Kafka takes a broker that has not said goodbye for a running one this long.
SOON = {"broker.session.timeout.ms": "3000", "broker.heartbeat.interval.ms": "500"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The data directory of node 0 of a cluster in ``tmp_path``."""
    folder = tmp_path / "node0"
    folder.mkdir()
    return folder


@pytest.fixture
def kafka(folder: Path) -> Iterator[ApacheKafka]:
    """An Apache Kafka in that directory, which is neither formatted nor started."""
    kafka = ApacheKafka(config={"log.dirs": str(folder), **SOON})
    yield kafka
    kafka.__exit__()


def produce(bootstrap: str, *values: str) -> None:
    with Producer(bootstrap) as producer:
        for value in values:
            producer.send(TOPIC, value.encode()).result(30)


def levels(admin: Admin) -> dict[str, int]:
    return {name: level for name, (_, level) in admin.describe_features().finalized.items()}


def consumed(bootstrap: str, count: int) -> list[str]:
    """Return the next records of a group, and commit them."""
    found: list[str] = []
    with Consumer(bootstrap, topics=[TOPIC], group_id="readers",
                  auto_offset_reset="earliest") as consumer:  # fmt: skip
        while len(found) < count:
            found += [(each.value or b"").decode() for each in consumer.poll(timeout=5)]
        consumer.commit()
    return found


def test_apache_kafka_and_ours_go_on_where_the_other_stopped(
    tmp_path: Path, kafka: ApacheKafka
) -> None:
    kafka.format()
    kafka.start()
    with Admin(kafka.bootstrap) as admin:
        admin.create_topics([NewTopic(TOPIC, 1, configs={"retention.ms": "-1"})])
    produce(kafka.bootstrap, "one", "two")
    assert consumed(kafka.bootstrap, 1)[0] == "one"
    kafka.kill(signal.SIGTERM)

    with Cluster(data_dir=tmp_path) as ours:
        produce(ours.bootstrap, "three")
        assert consumed(ours.bootstrap, 1)[-1] == "three"
        with Admin(ours.bootstrap) as admin:
            admin.create_topics([NewTopic("of-pyk", 2)])
            finalized = admin.describe_features().finalized

    kafka.start()
    produce(kafka.bootstrap, "four")
    assert consumed(kafka.bootstrap, 1) == ["four"]
    with Admin(kafka.bootstrap) as admin:
        assert {TOPIC, "of-pyk"} <= set(admin.list_topics())
        assert admin.describe_features().finalized == finalized
    kafka.kill()

    with Cluster(data_dir=tmp_path) as ours:
        produce(ours.bootstrap, "five")
        assert consumed(ours.bootstrap, 1) == ["five"]


def test_apache_kafka_goes_on_in_a_directory_that_ours_has_made(
    tmp_path: Path, folder: Path, kafka: ApacheKafka
) -> None:
    with Cluster(data_dir=tmp_path) as ours, Admin(ours.bootstrap) as admin:
        admin.create_topics([NewTopic(TOPIC, 1)])
        produce(ours.bootstrap, "one", "two")
        assert consumed(ours.bootstrap, 2) == ["one", "two"]
        finalized = admin.describe_features().finalized
    assert (folder / "bootstrap.checkpoint").exists()

    kafka.write_properties()
    kafka.start()
    produce(kafka.bootstrap, "three")
    assert consumed(kafka.bootstrap, 1) == ["three"]
    with Admin(kafka.bootstrap) as admin:
        assert admin.describe_features().finalized == finalized


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ((), {"metadata.version": 30, "transaction.version": 2, "share.version": 1}),
        (("--release-version", "3.7-IV0"), {"metadata.version": 15}),
        (("--release-version", "4.1-IV0"), {"metadata.version": 26, "group.version": 1}),
        (("--feature", "transaction.version=1"), {"transaction.version": 1}),
    ],
)
def test_ours_starts_in_a_directory_that_kafka_has_formatted(
    tmp_path: Path, kafka: ApacheKafka, options: tuple[str, ...], expected: dict[str, int]
) -> None:
    kafka.format(*options)

    with Cluster(data_dir=tmp_path) as ours, Admin(ours.bootstrap) as admin:
        finalized = {
            name: level for name, (_, level) in admin.describe_features().finalized.items()
        }
        admin.create_topics([NewTopic(TOPIC, 1)])
        produce(ours.bootstrap, "one")

    assert finalized.items() >= expected.items()
    kafka.start()
    with Admin(kafka.bootstrap) as admin:
        assert {
            name: level for name, (_, level) in admin.describe_features().finalized.items()
        } == (finalized)
    assert consumed(kafka.bootstrap, 1) == ["one"]


def test_apache_kafka_prints_the_records_of_our_metadata_log(tmp_path: Path, folder: Path) -> None:
    with Cluster(data_dir=tmp_path) as ours, Admin(ours.bootstrap) as admin:
        admin.update_features([FeatureUpdate("kraft.version", 1)])
        admin.create_topics([NewTopic(TOPIC, 1)])

    printed = dump_log_segments(
        [folder / METADATA / "00000000000000000000.log"], "--cluster-metadata-decoder"
    )

    assert 'LeaderChange: {"version":0,"leaderId":0,"voters":[{"voterId":0}]' in printed
    assert 'BEGIN_TRANSACTION_RECORD","version":0,"data":{"name":"Bootstrap records"}' in printed
    assert '"name":"metadata.version","featureLevel":30' in printed
    assert "END_TRANSACTION_RECORD" in printed
    assert '"type":"REGISTER_BROKER_RECORD","version":4' in printed
    assert '"type":"PARTITION_RECORD","version":2' in printed
    assert 'KRaftVersion {"version":0,"kRaftVersion":1}' in printed
    assert 'KRaftVoters {"version":0,"voters":[{"voterId":0' in printed
    assert "isvalid: false" not in printed
    assert "Could not" not in printed
    bootstrap = dump_log_segments([folder / "bootstrap.checkpoint"], "--cluster-metadata-decoder")
    assert "KRaft bootstrap snapshot" in bootstrap
    assert '"name":"metadata.version","featureLevel":30' in bootstrap


def test_ours_knows_the_voters_of_a_dynamic_quorum_that_kafka_has_formatted(
    tmp_path: Path, folder: Path
) -> None:
    properties = tmp_path / "server.properties"
    (port,) = apache_kafka.free_ports(1)
    properties.write_text(
        "process.roles=broker,controller\nnode.id=0\ncontroller.listener.names=CONTROLLER\n"
        f"controller.quorum.bootstrap.servers=127.0.0.1:{port}\n"
        f"listeners=PLAINTEXT://127.0.0.1:0,CONTROLLER://127.0.0.1:{port}\n"
        "listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT\n"
        f"log.dirs={folder}\n"
    )
    arguments = ("format", "-t", apache_kafka.new_cluster_id(), "-c", str(properties))
    done = apache_kafka.tool(
        "kafka.tools.StorageTool", *arguments, "--standalone",
        *("--add-scram", "SCRAM-SHA-256=[name=alice,password=alice-secret]"),
    )  # fmt: skip
    assert done.returncode == 0, done.stderr

    with Cluster(data_dir=tmp_path) as ours, Admin(ours.bootstrap) as admin:
        assert admin.describe_features().finalized["kraft.version"] == (1, 1)
        assert set(admin.describe_user_scram_credentials()) == {"alice"}

    printed = dump_log_segments(
        [folder / METADATA / "00000000000000000000.log"], "--cluster-metadata-decoder"
    )
    assert 'LeaderChange: {"version":0,"leaderId":0,"voters":[{"voterId":0}]' in printed
    assert '"endpoints":[{"name":"CONTROLLER","host":"127.0.0.1"' in printed
