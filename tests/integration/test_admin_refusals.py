"""What Admin says to a user whom no ACL allows to manage the cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from pyk.clients import (
    Admin,
    ClientQuotaAlteration,
    ClientQuotaEntity,
    ClusterAuthorizationFailedError,
    ScramCredentialInfo,
    UserScramCredentialUpsertion,
)
from pyk.clients.errors import SeveralErrors
from pyk.reference_broker import Cluster

BOB = ClientQuotaEntity({"user": "bob"})
NEW = UserScramCredentialUpsertion("bob", ScramCredentialInfo("SCRAM-SHA-512"), "secret")


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    users = {"admin": "a", "shop": "s"}
    with Cluster(sasl=users, super_users=["admin"]) as cluster:
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
    ],
)
def test_a_call_that_is_not_allowed_names_the_acl_that_it_needs(
    cluster: Cluster, call: Callable[[Admin], object], needed: str
) -> None:
    with (
        Admin(**cluster.client_options("shop")) as admin,
        pytest.raises((ClusterAuthorizationFailedError, SeveralErrors)) as caught,
    ):
        call(admin)

    assert f"it needs an ACL for {needed}" in str(caught.value)
