"""Real clients push their metrics to the reference broker, and Kafka's tools say which."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from pyk.clients import Admin, AlterConfig, ConfigResource, ConfigResourceType
from pyk.reference_broker import Cluster
from pyk.reference_broker.client_metrics.latest_pushes import ClientMetrics
from support import apache_kafka
from support.kafka_tools import run_tool
from support.real_time import IN_TIME, eventually

pytestmark = pytest.mark.conformance
needs_java = pytest.mark.skipif(bool(apache_kafka.missing()), reason=str(apache_kafka.missing()))


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    with Cluster() as cluster:
        yield cluster


def pushed(cluster: Cluster, client_id: str) -> ClientMetrics:
    """Return the last push of a client, once there is one."""

    def of_client() -> list[ClientMetrics]:
        return [each for each in cluster.client_metrics() if each.client_id == client_id]

    eventually(lambda: bool(of_client()))
    return of_client()[-1]


@needs_java
def test_kafkas_tools_subscribe_and_the_java_producer_pushes(cluster: Cluster) -> None:
    def tool(*arguments: str) -> str:
        return run_tool("ClientMetricsCommand", "--bootstrap-server", cluster.bootstrap, *arguments)

    tool("--alter", "--name", "all", "--metrics", "*", "--interval", "100")
    described = tool("--describe", "--name", "all")
    listed = tool("--list")
    run_tool(
        "ProducerPerformance",
        *("--topic", "orders", "--num-records", "2000", "--record-size", "100"),
        *("--throughput", "1000", "--bootstrap-server", cluster.bootstrap),
        *("--command-property", "client.id=java-producer"),
    )
    tool("--delete", "--name", "all")

    assert "interval.ms=100" in described
    assert "metrics=*" in described
    assert listed.split() == ["all"]
    push = pushed(cluster, "java-producer")
    assert push.software_name == "apache-kafka-java"
    assert push.software_version == apache_kafka.VERSION
    values = {metric.name: metric.value for metric in push.metrics}
    assert values["org.apache.kafka.producer.connection.creation.total"] is not None
    assert tool("--list").split() == []


@needs_java
def test_the_configs_tool_describes_and_alters_a_subscription(cluster: Cluster) -> None:
    def tool(*arguments: str) -> str:
        command = [
            *("--bootstrap-server", cluster.bootstrap, "--entity-type", "client-metrics"),
            *arguments,
        ]
        done = apache_kafka.tool("kafka.admin.ConfigCommand", *command)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    tool("--alter", "--entity-name", "some", "--add-config", "metrics=[a.,b.],interval.ms=500")
    described = tool("--describe", "--entity-name", "some")

    assert "interval.ms=500" in described
    assert "metrics=a.,b." in described


def test_librdkafka_pushes_what_it_is_asked_for(cluster: Cluster) -> None:
    confluent_kafka = pytest.importorskip("confluent_kafka")
    subscription = ConfigResource(ConfigResourceType.CLIENT_METRICS, "some")
    changes = {"metrics": "org.apache.kafka.producer.", "interval.ms": "100"}
    with Admin(cluster.bootstrap) as admin:
        admin.incremental_alter_configs(
            {subscription: [AlterConfig(name, value) for name, value in changes.items()]}
        )
    producer = confluent_kafka.Producer(
        {"bootstrap.servers": cluster.bootstrap, "client.id": "librdkafka-producer"}
    )

    producer.produce("orders", b"one")
    assert producer.flush(IN_TIME) == 0
    push = pushed(cluster, "librdkafka-producer")

    assert push.software_name == "confluent-kafka-python"
    assert {metric.name.split(".")[3] for metric in push.metrics} == {"producer"}
    assert {metric.kind for metric in push.metrics} <= {"sum", "gauge"}
