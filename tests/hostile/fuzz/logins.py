"""Targets of the fuzzer: logins to a hostile broker, and logins of a hostile client.

An input is a conversation: messages of one side, each after its length in two bytes. The other side
is real, from frames to the outcome of the login, but for the socket. To be let in is harm, because
nobody knows the password.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import suppress
from types import SimpleNamespace
from typing import Any

from pyk.clients.errors import AuthenticationError
from pyk.clients.security import Oauth, Scram
from pyk.clients.security.exchange import Credentials, Work
from pyk.clients.security.login import log_in
from pyk.protocol import ApiKey, ProtocolError
from pyk.protocol.connection import ClientConnection, ServerConnection
from pyk.protocol.messages.api_versions import ApiVersionsRequest
from pyk.protocol.messages.headers import ResponseHeader
from pyk.protocol.messages.sasl_authenticate import (
    SaslAuthenticateRequest,
    SaslAuthenticateResponse,
)
from pyk.protocol.messages.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse
from pyk.protocol.negotiation import response_header_version
from pyk.protocol.sasl import ClientFirst, ScramCredential, ScramMechanism, salted_password
from pyk.reference_broker.handlers.sasl import sasl_authenticate, sasl_handshake
from pyk.reference_broker.security.authentication import SaslAuthentication, State
from pyk.reference_broker.security.exchanges import PlainExchange, ScramExchange

PASSWORD = secrets.token_hex(16)
NONCE = "rOprNGfwEbeRWgbNEkqO"
SALT = b"salt"
SHA_256 = ScramMechanism.SCRAM_SHA_256
CREDENTIALS: tuple[Credentials, ...] = (
    Scram("user", PASSWORD, SHA_256.value, max_iterations=4096),
    Oauth(lambda: PASSWORD),
)
CREDENTIAL = ScramCredential.from_salted_password(
    SHA_256, salted_password(SHA_256, PASSWORD, SALT, 4096), SALT, 4096
)
MOST_MESSAGES = 8
LOGIN_APIS = (ApiKey.API_VERSIONS, ApiKey.SASL_HANDSHAKE, ApiKey.SASL_AUTHENTICATE)


def conversation(*messages: bytes) -> bytes:
    """Return an input."""
    return b"".join(len(one).to_bytes(2, "big") + one for one in messages)


def messages_of(data: bytes) -> Iterator[bytes]:
    for _ in range(MOST_MESSAGES):
        size = int.from_bytes(data[:2], "big")
        yield data[2 : 2 + size]
        data = data[2 + size :]


# -- a hostile broker ------------------------------------------------------------------------------


def log_in_to_hostile_broker(data: bytes) -> None:
    for credentials in CREDENTIALS:
        with suppress(AuthenticationError, ProtocolError):
            _log_in(credentials, data)


def _log_in(credentials: Credentials, data: bytes) -> None:
    client, login = ClientConnection("me"), log_in(credentials, NONCE, "broker")
    step: Any = next(login)
    try:
        for message in messages_of(data):
            while isinstance(step, Work):
                step = login.send(step.function())
            version = step.versions.highest
            correlation_id, _ = client.send(step, version)
            header = ResponseHeader(correlation_id=correlation_id)
            head = header.encode(response_header_version(ApiKey(step.api_key), version))
            step = login.send(client.receive(head + message).response)
    except StopIteration:
        knows_tokens = credentials.mechanism == "OAUTHBEARER"  # which brokers get to see
        assert knows_tokens, "a broker without the password was believed"


def hostile_broker_seeds() -> Iterator[bytes]:
    shaken = SaslHandshakeResponse(mechanisms=["PLAIN", SHA_256.value]).encode(1)
    unsupported = SaslHandshakeResponse(error_code=33, mechanisms=["PLAIN"]).encode(1)
    challenge = f"r={NONCE}server,s=c2FsdA==,i=4096".encode()
    yield conversation(unsupported)
    for first in (challenge, challenge.replace(b"4096", b"1"), b"", b"e=other-error"):
        for last in (b"", b"v=QUFB", b"e=invalid-proof", challenge):
            yield conversation(shaken, *map(_answer, (first, last)))
    yield conversation(
        shaken, SaslAuthenticateResponse(error_code=58, error_message="no").encode(2)
    )
    yield conversation(shaken, _answer(b'{"status":"invalid_token"}'))


def _answer(token: bytes) -> bytes:
    return SaslAuthenticateResponse(auth_bytes=token, session_lifetime_ms=1000).encode(2)


# -- a hostile client ------------------------------------------------------------------------------


def serve_hostile_client(data: bytes) -> None:
    sasl = SaslAuthentication(
        {
            "PLAIN": lambda: PlainExchange({"user": PASSWORD}),
            SHA_256.value: lambda: ScramExchange({"user": CREDENTIAL}.get, "server"),
        },
        0,
        lambda _: None,
    )
    services: Any = SimpleNamespace(time_ms=lambda: 1_000_000)
    context: Any = SimpleNamespace(sasl=sasl)
    server = ServerConnection({key: key.stable_versions for key in LOGIN_APIS})
    with suppress(ProtocolError):
        for frame in messages_of(data):
            request = server.receive(frame)
            if not sasl.allows(request.api_key, services.time_ms()) or sasl.is_refused:
                return
            response: Any = None
            if isinstance(request.body, SaslHandshakeRequest):
                response = sasl_handshake(services, request.body, context)
            elif isinstance(request.body, SaslAuthenticateRequest):
                response = sasl_authenticate(services, request.body, context)
            if response is not None:
                server.respond(request, response)
                assert PASSWORD not in repr(response)
            assert sasl.state is not State.AUTHENTICATED, "a client without the password got in"


def hostile_client_seeds() -> Iterator[bytes]:
    asked = _requests(ApiVersionsRequest())
    plain = _requests(
        SaslHandshakeRequest(mechanism="PLAIN"),
        SaslAuthenticateRequest(auth_bytes=b"\0user\0secret"),
    )
    scram = _requests(
        SaslHandshakeRequest(mechanism=SHA_256.value),
        SaslAuthenticateRequest(auth_bytes=ClientFirst(username="user", nonce="abc").encode()),
        SaslAuthenticateRequest(auth_bytes=b"c=biws,r=abcserver,p=QUFB"),
    )
    for requests in (asked, plain, scram, asked + scram, plain + scram, scram[:2] + plain):
        yield conversation(*requests)


def _requests(*messages: Any) -> list[bytes]:
    client, found = ClientConnection("me"), []
    for message in messages:
        _, parts = client.send(message, message.versions.highest)
        found.append(b"".join(map(bytes, parts))[4:])
    return found
