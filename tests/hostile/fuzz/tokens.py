"""Fuzz what comes from clients and identity providers: bearer tokens, sets of keys, answers."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress
from functools import cache

from cryptography.hazmat.primitives.asymmetric import ec

from pyk.clients.security.token_answers import TokenError, token_of
from pyk.reference_broker.security.bearer_tokens import InvalidBearerTokenError
from pyk.reference_broker.security.json_web_keys import InvalidKeySetError, KeySet, parse_key_set
from pyk.reference_broker.security.principal import Login, Principal
from pyk.reference_broker.security.signed_tokens import TokenRules, read_signed
from support.bearer_tokens import unsecured
from support.signed_tokens import SigningKey

NOW = 1_000_000
KEY = SigningKey("first", "ES256", ec.derive_private_key(7, ec.SECP256R1()))
CLAIMS = {"sub": "alice", "iat": NOW, "exp": NOW + 60, "aud": ["web", "kafka"], "iss": "https://i"}
RULES = TokenRules(audiences=("kafka",), issuer="https://i")


@cache
def known_keys() -> KeySet:
    return parse_key_set(json.dumps({"keys": [KEY.jwk()]}).encode())


def read_bearer_token(data: bytes) -> None:
    """A token is refused, or it says what the provider has signed."""
    with suppress(InvalidBearerTokenError):
        login = read_signed(data.decode("latin-1"), known_keys().verifies, RULES, NOW * 1000)
        assert login == Login(Principal("alice"), (NOW + 60) * 1000), "a token was made up"


def bearer_token_seeds() -> Iterator[bytes]:
    yield KEY.sign(CLAIMS).encode()
    yield KEY.sign(CLAIMS, alg="HS256").encode()
    yield KEY.sign(CLAIMS, kid=None, crit=["x"]).encode()
    yield KEY.sign(CLAIMS | {"scope": ["a", "b"], "nbf": NOW}).encode()
    yield unsecured(**CLAIMS).encode()


def read_provider_answer(data: bytes) -> None:
    """What a provider answers is a set of keys, a token, or an error that is not longer."""
    with suppress(InvalidKeySetError):
        assert parse_key_set(data).keys
    for status in (200, 400):
        told = told_by(status, data)
        assert len(told) < 400
        assert "canary" not in told


def told_by(status: int, data: bytes) -> str:
    """Return the error of an answer, empty if it has a token that can be used."""
    try:
        token = token_of(status, data, "https://i", NOW, ["canary"])
    except TokenError as error:
        return str(error)
    assert token.lifetime > 0
    assert token.value.reveal().isascii()
    return ""


def provider_answer_seeds() -> Iterator[bytes]:
    yield json.dumps({"keys": [KEY.jwk(), {"kty": "RSA", "n": "AQAB", "e": "AQAB"}]}).encode()
    yield json.dumps({"access_token": KEY.sign(CLAIMS), "token_type": "Bearer"}).encode()
    yield b'{"access_token": "abc", "expires_in": "60"}'
    yield b'{"error": "invalid_client", "error_description": "no canary here"}'
