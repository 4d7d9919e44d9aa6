"""Apache Kafka's tools for streams groups with the reference broker (KIP-1071)."""

from __future__ import annotations

import asyncio

import pytest

from pyk.clients import Admin, NewTopic, Producer, TopicPartition
from support import apache_kafka
from support.broker_requests import coordinator_of
from support.kafka_tools import run_tool
from support.raw_client import RawClient
from support.raw_streams_groups import StreamsCoordinator

pytestmark = [
    pytest.mark.conformance,
    pytest.mark.skipif(bool(apache_kafka.missing()), reason=str(apache_kafka.missing())),
]

STREAMS_COMMAND = "streams.StreamsGroupCommand"
APPLICATION, TEXTS, STORE = "java-streams", "java-texts", "java-streams-counts-changelog"


def tool(name: str, bootstrap: str, *arguments: str) -> list[list[str]]:
    """Run a tool and return the words of each line that it prints; fail if it reports an error."""
    printed = run_tool(name, "--bootstrap-server", bootstrap, *arguments)
    assert "Exception" not in printed, printed
    return [line.split() for line in printed.splitlines() if line.strip()]


def member(bootstrap: str, *, leaves: bool = False) -> None:
    """Be a member of the group, or leave it."""

    async def ask() -> None:
        async with RawClient(bootstrap) as client:
            await coordinator_of(client, APPLICATION)
            group = StreamsCoordinator(client, APPLICATION, TEXTS, STORE)
            answer = await (group.beat("a", -1) if leaves else group.join("a"))
            assert not answer.error_code, answer

    asyncio.run(ask())


def test_the_tool_of_streams_groups_lists_describes_resets_and_deletes(bootstrap: str) -> None:
    group = ["--group", APPLICATION]
    with Admin(bootstrap) as admin:
        admin.create_topics([NewTopic(TEXTS, 2), NewTopic(STORE, 2)])
        member(bootstrap)

        assert [APPLICATION, "Stable"] in tool(STREAMS_COMMAND, bootstrap, "--list", "--state")
        members = tool(STREAMS_COMMAND, bootstrap, "--describe", *group, "--members")
        assert [APPLICATION, "a", "process-of-a", "raw"] in [line[:4] for line in members]
        assert [APPLICATION, "Streams", "streams"] in tool(
            "GroupsCommand", bootstrap, "--list", "--streams"
        )

        member(bootstrap, leaves=True)
        admin.alter_streams_group_offsets(APPLICATION, {TopicPartition(TEXTS, 0): 1})
        reset = ["--reset-offsets", *group, "--all-input-topics", "--to-earliest", "--execute"]
        tool(STREAMS_COMMAND, bootstrap, *reset)
        committed = admin.list_streams_group_offsets(APPLICATION)
        assert committed[TopicPartition(TEXTS, 0)].offset == 0  # type: ignore[union-attr]

        tool(STREAMS_COMMAND, bootstrap, "--delete", *group, "--delete-all-internal-topics")
        assert tool(STREAMS_COMMAND, bootstrap, "--list") == []
        assert STORE not in admin.list_topics()


def test_the_tool_that_resets_applications_sets_their_input_back(bootstrap: str) -> None:
    inputs, application = "java-reset-input", "java-reset"
    changelog = f"{application}-counts-changelog"
    partition = TopicPartition(inputs, 0)
    with Admin(bootstrap) as admin, Producer(bootstrap) as producer:
        admin.create_topics([NewTopic(inputs, 1), NewTopic(changelog, 1)])
        for number in range(5):
            producer.send(inputs, b"%d" % number)
        producer.flush()
        admin.alter_consumer_group_offsets(application, {partition: 4})

        printed = run_tool(
            "StreamsResetter",
            *("--bootstrap-server", bootstrap),
            *("--application-id", application, "--input-topics", inputs, "--force"),
        )

        assert f"Topic: {inputs} Partition: 0 Offset: 0" in printed
        committed = admin.list_consumer_group_offsets(application)[partition]
        assert committed.offset == 0  # type: ignore[union-attr]
        assert changelog not in admin.list_topics()
