"""Clients get delegation tokens from a broker, and log in by them."""

from __future__ import annotations

import asyncio
import base64
import logging
import ssl
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.create_delegation_token import (
    CreatableRenewers,
    CreateDelegationTokenRequest,
)
from pyk.protocol.messages.describe_delegation_token import (
    DescribeDelegationTokenOwner,
    DescribeDelegationTokenRequest,
)
from pyk.protocol.messages.expire_delegation_token import ExpireDelegationTokenRequest
from pyk.protocol.messages.metadata import MetadataRequest
from pyk.protocol.messages.renew_delegation_token import RenewDelegationTokenRequest
from pyk.protocol.sasl import TOKEN_AUTHENTICATION, ScramMechanism
from pyk.protocol.schema import Message
from pyk.reference_broker import AsyncCluster
from support.raw_client import RawClient
from support.raw_sasl import log_in_by_plain, log_in_by_scram

USERS = {"alice": "secret", "bob": "secret"}
CONFIG = {
    "listeners": "PLAINTEXT://127.0.0.1:0,SASL_PLAINTEXT://127.0.0.1:0",
    "delegation.token.secret.key": "canary",
    "connection.failed.authentication.delay.ms": "0",
}
NEW = CreateDelegationTokenRequest(
    owner_principal_type=None, owner_principal_name=None, max_lifetime_ms=-1
)
ALL = DescribeDelegationTokenRequest(owners=None)
REQUESTS = [
    NEW,
    RenewDelegationTokenRequest(hmac=b"x", renew_period_ms=-1),
    ExpireDelegationTokenRequest(hmac=b"x", expiry_time_period_ms=-1),
    ALL,
]


@pytest.fixture
async def cluster() -> AsyncIterator[AsyncCluster]:
    async with AsyncCluster(sasl=USERS, config=CONFIG) as running:
        yield running


@pytest.fixture
async def alice(cluster: AsyncCluster) -> AsyncIterator[RawClient]:
    async with RawClient(cluster.bootstrap_of("SASL_PLAINTEXT")) as connected:
        await log_in_by_plain(connected, "alice", "secret")
        yield connected


async def log_in(
    client: RawClient, token: Any, mechanism: ScramMechanism = ScramMechanism.SCRAM_SHA_512
) -> Any:
    password = base64.b64encode(token.hmac).decode()
    return await log_in_by_scram(client, token.token_id, password, mechanism, TOKEN_AUTHENTICATION)


@pytest.mark.parametrize("mechanism", ScramMechanism)
async def test_a_token_logs_in_as_its_owner_until_it_expires(
    cluster: AsyncCluster, alice: RawClient, mechanism: ScramMechanism
) -> None:
    token = await alice.ask(NEW)
    async with RawClient(cluster.bootstrap_of("SASL_PLAINTEXT")) as client:
        response = await log_in(client, token, mechanism)
        assert (await client.ask(MetadataRequest())).brokers
        (broker,) = cluster._brokers.values()
        assert broker._listener is not None
        principals = [str(each.principal) for each in broker._listener._connections.values()]

    day_ms = 86_400_000
    assert response.error_code == ErrorCode.NONE
    assert day_ms - 60_000 < response.session_lifetime_ms <= day_ms
    assert principals == ["User:alice", "User:alice"]


async def test_a_token_of_another_version_has_the_fields_of_that_version(alice: RawClient) -> None:
    old = await alice.ask(CreateDelegationTokenRequest(max_lifetime_ms=-1), version=1)
    (described,) = (await alice.ask(ALL, version=1)).tokens

    assert (old.principal_name, old.token_requester_principal_name) == ("alice", "")
    assert (described.token_id, described.hmac) == (old.token_id, old.hmac)


async def test_no_token_is_made_by_a_token(cluster: AsyncCluster, alice: RawClient) -> None:
    token = await alice.ask(NEW)
    async with RawClient(cluster.bootstrap_of("SASL_PLAINTEXT")) as client:
        await log_in(client, token)
        codes = {(await client.ask(request)).error_code for request in REQUESTS}

    assert codes == {ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED}


async def test_no_token_is_given_to_a_client_that_nobody_knows(cluster: AsyncCluster) -> None:
    async with RawClient(cluster.bootstrap_of("PLAINTEXT")) as client:
        codes = {(await client.ask(request)).error_code for request in REQUESTS}
        created = await client.ask(NEW)

    assert codes == {ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED}
    assert created.expiry_timestamp_ms == -1


@pytest.mark.parametrize(
    ("period_ms", "is_with_extension"),
    [(-1, True), (0, True), (60_000, False)],
    ids=["removed", "expired", "as a user"],
)
async def test_what_is_no_token_any_more_is_refused(
    cluster: AsyncCluster, alice: RawClient, period_ms: int, is_with_extension: bool
) -> None:
    token = await alice.ask(NEW)
    await alice.ask(ExpireDelegationTokenRequest(hmac=token.hmac, expiry_time_period_ms=period_ms))
    await asyncio.sleep(0.002)  # in the millisecond of its end a token still counts
    password = base64.b64encode(token.hmac).decode()
    extensions = TOKEN_AUTHENTICATION if is_with_extension else {}

    async with RawClient(cluster.bootstrap_of("SASL_PLAINTEXT")) as client:
        response = await log_in_by_scram(client, token.token_id, password, extensions=extensions)

    assert response.error_code == ErrorCode.SASL_AUTHENTICATION_FAILED


async def test_users_see_the_tokens_of_the_owners_they_ask_for(alice: RawClient) -> None:
    await alice.ask(NEW)
    renewers = [CreatableRenewers(principal_type="User", principal_name="bob")]
    await alice.ask(
        CreateDelegationTokenRequest(
            owner_principal_type="User",
            owner_principal_name="carol",
            renewers=renewers,
            max_lifetime_ms=-1,
        )
    )

    async def owners_of(*names: str) -> list[str]:
        asked = [
            DescribeDelegationTokenOwner(principal_type="User", principal_name=name)
            for name in names
        ]
        response = await alice.ask(DescribeDelegationTokenRequest(owners=asked))
        return [token.principal_name for token in response.tokens]

    assert await owners_of() == []
    assert await owners_of("alice") == ["alice", "carol"]  # she has requested it
    assert await owners_of("bob") == ["carol"]  # he may renew it
    assert await owners_of("carol", "nobody") == ["carol"]
    assert await owners_of("nobody") == []


async def test_renewers_are_users(alice: RawClient) -> None:
    renewers = [CreatableRenewers(principal_type="Group", principal_name="g")]

    response = await alice.ask(
        CreateDelegationTokenRequest(
            owner_principal_type=None,
            owner_principal_name=None,
            renewers=renewers,
            max_lifetime_ms=-1,
        )
    )

    assert response.error_code == ErrorCode.INVALID_PRINCIPAL_TYPE


@pytest.mark.parametrize("request_", REQUESTS)
async def test_without_a_secret_key_tokens_are_disabled(request_: Message) -> None:
    async with (
        AsyncCluster(sasl=USERS) as cluster,
        RawClient(cluster.bootstrap) as client,
    ):
        await log_in_by_plain(client, "alice", "secret")

        response = await client.ask(request_)

    assert response.error_code == ErrorCode.DELEGATION_TOKEN_AUTH_DISABLED


async def test_rules_say_who_creates_tokens_for_others_and_sees_them(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO)
    config = CONFIG | {
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": "User:broker;User:ANONYMOUS;User:bob",
    }
    async with AsyncCluster(sasl=USERS, config=config) as cluster:
        address = cluster.bootstrap_of("SASL_PLAINTEXT")
        async with RawClient(address) as alice, RawClient(address) as bob:
            await log_in_by_plain(alice, "alice", "secret")
            await log_in_by_plain(bob, "bob", "secret")
            for_bob = CreateDelegationTokenRequest(
                owner_principal_type="User", owner_principal_name="bob", max_lifetime_ms=-1
            )
            refused = await alice.ask(for_bob)
            of_bob, of_alice = await bob.ask(NEW), await alice.ask(NEW)
            seen_by_alice, seen_by_bob = await alice.ask(ALL), await bob.ask(ALL)

    assert refused.error_code == ErrorCode.DELEGATION_TOKEN_AUTHORIZATION_FAILED
    assert "Denied CREATE_TOKENS on USER 'User:bob' to User:alice" in caplog.text
    assert "Denied DESCRIBE" not in caplog.text  # which nobody has asked for by name
    assert [each.token_id for each in seen_by_alice.tokens] == [of_alice.token_id]
    assert {each.token_id for each in seen_by_bob.tokens} == {of_alice.token_id, of_bob.token_id}


@pytest.mark.parametrize(
    ("has_certificate", "code"),
    [(True, ErrorCode.NONE), (False, ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED)],
)
async def test_a_client_with_a_certificate_gets_a_token_and_one_without_does_not(
    tmp_path: Path, has_certificate: bool, code: ErrorCode
) -> None:
    config = {"delegation.token.secret.key": "canary", "ssl.client.auth": "requested"}
    async with AsyncCluster(tls=True, config=config) as cluster:
        options = cluster.client_options("alice")
        context = ssl.create_default_context(cadata=options["ssl_truststore_certificates"])
        if has_certificate:
            path = tmp_path / "client.pem"
            path.write_text(options["ssl_keystore_certificate_chain"] + options["ssl_keystore_key"])
            context.load_cert_chain(path)
        async with RawClient(cluster.bootstrap, tls=context) as client:
            response = await client.ask(NEW)

    assert response.error_code == code
    assert response.principal_name.startswith("CN=alice") == has_certificate


async def test_nothing_of_a_token_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    async with (
        AsyncCluster(sasl=USERS, config=CONFIG) as cluster,
        RawClient(cluster.bootstrap_of("SASL_PLAINTEXT")) as client,
    ):
        await log_in_by_plain(client, "alice", "secret")
        token = await client.ask(NEW)

    assert "canary" not in caplog.text
    assert base64.b64encode(token.hmac).decode() not in caplog.text
    assert repr(token.hmac) not in repr(token)
