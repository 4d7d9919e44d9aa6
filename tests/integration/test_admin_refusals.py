"""What Admin says to a user whom no ACL allows to manage the cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from pyk.clients import (
    AccessControlEntry,
    AclBinding,
    AclOperation,
    Admin,
    AuthorizationError,
    ClientQuotaAlteration,
    ClientQuotaEntity,
    ConfigResource,
    ElectionType,
    FeatureUpdate,
    Producer,
    ResourcePattern,
    ResourceType,
    ScramCredentialInfo,
    TopicAuthorizationFailedError,
    TopicPartition,
    UserScramCredentialUpsertion,
)
from pyk.clients.errors import SeveralErrors
from pyk.reference_broker import Cluster

BILLS = TopicPartition("bills", 0)
BOB = ClientQuotaEntity({"user": "bob"})
NEW = UserScramCredentialUpsertion("bob", ScramCredentialInfo("SCRAM-SHA-512"), "secret")


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    users = {"admin": "a", "shop": "s"}
    config = {"delegation.token.secret.key": "key of the tokens"}
    with Cluster(sasl=users, super_users=["admin"], config=config) as cluster:
        cluster.create_topic("bills")
        yield cluster


@pytest.mark.parametrize(
    ("call", "needed"),
    [
        (lambda admin: admin.describe_user_scram_credentials(), "DESCRIBE on the cluster"),
        (lambda admin: admin.alter_user_scram_credentials([NEW]), "ALTER on the cluster"),
        (lambda admin: admin.describe_client_quotas(), "DESCRIBE_CONFIGS on the cluster"),
        (
            lambda admin: admin.alter_client_quotas(
                ClientQuotaAlteration(BOB, {"producer_byte_rate": 1000})
            ),
            "ALTER_CONFIGS on the cluster",
        ),
        (
            lambda admin: admin.create_delegation_token(owner="User:bob"),
            "CREATE_TOKENS on the user",
        ),
        (lambda admin: admin.describe_topics(["bills"]), "DESCRIBE, READ or WRITE"),
        (lambda admin: admin.describe_configs([ConfigResource.topic("bills")]), "DESCRIBE_CONF"),
        (
            lambda admin: admin.describe_configs([ConfigResource.broker(0)]),
            "DESCRIBE_CONFIGS on the cluster",
        ),
        (lambda admin: admin.list_config_resources(), "DESCRIBE_CONFIGS on the cluster"),
        (lambda admin: admin.describe_log_dirs([0]), "DESCRIBE on the cluster"),
        (lambda admin: admin.describe_metadata_quorum(), "DESCRIBE on the cluster"),
        (lambda admin: admin.list_partition_reassignments(), "DESCRIBE on the cluster"),
        (lambda admin: admin.alter_partition_reassignments({BILLS: [0]}), "ALTER on the cluster"),
        (
            lambda admin: admin.elect_leaders(ElectionType.PREFERRED, [BILLS]),
            "ALTER on the cluster",
        ),
        (lambda admin: admin.unregister_broker(5), "ALTER on the cluster"),
        (
            lambda admin: admin.update_features([FeatureUpdate("group.version", 1)]),
            "ALTER on the cluster",
        ),
    ],
)
def test_a_call_that_is_not_allowed_names_the_acl_that_it_needs(
    cluster: Cluster, call: Callable[[Admin], object], needed: str
) -> None:
    with (
        Admin(**cluster.client_options("shop")) as admin,
        pytest.raises((AuthorizationError, SeveralErrors)) as caught,
    ):
        call(admin)

    assert f"it needs an ACL for {needed}" in str(caught.value)


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
