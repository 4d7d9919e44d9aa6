"""Apache Kafka's tools for share groups with the reference broker (KIP-932)."""

from __future__ import annotations

import json

import pytest

from pyk.clients import (
    Admin,
    AlterConfig,
    ConfigResource,
    ConfigResourceType,
    NewTopic,
    Producer,
    TopicPartition,
)
from support import apache_kafka
from support.kafka_tools import run_tool

pytestmark = [
    pytest.mark.conformance,
    pytest.mark.skipif(bool(apache_kafka.missing()), reason=str(apache_kafka.missing())),
]

SHARE_COMMAND = "consumer.group.ShareGroupCommand"


@pytest.fixture
def shared_records(bootstrap: str, request: pytest.FixtureRequest) -> str:
    """A topic with 50 records."""
    name = request.node.name.replace("_", "-")
    with Admin(bootstrap) as admin, Producer(bootstrap) as producer:
        admin.create_topics([NewTopic(name, 1)])
        for number in range(50):
            producer.send(name, b"%d" % number)
    return name


def tool(name: str, bootstrap: str, *arguments: str) -> list[list[str]]:
    """Run a tool and return the words of each line that it prints; fail if it reports an error."""
    printed = run_tool(name, "--bootstrap-server", bootstrap, *arguments)
    assert "Exception" not in printed, printed
    return [line.split() for line in printed.splitlines() if line.strip()]


def test_the_tool_of_share_groups_lists_describes_resets_and_deletes(bootstrap: str) -> None:
    with Admin(bootstrap) as admin, Producer(bootstrap) as producer:
        admin.create_topics([NewTopic("java-shared", 1)])
        for number in range(5):
            producer.send("java-shared", b"%d" % number)
        producer.flush()
        admin.alter_share_group_offsets("java-share", {TopicPartition("java-shared", 0): 2})
    group = ["--group", "java-share"]

    assert ["java-share"] in tool(SHARE_COMMAND, bootstrap, "--list")
    assert ["java-share", "Empty"] in tool(SHARE_COMMAND, bootstrap, "--list", "--state")
    offsets = tool(SHARE_COMMAND, bootstrap, "--describe", *group, "--offsets")
    assert ["java-share", "java-shared", "0", "2", "3"] in [line[:5] for line in offsets]

    reset = ["--reset-offsets", *group, "--topic", "java-shared", "--to-earliest", "--execute"]
    tool(SHARE_COMMAND, bootstrap, *reset)
    offsets = tool(SHARE_COMMAND, bootstrap, "--describe", *group, "--offsets")
    assert ["java-share", "java-shared", "0", "0", "5"] in [line[:5] for line in offsets]

    tool(SHARE_COMMAND, bootstrap, "--delete-offsets", *group, "--topic", "java-shared")
    tool(SHARE_COMMAND, bootstrap, "--delete", *group)
    assert ["java-share"] not in tool(SHARE_COMMAND, bootstrap, "--list")


def test_the_tool_of_all_groups_shows_share_groups(bootstrap: str) -> None:
    with Admin(bootstrap) as admin:
        admin.create_topics([NewTopic("java-listed", 1)])
        admin.alter_share_group_offsets("java-listed", {TopicPartition("java-listed", 0): 0})

    listed = tool("GroupsCommand", bootstrap, "--list", "--share")

    assert ["java-listed", "Share", "share"] in listed


def test_the_verifiable_share_consumer_takes_and_acknowledges_every_record(
    bootstrap: str, shared_records: str
) -> None:
    printed = run_tool(
        "VerifiableShareConsumer",
        *("--bootstrap-server", bootstrap, "--topic", shared_records, "--group-id", "verifiers"),
        *("--max-messages", "50", "--offset-reset-strategy", "earliest"),
    )

    events = [json.loads(line) for line in printed.splitlines() if line.startswith("{")]
    counts = {
        name: sum(event["count"] for event in events if event["name"] == name)
        for name in ("records_consumed", "offsets_acknowledged")
    }
    assert counts == {"records_consumed": 50, "offsets_acknowledged": 50}


def test_the_performance_tool_of_share_consumers_reads_every_record(
    bootstrap: str, shared_records: str
) -> None:
    with Admin(bootstrap) as admin:
        group = ConfigResource(ConfigResourceType.GROUP, "measured")
        from_start = AlterConfig("share.auto.offset.reset", "earliest")
        admin.incremental_alter_configs({group: [from_start]})

    measured = tool(
        "ShareConsumerPerformance",
        bootstrap,
        *("--topic", shared_records, "--group", "measured", "--num-records", "50"),
        *("--timeout", "60000"),
    )

    header = "start.time, end.time, data.consumed.in.MB, MB.sec, nMsg.sec, data.consumed.in.nMsg"
    assert " ".join(measured[0]).startswith(header)
    assert " ".join(measured[-1]).split(", ")[5] == "50"
