"""Log in on a raw connection, step by step: what tests of logins to a broker speak through."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from pyk.protocol.messages.sasl_authenticate import SaslAuthenticateRequest
from pyk.protocol.messages.sasl_handshake import SaslHandshakeRequest
from pyk.protocol.sasl import (
    ClientFirst,
    PlainToken,
    ScramMechanism,
    ServerFinal,
    ServerFirst,
    auth_message,
    prove,
    salted_password,
    verify_server,
)
from support.raw_client import RawClient


async def handshake(client: RawClient, mechanism: str) -> Any:
    return await client.ask(SaslHandshakeRequest(mechanism=mechanism))


async def authenticate(client: RawClient, token: bytes) -> Any:
    return await client.ask(SaslAuthenticateRequest(auth_bytes=token))


async def log_in_by_plain(
    client: RawClient, username: str, password: str, authzid: str = ""
) -> Any:
    """Return the broker's answer to the password."""
    await handshake(client, "PLAIN")
    return await authenticate(client, PlainToken(username, password, authzid).encode())


async def log_in_by_scram(
    client: RawClient,
    username: str,
    password: str,
    mechanism: ScramMechanism = ScramMechanism.SCRAM_SHA_512,
    extensions: Mapping[str, str] = MappingProxyType({}),
) -> Any:
    """Return the broker's answer to the proof, whose signature is then verified."""
    await handshake(client, mechanism.value)
    first = ClientFirst(username=username, nonce="nonce", extensions=extensions)
    response = await authenticate(client, first.encode())
    if response.error_code:
        return response
    answer = ServerFirst.decode(response.auth_bytes, first)
    salted = salted_password(mechanism, password, answer.salt, answer.iterations)
    final = prove(mechanism, salted, first, answer)
    response = await authenticate(client, final.encode())
    if not response.error_code:
        message = auth_message(first, answer, final)
        verify_server(mechanism, salted, message, ServerFinal.decode(response.auth_bytes))
    return response
