"""Clients that talk to the wrong kind of listener: the broker's log names the mistake."""

from __future__ import annotations

import logging

import pytest

from pyk.clients import AsyncAdmin, KafkaError, SslAuthenticationError
from pyk.protocol.messages.metadata import MetadataRequest
from pyk.protocol.messages.sasl_authenticate import SaslAuthenticateRequest
from pyk.reference_broker import AsyncCluster
from pyk.runtime.network import system
from support.raw_client import RawClient
from support.raw_sasl import log_in_by_plain

USERS = {"alice": "secret"}


async def test_tls_on_a_plaintext_port(caplog: pytest.LogCaptureFixture) -> None:
    async with AsyncCluster() as cluster:
        admin = AsyncAdmin(cluster.bootstrap, security_protocol="SSL")
        with pytest.raises(KafkaError):
            await admin.start(1)
        await admin.close()

    assert (
        "it begins a TLS handshake, but listener PLAINTEXT has no TLS: its security_protocol must "
        "be PLAINTEXT here"
    ) in caplog.text
    assert "bytes refused" not in caplog.text


async def test_no_tls_on_a_tls_port(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    async with AsyncCluster(tls=True) as cluster, RawClient(cluster.bootstrap) as client:
        client.send(MetadataRequest())
        assert await client.is_cut_off()

    assert "TLS handshake of 127.0.0.1 on port " in caplog.text
    assert "failed: " in caplog.text


async def test_no_certificate_where_one_is_required(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    caplog.set_level(logging.INFO)
    monkeypatch.setattr(system, "HANDSHAKE_LOG_SECONDS", 1000.0)
    async with AsyncCluster(tls=True, config={"ssl.client.auth": "required"}) as cluster:
        trust = cluster.client_options()["ssl_truststore_certificates"]
        for _ in range(3):
            admin = AsyncAdmin(
                cluster.bootstrap, security_protocol="SSL", ssl_truststore_certificates=trust
            )
            with pytest.raises(SslAuthenticationError):
                await admin.start()
            await admin.close()

    assert "failed: PEER_DID_NOT_RETURN_A_CERTIFICATE" in caplog.text
    assert caplog.text.count("TLS handshake of") == 1, "a flood must not fill the log"


async def test_a_frame_of_something_else_is_shown(caplog: pytest.LogCaptureFixture) -> None:
    async with AsyncCluster() as cluster, RawClient(cluster.bootstrap) as client:
        client.writer.write(b"GET / HTTP/1.1\r\n\r\n")
        assert await client.is_cut_off()

    assert "bytes refused: sizes are from 1 to" in caplog.text


async def test_no_login_on_a_listener_with_sasl_and_tls(caplog: pytest.LogCaptureFixture) -> None:
    async with AsyncCluster(sasl=USERS, tls=True) as cluster:
        trust = cluster.client_options()["ssl_truststore_certificates"]
        admin = AsyncAdmin(
            cluster.bootstrap, security_protocol="SSL", ssl_truststore_certificates=trust
        )
        with pytest.raises(KafkaError):
            await admin.start(1)
        await admin.close()

    assert "requires one: its security_protocol must be SASL_SSL here" in caplog.text


async def test_no_login_on_a_listener_with_sasl(caplog: pytest.LogCaptureFixture) -> None:
    async with AsyncCluster(sasl=USERS) as cluster, RawClient(cluster.bootstrap) as client:
        client.send(MetadataRequest())
        assert await client.is_cut_off()

    assert "it sent Metadata without a login, but listener SASL_PLAINTEXT requires one" in (
        caplog.text
    )
    assert "this server has" not in caplog.text


async def test_a_token_before_the_handshake(caplog: pytest.LogCaptureFixture) -> None:
    async with AsyncCluster(sasl=USERS) as cluster, RawClient(cluster.bootstrap) as client:
        client.send(SaslAuthenticateRequest(auth_bytes=b"token"))
        assert await client.is_cut_off()

    assert "it sent SaslAuthenticate out of the order of a login" in caplog.text


async def test_a_session_that_has_ended(caplog: pytest.LogCaptureFixture) -> None:
    config = {"connections.max.reauth.ms": "1"}
    async with (
        AsyncCluster(sasl=USERS, config=config) as cluster,
        RawClient(cluster.bootstrap) as client,
    ):
        await log_in_by_plain(client, "alice", "secret")
        with pytest.raises((OSError, EOFError)):
            await ask_until_cut_off(client)

    assert "it sent Metadata after the end of its session" in caplog.text


async def ask_until_cut_off(client: RawClient) -> None:
    while True:
        await client.ask(MetadataRequest())
