"""Logins in virtual time: late answers, lifetimes, and brokers among themselves."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.describe_cluster import DescribeClusterRequest
from pyk.protocol.messages.metadata import MetadataRequest
from pyk.protocol.messages.sasl_authenticate import SaslAuthenticateRequest
from pyk.protocol.messages.sasl_handshake import SaslHandshakeRequest
from pyk.protocol.sasl import FAILURE_SEEN, OAuthBearerResponse, PlainToken
from pyk.reference_broker import AsyncCluster
from pyk.reference_broker.awaiting import value_of
from pyk.reference_broker.config import InvalidConfigError
from pyk.runtime.simulation import World
from pyk.runtime.virtual_time import current_clock, virtual_time
from support.bearer_tokens import unsecured
from support.frame_client import FrameClient

ALICE = PlainToken("alice", "secret").encode()


async def log_in(client: FrameClient, token: bytes = ALICE) -> Any:
    await client.ask(SaslHandshakeRequest(mechanism="PLAIN"))
    return await client.ask(SaslAuthenticateRequest(auth_bytes=token))


@virtual_time
async def test_the_answer_to_a_failed_login_is_late() -> None:
    world = World()
    config = {"connection.failed.authentication.delay.ms": "2000"}
    async with AsyncCluster(
        sasl={"alice": "secret"}, config=config, **world.host("broker").environment
    ) as cluster:
        client = await FrameClient.connect(world.host("eve"), cluster.bootstrap)
        began = current_clock().now()
        response = await log_in(client, b"\0alice\0wrong")
        waited = current_clock().now() - began
        await client.lost()

    assert response.error_code == ErrorCode.SASL_AUTHENTICATION_FAILED
    assert waited == pytest.approx(2)


@virtual_time
async def test_little_is_read_of_a_client_whose_refusal_is_held_back() -> None:
    world = World()
    config = {"connection.failed.authentication.delay.ms": "2000"}
    async with AsyncCluster(
        sasl={"alice": "secret"}, config=config, **world.host("broker").environment
    ) as cluster:
        (broker,) = cluster._brokers.values()
        client = await FrameClient.connect(world.host("eve"), cluster.bootstrap)
        client.send(SaslHandshakeRequest(mechanism="PLAIN"))
        client.send(SaslAuthenticateRequest(auth_bytes=b"\0alice\0wrong"))
        for _ in range(10):
            client.send(SaslAuthenticateRequest(auth_bytes=bytes(500_000)))
            await asyncio.sleep(0.1)
        assert broker._listener is not None
        held_bytes = broker._listener._budget.used

    assert 500_000 < held_bytes < 1_100_000


@virtual_time
async def test_refused_tokens_are_explained_in_few_lines(caplog: pytest.LogCaptureFixture) -> None:
    world = World()
    config = {
        "listeners": "CLIENTS://broker:9092,BROKERS://broker:9093",
        "listener.security.protocol.map": "CLIENTS:SASL_PLAINTEXT,BROKERS:PLAINTEXT",
        "inter.broker.listener.name": "BROKERS",
        "sasl.enabled.mechanisms": "OAUTHBEARER",
    }
    expired = OAuthBearerResponse(unsecured(sub="eve", exp=1)).encode()
    with caplog.at_level("INFO"):
        async with AsyncCluster(config=config, **world.host("broker").environment):
            for _ in range(20):
                client = await FrameClient.connect(world.host("eve"), "broker:9092")
                await client.ask(SaslHandshakeRequest(mechanism="OAUTHBEARER"))
                await client.ask(SaslAuthenticateRequest(auth_bytes=expired))
                await client.ask(SaslAuthenticateRequest(auth_bytes=FAILURE_SEEN))

    lines = [line for line in caplog.messages if "exp is missing, or over" in line]
    assert 1 <= len(lines) <= 6
    assert "Failed authentication of" in lines[0]
    assert len(caplog.messages) < 15


@virtual_time
async def test_a_session_that_is_over_is_closed_unless_it_begins_again() -> None:
    world = World()
    config = {"connections.max.reauth.ms": "10000"}
    async with AsyncCluster(
        sasl={"alice": "secret"}, config=config, **world.host("broker").environment
    ) as cluster:
        late = await FrameClient.connect(world.host("late"), cluster.bootstrap)
        again = await FrameClient.connect(world.host("again"), cluster.bootstrap)
        assert (await log_in(late)).session_lifetime_ms == 10_000
        await log_in(again)
        current_clock().advance(10)

        await log_in(again)
        assert (await again.ask(MetadataRequest())).brokers
        late.send(MetadataRequest())
        await late.lost()


@virtual_time
async def test_a_broker_logs_in_to_another_and_again_before_the_login_is_over() -> None:
    world = World()
    config = {"connections.max.reauth.ms": "10000"}
    async with AsyncCluster(
        sasl={"alice": "secret"}, config=config, **world.host("broker").environment
    ) as cluster:
        (broker,) = cluster._brokers.values()
        for _ in range(20):
            response = await value_of(broker._channels.send(0, DescribeClusterRequest()))
            assert not isinstance(response, ErrorCode)
            current_clock().advance(1)

        logins = cluster.requests("SaslHandshake")

    assert {each.client_id for each in logins} == {"broker-0"}
    assert len(logins) == 3


@virtual_time
async def test_a_listener_without_users_for_brokers_does_not_start() -> None:
    world = World()
    config = {"listeners": "SASL_PLAINTEXT://broker:0", "sasl.enabled.mechanisms": "SCRAM-SHA-256"}

    with pytest.raises(InvalidConfigError, match=r"sasl\.mechanism\.inter\.broker\.protocol"):
        await AsyncCluster(config=config, **world.host("broker").environment).open()


@virtual_time
async def test_a_mechanism_that_is_not_served_does_not_start() -> None:
    world = World()
    config = {"listeners": "SASL_PLAINTEXT://broker:0"}

    with pytest.raises(InvalidConfigError, match="GSSAPI is not served; use some of PLAIN"):
        await AsyncCluster(config=config, **world.host("broker").environment).open()
