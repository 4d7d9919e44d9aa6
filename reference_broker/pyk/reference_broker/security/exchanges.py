"""The server's side of each SASL mechanism: tokens in, tokens out. Pure.

An exchange is asked with each token of the client and returns the token to answer with. It raises
``SaslTokenError`` or :class:`LoginRefusedError`, and then it is over. Its ``login`` is there once
the client has shown who it is.
"""

from __future__ import annotations

import hmac
from collections.abc import Callable, Mapping
from typing import Protocol

from pyk.protocol.errors import EncodeError
from pyk.protocol.sasl import (
    FAILURE_SEEN,
    ClientFinal,
    ClientFirst,
    OAuthBearerFailure,
    OAuthBearerResponse,
    PlainToken,
    ScramCredential,
    ServerFirst,
    auth_message,
)

from .bearer_tokens import InvalidBearerTokenError
from .principal import Login, Principal

OTHER_AUTHORIZATION_ID = (
    "Authentication failed: Client requested an authorization id that is different from username"
)


class LoginRefusedError(Exception):
    """A login that fails.

    ``message`` is told to the client, None for Kafka's general one. ``reason`` is for the log,
    where that says more.
    """

    def __init__(self, message: str | None = None, reason: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.reason = reason


class SaslExchange(Protocol):
    """One exchange of tokens."""

    login: Login | None

    def answer(self, token: bytes) -> bytes:
        """Return the token that answers one of the client."""


class PlainExchange:
    """PLAIN: the client sends its password, the broker has a table of them."""

    def __init__(self, users: Mapping[str, str]) -> None:
        self._users = users
        self.login: Login | None = None

    def answer(self, token: bytes) -> bytes:
        """See :class:`SaslExchange`; nothing is answered to a password that is right."""
        _check_parts(token)
        plain = PlainToken.decode(token)
        known = self._users.get(plain.username)
        is_right = hmac.compare_digest((known or "").encode(), plain.password.encode())
        if known is None or not is_right:
            raise LoginRefusedError("Authentication failed: Invalid username or password")
        if plain.authzid not in ("", plain.username):
            raise LoginRefusedError(OTHER_AUTHORIZATION_ID)
        self.login = Login(Principal(plain.username))
        return b""


def _check_parts(token: bytes) -> None:
    """Raise :class:`LoginRefusedError`, with Kafka's texts, if a part of a token is missing."""
    parts = token.count(b"\0") + 1
    if parts != 3:
        raise LoginRefusedError(f"Invalid SASL/PLAIN response: expected 3 tokens, got {parts}")
    for place, what in ((1, "username"), (2, "password")):
        if not token.split(b"\0")[place]:
            raise LoginRefusedError(f"Authentication failed: {what} not specified")


class ScramExchange:
    """SCRAM: the client proves that it knows the password, and the broker that it knows its hash.

    ``nonce`` is random and printable, another for each exchange. ``find`` returns the credential of
    a user, ``find_token`` that of a delegation token and whom it logs in.
    """

    def __init__(
        self,
        find: Callable[[str], ScramCredential | None],
        nonce: str,
        find_token: Callable[[str], tuple[ScramCredential, Login] | None] = lambda _: None,
    ) -> None:
        self._find = find
        self._find_token = find_token
        self._nonce = nonce
        self._begun: tuple[ClientFirst, ServerFirst, ScramCredential, Login] | None = None
        self.login: Login | None = None

    def answer(self, token: bytes) -> bytes:
        """See :class:`SaslExchange`."""
        return self._begin(token) if self._begun is None else self._finish(token, *self._begun)

    def _begin(self, token: bytes) -> bytes:
        first = ClientFirst.decode(token)
        found = self._known(first)
        if found is None:
            raise LoginRefusedError
        credential, login = found
        if first.authzid not in ("", first.username):
            raise LoginRefusedError(OTHER_AUTHORIZATION_ID)
        try:
            answer = ServerFirst(
                nonce=first.nonce + self._nonce,
                salt=credential.salt,
                iterations=credential.iterations,
            )
        except EncodeError as error:  # brokers take such a credential, as Kafka does
            raise LoginRefusedError(None, f"the credential cannot be used: {error}") from None
        self._begun = first, answer, credential, login
        return answer.encode()

    def _known(self, first: ClientFirst) -> tuple[ScramCredential, Login] | None:
        if first.is_token_authenticated:
            return self._find_token(first.username)
        credential = self._find(first.username)
        return None if credential is None else (credential, Login(Principal(first.username)))

    def _finish(
        self,
        token: bytes,
        first: ClientFirst,
        answered: ServerFirst,
        credential: ScramCredential,
        login: Login,
    ) -> bytes:
        final = ClientFinal.decode(token, first, answered)
        message = auth_message(first, answered, final)
        credential.verify_client(message, final)
        self.login = login
        return credential.sign(message).encode()


class OAuthBearerExchange:
    """OAUTHBEARER: the client shows a token that somebody else has given it.

    ``validate`` returns the login of a token; it raises ``InvalidBearerTokenError``.
    """

    def __init__(self, validate: Callable[[str], Login]) -> None:
        self._validate = validate
        self._failure: OAuthBearerFailure | None = None
        self._reason: str | None = None
        self.login: Login | None = None

    def answer(self, token: bytes) -> bytes:
        """See :class:`SaslExchange`; a refused token is answered with the reason, and then over."""
        if self._failure is not None:
            is_seen = token == FAILURE_SEEN
            told = self._failure.encode().decode() if is_seen else None
            raise LoginRefusedError(told, self._reason)
        response = OAuthBearerResponse.decode(token)
        try:
            login = self._validate(response.token)
        except InvalidBearerTokenError as error:
            self._reason = str(error)
            self._failure = OAuthBearerFailure(error.status, error.scope)
            return self._failure.encode()
        if response.authzid not in ("", login.principal.name):
            raise LoginRefusedError(OTHER_AUTHORIZATION_ID)
        self.login = login
        return b""
