"""Apache Kafka's tools for share groups with the reference broker (KIP-932)."""

from __future__ import annotations

import pytest

from pyk.clients import Admin, NewTopic, Producer, TopicPartition
from support import apache_kafka
from support.kafka_tools import run_tool

pytestmark = [
    pytest.mark.conformance,
    pytest.mark.skipif(bool(apache_kafka.missing()), reason=str(apache_kafka.missing())),
]

SHARE_COMMAND = "consumer.group.ShareGroupCommand"


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
