"""OAUTHBEARER with a function that returns tokens."""

from __future__ import annotations

import asyncio
import inspect
import sys
import traceback
from collections.abc import Callable
from typing import Any

import pytest

from pyk.clients.errors import ConfigurationError, SaslAuthenticationFailedError
from pyk.clients.security import Oauth, Secret
from pyk.clients.security.exchange import CredentialsError, Work
from pyk.clients.security.login import log_in
from pyk.protocol.messages.sasl_authenticate import SaslAuthenticateResponse
from pyk.protocol.messages.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse

SENT = b"n,,\x01auth=Bearer token.canary\x01\x01"


def run(oauth: Oauth, *answers: SaslAuthenticateResponse) -> list[Any]:
    """Return what a login sends to a broker that answers so."""
    login, sent, left = log_in(oauth, "nonce", "broker1:9092"), [], list(answers)
    step: Any = next(login)
    try:
        while True:
            if isinstance(step, Work):
                try:
                    outcome = step.function()
                    if inspect.isawaitable(outcome):
                        outcome = asyncio.run(outcome)  # type: ignore[arg-type]
                except CredentialsError as error:
                    step = login.throw(error)
                    continue
            elif isinstance(step, SaslHandshakeRequest):
                sent.append(step.mechanism)
                outcome = SaslHandshakeResponse()
            else:
                sent.append(step.auth_bytes)
                outcome = left.pop(0)
            step = login.send(outcome)
    except StopIteration:
        return sent


async def coroutine() -> str:
    return "token.canary"


@pytest.mark.parametrize(
    "token",
    [
        lambda: "token.canary",
        lambda: Secret("token.canary"),
        coroutine,
        lambda: coroutine(),  # noqa: PLW0108 - not a coroutine function
    ],
)
def test_the_token_of_the_function_is_sent(token: Callable[[], Any]) -> None:
    assert run(Oauth(token), SaslAuthenticateResponse()) == ["OAUTHBEARER", SENT]


def test_the_token_is_got_before_the_connection_is_held_up() -> None:
    login = log_in(Oauth(lambda: "token"), "nonce", "broker1:9092")

    assert isinstance(next(login), Work)


def test_only_functions_that_may_block_run_in_a_thread() -> None:
    blocking = next(log_in(Oauth(lambda: "token"), "nonce", "broker1:9092"))
    awaited = next(log_in(Oauth(coroutine), "nonce", "broker1:9092"))

    assert isinstance(blocking, Work)
    assert blocking.is_long
    assert isinstance(awaited, Work)
    assert not awaited.is_long


def test_a_token_that_is_refused_is_told_in_the_words_of_the_broker() -> None:
    challenge = SaslAuthenticateResponse(auth_bytes=b'{"status":"invalid_token"}')
    refusal = SaslAuthenticateResponse(error_code=58, error_message="token has expired")

    with pytest.raises(SaslAuthenticationFailedError) as caught:
        run(Oauth(coroutine), challenge, refusal)

    assert "token has expired" in str(caught.value)
    assert "audience" in str(caught.value)
    assert "canary" not in str(caught.value)


class Forgetting:
    """A function for tokens that keeps them until they are to be forgotten."""

    def __init__(self) -> None:
        self.forgotten: list[Secret] = []

    def __call__(self) -> str:
        return "token.canary"

    def forget(self, token: Secret) -> None:
        self.forgotten.append(token)


@pytest.mark.parametrize(
    "answers",
    [
        [SaslAuthenticateResponse(error_code=58)],
        [
            SaslAuthenticateResponse(auth_bytes=b'{"status":"invalid_token"}'),
            SaslAuthenticateResponse(error_code=58),
        ],
    ],
    ids=["at once", "after a challenge"],
)
def test_a_token_that_is_refused_is_not_used_again(answers: list[SaslAuthenticateResponse]) -> None:
    source = Forgetting()
    run(Oauth(source), SaslAuthenticateResponse())
    assert not source.forgotten

    with pytest.raises(SaslAuthenticationFailedError):
        run(Oauth(source), *answers)

    assert source.forgotten == [Secret("token.canary")]


@pytest.mark.parametrize(
    "answers",
    [
        [SaslAuthenticateResponse(error_code=58, error_message="not token.canary")],
        [
            SaslAuthenticateResponse(auth_bytes=b'{"status":"invalid_token"}'),
            SaslAuthenticateResponse(error_code=58, error_message="not token.canary"),
        ],
        [
            SaslAuthenticateResponse(auth_bytes=b'{"status":"not token.canary"}'),
            SaslAuthenticateResponse(),
        ],
    ],
    ids=["at once", "after a challenge", "in the challenge"],
)
def test_a_token_that_a_broker_repeats_is_hidden(answers: list[SaslAuthenticateResponse]) -> None:
    with pytest.raises(SaslAuthenticationFailedError, match="not <secret>") as caught:
        run(Oauth(coroutine), *answers)

    assert "canary" not in str(caught.value)


def test_a_broker_that_refuses_a_token_without_an_error_is_not_believed() -> None:
    challenge = SaslAuthenticateResponse(auth_bytes=b'{"status":"invalid_token"}')

    with pytest.raises(SaslAuthenticationFailedError, match="invalid_token"):
        run(Oauth(coroutine), challenge, SaslAuthenticateResponse())


def test_a_broker_that_says_very_much_of_a_token_is_cut_short() -> None:
    challenge = SaslAuthenticateResponse(auth_bytes=b'{"status":"%b"}' % (b"x" * 100_000))

    with pytest.raises(SaslAuthenticationFailedError, match="xxx") as caught:
        run(Oauth(coroutine), challenge, SaslAuthenticateResponse())

    assert len(str(caught.value)) < 1000


async def failing() -> str:
    raise RuntimeError("canary")


async def exiting_later() -> str:
    await asyncio.sleep(0)
    sys.exit("canary")


@pytest.mark.parametrize(
    ("token", "words"),
    [
        (lambda: {}["canary"], "raised KeyError"),
        (failing, "raised RuntimeError in test_oauth.py, line "),
        (lambda: sys.exit("canary"), "raised SystemExit in test_oauth.py, line "),
        (exiting_later, "raised SystemExit in test_oauth.py, line "),
        (lambda: None, "returned NoneType, not a str"),
        (lambda: "can\nary", "is not a bearer token"),
        (lambda: "canary\n", "returned a token with white space around it"),
        (lambda: "", "returned an empty str"),
    ],
)
def test_a_function_that_has_no_token_is_an_error_that_shows_nothing(
    token: Callable[[], Any], words: str
) -> None:
    with pytest.raises(SaslAuthenticationFailedError) as caught:
        run(Oauth(token))

    assert words in str(caught.value)
    assert "canary" not in "".join(traceback.format_exception(caught.value))


def test_arguments_that_cannot_be_sent_are_refused() -> None:
    with pytest.raises(ConfigurationError, match="must be a function"):
        Oauth("token.canary")  # type: ignore[arg-type]
    with pytest.raises(ConfigurationError, match="extensions: "):
        Oauth(coroutine, extensions={"a1": "x"})
    with pytest.raises(ConfigurationError, match="extensions: the values must be str"):
        Oauth(coroutine, extensions={"lkc": 1})  # type: ignore[dict-item]
