"""Share consumers of other projects with the reference broker: Kafka's own, and librdkafka's."""

from __future__ import annotations

import time
from collections import Counter

import pytest

from pyk.clients import Admin, AlterConfig, ConfigResource, NewTopic
from support import apache_kafka
from support.kafka_tools import run_tool

pytestmark = pytest.mark.conformance
LINES = [str(number) for number in range(100)]
needs_kafka = pytest.mark.skipif(bool(apache_kafka.missing()), reason=str(apache_kafka.missing()))


def tool(name: str, bootstrap: str, *arguments: str, **options: object) -> str:
    printed = run_tool(name, "--bootstrap-server", bootstrap, *arguments, **options)
    assert "Exception" not in printed, printed
    return printed


def begin_at_the_start(bootstrap: str, group: str) -> None:
    reset = AlterConfig("share.auto.offset.reset", "earliest")
    with Admin(bootstrap) as admin:
        admin.incremental_alter_configs({ConfigResource.group(group): [reset]})


def fill(bootstrap: str, topic: str) -> None:
    tool("TopicCommand", bootstrap, "--create", "--topic", topic, "--partitions", "3")
    tool("ConsoleProducer", bootstrap, "--topic", topic, input="\n".join(LINES) + "\n")


@needs_kafka
@pytest.mark.parametrize("what_is_said", [[], ["--reject"]])
def test_the_console_share_consumer_reads_every_record_once(
    bootstrap: str, what_is_said: list[str]
) -> None:
    group = f"java-shares{''.join(what_is_said)}"
    topic = f"{group}-topic"
    fill(bootstrap, topic)
    begin_at_the_start(bootstrap, group)

    arguments = ("--topic", topic, "--group", group, "--max-messages", "100", *what_is_said)
    read = tool("consumer.ConsoleShareConsumer", bootstrap, *arguments)

    assert Counter(read.split()) == Counter(LINES)


@needs_kafka
def test_what_one_console_share_consumer_releases_another_one_gets(bootstrap: str) -> None:
    group, topic = "java-released", "java-released-topic"
    fill(bootstrap, topic)
    begin_at_the_start(bootstrap, group)
    arguments = ("--topic", topic, "--group", group, "--max-messages", "100")

    tool("consumer.ConsoleShareConsumer", bootstrap, *arguments, "--release")
    read = tool("consumer.ConsoleShareConsumer", bootstrap, *arguments)

    assert set(read.split()) == set(LINES)


def test_librdkafkas_share_consumer_reads_every_record(bootstrap: str) -> None:
    from confluent_kafka import Producer, ShareConsumer

    topic, group = "librdkafka-shared", "librdkafka-sharers"
    with Admin(bootstrap) as admin:
        admin.create_topics([NewTopic(topic, 3)])
    begin_at_the_start(bootstrap, group)
    producer = Producer({"bootstrap.servers": bootstrap})
    for line in LINES:
        producer.produce(topic, line.encode())
    producer.flush(20)

    consumer = ShareConsumer({"bootstrap.servers": bootstrap, "group.id": group})
    consumer.subscribe([topic])
    read: list[str] = []
    deadline = time.monotonic() + 60
    while len(read) < len(LINES) and time.monotonic() < deadline:
        read += [each.value().decode() for each in consumer.poll(1.0) if each.error() is None]
    consumer.close()

    assert Counter(read) == Counter(LINES)
