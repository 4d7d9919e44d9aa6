"""PLAIN and SCRAM: a user name and a password. Pure."""

from __future__ import annotations

from collections.abc import Callable

import attrs

from pyk.clients.errors import ConfigurationError
from pyk.clients.security.exchange import Exchange, Work
from pyk.protocol.errors import EncodeError
from pyk.protocol.messages.sasl_authenticate import SaslAuthenticateRequest
from pyk.protocol.sasl import (
    MAX_ITERATIONS,
    MIN_ITERATIONS,
    TOKEN_AUTHENTICATION,
    ClientFirst,
    MalformedTokenError,
    PlainToken,
    ScramMechanism,
    ServerFinal,
    ServerFirst,
    auth_message,
    prove,
    salted_password,
    verify_server,
)
from pyk.runtime import slotted
from pyk.runtime.secret import Secret, password_of

WHAT_TO_CHECK = "check user name and password"
# The proof of more iterations takes longer than a connection may hold up the others: some 5 ms.
MOST_QUICK_ITERATIONS = 8192


@attrs.frozen
class Plain:
    """Log in with a user name and a password that the broker gets to see (PLAIN, RFC 4616).

    Only for ``security_protocol="SASL_SSL"``: without TLS, everybody on the way sees it as well.
    """

    username: str
    password: Secret = attrs.field(converter=password_of)

    def __attrs_post_init__(self) -> None:
        _check(lambda: PlainToken(self.username, self.password.reveal()))

    @property
    def mechanism(self) -> str:
        return "PLAIN"

    @property
    def principal(self) -> str:
        return self.username

    @property
    def advice(self) -> str:
        return f"{WHAT_TO_CHECK}{_white_space(self)}"

    def exchange(self, nonce: str, host: str) -> Exchange:
        """Return a new exchange."""
        yield SaslAuthenticateRequest(
            auth_bytes=PlainToken(self.username, self.password.reveal()).encode()
        )


@slotted.frozen
class _SaltedPassword:
    """What takes the time in an exchange; the next one with the same salt need not compute it."""

    salt: bytes
    iterations: int
    value: bytes = slotted.field(repr=False)


@slotted.define
class _Cache:
    last: _SaltedPassword | None = None


@attrs.frozen
class Scram:
    """Log in with a proof of a password, which the broker does not get to see (SCRAM, RFC 5802).

    ``mechanism`` is ``"SCRAM-SHA-512"`` or ``"SCRAM-SHA-256"``, as the user was created. The broker
    has to prove that it knows the password, too. Brokers that ask for more than ``max_iterations``
    are refused. ``is_delegation_token`` if user name and password are the id and HMAC of a
    delegation token (KIP-48).
    """

    username: str
    password: Secret = attrs.field(converter=password_of)
    mechanism: str = "SCRAM-SHA-512"
    max_iterations: int = attrs.field(default=MAX_ITERATIONS, kw_only=True)
    is_delegation_token: bool = attrs.field(default=False, kw_only=True)
    _cache: _Cache = attrs.field(factory=_Cache, init=False, repr=False, eq=False)

    def __attrs_post_init__(self) -> None:
        if self.mechanism not in {one.value for one in ScramMechanism}:
            raise ConfigurationError(
                f"mechanism must be 'SCRAM-SHA-256' or 'SCRAM-SHA-512', not {self.mechanism!r}"
            )
        if self.max_iterations < MIN_ITERATIONS:
            raise ConfigurationError(f"max_iterations must be {MIN_ITERATIONS} or more")
        if not self.password:
            raise ConfigurationError("password is empty")
        _check(lambda: self._first("nonce"))

    @property
    def principal(self) -> str:
        return self.username

    @property
    def advice(self) -> str:
        if self.is_delegation_token:
            return "check the id and HMAC of the token, and that it has not expired or been removed"
        what = f"{WHAT_TO_CHECK}, and that the user has a credential for {self.mechanism}"
        return f"{what}{_white_space(self)}"

    def exchange(self, nonce: str, host: str) -> Exchange:
        """Return a new exchange."""
        mechanism = ScramMechanism(self.mechanism)
        first = self._first(nonce)
        response = yield SaslAuthenticateRequest(auth_bytes=first.encode())
        second = ServerFirst.decode(response.auth_bytes, first, max_iterations=self.max_iterations)
        salted = self._cache.last
        if salted is None or (salted.salt, salted.iterations) != (second.salt, second.iterations):
            is_long = second.iterations > MOST_QUICK_ITERATIONS
            salted = yield Work(lambda: self._salted(second), is_long)
        third = prove(mechanism, salted.value, first, second)
        response = yield SaslAuthenticateRequest(auth_bytes=third.encode())
        if not response.auth_bytes:
            raise MalformedTokenError("the broker does not prove that it knows the password")
        message = auth_message(first, second, third)
        final = ServerFinal.decode(response.auth_bytes)
        verify_server(mechanism, salted.value, message, final)
        self._cache.last = salted

    def _first(self, nonce: str) -> ClientFirst:
        extensions = TOKEN_AUTHENTICATION if self.is_delegation_token else {}
        return ClientFirst(username=self.username, nonce=nonce, extensions=extensions)

    def _salted(self, first: ServerFirst) -> _SaltedPassword:
        value = salted_password(
            ScramMechanism(self.mechanism), self.password.reveal(), first.salt, first.iterations
        )
        return _SaltedPassword(first.salt, first.iterations, value)


def _white_space(given: Plain | Scram) -> str:
    """Return a hint at what a password read from a file often ends with."""
    password = given.password.reveal()
    if password == password.strip() and given.username == given.username.strip():
        return ""
    named = "user name" if password == password.strip() else "password"
    return f" (the {named} begins or ends with white space)"


def _check(make: Callable[[], object]) -> None:
    """Raise :class:`ConfigurationError` if a token cannot be made."""
    try:
        make()
    except EncodeError as error:
        raise ConfigurationError(str(error)) from None
