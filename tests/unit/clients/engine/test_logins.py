"""Clients that log in by SASL, and what becomes of refusals."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from pyk.clients.config import ClientConfig
from pyk.clients.engine.client import Client
from pyk.clients.errors import (
    AuthenticationError,
    BootstrapError,
    SaslAuthenticationFailedError,
    Stage,
    UnsupportedSaslMechanismError,
)
from pyk.clients.security import Oauth, Plain, Scram
from pyk.protocol.api_keys import ApiKey
from pyk.protocol.messages.api_versions import ApiVersionsRequest
from pyk.protocol.messages.metadata import MetadataRequest
from pyk.protocol.messages.sasl_authenticate import (
    SaslAuthenticateRequest,
    SaslAuthenticateResponse,
)
from pyk.protocol.messages.sasl_handshake import SaslHandshakeRequest
from pyk.protocol.versions import VersionRange
from pyk.runtime.network import MemoryNetwork
from pyk.runtime.virtual_time import current_clock, virtual_time
from support.engine_parts import make_client
from support.sasl_broker import SaslBroker
from support.scripted_broker import CLOSE, SILENCE, ScriptedCluster

SCRAM = Scram("alice", "secret", "SCRAM-SHA-256")
WRONG = Scram("alice", "wrong", "SCRAM-SHA-256")


@asynccontextmanager
async def guarded(
    nodes: int = 1, auth: Any = SCRAM, **options: Any
) -> AsyncIterator[tuple[ScriptedCluster, SaslBroker, Client]]:
    """Run a cluster that alice may use, and a client that is not started."""
    async with ScriptedCluster(MemoryNetwork(), nodes) as cluster:
        broker = SaslBroker({"alice": "secret"})
        broker.serve(cluster)
        client = make_client(cluster, auth=auth, security_protocol="SASL_PLAINTEXT", **options)
        try:
            yield cluster, broker, client
        finally:
            await client.close()


@pytest.mark.parametrize(
    "auth", [SCRAM, Scram("alice", "secret"), Plain("alice", "secret")], ids=str
)
def test_a_client_logs_in_before_anything_else(auth: Any) -> None:
    @virtual_time
    async def run() -> None:
        async with guarded(auth=auth) as (cluster, broker, client):
            await client.start()

            assert broker.logins == ["alice"]
            sent = [type(one.message) for one in cluster.received]
            assert sent[:2] == [ApiVersionsRequest, SaslHandshakeRequest]
            assert sent[-1] is MetadataRequest
            assert sent.count(MetadataRequest) == 1

    run()


@virtual_time
async def test_each_connection_logs_in() -> None:
    async with guarded() as (cluster, broker, client):
        await client.start()
        await client.send(1, MetadataRequest(topics=[]), lane="fetch")

        assert broker.logins == ["alice", "alice"]
        firsts = cluster.requests(SaslAuthenticateRequest)[::2]
        assert firsts[0].message.auth_bytes != firsts[1].message.auth_bytes


@virtual_time
async def test_a_wrong_password_is_told_at_once_and_by_the_first_server_that_refuses_it() -> None:
    async with guarded(nodes=3, auth=WRONG, bootstrap="broker1:9092,broker2:9092") as parts:
        _, broker, client = parts
        with pytest.raises(SaslAuthenticationFailedError) as caught:
            await client.start()

        assert current_clock().now() < 0.1
        assert broker.refusals == 1
        assert "as 'alice' with SCRAM-SHA-256: Authentication failed" in str(caught.value)
        assert "check user name and password" in str(caught.value)


@virtual_time
async def test_a_client_that_is_refused_tries_again_once_a_second_at_most() -> None:
    async with guarded(nodes=3) as (cluster, broker, client):
        await client.start()
        broker.users = {}
        for node_id in cluster.nodes:
            await cluster.kill(node_id)
            await cluster.start(node_id)
        began_at = current_clock().now()
        for _ in range(20):
            for node_id in cluster.nodes:
                with pytest.raises(AuthenticationError):
                    await client.send(node_id, MetadataRequest(topics=[]))

        assert broker.refusals <= current_clock().now() - began_at + 2


@virtual_time
async def test_a_user_that_is_let_in_again_can_go_on() -> None:
    async with guarded() as (cluster, broker, client):
        await client.start()
        broker.users = {}
        await cluster.kill(1)
        await cluster.start(1)
        with pytest.raises(AuthenticationError):
            await client.send(1, MetadataRequest(topics=[]))
        broker.users = {"alice": "secret"}

        assert await client.send(1, MetadataRequest(topics=[]))


@virtual_time
async def test_who_waits_for_metadata_hears_of_a_refusal() -> None:
    async with guarded() as (cluster, broker, client):
        await client.start()
        broker.users = {}
        await cluster.kill(1)
        await cluster.start(1)
        began_at = current_clock().now()

        with pytest.raises(AuthenticationError):
            await client.topics.find("orders", began_at + 60)

        assert current_clock().now() - began_at < 3


@virtual_time
async def test_a_mechanism_that_no_broker_has_is_named() -> None:
    async with guarded(auth=Plain("alice", "secret")) as (_, broker, client):
        broker.mechanisms = ["GSSAPI"]

        with pytest.raises(UnsupportedSaslMechanismError, match="it has GSSAPI"):
            await client.start()


@virtual_time
async def test_a_broker_without_the_sasl_of_today_is_named() -> None:
    async with guarded() as (cluster, _, client):
        cluster.versions[ApiKey.SASL_HANDSHAKE] = VersionRange(0, 0)

        with pytest.raises(BootstrapError, match=r"older than Kafka 1\.0"):
            await client.start()


@pytest.mark.parametrize("deviation", [SILENCE, CLOSE], ids=repr)
@pytest.mark.parametrize("request_class", [SaslHandshakeRequest, SaslAuthenticateRequest])
def test_a_broker_that_stops_in_the_middle_of_a_login(deviation: Any, request_class: Any) -> None:
    @virtual_time
    async def run() -> None:
        async with guarded() as (cluster, _, client):
            cluster.on(request_class, deviation)

            with pytest.raises(BootstrapError) as caught:
                await client.start(30)

            assert caught.value.attempts[0].stage is Stage.SASL
            assert current_clock().now() <= 30

    run()


@virtual_time
async def test_a_broker_that_closes_after_a_login_does_not_want_another_one() -> None:
    async with guarded() as (cluster, broker, client):
        cluster.on(MetadataRequest, CLOSE)

        with pytest.raises(BootstrapError) as caught:
            await client.start()

        assert broker.logins
        assert "give security_protocol" not in str(caught.value)


@virtual_time
async def test_a_token_of_a_hostile_size_ends_the_login() -> None:
    async with guarded() as (_, broker, client):
        broker.answers = lambda _: SaslAuthenticateResponse(auth_bytes=b"x" * 600_000)

        with pytest.raises(SaslAuthenticationFailedError, match="600000 bytes"):
            await client.start()


def test_a_proof_of_many_iterations_is_made_in_a_thread() -> None:
    async def run() -> None:
        async with ScriptedCluster(MemoryNetwork()) as cluster:
            broker = SaslBroker({"alice": "secret"}, iterations=20_000)
            broker.serve(cluster)
            config = ClientConfig.from_kwargs(
                "broker1:9092", auth=SCRAM, security_protocol="SASL_PLAINTEXT"
            )
            client = Client(config, network=cluster.network)

            await client.start()

            assert broker.logins == ["alice"]
            await client.close()

    asyncio.run(run())  # in real time: a thread takes some


@virtual_time
async def test_a_client_of_a_listener_that_does_not_log_in_hears_what_is_missing() -> None:
    async with guarded() as (cluster, _, _client):
        cluster.on(MetadataRequest, CLOSE)
        plain = make_client(cluster)

        with pytest.raises(BootstrapError, match="requires SASL"):
            await plain.start()
        await plain.close()


@pytest.mark.parametrize("is_coroutine", [False, True], ids=["function", "coroutine function"])
def test_an_exit_of_the_function_for_tokens_is_an_error_of_the_login(is_coroutine: bool) -> None:
    def leave() -> str:
        sys.exit("canary")

    async def leave_later() -> str:
        return leave()

    @virtual_time
    async def run() -> None:
        async with guarded(auth=Oauth(leave_later if is_coroutine else leave)) as (_, _, client):
            with pytest.raises(SaslAuthenticationFailedError, match="raised SystemExit"):
                await client.start()

    run()
