"""Connections log in again before their session ends (KIP-368), and nothing is lost by that."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
from collections import defaultdict
from typing import Any

import pytest

from pyk.clients.engine.client import Client
from pyk.clients.errors import (
    KafkaError,
    KafkaTimeoutError,
    NetworkError,
    SaslAuthenticationFailedError,
)
from pyk.clients.security import Oauth, Scram
from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.metadata import MetadataRequest
from pyk.protocol.messages.sasl_authenticate import SaslAuthenticateRequest
from pyk.protocol.messages.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse
from pyk.runtime.network import MemoryNetwork
from pyk.runtime.virtual_time import current_clock, virtual_time
from support.engine_parts import make_client
from support.sasl_broker import SaslBroker
from support.scripted_broker import SILENCE, ScriptedCluster

LOGIN = (SaslHandshakeRequest, SaslAuthenticateRequest)


class Guarded:
    """A cluster whose sessions end after ``lifetime`` seconds, and a client that is let in."""

    def __init__(self, lifetime: float, latency: float = 0.02, **options: Any) -> None:
        self.cluster = ScriptedCluster(MemoryNetwork(latency=latency))
        self.broker = SaslBroker({"alice": "secret"}, session_lifetime_ms=int(lifetime * 1000))
        self.broker.mechanisms.append("OAUTHBEARER")
        self.broker.serve(self.cluster)
        self._options = {"auth": Scram("alice", "secret", "SCRAM-SHA-256"), **options}

    async def __aenter__(self) -> tuple[ScriptedCluster, SaslBroker, Client]:
        await self.cluster.__aenter__()
        self.client = make_client(
            self.cluster,
            security_protocol="SASL_PLAINTEXT",
            **self._options,
        )
        await self.client.start()
        return self.cluster, self.broker, self.client

    async def __aexit__(self, *error: object) -> None:
        await self.client.close()
        await self.cluster.__aexit__(*error)


async def ask(client: Client) -> Any:
    return await client.send(1, MetadataRequest(topics=[]))


async def load(client: Client, seconds: float) -> int:
    """Send requests without a pause, five in flight, and return how many were answered."""
    end = current_clock().now() + seconds

    async def one() -> int:
        answered = 0
        while current_clock().now() < end:
            await ask(client)
            answered += 1
        return answered

    return sum(await asyncio.gather(*(one() for _ in range(5))))


def check_order(cluster: ScriptedCluster) -> None:
    """Fail if a connection carried a request in the middle of a login."""
    of_connection = defaultdict(list)
    for one in cluster.received:
        of_connection[one.connection].append(type(one.message))
    for kinds in of_connection.values():
        for index, kind in enumerate(kinds):
            if kind is SaslHandshakeRequest:
                assert set(kinds[index + 1 : index + 3]) <= {SaslAuthenticateRequest}


@virtual_time
async def test_a_connection_under_load_logs_in_again_and_loses_nothing() -> None:
    async with Guarded(lifetime=10) as (cluster, broker, client):
        answered = await load(client, 100)

        assert answered > 10_000
        assert cluster.connection_counts[1] == 1
        assert 100 / 9.5 <= len(broker.logins) <= 100 / 8.5 + 2
        check_order(cluster)


@virtual_time
async def test_a_login_comes_at_85_to_95_percent_of_the_session() -> None:
    async with Guarded(lifetime=100) as (cluster, _, client):
        await load(client, 200)

        first, second, *_ = (one.at for one in cluster.requests(SaslHandshakeRequest))
        assert 85 <= second - first <= 95.1


@virtual_time
async def test_a_login_comes_in_time_also_if_the_answer_to_the_last_one_was_late() -> None:
    async with Guarded(lifetime=10, latency=0.4) as (cluster, _, client):
        await load(client, 60)

        logins = cluster.requests(SaslAuthenticateRequest)[1::2]
        ends = [one.at + 10 for one in logins]
        assert len(ends) > 5
        begun = [one.at for one in cluster.requests(SaslHandshakeRequest)[1:]]
        assert all(again < end for end, again in zip(ends, begun, strict=False))


@virtual_time
async def test_a_session_without_an_end_logs_in_once() -> None:
    async with Guarded(lifetime=0) as (_, broker, client):
        await load(client, 30)

        assert len(broker.logins) == 1


@virtual_time
async def test_an_idle_connection_logs_in_before_its_next_request() -> None:
    async with Guarded(lifetime=10) as (cluster, broker, client):
        await asyncio.sleep(60)
        assert len(broker.logins) == 1

        await ask(client)

        assert len(broker.logins) == 2
        assert cluster.connection_counts[1] == 1
        check_order(cluster)


@virtual_time
async def test_a_request_in_flight_is_answered_in_spite_of_a_login_that_is_refused() -> None:
    async with Guarded(lifetime=10) as (cluster, broker, client):

        async def slow(request: MetadataRequest) -> Any:
            await asyncio.sleep(9.9)
            return cluster.metadata(request)

        cluster.once(MetadataRequest, slow)
        asked = asyncio.ensure_future(ask(client))
        await asyncio.sleep(0.1)
        broker.users = {}
        await asyncio.sleep(9.6)
        waiting = asyncio.ensure_future(ask(client))

        assert await asked
        with pytest.raises(SaslAuthenticationFailedError, match="as 'alice'"):
            await waiting
        assert len(cluster.requests(MetadataRequest)) <= 2


@virtual_time
async def test_a_broker_that_takes_no_second_login_gets_a_new_connection() -> None:
    async with Guarded(lifetime=10) as (cluster, broker, client):
        too_soon = SaslHandshakeResponse(error_code=ErrorCode.ILLEGAL_SASL_STATE)
        cluster.once(SaslHandshakeRequest, too_soon)

        await load(client, 12)

        assert cluster.connection_counts[1] == 2
        assert len(broker.logins) == 2
        check_order(cluster)


@virtual_time
async def test_sessions_of_a_second_are_survived_under_load() -> None:
    async with Guarded(lifetime=1) as (cluster, broker, client):
        answered = await load(client, 20)

        assert answered > 1_500
        assert len(broker.logins) >= 20
        check_order(cluster)


@virtual_time
async def test_a_broker_that_does_not_answer_a_login_is_connected_to_again(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level("INFO", "pyk.clients.engine")
    async with Guarded(lifetime=10, request_timeout_ms=5_000) as (cluster, broker, client):
        cluster.once(SaslAuthenticateRequest, SILENCE)
        began_at = current_clock().now()
        while len(broker.logins) < 2:
            assert current_clock().now() - began_at < 30
            with contextlib.suppress(KafkaTimeoutError, NetworkError):
                await ask(client)
            await asyncio.sleep(0.1)

        assert cluster.connection_counts[1] == 2
        assert "did not let the client log in again: no answer\n" in caplog.text


@virtual_time
async def test_a_client_can_be_closed_in_the_middle_of_a_login() -> None:
    async with Guarded(lifetime=10) as (cluster, _, client):
        await asyncio.sleep(20)
        cluster.on(SaslAuthenticateRequest, SILENCE)
        waiting = asyncio.ensure_future(ask(client))
        await asyncio.sleep(1)

        await client.close()

        with pytest.raises(KafkaError):
            await waiting


class Tokens:
    """A function for tokens that fails, or does not return, as long as that is wanted."""

    def __init__(self) -> None:
        self.calls: list[float] = []
        self.failing = False
        self.hanging = False

    async def token(self) -> str:
        self.calls.append(current_clock().now())
        if self.hanging:
            await asyncio.sleep(1000)
        if self.failing:
            raise OSError("the provider is down")
        return "secret"


@pytest.mark.parametrize("trouble", ["failing", "hanging"])
def test_a_token_that_is_missing_for_a_while_costs_nothing_while_the_session_goes_on(
    trouble: str,
) -> None:
    @virtual_time
    async def run() -> None:
        tokens = Tokens()
        auth = Oauth(tokens.token)
        async with Guarded(1000, latency=0.5, auth=auth) as (cluster, broker, client):
            loading = asyncio.ensure_future(load(client, 1500))
            await asyncio.sleep(800)
            setattr(tokens, trouble, True)
            await asyncio.sleep(175)
            setattr(tokens, trouble, False)

            assert await loading > 5_000
            assert cluster.connection_counts[1] == 1
            assert len(broker.logins) == 2

    run()


@virtual_time
async def test_a_token_that_is_missing_at_the_end_of_the_session_is_an_error(
    caplog: pytest.LogCaptureFixture,
) -> None:
    tokens = Tokens()
    async with Guarded(100, latency=0.1, auth=Oauth(tokens.token)) as (_, _, client):
        tokens.failing = True
        with pytest.raises(SaslAuthenticationFailedError, match="raised OSError"):
            await load(client, 200)

        again = tokens.calls[1:]
        assert 98 < current_clock().now() < 100
        assert min(two - one for one, two in itertools.pairwise(again)) > 0.5
        assert 2 <= len(again) <= 10
    assert "whose session ends in" in caplog.text


@virtual_time
async def test_an_idle_connection_goes_on_with_its_session_if_there_is_no_token() -> None:
    tokens = Tokens()
    async with Guarded(lifetime=1000, auth=Oauth(tokens.token)) as (cluster, _, client):
        tokens.failing = True
        await asyncio.sleep(960)

        assert await ask(client)
        assert cluster.connection_counts[1] == 1


class SlowTokens:
    """A function for tokens that takes its time with one call, while the broker restarts."""

    def __init__(self, slow_call: int) -> None:
        self.cluster: ScriptedCluster | None = None
        self._slow_call = slow_call
        self._calls = 0

    async def token(self) -> str:
        self._calls += 1
        if self._calls == self._slow_call:
            assert self.cluster is not None
            await self.cluster.kill(1)
            await self.cluster.start(1)
            await asyncio.sleep(1)
        return "secret"


async def longest_wait(client: Client, seconds: float) -> float:
    """Send requests one after the other, and return how long the slowest answer took."""
    now, longest = current_clock().now, 0.0
    end = now() + seconds
    while (asked_at := now()) < end:
        with contextlib.suppress(NetworkError):
            await ask(client)
        longest = max(longest, now() - asked_at)
    return longest


@virtual_time
async def test_a_login_of_a_connection_that_has_ended_keeps_no_other_from_logging_in() -> None:
    tokens = SlowTokens(slow_call=2)
    async with Guarded(lifetime=3, auth=Oauth(tokens.token)) as (cluster, broker, client):
        tokens.cluster = cluster

        assert await longest_wait(client, 20) < 3
        assert len(broker.logins) >= 6


@virtual_time
async def test_a_connection_that_ends_while_its_token_is_fetched_is_made_again_at_once() -> None:
    tokens = SlowTokens(slow_call=2)
    async with Guarded(lifetime=0, auth=Oauth(tokens.token)) as (cluster, broker, client):
        tokens.cluster = cluster
        await cluster.kill(1)
        await cluster.start(1)

        assert await longest_wait(client, 20) < 3
        assert len(broker.logins) == 2
