"""Apache Kafka's command-line tools for operators, with the reference broker."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from pyk.clients import Admin, NewTopic
from support import apache_kafka
from support.broker_process import BrokerProcess
from support.kafka_tools import run_tool

pytestmark = [
    pytest.mark.conformance,
    pytest.mark.skipif(bool(apache_kafka.missing()), reason=str(apache_kafka.missing())),
]


def tool(name: str, bootstrap: str, *arguments: str, **options: object) -> str:
    """Run a tool and return its output; fail with that output if it reports an error."""
    printed = run_tool(name, "--bootstrap-server", bootstrap, *arguments, **options)
    assert "Exception" not in printed, printed
    return printed


@pytest.fixture
def filled(bootstrap: str, request: pytest.FixtureRequest) -> str:
    """A topic with three records."""
    name = request.node.name.replace("_", "-")
    tool("TopicCommand", bootstrap, "--create", "--topic", name)
    tool("ConsoleProducer", bootstrap, "--topic", name, input="one\ntwo\nthree\n")
    return name


def test_log_dirs_shows_partitions_and_their_sizes(bootstrap: str, filled: str) -> None:
    printed = tool("LogDirsCommand", bootstrap, "--describe", "--topic-list", filled)

    (line,) = [line for line in printed.splitlines() if line.startswith("{")]
    ((directory,),) = [each["logDirs"] for each in json.loads(line)["brokers"]]
    (partition,) = directory["partitions"]
    assert directory["error"] is None
    assert (partition["partition"], partition["offsetLag"]) == (f"{filled}-0", 0)
    assert partition["size"] > 0
    assert not partition["isFuture"]


def test_metadata_quorum_shows_the_leader_and_its_replica(bootstrap: str) -> None:
    status = tool("MetadataQuorumCommand", bootstrap, "describe", "--status")
    replication = tool("MetadataQuorumCommand", bootstrap, "describe", "--replication")

    shown = dict(line.split(":", 1) for line in status.splitlines() if ":" in line)
    assert shown["LeaderId"].strip() == "0"
    assert '"id": 0' in shown["CurrentVoters"]
    assert "Leader" in replication


def levels(bootstrap: str) -> dict[str, str]:
    """Return the level of each feature as the tool describes it."""
    described = tool("FeatureCommand", bootstrap, "describe")
    shown = re.findall(r"Feature: (\S+)\s.*FinalizedVersionLevel: (\S+)", described)
    return dict(shown)


def test_features_shows_lowers_and_raises_levels(bootstrap: str) -> None:
    feature = "transaction.version"

    assert levels(bootstrap) == {
        "eligible.leader.replicas.version": "1",
        "group.version": "1",
        "kraft.version": "0",
        "metadata.version": "4.3-IV0",
        "share.version": "1",
        "streams.version": "1",
        feature: "2",
    }
    lowered = tool("FeatureCommand", bootstrap, "downgrade", "--feature", f"{feature}=1")
    assert f"{feature} was downgraded to 1." in lowered
    assert levels(bootstrap)[feature] == "1"
    raised = tool("FeatureCommand", bootstrap, "upgrade", "--feature", f"{feature}=2")
    assert f"{feature} was upgraded to 2." in raised
    assert levels(bootstrap)[feature] == "2"


def test_features_says_why_a_level_is_refused(bootstrap: str) -> None:
    refused = apache_kafka.tool(
        "org.apache.kafka.tools.FeatureCommand", "--bootstrap-server", bootstrap,
        *("downgrade", "--unsafe", "--metadata", "4.2-IV1"),
    )  # fmt: skip

    assert refused.returncode == 1
    said = refused.stdout + refused.stderr
    assert "Could not downgrade metadata.version to 29." in said
    assert "Unsafe metadata downgrade is not supported in this version." in said


def test_get_offsets_prints_the_ends_of_partitions(bootstrap: str, filled: str) -> None:
    printed = tool("GetOffsetShell", bootstrap, "--topic", filled)

    assert f"{filled}:0:3" in printed.splitlines()


def test_delete_records_moves_the_start_of_a_partition(
    bootstrap: str, filled: str, tmp_path: Path
) -> None:
    partitions = [{"topic": filled, "partition": 0, "offset": 2}]
    file = tmp_path / "offsets.json"
    file.write_text(json.dumps({"partitions": partitions, "version": 1}))

    printed = tool("DeleteRecordsCommand", bootstrap, "--offset-json-file", str(file))

    assert f"partition: {filled}-0\tlow_watermark: 2" in printed
    earliest = tool("GetOffsetShell", bootstrap, "--topic", filled, "--time", "earliest")
    assert f"{filled}:0:2" in earliest.splitlines()


def test_broker_api_versions_lists_what_the_broker_serves(bootstrap: str) -> None:
    printed = tool("BrokerApiVersionsCommand", bootstrap)

    assert "DescribeLogDirs(35): 1 to 5" in printed
    assert "ElectLeaders(43): 0 to 2" in printed


def test_leader_election_finds_the_preferred_leader_in_place(bootstrap: str, filled: str) -> None:
    printed = tool(
        "LeaderElectionCommand",
        bootstrap,
        *("--election-type", "preferred", "--topic", filled, "--partition", "0"),
    )

    assert f"Valid replica already elected for partitions {filled}-0" in printed


def test_reassign_partitions_keeps_the_only_replica(
    bootstrap: str, filled: str, tmp_path: Path
) -> None:
    command, file = "reassign.ReassignPartitionsCommand", tmp_path / "plan.json"
    plan = {"version": 1, "partitions": [{"topic": filled, "partition": 0, "replicas": [0]}]}
    file.write_text(json.dumps(plan))

    executed = tool(command, bootstrap, "--reassignment-json-file", str(file), "--execute")

    assert "Successfully started partition reassignment" in executed
    assert "No partition reassignments found." in tool(command, bootstrap, "--list")


def test_the_perf_tools_write_and_read_records(bootstrap: str) -> None:
    topic = "java-perf"
    tool("TopicCommand", bootstrap, "--create", "--topic", topic)

    written = run_tool(
        "ProducerPerformance",
        *("--topic", topic, "--num-records", "1000", "--record-size", "100"),
        *("--throughput", "-1", "--bootstrap-server", bootstrap),
    )
    read = tool("ConsumerPerformance", bootstrap, "--topic", topic, "--num-records", "1000")

    assert "1000 records sent" in written
    assert " 1000," in read or ", 1000" in read


def test_the_verifiable_clients_see_every_record(bootstrap: str) -> None:
    topic = "java-verifiable"
    tool("TopicCommand", bootstrap, "--create", "--topic", topic)

    written = tool("VerifiableProducer", bootstrap, "--topic", topic, "--max-messages", "50")
    read = tool(
        "VerifiableConsumer",
        bootstrap,
        *("--topic", topic, "--group-id", "java-verifiers", "--max-messages", "50"),
        *("--reset-policy", "earliest"),
    )

    events = [json.loads(line) for line in written.splitlines() if line.startswith("{")]
    assert sum(event["name"] == "producer_send_success" for event in events) == 50
    events = [json.loads(line) for line in read.splitlines() if line.startswith("{")]
    consumed = [event for event in events if event["name"] == "records_consumed"]
    assert sum(event["count"] for event in consumed) == 50


def test_the_latency_tool_gets_each_record_back(bootstrap: str) -> None:
    topic = "java-latency"
    tool("TopicCommand", bootstrap, "--create", "--topic", topic)

    to_measure = ("--topic", topic, "--num-records", "20", "--producer-acks", "all")
    printed = tool("EndToEndLatency", bootstrap, *to_measure, "--record-size", "100")

    assert "Percentiles: 50th" in printed


def test_the_compaction_tester_finds_the_last_value_of_every_key(tmp_path: Path) -> None:
    options = [
        *("--config", "log.segment.bytes=1048576"),
        *("--config", "log.cleaner.backoff.ms=100"),
        *("--config", "log.cleaner.min.cleanable.ratio=0.1"),
    ]
    records = ("--messages", "100000", "--duplicates", "10", "--percent-deletes", "20")
    with BrokerProcess(tmp_path, *options) as broker:
        printed = tool(
            "LogCompactionTester", broker.bootstrap, *records, "--topics", "2", "--sleep", "10"
        )

    produced, consumed = re.findall(r"(\d+) rows of data", printed)
    assert produced == "200000"
    assert int(consumed) < 200_000, "nothing was compacted"
    assert " 0 mismatches" in printed


def config_tool(bootstrap: str, *arguments: str) -> str:
    command = ("--bootstrap-server", bootstrap, *arguments)
    done = apache_kafka.tool("kafka.admin.ConfigCommand", *command)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_configs_tool_alters_and_describes_topics_and_brokers(
    bootstrap: str, filled: str
) -> None:
    topic = ("--entity-type", "topics", "--entity-name", filled)
    config_tool(bootstrap, "--alter", *topic, "--add-config", "retention.ms=5000")
    of_topic = config_tool(bootstrap, "--describe", *topic)
    brokers = ("--entity-type", "brokers", "--entity-default")
    config_tool(bootstrap, "--alter", *brokers, "--add-config", "log.cleaner.threads=2")
    of_brokers = config_tool(bootstrap, "--describe", *brokers)
    config_tool(bootstrap, "--alter", *brokers, "--delete-config", "log.cleaner.threads")

    assert "retention.ms=5000" in of_topic
    assert "log.cleaner.threads=2" in of_brokers


def test_the_configs_tool_alters_and_describes_loggers(bootstrap: str) -> None:
    name = "pyk.reference_broker.broker"
    loggers = ("--entity-type", "broker-loggers", "--entity-name", "0")
    config_tool(bootstrap, "--alter", *loggers, "--add-config", f"{name}=TRACE")
    traced = config_tool(bootstrap, "--describe", *loggers)
    config_tool(bootstrap, "--alter", *loggers, "--delete-config", name)

    assert f"{name}=TRACE" in traced
    assert f"{name}=TRACE" not in config_tool(bootstrap, "--describe", *loggers)


def test_the_cluster_and_groups_tools_show_the_broker_and_no_groups(tmp_path: Path) -> None:
    with BrokerProcess(tmp_path) as broker:
        server = ("--bootstrap-server", broker.bootstrap)
        identity = run_tool("ClusterTool", "cluster-id", *server)
        endpoints = run_tool("ClusterTool", "list-endpoints", *server)
        groups = tool("GroupsCommand", broker.bootstrap, "--list")
        with Admin(broker.bootstrap) as admin:
            cluster_id = admin.describe_cluster().cluster_id

    assert f"Cluster ID: {cluster_id}" in identity
    assert "unfenced" in endpoints
    assert broker.bootstrap.rsplit(":", 1)[1] in endpoints
    assert groups.split() == ["GROUP", "TYPE", "PROTOCOL"]


def test_a_directory_that_the_storage_tool_has_formatted_is_served(tmp_path: Path) -> None:
    data, properties = tmp_path / "data", tmp_path / "server.properties"
    properties.write_text(
        "process.roles=broker,controller\n"
        "node.id=0\n"
        "controller.quorum.voters=0@127.0.0.1:9093\n"
        "listeners=PLAINTEXT://127.0.0.1:9092,CONTROLLER://127.0.0.1:9093\n"
        "controller.listener.names=CONTROLLER\n"
        f"log.dirs={data / 'node0'}\n"
    )
    storage = "kafka.tools.StorageTool"
    identity = apache_kafka.new_cluster_id()
    formatted = apache_kafka.tool(storage, "format", "-t", identity, "-c", str(properties))
    assert formatted.returncode == 0, formatted.stdout + formatted.stderr

    with BrokerProcess(data) as broker, Admin(broker.bootstrap) as admin:
        served = admin.describe_cluster().cluster_id
        admin.create_topics([NewTopic("orders")])
    shown = apache_kafka.tool(storage, "info", "-c", str(properties))

    assert served == identity
    assert shown.returncode == 0, shown.stdout + shown.stderr
    assert f"cluster.id={identity}" in shown.stdout
