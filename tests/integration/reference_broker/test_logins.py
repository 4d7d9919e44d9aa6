"""Clients that log in to a broker, and those that do not."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator

import pytest

from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    ScramCredentialDeletion,
)
from pyk.protocol.messages.api_versions import ApiVersionsRequest
from pyk.protocol.messages.describe_user_scram_credentials import (
    DescribeUserScramCredentialsRequest,
)
from pyk.protocol.messages.metadata import MetadataRequest
from pyk.protocol.messages.sasl_authenticate import SaslAuthenticateRequest
from pyk.protocol.messages.sasl_handshake import SaslHandshakeRequest
from pyk.protocol.sasl import ScramMechanism
from pyk.protocol.schema import Message
from pyk.reference_broker import AsyncCluster
from support.raw_client import RawClient
from support.raw_sasl import authenticate, handshake, log_in_by_plain, log_in_by_scram

USERS = {"alice": "secret", 'b,o=b"\\': 'p"a\\ss;'}


@pytest.fixture
async def cluster() -> AsyncIterator[AsyncCluster]:
    config = {"connection.failed.authentication.delay.ms": "20"}
    async with AsyncCluster(sasl=USERS, config=config) as running:
        yield running


@pytest.fixture
async def client(cluster: AsyncCluster) -> AsyncIterator[RawClient]:
    async with RawClient(cluster.bootstrap) as connected:
        yield connected


@pytest.mark.parametrize("user", USERS)
async def test_users_log_in_by_plain(client: RawClient, user: str) -> None:
    response = await log_in_by_plain(client, user, USERS[user])

    assert (response.error_code, response.auth_bytes) == (ErrorCode.NONE, b"")
    assert response.session_lifetime_ms == 0
    assert (await client.ask(MetadataRequest())).brokers


@pytest.mark.parametrize("user", USERS)
@pytest.mark.parametrize("mechanism", ScramMechanism)
async def test_users_log_in_by_scram(
    client: RawClient, user: str, mechanism: ScramMechanism
) -> None:
    response = await log_in_by_scram(client, user, USERS[user], mechanism)

    assert response.error_code == ErrorCode.NONE
    assert (await client.ask(MetadataRequest())).brokers


@pytest.mark.parametrize(("user", "password"), [("alice", "wrong"), ("carol", "secret")])
async def test_a_wrong_password_and_an_unknown_user_get_the_same_answer(
    client: RawClient, user: str, password: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)

    response = await log_in_by_plain(client, user, password)

    assert response.error_code == ErrorCode.SASL_AUTHENTICATION_FAILED
    assert response.error_message == "Authentication failed: Invalid username or password"
    assert await client.is_cut_off()
    assert f"Failed authentication of 127.0.0.1: {response.error_message}" in caplog.text
    assert password not in caplog.text


@pytest.mark.parametrize(("user", "password"), [("alice", "wrong"), ("carol", "secret")])
async def test_a_proof_that_is_wrong_is_refused(
    client: RawClient, user: str, password: str
) -> None:
    response = await log_in_by_scram(client, user, password)

    assert response.error_code == ErrorCode.SASL_AUTHENTICATION_FAILED
    assert response.error_message == (
        "Authentication failed during authentication due to invalid credentials with SASL "
        "mechanism SCRAM-SHA-512"
    )
    assert await client.is_cut_off()


async def test_nobody_acts_for_another_user(client: RawClient) -> None:
    response = await log_in_by_plain(client, "alice", "secret", authzid="root")

    assert response.error_message == (
        "Authentication failed: Client requested an authorization id that is different from "
        "username"
    )


async def test_a_mechanism_that_there_is_not_is_refused_with_those_there_are(
    client: RawClient,
) -> None:
    response = await handshake(client, "GSSAPI")

    assert response.error_code == ErrorCode.UNSUPPORTED_SASL_MECHANISM
    assert response.mechanisms == ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"]
    assert await client.is_cut_off()


@pytest.mark.parametrize(
    "request_", [MetadataRequest(), SaslAuthenticateRequest(auth_bytes=b"\0alice\0secret")]
)
async def test_before_a_login_other_requests_close_the_connection(
    client: RawClient, request_: Message
) -> None:
    client.send(request_)

    assert await client.is_cut_off()


@pytest.mark.parametrize("request_", [ApiVersionsRequest(), SaslHandshakeRequest()])
async def test_during_a_login_only_its_tokens_are_taken(
    client: RawClient, request_: Message
) -> None:
    await handshake(client, "PLAIN")
    client.send(request_)

    assert await client.is_cut_off()


async def test_versions_are_told_to_everybody(client: RawClient) -> None:
    software = ApiVersionsRequest(client_software_name="a", client_software_version="1")

    assert (await client.ask(software, version=3)).error_code == ErrorCode.NONE
    assert (await log_in_by_plain(client, "alice", "secret")).error_code == ErrorCode.NONE


async def test_large_requests_are_taken_after_a_login_only(cluster: AsyncCluster) -> None:
    large = b"\0" * 524_289
    async with RawClient(cluster.bootstrap) as early, RawClient(cluster.bootstrap) as late:
        early.writer.write(len(large).to_bytes(4, "big"))
        assert await early.is_cut_off()

        await log_in_by_plain(late, "alice", "secret")
        assert (await late.ask(MetadataRequest())).brokers
        late.writer.write(len(large).to_bytes(4, "big") + large[:1])
        await late.writer.drain()
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(late.reader.read(1), 0.05)


async def test_a_listener_without_sasl_says_so() -> None:
    async with AsyncCluster() as cluster, RawClient(cluster.bootstrap) as client:
        begun = await handshake(client, "PLAIN")
        answered = await authenticate(client, b"\0alice\0secret")

    assert begun.error_code == ErrorCode.ILLEGAL_SASL_STATE
    assert answered.error_code == ErrorCode.ILLEGAL_SASL_STATE


async def test_credentials_are_described_and_taken_away(
    cluster: AsyncCluster, client: RawClient
) -> None:
    await log_in_by_plain(client, "alice", "secret")
    described = await client.ask(DescribeUserScramCredentialsRequest(users=None))
    altered = await client.ask(
        AlterUserScramCredentialsRequest(
            deletions=[ScramCredentialDeletion(name="alice", mechanism=2)]
        )
    )

    assert {each.user: len(each.credential_infos) for each in described.results} == dict.fromkeys(
        USERS, 2
    )
    assert [each.error_code for each in altered.results] == [ErrorCode.NONE]
    async with RawClient(cluster.bootstrap) as other:
        assert (await log_in_by_scram(other, "alice", "secret")).error_code
    async with RawClient(cluster.bootstrap) as other:
        await log_in_by_scram(other, "alice", "secret", ScramMechanism.SCRAM_SHA_256)
        assert (await other.ask(MetadataRequest())).brokers


async def test_credentials_outlive_a_restart_without_new_records(cluster: AsyncCluster) -> None:
    (broker,) = cluster._brokers.values()
    before = broker.image.scram_credentials
    await cluster.stop()
    await cluster.start()
    (broker,) = cluster._brokers.values()

    assert broker.image.scram_credentials == before
    async with RawClient(cluster.bootstrap) as client:
        assert (await log_in_by_scram(client, "alice", "secret")).error_code == ErrorCode.NONE
