"""Clients that do not log in as they should, or not at all: only their connection suffers."""

from __future__ import annotations

import asyncio
import ssl
import time
from collections.abc import AsyncIterator
from typing import Any

import pytest

from pyk.protocol.api_keys import ApiKey
from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.api_versions import ApiVersionsRequest
from pyk.protocol.messages.metadata import MetadataRequest
from pyk.protocol.messages.sasl_authenticate import SaslAuthenticateRequest
from pyk.protocol.messages.sasl_handshake import SaslHandshakeRequest
from pyk.protocol.registry import request_class
from pyk.protocol.sasl import ClientFirst
from pyk.reference_broker import AsyncCluster
from pyk.runtime.network import system
from support.raw_client import RawClient
from support.raw_sasl import authenticate, handshake, log_in_by_plain, log_in_by_scram

USERS = {"alice": "secret", "bob": "secret"}
QUICK = {"connection.failed.authentication.delay.ms": "1"}
LOGIN_APIS = {ApiKey.API_VERSIONS, ApiKey.SASL_HANDSHAKE, ApiKey.SASL_AUTHENTICATE}
HELLO = b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(32)


@pytest.fixture
async def cluster() -> AsyncIterator[AsyncCluster]:
    async with AsyncCluster(sasl=USERS, config=QUICK) as cluster:
        yield cluster


async def is_served(cluster: AsyncCluster, tls: ssl.SSLContext | None = None) -> bool:
    """Return whether alice is let in, and within seconds."""
    async with asyncio.timeout(10), RawClient(cluster.bootstrap, tls=tls) as client:
        response = await log_in_by_plain(client, "alice", "secret")
        return response.error_code == ErrorCode.NONE and bool(
            (await client.ask(MetadataRequest())).brokers
        )


# -- over the gate ---------------------------------------------------------------------------------


def framed(api_key: int, version: int, body: bytes) -> bytes:
    frame = api_key.to_bytes(2, "big") + version.to_bytes(2, "big") + b"\0\0\0\7\xff\xff" + body
    return len(frame).to_bytes(4, "big") + frame


@pytest.mark.parametrize("api_key", sorted(set(ApiKey) - LOGIN_APIS), ids=lambda key: key.name)
async def test_nothing_is_served_before_a_login(api_key: ApiKey, cluster: AsyncCluster) -> None:
    version = request_class(api_key).versions.highest
    async with RawClient(cluster.bootstrap) as client:
        client.writer.write(framed(api_key, version, bytes(100)))
        assert await client.is_cut_off()


async def test_versions_are_told_once_before_a_login(cluster: AsyncCluster) -> None:
    hello = ApiVersionsRequest(client_software_name="t", client_software_version="1")
    unnamed = ApiVersionsRequest()
    async with RawClient(cluster.bootstrap) as client:
        assert (await client.ask(unnamed, 3)).error_code == ErrorCode.INVALID_REQUEST
        assert (await client.ask(hello, 3)).error_code == ErrorCode.NONE
        client.send(hello, 3)

        assert await client.is_cut_off()


async def test_requests_behind_a_login_that_fails_are_not_served(cluster: AsyncCluster) -> None:
    async with RawClient(cluster.bootstrap) as client:
        client.send(SaslHandshakeRequest(mechanism="PLAIN"))
        client.send(SaslAuthenticateRequest(auth_bytes=b"\0alice\0wrong"))
        client.send(MetadataRequest())

        assert (await client.receive()).error_code == ErrorCode.NONE
        assert (await client.receive()).error_code == ErrorCode.SASL_AUTHENTICATION_FAILED
        assert await client.is_cut_off()


async def test_half_a_mebibyte_is_the_longest_token(cluster: AsyncCluster) -> None:
    async with RawClient(cluster.bootstrap) as client:
        await handshake(client, "PLAIN")
        client.writer.write((524_289).to_bytes(4, "big") + b"\0\x24\0\2")
        assert await client.is_cut_off()

    assert await is_served(cluster)


async def test_clients_that_send_byte_by_byte_or_nothing_do_not_hold_others_up(
    cluster: AsyncCluster,
) -> None:
    slow = [RawClient(cluster.bootstrap) for _ in range(200)]
    for number, client in enumerate(slow):
        await client.__aenter__()
        client.writer.write((1000).to_bytes(4, "big")[: number % 5])

    assert await is_served(cluster)

    for client in slow:
        await client.__aexit__()


# -- exchanges that are not as they should be ------------------------------------------------------


async def test_an_exchange_does_not_begin_in_another_one(cluster: AsyncCluster) -> None:
    async with RawClient(cluster.bootstrap) as client:
        await handshake(client, "SCRAM-SHA-512")
        await authenticate(client, ClientFirst(username="alice", nonce="abc").encode())
        client.send(SaslHandshakeRequest(mechanism="PLAIN"))

        assert await client.is_cut_off()


@pytest.mark.parametrize(
    "second",
    [
        b"",
        ClientFirst(username="alice", nonce="abc").encode(),
        b"c=biws,r=abc,p=QUFB",
        b"\0alice\0secret",
        b"n,,n=alice" + b"x" * 500_000,
    ],
    ids=["nothing", "the first again", "another nonce", "PLAIN", "a long one"],
)
async def test_a_scram_exchange_that_goes_on_wrongly_fails(
    second: bytes, cluster: AsyncCluster
) -> None:
    async with RawClient(cluster.bootstrap) as client:
        await handshake(client, "SCRAM-SHA-256")
        first = await authenticate(client, ClientFirst(username="alice", nonce="abc").encode())
        assert first.error_code == ErrorCode.NONE

        response = await authenticate(client, second)

        assert response.error_code == ErrorCode.SASL_AUTHENTICATION_FAILED
        assert "secret" not in response.error_message
        assert await client.is_cut_off()


async def test_unknown_users_get_a_challenge_like_others_or_the_same_refusal(
    cluster: AsyncCluster,
) -> None:
    texts = set()
    for user in ("alice", "nobody"):
        async with RawClient(cluster.bootstrap) as client:
            response = await log_in_by_scram(client, user, "wrong")
            texts.add((response.error_code, response.error_message))

    assert len(texts) == 1


async def test_a_login_is_repeated_often_on_new_connections_only(cluster: AsyncCluster) -> None:
    async with RawClient(cluster.bootstrap) as client:
        await log_in_by_plain(client, "alice", "secret")
        for _ in range(100):
            assert (await handshake(client, "PLAIN")).error_code == ErrorCode.ILLEGAL_SASL_STATE
            response = await authenticate(client, b"\0alice\0secret")
            assert response.error_code == ErrorCode.ILLEGAL_SASL_STATE

        assert (await client.ask(MetadataRequest())).brokers


@pytest.mark.parametrize(("user", "mechanism"), [("bob", "PLAIN"), ("alice", "SCRAM-SHA-256")])
async def test_nobody_becomes_another_user_or_another_mechanism_later(
    user: str, mechanism: str
) -> None:
    config = QUICK | {"connections.max.reauth.ms": "60000"}
    async with AsyncCluster(sasl=USERS, config=config) as cluster:
        async with RawClient(cluster.bootstrap) as client:
            await log_in_by_plain(client, "alice", "secret")

            begun = await handshake(client, mechanism)
            if begun.error_code == ErrorCode.NONE:
                begun = await authenticate(client, f"\0{user}\0secret".encode())

            assert begun.error_code == ErrorCode.SASL_AUTHENTICATION_FAILED
            assert await client.is_cut_off()
        assert await is_served(cluster)


async def test_a_login_among_requests_that_are_sent_at_once_mixes_up_nothing() -> None:
    config = QUICK | {"connections.max.reauth.ms": "60000"}
    async with AsyncCluster(sasl=USERS, config=config) as cluster:
        async with RawClient(cluster.bootstrap) as client:
            await log_in_by_plain(client, "alice", "secret")

            for request in (
                MetadataRequest(),
                SaslHandshakeRequest(mechanism="PLAIN"),
                SaslAuthenticateRequest(auth_bytes=b"\0alice\0secret"),
                MetadataRequest(),
            ):
                client.send(request)
            answers = [await client.receive() for _ in range(4)]

        assert answers[0].brokers == answers[3].brokers != []
        assert (answers[1].error_code, answers[2].error_code) == (0, 0)
        assert answers[2].session_lifetime_ms == 60_000


async def test_requests_behind_a_login_that_fails_the_second_time_are_not_served() -> None:
    config = QUICK | {"connections.max.reauth.ms": "60000"}
    async with (
        AsyncCluster(sasl=USERS, config=config) as cluster,
        RawClient(cluster.bootstrap) as client,
    ):
        await log_in_by_plain(client, "alice", "secret")
        client.send(SaslHandshakeRequest(mechanism="PLAIN"))
        client.send(SaslAuthenticateRequest(auth_bytes=b"\0alice\0wrong"))
        client.send(MetadataRequest())

        assert (await client.receive()).error_code == ErrorCode.NONE
        assert (await client.receive()).error_code == ErrorCode.SASL_AUTHENTICATION_FAILED
        assert await client.is_cut_off()


async def test_many_failing_logins_do_not_hold_others_up(cluster: AsyncCluster) -> None:
    async def fail() -> Any:
        async with RawClient(cluster.bootstrap) as client:
            return await log_in_by_plain(client, "alice", "wrong")

    failing = [asyncio.create_task(fail()) for _ in range(50)]

    assert await is_served(cluster)
    responses = await asyncio.gather(*failing)
    assert {one.error_code for one in responses} == {ErrorCode.SASL_AUTHENTICATION_FAILED}


# -- TLS -------------------------------------------------------------------------------------------


async def test_handshakes_that_are_never_finished_do_not_hold_others_up_and_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(system, "TLS_HANDSHAKE_SECONDS", 1.0)
    async with AsyncCluster(tls=True, sasl=USERS) as cluster:
        half_open = [RawClient(cluster.bootstrap) for _ in range(100)]
        for number, client in enumerate(half_open):
            await client.__aenter__()
            client.writer.write(HELLO[: number % len(HELLO)])
        pem = cluster.client_options()["ssl_truststore_certificates"]

        assert await is_served(cluster, ssl.create_default_context(cadata=pem))

        assert all(await asyncio.gather(*(client.is_cut_off() for client in half_open)))
        for client in half_open:
            await client.__aexit__()


async def test_bytes_that_are_not_tls_end_the_connection_at_once() -> None:
    async with AsyncCluster(tls=True, sasl=USERS) as cluster:
        began_at = time.monotonic()
        async with RawClient(cluster.bootstrap) as client:
            client.send(ApiVersionsRequest(), 0)
            assert await client.is_cut_off()

        assert time.monotonic() - began_at < system.TLS_HANDSHAKE_SECONDS / 2
