"""What a producer says to a user whom no ACL allows to create its topic."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from pyk.clients import (
    AccessControlEntry,
    AclBinding,
    AclOperation,
    Admin,
    Producer,
    ResourcePattern,
    ResourceType,
    TopicAuthorizationFailedError,
)
from pyk.reference_broker import Cluster


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    users = {"admin": "a", "shop": "s"}
    with Cluster(sasl=users, super_users=["admin"]) as cluster:
        yield cluster


def test_the_first_record_of_a_topic_names_the_acl_that_creates_it(cluster: Cluster) -> None:
    orders = ResourcePattern(ResourceType.TOPIC, "orders")
    write = AccessControlEntry("User:shop", AclOperation.WRITE)
    with Admin(**cluster.client_options("admin")) as admin:
        admin.create_acls([AclBinding(orders, write)])

    with (
        Producer(**cluster.client_options("shop")) as producer,
        pytest.raises(TopicAuthorizationFailedError, match="for CREATE if clients create it"),
    ):
        producer.send_and_wait("orders", b"first")
