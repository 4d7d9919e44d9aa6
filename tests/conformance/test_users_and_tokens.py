"""SCRAM users and delegation tokens, as administrators and workers use them."""

from __future__ import annotations

import base64
import hashlib
import hmac
from collections.abc import Iterator
from typing import Any

import pytest

from pyk.clients import (
    Admin,
    DelegationToken,
    DelegationTokenExpiredError,
    DelegationTokenNotFoundError,
    DelegationTokenOwnerMismatchError,
    DelegationTokenRequestNotAllowedError,
    KafkaPrincipal,
    Plain,
    Producer,
    ResourceNotFoundError,
    SaslAuthenticationFailedError,
    Scram,
    ScramCredentialInfo,
    ScramMechanism,
    UnacceptableCredentialError,
    UserScramCredentialDeletion,
    UserScramCredentialUpsertion,
)
from pyk.clients.errors import KafkaError
from pyk.reference_broker import Cluster
from support import apache_kafka
from support.real_time import eventually
from support.secure_kafka import SecureKafka

TOKEN_CONFIG = {
    "delegation.token.secret.key": "secret-key",
    "delegation.token.max.lifetime.ms": "600000",
    "delegation.token.expiry.time.ms": "300000",
}
USERS = {"alice": Plain("alice", "alice-secret"), "bob": Scram("bob", "bob-secret")}
MECHANISMS = [one.value for one in ScramMechanism]
HALF_A_MINUTE_MS = 30_000


class KafkaWithTokens(SecureKafka):
    """An Apache Kafka with delegation tokens, whose sessions have no other end."""

    def _properties(self) -> dict[str, str]:
        return super()._properties() | TOKEN_CONFIG | {"connections.max.reauth.ms": "0"}


@pytest.fixture(
    scope="module", params=["reference", pytest.param("apache", marks=pytest.mark.conformance)]
)
def server(request: pytest.FixtureRequest) -> Iterator[str]:
    """The address of a listener where the users log in."""
    if request.param == "reference":
        users = {name: auth.password.reveal() for name, auth in USERS.items()}
        with Cluster(sasl=users, config=TOKEN_CONFIG) as cluster:
            yield cluster.bootstrap
        return
    if why := apache_kafka.missing():
        pytest.skip(why)
    with KafkaWithTokens() as kafka:
        yield kafka.at("SASL_PLAINTEXT")


def options(server: str, auth: Any) -> dict[str, Any]:
    return {
        "bootstrap_servers": server,
        "security_protocol": "SASL_PLAINTEXT",
        "auth": auth,
        "default_api_timeout_ms": 20_000,
    }


@pytest.fixture
def alice(server: str) -> Iterator[Admin]:
    with Admin(**options(server, USERS["alice"])) as admin:
        yield admin


@pytest.fixture
def bob(server: str) -> Iterator[Admin]:
    with Admin(**options(server, USERS["bob"])) as admin:
        yield admin


def known(admin: Admin, token: DelegationToken) -> DelegationToken:
    """Return a token as brokers describe it, once they know it."""

    def described() -> DelegationToken | None:
        every = {one.token_id: one for one in admin.describe_delegation_token()}
        return every.get(token.token_id)

    eventually(lambda: described() is not None)
    found = described()
    assert found is not None
    return found


def why_refused(server: str, auth: Any) -> type[KafkaError] | None:
    """Return the error of a login, None if there is none."""
    try:
        with Admin(**options(server, auth)) as admin:
            admin.describe_cluster()
    except KafkaError as error:
        return type(error)
    return None


def why_not_renewed(admin: Admin, token: DelegationToken) -> type[KafkaError] | None:
    """Return the error of a renewal, None if there is none."""
    try:
        admin.renew_delegation_token(token, renew_period_ms=1)
    except KafkaError as error:
        return type(error)
    return None


def test_a_token_is_described_as_it_was_created(alice: Admin) -> None:
    token = alice.create_delegation_token(renewers=["User:bob"], max_lifetime_ms=HALF_A_MINUTE_MS)

    assert known(alice, token) == token
    assert token.owner == token.token_requester == KafkaPrincipal("User", "alice")
    assert token.max_timestamp_ms - token.issue_timestamp_ms == HALF_A_MINUTE_MS
    assert token.expiry_timestamp_ms == token.max_timestamp_ms


def test_the_hmac_is_computed_from_the_id_and_the_secret_key(alice: Admin) -> None:
    token = alice.create_delegation_token(max_lifetime_ms=HALF_A_MINUTE_MS)

    digest = hmac.new(b"secret-key", token.token_id.encode(), hashlib.sha512).digest()
    assert base64.b64decode(token.hmac.reveal()) == digest


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_a_worker_writes_with_a_token_and_gets_no_token(
    server: str, alice: Admin, mechanism: str
) -> None:
    token = known(alice, alice.create_delegation_token(max_lifetime_ms=HALF_A_MINUTE_MS))
    worker = options(server, token.credentials(mechanism))

    with Producer(**worker) as producer:
        written = producer.send_and_wait(f"tokens-{mechanism}", b"one")
    with Admin(**worker) as admin, pytest.raises(DelegationTokenRequestNotAllowedError):
        admin.create_delegation_token()

    assert written.offset == 0


def test_a_renewer_prolongs_a_token_and_others_do_not(alice: Admin, bob: Admin) -> None:
    shared = known(alice, alice.create_delegation_token(renewers=["User:bob"]))
    own = known(alice, alice.create_delegation_token())

    expiry = bob.renew_delegation_token(shared, renew_period_ms=HALF_A_MINUTE_MS)

    assert expiry < shared.expiry_timestamp_ms
    with pytest.raises(DelegationTokenOwnerMismatchError):
        bob.renew_delegation_token(own)
    with pytest.raises(DelegationTokenNotFoundError):
        bob.renew_delegation_token(b"nothing")


def test_a_token_for_somebody_else_is_theirs(alice: Admin, bob: Admin) -> None:
    token = known(alice, alice.create_delegation_token(owner="User:bob"))

    assert token.token_requester == KafkaPrincipal("User", "alice")
    assert token in alice.describe_delegation_token(["User:bob"])
    with pytest.raises(DelegationTokenOwnerMismatchError):
        alice.renew_delegation_token(token)
    assert bob.renew_delegation_token(token) > token.issue_timestamp_ms


def test_an_expired_token_logs_nobody_in(server: str, alice: Admin) -> None:
    token = known(alice, alice.create_delegation_token())
    assert why_refused(server, token.credentials()) is None

    alice.expire_delegation_token(token)

    eventually(lambda: why_refused(server, token.credentials()) is SaslAuthenticationFailedError)
    with pytest.raises((DelegationTokenExpiredError, DelegationTokenNotFoundError)):
        alice.renew_delegation_token(token)


def test_an_expired_token_is_removed_by_its_owner_only(alice: Admin, bob: Admin) -> None:
    token = known(alice, alice.create_delegation_token())
    alice.expire_delegation_token(token, expiry_period_ms=1)
    eventually(lambda: why_not_renewed(alice, token) is DelegationTokenExpiredError)

    with pytest.raises(DelegationTokenOwnerMismatchError):
        bob.expire_delegation_token(token)
    with pytest.raises(DelegationTokenExpiredError):
        alice.expire_delegation_token(token, expiry_period_ms=HALF_A_MINUTE_MS)
    alice.expire_delegation_token(token)

    eventually(lambda: why_not_renewed(alice, token) is DelegationTokenNotFoundError)


def test_users_come_change_their_passwords_and_go(server: str, alice: Admin) -> None:
    sha_256, sha_512 = (ScramCredentialInfo(name, 4096) for name in MECHANISMS)
    alice.alter_user_scram_credentials(
        [
            UserScramCredentialUpsertion("carol", sha_256, "first"),
            UserScramCredentialUpsertion("carol", sha_512, "first"),
        ]
    )
    for name in MECHANISMS:
        eventually(lambda name=name: why_refused(server, Scram("carol", "first", name)) is None)
    described = alice.describe_user_scram_credentials(["carol"])["carol"]

    alice.alter_user_scram_credentials([UserScramCredentialUpsertion("carol", sha_512, "other")])
    eventually(lambda: why_refused(server, Scram("carol", "other")) is None)
    wrong = why_refused(server, Scram("carol", "first"))
    alice.alter_user_scram_credentials(
        [UserScramCredentialDeletion("carol", name) for name in MECHANISMS]
    )

    assert set(described.credential_infos) == {sha_256, sha_512}
    assert wrong is SaslAuthenticationFailedError
    eventually(lambda: "carol" not in alice.describe_user_scram_credentials())
    assert why_refused(server, Scram("carol", "other")) is SaslAuthenticationFailedError


@pytest.mark.parametrize("iterations", [4095, 16_385])
def test_numbers_of_iterations_that_brokers_do_not_take(alice: Admin, iterations: int) -> None:
    info = ScramCredentialInfo("SCRAM-SHA-256", iterations)

    with pytest.raises(UnacceptableCredentialError, match="iterations"):
        alice.alter_user_scram_credentials([UserScramCredentialUpsertion("dave", info, "secret")])


def test_users_that_are_not_there_are_not_found(alice: Admin) -> None:
    with pytest.raises(ResourceNotFoundError):
        alice.describe_user_scram_credentials(["nobody"])
    with pytest.raises(ResourceNotFoundError):
        alice.alter_user_scram_credentials([UserScramCredentialDeletion("nobody", MECHANISMS[0])])
