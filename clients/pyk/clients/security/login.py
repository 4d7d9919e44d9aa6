"""Log in by SASL: agree on a mechanism, then exchange its tokens (KIP-43, KIP-152). Pure.

::

    client                                             broker
      SaslHandshake   mechanism                    →
                      accepted, or those it has    ←
      SaslAuthenticate   token                     →     as often as the mechanism needs
                         token, or an error        ←
                         session lifetime          ←     with the last one (KIP-368)

The same exchange on a connection that is in use authenticates it again (KIP-368). So work that the
first token needs, such as fetching one, is done before the handshake: from then on, nothing else
may be sent on the connection.
"""

from __future__ import annotations

import contextlib
from typing import Any, TypeVar

from pyk.clients.errors import (
    AuthenticationError,
    IllegalSaslStateError,
    SaslAuthenticationFailedError,
    UnsupportedSaslMechanismError,
    error_for,
)
from pyk.clients.security.exchange import (
    Credentials,
    CredentialsError,
    Login,
    LoginRefusedError,
    Work,
)
from pyk.protocol.errors import EncodeError, ErrorCode
from pyk.protocol.messages.sasl_handshake import SaslHandshakeRequest
from pyk.protocol.sasl import OAuthBearerResponse, SaslTokenError
from pyk.protocol.sasl.json_web_tokens import json_object
from pyk.runtime.secret import HIDDEN, Secret

E = TypeVar("E", bound=AuthenticationError)

NO_REASON = "it gives no reason"
MOST_SAID = 500
AWS_SECRETS = ("x-amz-signature", "x-amz-security-token")
MOST_MECHANISMS = 20
NO_SASL_ADVICE = "give security_protocol={protocol!r}, or the port of a SASL listener"
MECHANISM_ADVICE = (
    "give another sasl_mechanism, or add it to sasl.enabled.mechanisms of the listener"
)


def log_in(
    credentials: Credentials, nonce: str, server: str, host: str = "", *, has_tls: bool = False
) -> Login:
    """Return the steps that log in to ``server``, which is named in errors.

    ``host`` is its name, which some mechanisms have in their tokens, ``has_tls`` whether the
    connection is under TLS. The steps return the seconds that the session holds, 0.0 if there is no
    limit, and raise a subclass of :class:`AuthenticationError`.
    """
    exchange = credentials.exchange(nonce, host)
    outcome, lifetime_ms, has_shaken_hands = None, 0, False
    sent: list[Any] = []
    while True:
        try:
            step = exchange.send(outcome)
        except StopIteration:
            return max(0, lifetime_ms) / 1000
        except (SaslTokenError, EncodeError, CredentialsError) as error:
            raise _failed(credentials, server, error) from error
        if isinstance(step, Work):
            try:
                outcome = yield step
            except CredentialsError as error:
                raise _failed(credentials, server, error) from error
            continue
        if not has_shaken_hands:
            response = yield SaslHandshakeRequest(mechanism=credentials.mechanism)
            _check_mechanism(credentials, response, server, has_tls=has_tls)
            has_shaken_hands = True
        sent.append(step)
        outcome = yield step
        lifetime_ms = outcome.session_lifetime_ms
        try:
            _check_answer(credentials, sent, outcome, server)
        except AuthenticationError:
            with contextlib.suppress(LoginRefusedError):
                exchange.throw(LoginRefusedError())
            raise


def _check_mechanism(
    credentials: Credentials, response: Any, server: str, *, has_tls: bool
) -> None:
    if response.error_code == ErrorCode.NONE:
        return
    if response.error_code == ErrorCode.ILLEGAL_SASL_STATE:
        text = f"{server} does not authenticate on this port: it is a listener without SASL"
        advice = NO_SASL_ADVICE.format(protocol="SSL" if has_tls else "PLAINTEXT")
        raise _advising(IllegalSaslStateError, text, advice, credentials)
    if response.error_code != ErrorCode.UNSUPPORTED_SASL_MECHANISM:
        raise _refused(credentials, server, str(error_for(response.error_code)))
    offered = _printable(", ".join(response.mechanisms[:MOST_MECHANISMS]))
    has = f"it has {offered}" if offered else "it names none"
    text = f"{server} does not have the SASL mechanism {credentials.mechanism}: {has}"
    raise _advising(UnsupportedSaslMechanismError, text, MECHANISM_ADVICE, credentials)


def _check_answer(credentials: Credentials, sent: list[Any], response: Any, server: str) -> None:
    if response.error_code == ErrorCode.NONE:
        return
    code = ErrorCode.SASL_AUTHENTICATION_FAILED
    said = _printable(_hiding(credentials, sent, response.error_message or NO_REASON))
    name = "" if response.error_code == code else f"{error_for(response.error_code)}: "
    raise _refused(credentials, server, f"{name}{said}")


def _failed(
    credentials: Credentials, server: str, error: Exception
) -> SaslAuthenticationFailedError:
    """Return the error of a login that the client itself ends."""
    who = f" as {credentials.principal!r}" if credentials.principal else ""
    return _with_facts(
        SaslAuthenticationFailedError(
            f"cannot log in to {server}{who} with {credentials.mechanism}: {error}"
        ),
        credentials,
    )


def _refused(credentials: Credentials, server: str, said: str) -> SaslAuthenticationFailedError:
    who = f" as {credentials.principal!r}" if credentials.principal else ""
    text = f"{server} refused the login{who} with {credentials.mechanism}: {said}"
    return _advising(SaslAuthenticationFailedError, text, credentials.advice, credentials)


def _advising(kind: type[E], text: str, advice: str, credentials: Credentials) -> E:
    error = kind(f"{text}; {advice}")
    error.advice = advice
    return _with_facts(error, credentials)


def _with_facts(error: E, credentials: Credentials) -> E:
    error.mechanism, error.principal = credentials.mechanism, credentials.principal
    return error


def _hiding(credentials: Credentials, sent: list[Any], text: str) -> str:
    """Return what a peer said without passwords and tokens, which it may repeat."""
    password = getattr(credentials, "password", None)
    if isinstance(password, Secret) and password:
        return text.replace(password.reveal(), HIDDEN)
    for request in sent:
        for secret in _secrets_in(request.auth_bytes):
            text = text.replace(secret, HIDDEN)
    return text


def _secrets_in(token: bytes) -> list[str]:
    """Return the bearer token, or what signs a request of AWS, in what a client has sent."""
    with contextlib.suppress(SaslTokenError):
        return [OAuthBearerResponse.decode(token).token]
    with contextlib.suppress(SaslTokenError):
        found = map(json_object(token).get, AWS_SECRETS)
        return [secret for secret in found if isinstance(secret, str) and secret]
    return []


def _printable(text: str) -> str:
    """Return what a peer said as one line that is not too long."""
    shown = "".join(one if one.isprintable() else " " for one in text[:MOST_SAID])
    return shown.strip().rstrip(".")
