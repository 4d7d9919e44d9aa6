"""Kafka's own tools print the same of both brokers, tool by tool.

What only one run can have is taken out of what they print: addresses, ids, times and rates. Errors
are compared by their classes, since their texts are our own.
"""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import attrs
import pytest

from support import apache_kafka
from support.brokers import Kafka, RealKafka, ReferenceBroker
from support.kafka_tools import PACKAGE

pytestmark = [
    pytest.mark.conformance,
    pytest.mark.skipif(bool(apache_kafka.missing()), reason=str(apache_kafka.missing())),
]

TOPIC = "TopicCommand"
CONFIGS = "kafka.admin.ConfigCommand"
GROUPS = "consumer.group.ConsumerGroupCommand"
PRODUCE, CONSUME = "ConsoleProducer", "consumer.ConsoleConsumer"
OFFSETS = "GetOffsetShell"
SHARE, STREAMS = "consumer.group.ShareGroupCommand", "streams.StreamsGroupCommand"


@attrs.frozen
class Step:
    """One call of a tool."""

    tool: str
    words: str
    """``{name}`` is a topic and a group of the test's own, ``{folder}`` one for files."""
    typed: str | None = None


LIVES = {
    "topics": [
        Step(TOPIC, "--create --topic {name} --partitions 3 --config retention.ms=5000"),
        Step(TOPIC, "--describe --topic {name}"),
        Step(TOPIC, "--create --topic {name}"),
        Step(TOPIC, "--create --topic {name} --if-not-exists"),
        Step(TOPIC, "--alter --topic {name} --partitions 5"),
        Step(TOPIC, "--alter --topic {name} --partitions 2"),
        Step(TOPIC, "--describe --topic {name} --topics-with-overrides"),
        Step(TOPIC, "--describe --topic {name} --under-replicated-partitions"),
        Step(TOPIC, "--create --topic bad/{name}"),
        Step(TOPIC, "--create --topic {name}-a --config retention.ms=x"),
        Step(TOPIC, "--create --topic {name}-b --replication-factor 2"),
        Step(TOPIC, "--list --topic {name}.*"),
        Step(TOPIC, "--delete --topic {name}"),
        Step(TOPIC, "--describe --topic {name}"),
    ],
    "configs": [
        Step(TOPIC, "--create --topic {name}"),
        Step(CONFIGS, "--alter --entity-type topics --entity-name {name} --add-config "
             "retention.ms=5000,cleanup.policy=[compact,delete]"),
        Step(CONFIGS, "--describe --entity-type topics --entity-name {name}"),
        Step(CONFIGS, "--describe --entity-type topics --entity-name {name} --all"),
        Step(CONFIGS, "--alter --entity-type topics --entity-name {name} --delete-config "
             "retention.ms"),
        Step(CONFIGS, "--alter --entity-type topics --entity-name {name} --add-config nothing=1"),
        Step(CONFIGS, "--alter --entity-type brokers --entity-default --add-config "
             "log.cleaner.threads=2"),
        Step(CONFIGS, "--describe --entity-type brokers --entity-default"),
        Step(CONFIGS, "--alter --entity-type brokers --entity-default --delete-config "
             "log.cleaner.threads"),
        Step(CONFIGS, "--alter --entity-type brokers --entity-name 0 --add-config node.id=7"),
        Step(CONFIGS, "--alter --entity-type groups --entity-name {name} --add-config "
             "consumer.session.timeout.ms=50000"),
        Step(CONFIGS, "--describe --entity-type groups --entity-name {name}"),
        Step(CONFIGS, "--alter --entity-type clients --entity-name {name} --add-config "
             "producer_byte_rate=1000"),
        Step(CONFIGS, "--describe --entity-type clients --entity-name {name}"),
        Step("ClientMetricsCommand", "--alter --name {name} --metrics org.apache --interval 5000"),
        Step("ClientMetricsCommand", "--describe --name {name}"),
        Step("ClientMetricsCommand", "--list"),
        Step("ClientMetricsCommand", "--delete --name {name}"),
    ],
    "records": [
        Step(TOPIC, "--create --topic {name} --partitions 2"),
        Step(PRODUCE, "--topic {name} --property parse.key=true --property key.separator=:",
             typed="a:1\nb:2\nc:3\nd:4\na:5\n"),
        Step(CONSUME, "--topic {name} --from-beginning --max-messages 5 --property print.key=true "
             "--property print.partition=true --property print.offset=true"),
        Step(OFFSETS, "--topic {name}"),
        Step(OFFSETS, "--topic {name} --time earliest"),
        Step(OFFSETS, "--topic-partitions {name}:1,{name}:9"),
        Step("DeleteRecordsCommand", "--offset-json-file {folder}/deleted.json"),
        Step(OFFSETS, "--topic {name} --time earliest"),
        Step("LogDirsCommand", "--describe --topic-list {name}"),
        Step("EndToEndLatency", "--topic {name} --num-records 5 --producer-acks all "
             "--record-size 20"),
    ],
    "verifiers": [
        Step(TOPIC, "--create --topic {name}"),
        Step("VerifiableProducer", "--topic {name} --max-messages 5"),
        Step("VerifiableConsumer", "--topic {name} --group-id {name} --max-messages 5 "
             "--reset-policy earliest"),
        Step("VerifiableShareConsumer", "--topic {name} --group-id {name}-s --max-messages 5 "
             "--offset-reset-strategy earliest"),
        Step("ProducerPerformance", "--topic {name} --num-records 100 --record-size 10 "
             "--throughput -1"),
        Step("ConsumerPerformance", "--topic {name} --num-records 100 --group {name}-p"),
    ],
    "groups": [
        Step(TOPIC, "--create --topic {name}"),
        Step(PRODUCE, "--topic {name}", typed="1\n2\n3\n4\n"),
        Step(CONSUME, "--topic {name} --group {name} --from-beginning --max-messages 3"),
        Step(GROUPS, "--list"),
        Step(GROUPS, "--describe --group {name}"),
        Step(GROUPS, "--describe --group {name} --state"),
        Step(GROUPS, "--describe --group {name} --members --verbose"),
        Step(GROUPS, "--reset-offsets --group {name} --topic {name} --to-latest --dry-run"),
        Step(GROUPS, "--reset-offsets --group {name} --topic {name}:0 --shift-by -2 --execute"),
        Step(GROUPS, "--reset-offsets --group {name} --all-topics --to-offset 99 --execute"),
        Step(GROUPS, "--reset-offsets --group {name} --topic {name} --by-duration PT1H --export "
             "--dry-run"),
        Step(GROUPS, "--delete-offsets --group {name} --topic {name}"),
        Step(GROUPS, "--describe --group {name}"),
        Step(GROUPS, "--delete --group {name}"),
        Step(GROUPS, "--delete --group {name}"),
        Step(GROUPS, "--describe --group {name}"),
        Step("GroupsCommand", "--list --group-type classic"),
    ],
    "share groups": [
        Step(TOPIC, "--create --topic {name}"),
        Step(PRODUCE, "--topic {name}", typed="1\n2\n3\n"),
        Step(CONFIGS, "--alter --entity-type groups --entity-name {name} --add-config "
             "share.auto.offset.reset=earliest"),
        Step("consumer.ConsoleShareConsumer", "--topic {name} --group {name} --max-messages 3"),
        Step(SHARE, "--list"),
        Step(SHARE, "--describe --group {name}"),
        Step(SHARE, "--describe --group {name} --state"),
        Step(SHARE, "--reset-offsets --group {name} --topic {name} --to-earliest --execute"),
        Step(SHARE, "--describe --group {name} --offsets"),
        Step(SHARE, "--delete-offsets --group {name} --topic {name}"),
        Step(SHARE, "--delete --group {name}"),
        Step(SHARE, "--delete --group {name}"),
        Step(STREAMS, "--list"),
        Step(STREAMS, "--describe --group {name}-none"),
    ],
    "cluster": [
        Step("BrokerApiVersionsCommand", ""),
        Step("FeatureCommand", "describe"),
        Step("FeatureCommand", "version-mapping --release-version 4.0"),
        Step("FeatureCommand", "downgrade --feature transaction.version=1 --dry-run"),
        Step("FeatureCommand", "upgrade --feature transaction.version=9"),
        Step("MetadataQuorumCommand", "describe --status"),
        Step("MetadataQuorumCommand", "describe --replication"),
        Step("ClusterTool", "cluster-id"),
        Step("ClusterTool", "list-endpoints"),
        Step("ClusterTool", "unregister --id 77"),
        Step(TOPIC, "--create --topic {name}"),
        Step("LeaderElectionCommand", "--election-type preferred --topic {name} --partition 0"),
        Step("LeaderElectionCommand", "--election-type unclean --topic {name} --partition 0"),
        Step("LeaderElectionCommand", "--election-type preferred --topic {name} --partition 9"),
        Step("reassign.ReassignPartitionsCommand",
             "--reassignment-json-file {folder}/plan.json --execute"),
        Step("reassign.ReassignPartitionsCommand",
             "--reassignment-json-file {folder}/plan.json --verify"),
        Step("reassign.ReassignPartitionsCommand", "--list"),
        Step("TransactionsCommand", "list"),
        Step("TransactionsCommand", "describe --transactional-id {name}"),
        Step("TransactionsCommand", "find-hanging --broker-id 0"),
        Step("TransactionsCommand", "describe-producers --topic {name} --partition 0"),
        Step("AclCommand", "--list"),
    ],
}  # fmt: skip

WITHOUT_BOOTSTRAP = {"version-mapping"}
NUMBERS_OF_A_RUN = {
    "ProducerPerformance", "ConsumerPerformance", "EndToEndLatency", "MetadataQuorumCommand",
}  # fmt: skip
OF_A_RUN = [
    (r"(localhost|127\.0\.0\.1)(:| +port:? +| +)\d+", "ADDRESS"),
    (r"(PLAINTEXT|CONTROLLER)://", "LISTENER://"),
    (r"\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b", "UUID"),
    (r"\b\d{4}-\d\d-\d\d[ T:][\d:.,]*", "TIME"),
    (r"\b1[789]\d{11}\b", "TIME"),
    (r"(TopicId|Cluster ID|ClusterId): *\S+", "ID"),
    (r'"avg_throughput":[\d.]+', "RATE"),
    (r"Epoch: \d+", "EPOCH"),
    (r'"size":\d+', "SIZE"),
    (r"(console|perf)-consumer-\d+", "GROUP"),
    (r'"logDir":"[^"]+"|"log_dirs":\["[^"]+"\]', "FOLDER"),
]
WRONG_CALL = r"Could not find or load main class|^Option +Description|^usage: "
OF_KAFKAS_CONFIGURATION = " STATIC_BROKER_CONFIG:min.insync.replicas=1,"
OTHER_VERSIONS = ("SaslHandshake(", "InitProducerId(", "GetTelemetrySubs", "PushTelemetry(")
"""Kafka serves telemetry with a plugin only; docs/broker-apis.md tells of the others."""


@pytest.fixture(scope="module")
def brokers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Kafka]]:
    with (
        ReferenceBroker(tmp_path_factory.mktemp("broker")) as reference,
        RealKafka() as real,
    ):
        yield [reference, real]


@attrs.frozen
class Said:
    """What a tool left: its status, the lines it printed, and the classes of its errors."""

    step: str
    code: int
    lines: list[str]
    errors: list[str]


def run(step: Step, bootstrap: str, **names: object) -> Said:
    main = step.tool if step.tool.startswith("kafka.") else PACKAGE + step.tool
    words = step.words.format(**names).split()
    where = [] if WITHOUT_BOOTSTRAP & set(words) else ["--bootstrap-server", bootstrap]
    at = 1 if step.tool == "ClusterTool" else 0  # its subcommand comes first
    done: subprocess.CompletedProcess[str] = apache_kafka.tool(
        main, *words[:at], *where, *words[at:], input=step.typed or ""
    )
    errors = re.findall(r"errors\.(\w+Exception)", done.stdout + done.stderr)
    assert not re.search(WRONG_CALL, done.stderr, re.MULTILINE), done.stderr
    shown = done.stdout.replace(bootstrap, "ADDRESS").replace(OF_KAFKAS_CONFIGURATION, "")
    return Said(
        f"{step.tool} {step.words}", done.returncode, _lines(step, shown), sorted(set(errors))
    )


def _lines(step: Step, shown: str) -> list[str]:
    """Return the lines of what a tool has printed, without what is of this run only."""
    for pattern, word in OF_A_RUN:
        shown = re.sub(pattern, word, shown)
    shown = re.sub(r'"offsets":\[[\d,]+', lambda some: "".join(sorted(some[0])), shown)
    if step.tool in NUMBERS_OF_A_RUN:
        shown = re.sub(r"\d+(\.\d+)?", "N", shown)
    lines = (" ".join(line.split()) for line in shown.splitlines())
    return sorted(line for line in lines if line and not line.startswith(OTHER_VERSIONS))


@pytest.mark.parametrize("life", LIVES)
def test_a_tool_prints_the_same_of_both_brokers(
    brokers: list[Kafka], life: str, tmp_path: Path
) -> None:
    name = "tools-" + life.replace(" ", "-")
    partition = {"topic": name, "partition": 0}
    write(tmp_path / "deleted.json", partitions=[{**partition, "offset": 1}])
    write(tmp_path / "plan.json", partitions=[{**partition, "replicas": [0]}])

    def live(kafka: Kafka) -> list[Said]:
        return [run(step, kafka.bootstrap, name=name, folder=tmp_path) for step in LIVES[life]]

    with ThreadPoolExecutor() as threads:
        lives = list(threads.map(live, brokers))

    for ours, theirs in zip(*lives, strict=True):
        assert ours == theirs


def write(file: Path, **content: object) -> None:
    file.write_text(json.dumps({"version": 1, **content}))
