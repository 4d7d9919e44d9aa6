"""Clients raise while Apache Kafka's authorizer denies access, and work once it is allowed."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import pytest

from pyk.clients import (
    Admin,
    Consumer,
    NewTopic,
    Producer,
    TopicAuthorizationFailedError,
    TopicPartition,
)
from support import apache_kafka
from support.apache_kafka import ApacheKafka
from support.kafka_tools import run_tool
from support.real_time import eventually

pytestmark = pytest.mark.conformance

TOPIC = "guarded"
AUTHORIZER = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "allow.everyone.if.no.acl.found": "true",
}


@pytest.fixture(scope="module")
def bootstrap() -> Iterator[str]:
    if why := apache_kafka.missing():
        pytest.skip(why)
    with ApacheKafka(config=AUTHORIZER) as kafka:
        with Admin(kafka.bootstrap) as admin:
            admin.create_topics([NewTopic(TOPIC)])
        change_acl(kafka.bootstrap, "--add", "--allow-principal", "ALL")
        yield kafka.bootstrap


def change_acl(bootstrap: str, change: str, principal: str, operation: str) -> None:
    """Add or remove ACLs of the topic."""
    run_tool(
        "AclCommand", "--bootstrap-server", bootstrap, change, "--force", "--topic", TOPIC,
        principal, "User:*", "--operation", operation,
    )  # fmt: skip


def forbid(bootstrap: str, operation: str) -> None:
    change_acl(bootstrap, "--add", "--deny-principal", operation)


def allow_again(bootstrap: str, operation: str) -> None:
    change_acl(bootstrap, "--remove", "--deny-principal", operation)


def test_a_producer_raises_while_writing_is_denied_and_works_once_it_is_allowed(
    bootstrap: str,
) -> None:
    with Producer(bootstrap) as producer:
        producer.send_and_wait(TOPIC, b"allowed")
        forbid(bootstrap, "WRITE")
        with pytest.raises(TopicAuthorizationFailedError, match=TOPIC):
            producer.send_and_wait(TOPIC, b"refused")
        allow_again(bootstrap, "WRITE")

        assert producer.send_and_wait(TOPIC, b"allowed again").offset == 1


def test_a_consumer_raises_while_reading_is_denied_and_works_once_it_is_allowed(
    bootstrap: str,
) -> None:
    with Producer(bootstrap) as producer, Consumer(bootstrap) as consumer:
        values: list[bytes | None] = []

        def reads(value: bytes) -> bool:
            # An earlier refusal may be raised after access was allowed.
            with contextlib.suppress(TopicAuthorizationFailedError):
                values.extend(record.value for record in consumer.poll(0.5))
            return value in values

        def is_refused() -> bool:
            try:
                consumer.poll(0.5)
            except TopicAuthorizationFailedError:
                return True
            return False

        consumer.assign([TopicPartition(TOPIC, 0)])
        consumer.seek_to_beginning()
        producer.send_and_wait(TOPIC, b"before")
        eventually(lambda: reads(b"before"))
        forbid(bootstrap, "READ")
        eventually(is_refused)
        producer.send_and_wait(TOPIC, b"meanwhile")
        assert not consumer.health().is_healthy
        allow_again(bootstrap, "READ")

        eventually(lambda: reads(b"meanwhile"))
        assert consumer.health().is_healthy
        assert values.count(b"before") == 1
