"""What a token endpoint answers: tokens with an end, or an error that shows no secret."""

from __future__ import annotations

import json
from typing import Any

import pytest

from pyk.clients.security.token_answers import TokenError, token_of
from support.bearer_tokens import unsecured

NOW = 1_000_000.0
URL = "https://login.example/token"


def answer(**members: Any) -> bytes:
    return json.dumps(members).encode()


@pytest.mark.parametrize(
    ("members", "lifetime"),
    [
        ({"access_token": "opaque", "expires_in": 60}, 60),
        ({"access_token": "opaque", "expires_in": "60"}, 60),
        ({"access_token": "opaque", "expires_in": 60.5, "token_type": "bearer"}, 60.5),
        ({"id_token": "opaque", "expires_in": 60}, 60),
        ({"access_token": unsecured(sub="a", exp=NOW + 50) + "c2ln"}, 50),
        ({"access_token": unsecured(sub="a", exp=NOW + 50), "expires_in": 90}, 50),
        ({"access_token": unsecured(sub="a", exp=NOW + 90), "expires_in": 50}, 50),
        ({"access_token": "opaque.but.dots", "expires_in": 60}, 60),
    ],
)
def test_a_token_ends_when_it_or_its_endpoint_says(
    members: dict[str, Any], lifetime: float
) -> None:
    token = token_of(200, answer(**members), URL, NOW)

    assert token.lifetime == lifetime
    assert token.value.reveal() in members.values()


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b"", "not answer with a JSON object"),
        (b"<html>canary</html>", "not answer with a JSON object"),
        (b"[]", "not answer with a JSON object"),
        (b'{"access_token": "canary", "expires_in": NaN}', "not answer with a JSON object"),
        (b'{"access_token": "canary", "access_token": "b"}', "not answer with a JSON object"),
        (b"[" * 100_000, "not answer with a JSON object"),
        (b'{"access_token": "\xff"}', "not answer with a JSON object"),
        (answer(expires_in=60), "without an access_token"),
        (answer(access_token=["canary"], expires_in=60), "without an access_token"),
        (answer(access_token="can\x01ary", expires_in=60), "without an access_token"),
        (answer(access_token="canary", token_type="mac", expires_in=60), "another type"),
        (answer(access_token="canary"), "without expires_in"),
        (answer(access_token="canary", expires_in=True), "without expires_in"),
        (answer(access_token="canary", expires_in="soon"), "without expires_in"),
        (answer(access_token=unsecured(sub="canary")), "without expires_in"),
        (answer(access_token=unsecured(exp=NOW), expires_in=60), "has expired already"),
        (answer(access_token="canary", expires_in=0), "has expired already"),
    ],
)
def test_other_answers_are_errors_that_show_none_of_them(body: bytes, words: str) -> None:
    with pytest.raises(TokenError, match=words) as caught:
        token_of(200, body, URL, NOW)

    assert URL in str(caught.value)
    assert "canary" not in str(caught.value)
    assert not caught.value.is_retriable


@pytest.mark.parametrize(
    ("status", "is_retriable"),
    [
        *((status, False) for status in (202, 300, 302, 399, 400, 401, 403, 404, 499)),
        *((status, True) for status in (408, 425, 429, 500, 503)),
    ],
)
def test_a_refusal_is_asked_again_only_if_that_may_help(status: int, is_retriable: bool) -> None:
    with pytest.raises(TokenError, match=f"HTTP {status}") as caught:
        token_of(status, b"", URL, NOW)

    assert caught.value.is_retriable is is_retriable


def test_a_refusal_is_told_in_the_words_of_the_endpoint_and_nothing_else_of_it() -> None:
    body = answer(
        error="invalid_client",
        error_description="no client\r\nwith secret canary or Y2FuYXJ5",
        secret="other",
        error_uri="https://elsewhere.example",
    )

    with pytest.raises(TokenError) as caught:
        token_of(401, body, URL, NOW, ["canary", "Y2FuYXJ5"])

    text = str(caught.value)
    assert "invalid_client - no client  with secret <secret> or <secret>" in text
    assert "check client id, secret or key, and scope" in text
    assert "other" not in text
    assert "elsewhere" not in text


def test_a_long_refusal_is_cut() -> None:
    with pytest.raises(TokenError) as caught:
        token_of(500, answer(error="x" * 10_000), URL, NOW)

    assert len(str(caught.value)) < 400


@pytest.mark.parametrize("status", [300, 307, 399])
def test_a_redirect_is_not_followed_and_said_so(status: int) -> None:
    with pytest.raises(TokenError, match="not followed"):
        token_of(status, b"", URL, NOW)


@pytest.mark.parametrize(
    ("status", "is_told"), [(400, True), (401, True), (403, True), (404, False)]
)
def test_what_to_check_is_said_where_the_client_may_be_at_fault(status: int, is_told: bool) -> None:
    with pytest.raises(TokenError) as caught:
        token_of(status, b"", URL, NOW)

    assert ("check client id" in str(caught.value)) is is_told
    assert "not followed" not in str(caught.value)


def test_a_token_may_come_as_something_that_was_created() -> None:
    assert token_of(201, answer(access_token="opaque", expires_in=60), URL, NOW).lifetime == 60
