"""How one connection of a SASL listener authenticates, and again while it is used. Pure.

::

                 SaslHandshake            SaslAuthenticate, the last one
    Unknown ───────────────► Exchanging ─────────────────────────────────► Authenticated
       │ ApiVersions           ▲ │  ▲                                           │
       ▼       SaslHandshake   │ │  └───────────────────────────────────────────┘
    Greeted ───────────────────┘ ▼                SaslHandshake (KIP-368)
                              Refused: answered, then closed

Without authentication nothing else may be used, and ApiVersions only once. The principal must stay
the same when a client authenticates again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum

from pyk.protocol.api_keys import ApiKey
from pyk.protocol.sasl import SaslTokenError

from .exchanges import LoginRefusedError, SaslExchange
from .principal import Login, Principal

SHORTEST_REAUTHENTICATION_MS = 1000
"""A client that begins again sooner is told that it is in the wrong state, as by Kafka."""


class State(Enum):
    """What a connection may do."""

    UNKNOWN = "before ApiVersions and SaslHandshake"
    GREETED = "before SaslHandshake"
    EXCHANGING = "exchanging tokens"
    AUTHENTICATED = "authenticated"
    REFUSED = "refused"


_ALLOWED = {
    State.UNKNOWN: {ApiKey.API_VERSIONS, ApiKey.SASL_HANDSHAKE},
    State.GREETED: {ApiKey.SASL_HANDSHAKE},
    State.EXCHANGING: {ApiKey.SASL_AUTHENTICATE},
    State.REFUSED: frozenset[ApiKey](),
}


class UnsupportedMechanismError(Exception):
    """A mechanism that the listener does not have; the text is told to nobody."""


class SaslAuthentication:
    """Decides what a connection may do, and drives the exchange of its mechanism.

    ``mechanisms`` makes an exchange for each mechanism that the listener has.
    ``max_session_ms`` is ``connections.max.reauth.ms``, 0 for no limit. ``when_authenticated`` is
    called with the principal when it is known for the first time.
    """

    def __init__(
        self,
        mechanisms: Mapping[str, Callable[[], SaslExchange]],
        max_session_ms: int,
        when_authenticated: Callable[[Principal], object],
    ) -> None:
        self.mechanisms = mechanisms
        self._max_session_ms = max_session_ms
        self._when_authenticated = when_authenticated
        self.state = State.UNKNOWN
        self.principal: Principal | None = None
        """None until the client is authenticated for the first time."""
        self.is_token_authenticated = False
        """Whether the last login was by a delegation token."""
        self.refusal_reason: str | None = None
        """Why the login has failed, where the log is to say more than the client is told."""
        self._mechanism = ""
        self._exchange: SaslExchange | None = None
        self._expires_at_ms: int | None = None
        self._began_again_at_ms: int | None = None

    @property
    def is_refused(self) -> bool:
        """Whether the login has failed: the connection is over with the answer."""
        return self.state is State.REFUSED

    def allows(self, api_key: int, now_ms: int) -> bool:
        """Return whether a request may be handled now; otherwise the connection is to be closed."""
        if self.state is not State.AUTHENTICATED:
            return api_key in _ALLOWED[self.state]
        if self._expires_at_ms is not None and now_ms >= self._expires_at_ms:
            # One that comes too soon cannot begin anything, so the session is over, as in Kafka.
            return api_key == ApiKey.SASL_HANDSHAKE and self.may_begin(now_ms)
        return True

    def greeted(self) -> None:
        """Note that ApiVersions was answered: before a login that is done once, as in Kafka."""
        if self.state is State.UNKNOWN:
            self.state = State.GREETED

    def may_begin(self, now_ms: int) -> bool:
        """Return whether a handshake may begin an exchange.

        A login without an end cannot be made again, and no login soon after the one before.
        """
        if self.principal is not None and self._expires_at_ms is None:
            return False
        last = self._began_again_at_ms
        return last is None or now_ms - last >= SHORTEST_REAUTHENTICATION_MS

    def begin(self, mechanism: str, now_ms: int) -> None:
        """Begin an exchange.

        Raises :class:`UnsupportedMechanismError` for one that there is not, and
        :class:`LoginRefusedError` for another one than that of the first login.
        """
        if mechanism not in self.mechanisms:
            self.state = State.REFUSED
            raise UnsupportedMechanismError
        if self.principal is not None:
            self._began_again_at_ms = now_ms
            if mechanism != self._mechanism:
                self.state = State.REFUSED
                raise LoginRefusedError(
                    f"SASL mechanism '{mechanism}' requested by client is not supported for "
                    f"re-authentication of mechanism '{self._mechanism}'"
                )
        self._mechanism = mechanism
        self._exchange = self.mechanisms[mechanism]()
        self.state = State.EXCHANGING

    def answer(self, token: bytes, now_ms: int) -> tuple[bytes, int]:
        """Return the answer to a token, and how long the session then holds in ms, 0 for no limit.

        Raises :class:`LoginRefusedError` with the text for the client.
        """
        assert self._exchange is not None
        try:
            answer = self._exchange.answer(token)
            login = self._exchange.login
            return answer, 0 if login is None else self._complete(login, now_ms)
        except (SaslTokenError, LoginRefusedError) as error:
            self.state, self._exchange = State.REFUSED, None
            told = None
            if isinstance(error, LoginRefusedError):
                told, self.refusal_reason = error.message, error.reason
            # Not from the other error: what it knows of the token is nobody's business.
            raise LoginRefusedError(told or self._general_refusal()) from None

    def _complete(self, login: Login, now_ms: int) -> int:
        if self.principal not in (None, login.principal):
            raise LoginRefusedError(
                f"Cannot change principals during re-authentication from {self.principal}: "
                f"{login.principal}"
            )
        lifetime_ms = self._lifetime_ms(login, now_ms)
        self._expires_at_ms = now_ms + lifetime_ms if lifetime_ms else None
        if login.expires_at_ms is not None and login.expires_at_ms <= now_ms:
            self._expires_at_ms = now_ms  # a token that was taken within the skew of clocks
        self.state, self._exchange = State.AUTHENTICATED, None
        self.is_token_authenticated = login.is_by_token
        if self.principal is None:
            self.principal = login.principal
            self._when_authenticated(login.principal)
        return lifetime_ms

    def _lifetime_ms(self, login: Login, now_ms: int) -> int:
        limits = [self._max_session_ms] if self._max_session_ms > 0 else []
        if login.expires_at_ms is not None:
            limits.append(max(1, login.expires_at_ms - now_ms))
        return min(limits, default=0)

    def _general_refusal(self) -> str:
        what = "authentication" if self.principal is None else "re-authentication"
        return (
            f"Authentication failed during {what} due to invalid credentials with SASL mechanism "
            f"{self._mechanism}"
        )
