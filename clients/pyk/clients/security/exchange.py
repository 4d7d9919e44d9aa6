"""The exchange of tokens by which a client logs in. Pure.

An exchange is a generator. It yields what has to be done: a request to send, or :class:`Work`,
which takes time or asks the application. It is sent what came of it: the response, or what the work
returned. It returns once the client is logged in, and raises if it cannot be.

Requests are made in the ``yield`` itself, so that no local variable holds a token: tools that
report errors print local variables, while the ``repr`` of a request does not show its token.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from pyk.runtime import slotted

if TYPE_CHECKING:
    from pyk.protocol.messages.sasl_authenticate import SaslAuthenticateRequest
    from pyk.protocol.messages.sasl_handshake import SaslHandshakeRequest


@slotted.frozen
class Work:
    """A function to call; if it returns an awaitable, to await.

    ``is_long`` if it may take so long that it should not hold up other connections. ``problem``
    returns what goes wrong meanwhile, or an empty str.
    """

    function: Callable[[], Any] = slotted.field(repr=False)
    is_long: bool = False
    problem: Callable[[], str] = str


class CredentialsError(Exception):
    """There is nothing to log in with; the text says why, and is not secret."""


class LoginRefusedError(Exception):
    """The broker has refused the login; an exchange is told so, and ends."""


Exchange: TypeAlias = Generator["SaslAuthenticateRequest | Work", Any, None]
Login: TypeAlias = Generator["SaslHandshakeRequest | SaslAuthenticateRequest | Work", Any, float]


class Credentials(Protocol):
    """The name and the proof with which a client logs in, by one mechanism of SASL.

    The classes of :mod:`pyk.clients.security` are such.
    """

    @property
    def mechanism(self) -> str:
        """The name of the mechanism, as brokers list it in ``sasl.enabled.mechanisms``."""

    @property
    def principal(self) -> str:
        """Who logs in, as far as that is known; never a secret."""

    @property
    def advice(self) -> str:
        """What to check if the broker refuses the login."""

    def exchange(self, nonce: str, host: str) -> Exchange:
        """Return a new exchange with the broker at ``host``, as the client was told of it.

        ``nonce`` is random, printable ASCII without a comma.
        """
