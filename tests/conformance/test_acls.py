"""Clients raise while Apache Kafka's authorizer denies access, and work once it is allowed."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import pytest

from pyk.clients import (
    AccessControlEntry,
    AccessControlEntryFilter,
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    Admin,
    Consumer,
    InvalidRequestError,
    NewTopic,
    PatternType,
    Producer,
    ResourcePattern,
    ResourcePatternFilter,
    ResourceType,
    SeveralErrors,
    TopicAuthorizationFailedError,
    TopicPartition,
)
from support import apache_kafka
from support.apache_kafka import ApacheKafka
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
            pattern = ResourcePattern(ResourceType.TOPIC, TOPIC)
            everybody = AccessControlEntry("User:*", AclOperation.ALL)
            admin.create_acls([AclBinding(pattern, everybody)])
        yield kafka.bootstrap


def denial(operation: AclOperation) -> AclBinding:
    pattern = ResourcePattern(ResourceType.TOPIC, TOPIC)
    return AclBinding(pattern, AccessControlEntry("User:*", operation, AclPermissionType.DENY))


def forbid(bootstrap: str, operation: AclOperation) -> None:
    with Admin(bootstrap) as admin:
        admin.create_acls([denial(operation)])


def allow_again(bootstrap: str, operation: AclOperation) -> None:
    with Admin(bootstrap) as admin:
        admin.delete_acls([denial(operation)])


def test_acls_are_created_described_and_deleted(bootstrap: str) -> None:
    drafts = ResourcePattern(ResourceType.TOPIC, "drafts-", PatternType.PREFIXED)
    entry = AccessControlEntry("User:carol", AclOperation.WRITE, host="198.51.100.7")
    one = AclBinding(drafts, entry)
    other = AclBinding(ResourcePattern(ResourceType.CLUSTER, "elsewhere"), entry)
    of_carol = AclBindingFilter(entry=AccessControlEntryFilter("User:carol"))
    of_drafts_1 = AclBindingFilter(
        ResourcePatternFilter(ResourceType.TOPIC, "drafts-1", PatternType.MATCH),
        AccessControlEntryFilter("User:carol"),
    )
    with Admin(bootstrap) as admin:
        with pytest.raises(SeveralErrors) as caught:
            admin.create_acls([one, other])
        assert isinstance(caught.value.errors[other], InvalidRequestError)

        assert admin.describe_acls(of_carol) == [one]
        assert admin.describe_acls(of_drafts_1) == [one]
        assert admin.delete_acls([of_drafts_1]) == {of_drafts_1: [one]}
        assert admin.describe_acls(of_carol) == []
        assert admin.delete_acls([one]) == {AclBindingFilter.of(one): []}


def test_a_producer_raises_while_writing_is_denied_and_works_once_it_is_allowed(
    bootstrap: str,
) -> None:
    with Producer(bootstrap) as producer:
        producer.send_and_wait(TOPIC, b"allowed")
        forbid(bootstrap, AclOperation.WRITE)
        with pytest.raises(TopicAuthorizationFailedError, match=TOPIC):
            producer.send_and_wait(TOPIC, b"refused")
        allow_again(bootstrap, AclOperation.WRITE)

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
        forbid(bootstrap, AclOperation.READ)
        eventually(is_refused)
        producer.send_and_wait(TOPIC, b"meanwhile")
        assert not consumer.health().is_healthy
        allow_again(bootstrap, AclOperation.READ)

        eventually(lambda: reads(b"meanwhile"))
        assert consumer.health().is_healthy
        assert values.count(b"before") == 1
