"""PLAIN and SCRAM: which tokens are sent, and which answers are refused."""

from __future__ import annotations

import copy
import os
import pickle
import traceback
from collections.abc import Callable
from typing import Any

import pytest

from pyk.clients import errors
from pyk.clients.errors import ConfigurationError, SaslAuthenticationFailedError
from pyk.clients.security import Plain, Scram, Secret
from pyk.clients.security.exchange import Credentials, Work
from pyk.clients.security.login import log_in
from pyk.protocol.messages.sasl_authenticate import SaslAuthenticateResponse
from pyk.protocol.messages.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse
from pyk.protocol.sasl import ScramMechanism
from pyk.runtime.secret import secret_of
from support.scram import ANSWER, FIRST, PASSWORD, PROOFS, SIGNATURES, UNPROVEN

NONCE = "rOprNGfwEbeRWgbNEkqO"
SERVER = "broker1:9092"
PLAIN = Plain("alice", "wonder-canary")
SHA_256 = "SCRAM-SHA-256"


def run(
    credentials: Credentials,
    *answers: bytes | SaslAuthenticateResponse,
    handshake: SaslHandshakeResponse | None = None,
    has_tls: bool = False,
) -> tuple[list[bytes], float]:
    """Return the tokens that a login sends to a broker that answers so, and its lifetime."""
    login = log_in(credentials, NONCE, SERVER, has_tls=has_tls)
    sent, left = [], list(answers)
    step: Any = next(login)
    assert step == SaslHandshakeRequest(mechanism=credentials.mechanism)
    outcome: Any = handshake or SaslHandshakeResponse(mechanisms=[credentials.mechanism])
    try:
        while True:
            step = login.send(outcome)
            if isinstance(step, Work):
                outcome = step.function()
                continue
            sent.append(step.auth_bytes)
            answer = left.pop(0)
            is_token = isinstance(answer, bytes)
            outcome = SaslAuthenticateResponse(auth_bytes=answer) if is_token else answer
    except StopIteration as end:
        return sent, end.value


def refusal(text: str = "Authentication failed.", code: int = 58) -> SaslAuthenticateResponse:
    return SaslAuthenticateResponse(error_code=code, error_message=text)


def failure(*arguments: Any, **options: Any) -> Any:
    with pytest.raises(errors.AuthenticationError) as caught:
        run(*arguments, **options)
    return caught.value


def test_plain_sends_name_and_password_in_one_token() -> None:
    assert run(PLAIN, b"") == ([b"\0alice\0wonder-canary"], 0.0)


@pytest.mark.parametrize("mechanism", list(ScramMechanism))
def test_scram_makes_the_exchange_of_the_rfc(mechanism: ScramMechanism) -> None:
    scram = Scram("user", PASSWORD, mechanism.value)
    final = f"v={SIGNATURES[mechanism]}".encode()

    sent, _ = run(scram, ANSWER, final)

    assert sent == [FIRST, UNPROVEN + f",p={PROOFS[mechanism]}".encode()]


def test_the_lifetime_of_the_session_comes_in_seconds() -> None:
    answer = SaslAuthenticateResponse(session_lifetime_ms=90_500)

    assert run(PLAIN, answer)[1] == 90.5


def test_the_salted_password_is_computed_once() -> None:
    scram = Scram("user", PASSWORD, SHA_256)
    final = f"v={SIGNATURES[ScramMechanism.SCRAM_SHA_256]}".encode()
    run(scram, ANSWER, final)
    login = log_in(scram, NONCE, SERVER)
    next(login)
    login.send(SaslHandshakeResponse())

    step = login.send(SaslAuthenticateResponse(auth_bytes=ANSWER))

    assert not isinstance(step, Work)


def test_many_iterations_are_long_work() -> None:
    login = log_in(Scram("user", PASSWORD, SHA_256), NONCE, SERVER)
    next(login)
    login.send(SaslHandshakeResponse())

    step = login.send(SaslAuthenticateResponse(auth_bytes=ANSWER.replace(b"4096", b"500000")))

    assert isinstance(step, Work)
    assert step.is_long


@pytest.mark.parametrize(
    ("answers", "reason"),
    [
        ([b""], "server-first"),
        ([ANSWER.replace(b"r=rOpr", b"r=other")], "nonce"),
        ([ANSWER.replace(b"i=4096", b"i=1")], "iterations"),
        ([ANSWER.replace(b"i=4096", b"i=1000001")], "iterations"),
        ([ANSWER, b""], "does not prove that it knows the password"),
        ([ANSWER, b"v=" + b"QUFB"], "does not come from this password"),
        ([ANSWER, b"x=" + b"QUFB"], "v= is not where"),
        ([ANSWER, b"e=invalid-proof"], "invalid-proof"),
        ([ANSWER + b"x" * 600_000], "more than"),
    ],
)
def test_a_broker_that_deviates_from_scram_is_refused(answers: list[bytes], reason: str) -> None:
    error = failure(Scram("user", PASSWORD, SHA_256), *answers)

    assert isinstance(error, SaslAuthenticationFailedError)
    assert reason in str(error)


def test_an_error_names_mechanism_principal_reason_and_advice() -> None:
    error = failure(PLAIN, refusal("Authentication failed: Invalid username or password"))

    assert isinstance(error, SaslAuthenticationFailedError)
    assert str(error) == (
        "broker1:9092 refused the login as 'alice' with PLAIN: Authentication failed: Invalid "
        "username or password; check user name and password"
    )
    assert (error.mechanism, error.principal) == ("PLAIN", "alice")
    assert error.fatal
    assert not error.retriable
    assert error.definite


def test_a_reason_of_the_broker_is_one_line_of_bounded_length() -> None:
    text = str(failure(PLAIN, refusal("bad\nINFO forged line\x1b[0m" + "x" * 10_000)))

    assert "\n" not in text
    assert "\x1b" not in text
    assert len(text) < 1_000


def test_a_mechanism_that_the_broker_does_not_have_is_named_with_those_it_has() -> None:
    answer = SaslHandshakeResponse(error_code=33, mechanisms=["GSSAPI", "SCRAM-SHA-512"])

    error = failure(PLAIN, handshake=answer)

    assert isinstance(error, errors.UnsupportedSaslMechanismError)
    assert "does not have the SASL mechanism PLAIN: it has GSSAPI, SCRAM-SHA-512" in str(error)


@pytest.mark.parametrize(("has_tls", "protocol"), [(False, "PLAINTEXT"), (True, "SSL")])
def test_a_listener_without_sasl_is_named_with_the_protocol_that_fits_it(
    has_tls: bool, protocol: str
) -> None:
    error = failure(PLAIN, handshake=SaslHandshakeResponse(error_code=34), has_tls=has_tls)

    assert isinstance(error, errors.IllegalSaslStateError)
    assert f"a listener without SASL; give security_protocol='{protocol}', or the" in str(error)


@pytest.mark.parametrize(("code", "name"), [(58, "SASL_AUTHENTICATION_FAILED"), (256, "256")])
def test_a_handshake_that_fails_in_another_way_is_a_refused_login(code: int, name: str) -> None:
    error = failure(PLAIN, handshake=SaslHandshakeResponse(error_code=code))

    assert isinstance(error, SaslAuthenticationFailedError)
    assert name in str(error)


@pytest.mark.parametrize(
    "make",
    [
        lambda: Plain("", "canary"),
        lambda: Plain("alice", "can\0ary"),
        lambda: Scram("alice", ""),
        lambda: Scram("älice", "canary"),
        lambda: Scram("alice", "canary", "SCRAM-SHA-1"),
        lambda: Scram("alice", "canary", max_iterations=1),
    ],
)
def test_credentials_that_cannot_be_sent_are_a_configuration_error(
    make: Callable[[], object],
) -> None:
    with pytest.raises(ConfigurationError) as caught:
        make()

    assert "canary" not in str(caught.value)


def test_a_secret_is_not_shown_compared_or_pickled_by_accident() -> None:
    secret = secret_of("canary")

    assert "canary" not in f"{secret} {secret!r} {[secret]} {Scram('alice', secret)!r}"
    assert secret == Secret("canary")
    assert secret != Secret("other")
    with pytest.raises(TypeError, match="cannot be pickled"):
        pickle.dumps(PLAIN)
    with pytest.raises(TypeError) as caught:
        secret_of(b"canary")  # type: ignore[arg-type]
    assert "canary" not in str(caught.value)


@pytest.mark.parametrize("kind", [Plain, Scram])
def test_a_password_that_the_environment_does_not_have_is_named(kind: Any) -> None:
    with pytest.raises(TypeError, match="password must be a str, not NoneType; is the variable"):
        kind("alice", os.environ.get("NO_SUCH_VARIABLE"))


def test_copies_of_credentials_are_equal() -> None:
    assert copy.deepcopy({"auth": PLAIN}) == {"auth": PLAIN}
    assert copy.copy(PLAIN) == PLAIN


def test_no_traceback_shows_a_password_even_with_local_variables() -> None:
    scram = Scram("user", "pencil-canary", SHA_256)
    for credentials, answers in ((PLAIN, [refusal()]), (scram, [ANSWER, b"v=QUFB"])):
        error = failure(credentials, *answers)
        # Without the frame of the test's own peer, which has the tokens.
        frames = error.__traceback__.tb_next.tb_next
        shown = "".join(
            traceback.TracebackException(type(error), error, frames, capture_locals=True).format()
        )

        assert "canary" not in shown
        assert "log_in" in shown


@pytest.mark.parametrize(
    ("username", "password", "hint"),
    [
        ("alice", "canary\n", "(the password begins or ends with white space)"),
        (" alice", "canary", "(the user name begins or ends with white space)"),
        ("alice", "can ary", ""),
    ],
)
@pytest.mark.parametrize("kind", [Plain, Scram])
def test_white_space_around_a_password_is_pointed_out(
    kind: Any, username: str, password: str, hint: str
) -> None:
    advice = kind(username, password).advice

    assert advice.endswith(hint)
    assert ("white space" in advice) == bool(hint)
    assert "canary" not in advice


def test_a_refused_delegation_token_may_have_expired() -> None:
    assert "has not expired" in Scram("id", "hmac", is_delegation_token=True).advice
