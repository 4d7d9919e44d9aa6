"""Clients of a cluster whose users may do only what ACLs allow them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from pyk.clients import (
    AccessControlEntry,
    AclBinding,
    AclBindingFilter,
    AclOperation,
    Admin,
    Consumer,
    GroupAuthorizationFailedError,
    NewTopic,
    PatternType,
    Producer,
    ResourcePattern,
    ResourceType,
    TopicAuthorizationFailedError,
    TopicPartition,
    TransactionalIdAuthorizationFailedError,
)
from pyk.reference_broker import Cluster
from support.real_time import eventually

READ, WRITE = AclOperation.READ, AclOperation.WRITE
TOPIC, GROUP = ResourceType.TOPIC, ResourceType.GROUP
USERS = {"admin": "admin-secret", "alice": "alice-secret"}


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    with Cluster(sasl=USERS, super_users=["admin"]) as running:
        yield running


@pytest.fixture
def admin(cluster: Cluster) -> Iterator[Admin]:
    with Admin(**cluster.client_options("admin")) as client:
        client.create_topics([NewTopic("orders")])
        yield client


@pytest.fixture
def alice(cluster: Cluster) -> dict[str, Any]:
    return cluster.client_options("alice")


def acl(
    operation: AclOperation,
    kind: ResourceType,
    name: str,
    pattern: PatternType = PatternType.LITERAL,
) -> AclBinding:
    return AclBinding(
        ResourcePattern(kind, name, pattern), AccessControlEntry("User:alice", operation)
    )


def test_a_user_writes_and_reads_what_acls_allow(admin: Admin, alice: dict[str, Any]) -> None:
    admin.create_acls(
        [
            acl(AclOperation.ALL, TOPIC, "ord", PatternType.PREFIXED),
            acl(READ, GROUP, "billing"),
        ]
    )

    with Producer(**alice) as producer:
        producer.send_and_wait("orders", b"one")
    with Consumer(**alice, group_id="billing", auto_offset_reset="earliest") as consumer:
        consumer.subscribe(["orders"])
        values = [record.value for record in consumer.poll(20)]
        consumer.commit()

    assert values == [b"one"]


def test_what_no_acl_allows_is_refused_until_one_does(admin: Admin, alice: dict[str, Any]) -> None:
    with Producer(**alice) as producer:
        with pytest.raises(TopicAuthorizationFailedError, match="orders"):
            producer.send_and_wait("orders", b"refused")
        admin.create_acls([acl(WRITE, TOPIC, "orders")])

        def is_written() -> bool:
            try:
                producer.send_and_wait("orders", b"allowed")
            except TopicAuthorizationFailedError:
                return False
            return True

        eventually(is_written)


def test_a_group_needs_an_acl_of_its_own(admin: Admin, alice: dict[str, Any]) -> None:
    admin.create_acls([acl(READ, TOPIC, "orders")])

    with Consumer(**alice, group_id="billing") as consumer:
        consumer.subscribe(["orders"])
        with pytest.raises(GroupAuthorizationFailedError):
            consumer.poll(20)


def test_a_transaction_needs_an_acl_for_its_id_and_brokers_end_it_among_themselves(
    admin: Admin, alice: dict[str, Any]
) -> None:
    admin.create_acls([acl(AclOperation.ALL, TOPIC, "orders")])
    with (
        pytest.raises(TransactionalIdAuthorizationFailedError),
        Producer(**alice, transactional_id="payer") as producer,
    ):
        producer.init_transactions()
    admin.create_acls([acl(WRITE, ResourceType.TRANSACTIONAL_ID, "payer")])

    with Producer(**alice, transactional_id="payer") as producer:
        producer.init_transactions()
        with producer.transaction():
            producer.send("orders", b"paid")
    with Consumer(
        **alice, isolation_level="read_committed", auto_offset_reset="earliest"
    ) as consumer:
        consumer.assign([TopicPartition("orders", 0)])
        values = [record.value for record in consumer.poll(20)]

    assert values == [b"paid"]


def test_a_user_sees_only_topics_and_groups_that_it_may_describe(
    admin: Admin, alice: dict[str, Any]
) -> None:
    admin.create_topics([NewTopic("payments")])
    admin.create_acls([acl(AclOperation.DESCRIBE, TOPIC, "payments")])

    with Admin(**alice) as client:
        assert set(client.list_topics()) == {"payments"}


def test_an_acl_that_is_deleted_allows_no_more(admin: Admin, alice: dict[str, Any]) -> None:
    binding = acl(WRITE, TOPIC, "orders")
    admin.create_acls([binding])
    with Producer(**alice) as producer:
        producer.send_and_wait("orders", b"allowed")
        admin.delete_acls([AclBindingFilter()])

        def is_refused() -> bool:
            try:
                producer.send_and_wait("orders", b"maybe")
            except TopicAuthorizationFailedError:
                return True
            return False

        eventually(is_refused)
    assert admin.describe_acls() == []


@pytest.mark.parametrize("end", [Cluster.stop, Cluster.kill])
def test_acls_outlive_a_restart_of_the_broker(
    cluster: Cluster, admin: Admin, alice: dict[str, Any], end: Callable[[Cluster], None]
) -> None:
    binding = acl(WRITE, TOPIC, "orders")
    admin.create_acls([binding])

    end(cluster)
    cluster.start()

    assert admin.describe_acls() == [binding]
    with Producer(**alice) as producer:
        producer.send_and_wait("orders", b"allowed")


def test_users_may_be_named_by_certificates() -> None:
    pytest.importorskip("trustme")
    with Cluster(tls=True, super_users=["admin"]) as cluster:
        alice = cluster.client_options("alice")
        with Admin(**cluster.client_options("admin")) as admin:
            admin.create_topics([NewTopic("orders")])
            with Producer(**alice) as producer, pytest.raises(TopicAuthorizationFailedError):
                producer.send_and_wait("orders", b"refused")
            admin.create_acls(
                [
                    acl(WRITE, TOPIC, "orders"),
                    acl(WRITE, ResourceType.TRANSACTIONAL_ID, "payer"),
                ]
            )
        with Producer(**alice, transactional_id="payer") as producer:
            producer.init_transactions()
            with producer.transaction():
                delivery = producer.send("orders", b"paid")

    assert delivery.result(20).offset == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"super_users": ["admin"]}, "does not know who its clients are"),
        ({"super_users": "carol", "sasl": USERS}, "'carol' is not one of the users admin, alice"),
    ],
)
def test_super_users_are_users_of_the_cluster(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Cluster(**arguments)
