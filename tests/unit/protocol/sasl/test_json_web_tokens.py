"""The parts of JSON Web Tokens, read strictly."""

from __future__ import annotations

import pytest

from pyk.protocol.sasl import MalformedTokenError
from pyk.protocol.sasl.json_web_tokens import (
    LATEST_SECONDS,
    JsonWebToken,
    encode_unsigned,
    from_base64url,
    to_base64url,
)
from pyk.protocol.sasl.syntax import MAX_TOKEN_BYTES

HEADER = {"alg": "RS256"}


def token_of(signature: str = "c2ln", **claims: object) -> str:
    return f"{encode_unsigned(HEADER, claims)}.{signature}"


def test_a_token_has_a_header_claims_and_a_signature() -> None:
    text = token_of(sub="alice")

    token = JsonWebToken.decode(text)

    assert (token.header, token.claims, token.signature) == (HEADER, {"sub": "alice"}, b"sig")
    assert token.signed == text.rpartition(".")[0].encode()


def test_only_the_header_of_a_token_is_shown() -> None:
    shown = repr(JsonWebToken.decode(token_of(sub="canary")))

    assert shown == "JsonWebToken(header={'alg': 'RS256'})"


def test_a_token_has_a_longest_size() -> None:
    start = encode_unsigned(HEADER, {}) + "."
    longest = start + "A" * (MAX_TOKEN_BYTES - len(start))

    assert JsonWebToken.decode(longest).header == HEADER
    with pytest.raises(MalformedTokenError):
        JsonWebToken.decode(longest + "AAAA")


@pytest.mark.parametrize("text", ["c2 ln", "c2ln\n", "c2!n", "c2ln=", "c", "c2\u00e9n"])
def test_what_is_not_base64url_is_refused(text: str) -> None:
    with pytest.raises(MalformedTokenError, match="not base64url"):
        from_base64url(text)


def test_base64url_has_no_padding() -> None:
    assert to_base64url(b"\xfb\xff") == "-_8"
    assert from_base64url("-_8") == b"\xfb\xff"


@pytest.mark.parametrize("value", [LATEST_SECONDS, -LATEST_SECONDS, True, "1", [], {}])
def test_what_is_not_a_time_is_refused(value: object) -> None:
    with pytest.raises(MalformedTokenError, match="exp is not a time"):
        JsonWebToken.decode(token_of(exp=value)).seconds("exp")


@pytest.mark.parametrize("value", [0, 1.5, LATEST_SECONDS - 1])
def test_a_time_is_a_number_of_seconds(value: float) -> None:
    assert JsonWebToken.decode(token_of(exp=value)).seconds("exp") == value
    assert JsonWebToken.decode(token_of()).seconds("exp") is None
