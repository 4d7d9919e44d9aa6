"""Brokers that are not what they seem to be: a client tells them nothing, and says what it met."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from pyk.clients.engine.client import Client
from pyk.clients.errors import (
    BootstrapError,
    KafkaError,
    SaslAuthenticationFailedError,
    UnsupportedSaslMechanismError,
)
from pyk.clients.security import Oauth, Plain, Scram
from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.metadata import MetadataRequest
from pyk.protocol.messages.sasl_authenticate import (
    SaslAuthenticateRequest,
    SaslAuthenticateResponse,
)
from pyk.protocol.messages.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse
from pyk.runtime.network import MemoryNetwork
from pyk.runtime.virtual_time import current_clock, virtual_time
from support.engine_parts import make_client
from support.sasl_broker import SaslBroker
from support.scripted_broker import ScriptedCluster

PASSWORD = "k4n-ri3n"
SCRAM = Scram("alice", PASSWORD, "SCRAM-SHA-256")
SALT = "c2FsdA=="


@asynccontextmanager
async def clients_of(
    answers: Callable[[SaslAuthenticateRequest], Any], auth: Any = SCRAM
) -> AsyncIterator[tuple[ScriptedCluster, Client]]:
    """Run a broker that answers tokens like this, and a client that is not started."""
    async with ScriptedCluster(MemoryNetwork()) as cluster:
        mechanisms = ["PLAIN", "SCRAM-SHA-256", "OAUTHBEARER"]
        SaslBroker({}, mechanisms, answers=answers).serve(cluster)
        client = make_client(cluster, auth=auth, security_protocol="SASL_PLAINTEXT")
        try:
            yield cluster, client
        finally:
            await client.close()


async def refusal(
    answers: Callable[[SaslAuthenticateRequest], Any], auth: Any = SCRAM
) -> KafkaError:
    """Return the error of a client that starts, which must come at once and tell no secret."""
    async with clients_of(answers, auth) as (cluster, client):
        with pytest.raises(KafkaError) as caught:
            await client.start(10)

        assert current_clock().now() < 1
        assert not cluster.requests(MetadataRequest)
        assert PASSWORD not in f"{caught.value!r} {caught.value}"
    return caught.value


def nonce_of(request: SaslAuthenticateRequest) -> str:
    return request.auth_bytes.decode().partition(",r=")[2]


def token(text: str) -> SaslAuthenticateResponse:
    return SaslAuthenticateResponse(auth_bytes=text.encode(), session_lifetime_ms=3_600_000)


def challenge(request: SaslAuthenticateRequest, iterations: int = 4096) -> SaslAuthenticateResponse:
    return token(f"r={nonce_of(request)}server,s={SALT},i={iterations}")


def after_the_proof(answer: SaslAuthenticateResponse) -> Callable[[Any], SaslAuthenticateResponse]:
    """Return a broker that challenges as it should, and answers this to the proof."""
    return lambda request: challenge(request) if b"n," in request.auth_bytes[:2] else answer


FIRST_ANSWERS: dict[str, tuple[Callable[[Any], Any], str]] = {
    "the nonce of another exchange": (lambda _: token(f"r=abc,s={SALT},i=4096"), "nonce"),
    "no nonce of its own": (lambda r: token(f"r={nonce_of(r)},s={SALT},i=4096"), "nonce"),
    "one iteration": (lambda r: challenge(r, 1), "1 iterations"),
    "one iteration too many": (lambda r: challenge(r, 1_000_001), "more than 1000000"),
    "iterations of hours": (lambda r: challenge(r, 2**31 - 1), "more than 1000000"),
    "no challenge, as if no proof was needed": (lambda _: token(""), "server-first"),
    "a verifier before the proof": (lambda _: token("v=QUFB"), "server-first"),
    "a challenge that is cut off": (lambda r: token(f"r={nonce_of(r)}server,s="), "server-first"),
    "half a mebibyte and more": (lambda r: token(f"r={nonce_of(r)}{'x' * 524_288}"), "more than"),
    "a mandatory extension": (lambda r: token(f"m=x,r={nonce_of(r)}s,s={SALT},i=4096"), "support"),
}
LAST_ANSWERS = {
    "no verifier": (token(""), "does not prove that it knows the password"),
    "a verifier that is made up": (token("v=" + "QUFB" * 10 + "QUE="), "does not come from this"),
    "a verifier of another length": (token("v=QUFB"), "does not come from this password"),
    "an error of the mechanism": (token("e=invalid-proof"), "invalid-proof"),
    "another challenge": (token(f"r=abc,s={SALT},i=4096"), "server-final"),
    "the client's own proof": (token("c=biws,r=abc,p=QUFB"), "server-final"),
}


@pytest.mark.parametrize(("answers", "words"), FIRST_ANSWERS.values(), ids=FIRST_ANSWERS)
def test_a_challenge_that_is_not_one_ends_the_login(
    answers: Callable[[Any], Any], words: str
) -> None:
    @virtual_time
    async def run() -> None:
        async with clients_of(answers) as (cluster, client):
            with pytest.raises(SaslAuthenticationFailedError, match=words):
                await client.start(10)

            assert current_clock().now() < 1
            assert len(cluster.requests(SaslAuthenticateRequest)) == 1  # and no proof

    run()


@pytest.mark.parametrize(("answer", "words"), LAST_ANSWERS.values(), ids=LAST_ANSWERS)
def test_a_broker_that_does_not_know_the_password_is_not_believed(
    answer: SaslAuthenticateResponse, words: str
) -> None:
    @virtual_time
    async def run() -> None:
        error = await refusal(after_the_proof(answer))

        assert isinstance(error, SaslAuthenticationFailedError)
        assert words in str(error)

    run()


@virtual_time
async def test_a_broker_that_challenges_without_end_is_left_after_the_first_time() -> None:
    async with clients_of(challenge) as (cluster, client):
        with pytest.raises(SaslAuthenticationFailedError):
            await client.start(10)

        assert len(cluster.requests(SaslAuthenticateRequest)) == 2


@pytest.mark.parametrize("offered", [["PLAIN"], ["PLAIN", "OAUTHBEARER"], [], ["x" * 30_000] * 30])
def test_no_other_mechanism_is_used_than_the_one_asked_for(offered: list[str]) -> None:
    @virtual_time
    async def run() -> None:
        async with clients_of(lambda _: token("")) as (cluster, client):
            unsupported = ErrorCode.UNSUPPORTED_SASL_MECHANISM
            cluster.on(
                SaslHandshakeRequest,
                SaslHandshakeResponse(error_code=unsupported, mechanisms=offered),
            )
            with pytest.raises(UnsupportedSaslMechanismError) as caught:
                await client.start(10)

            assert not cluster.requests(SaslAuthenticateRequest)
            assert len(str(caught.value)) < 3000

    run()


@virtual_time
async def test_a_handshake_that_says_yes_and_lists_others_is_taken_at_its_word() -> None:
    async with ScriptedCluster(MemoryNetwork()) as cluster:
        broker = SaslBroker({"alice": PASSWORD})
        broker.serve(cluster)
        client = make_client(cluster, auth=SCRAM, security_protocol="SASL_PLAINTEXT")

        def listing_others(request: SaslHandshakeRequest) -> SaslHandshakeResponse:
            broker.handshake(request)
            return SaslHandshakeResponse(mechanisms=["PLAIN"])

        cluster.on(SaslHandshakeRequest, listing_others)

        await client.start(10)

        assert broker.logins == ["alice"]
        await client.close()


@pytest.mark.parametrize("request_class", [SaslHandshakeRequest, SaslAuthenticateRequest])
@pytest.mark.parametrize(
    "frame",
    [
        b"",
        b"\0",
        b"\0\0\0\2",
        b"\x7f\xff\xff\xff" + bytes(20),
        b"HTTP/1.1 200 OK\r\n\r\n",
        bytes(9),
    ],
    ids=repr,
)
def test_bytes_that_are_no_response_end_the_connection(
    request_class: type[Any], frame: bytes
) -> None:
    @virtual_time
    async def run() -> None:
        async with clients_of(challenge) as (cluster, client):
            cluster.on(request_class, len(frame).to_bytes(4, "big") + frame)
            with pytest.raises(KafkaError) as caught:
                await client.start(10)

            assert isinstance(caught.value, BootstrapError | SaslAuthenticationFailedError)
            assert current_clock().now() < 1
            assert not cluster.requests(MetadataRequest)

    run()


@virtual_time
async def test_a_response_that_comes_before_its_request_ends_the_connection() -> None:
    async with clients_of(challenge) as (cluster, client):

        def early(request: SaslHandshakeRequest) -> SaslHandshakeResponse:
            (connection,) = cluster.open_connections
            for correlation_id in range(1, 5):
                frame = correlation_id.to_bytes(4, "big") + bytes(20)
                connection.transport.write([len(frame).to_bytes(4, "big"), frame])
            return SaslHandshakeResponse()

        cluster.on(SaslHandshakeRequest, early)
        with pytest.raises(KafkaError):
            await client.start(10)

        assert current_clock().now() < 1
        assert not cluster.requests(MetadataRequest)


@pytest.mark.parametrize("lifetime_ms", [-(2**63), -1, 1, 2**63 - 1])
def test_a_session_of_any_length_does_no_harm(lifetime_ms: int) -> None:
    @virtual_time
    async def run() -> None:
        async with ScriptedCluster(MemoryNetwork(latency=0.001)) as cluster:
            broker = SaslBroker({"alice": PASSWORD}, session_lifetime_ms=lifetime_ms)
            broker.serve(cluster)
            client = make_client(cluster, auth=SCRAM, security_protocol="SASL_PLAINTEXT")
            await client.start(10)

            await asyncio.sleep(60)
            await client.send(1, MetadataRequest(topics=[]))

            assert len(broker.logins) <= 3
            await client.close()

    run()


@pytest.mark.parametrize(
    "auth",
    [Plain("alice", PASSWORD), SCRAM, Oauth(lambda: PASSWORD)],
    ids=lambda one: one.mechanism,
)
def test_a_broker_that_repeats_the_password_does_not_get_it_into_a_log(auth: Any) -> None:
    @virtual_time
    async def run() -> None:
        failed = ErrorCode.SASL_AUTHENTICATION_FAILED
        error = await refusal(
            lambda _: SaslAuthenticateResponse(
                error_code=failed, error_message=f"wrong password {PASSWORD} of alice"
            ),
            auth,
        )

        assert "wrong password <secret> of alice" in str(error)

    run()


@virtual_time
async def test_a_token_that_does_not_come_is_not_blamed_on_the_broker() -> None:
    async def never() -> str:
        await asyncio.sleep(3600)
        return "token"

    async with clients_of(lambda _: None, Oauth(never)) as (_, client):
        with pytest.raises(BootstrapError) as caught:
            await client.start(60)

    assert "this client got no token" in str(caught.value)
    assert "overloaded" not in str(caught.value)


@virtual_time
async def test_the_error_says_why_a_token_does_not_come() -> None:
    class Unreachable:
        problem = "cannot reach https://login.example"

        async def __call__(self) -> str:
            await asyncio.sleep(3600)
            return "token"

    async with clients_of(lambda _: None, Oauth(Unreachable())) as (_, client):
        with pytest.raises(BootstrapError, match=r"within .* s: cannot reach https://login"):
            await client.start(60)
