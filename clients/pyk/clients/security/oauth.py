"""OAUTHBEARER: a token that the application gets from its identity provider (KIP-255). Pure."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import attrs

from pyk.clients.errors import ConfigurationError
from pyk.clients.security.application_functions import without_secrets
from pyk.clients.security.exchange import CredentialsError, Exchange, LoginRefusedError, Work
from pyk.protocol.errors import EncodeError
from pyk.protocol.messages.sasl_authenticate import SaslAuthenticateRequest
from pyk.protocol.sasl import FAILURE_SEEN, OAuthBearerFailure, OAuthBearerResponse
from pyk.runtime.secret import HIDDEN, Secret, secret_of

FUNCTION = "the function for tokens"
MOST_SAID = 500


def _callable(_: Any, __: attrs.Attribute[Any], value: object) -> None:
    if not callable(value):
        raise ConfigurationError("token must be a function that returns a token, not a token")


@attrs.frozen
class Oauth:
    """Log in with a bearer token (OAUTHBEARER, RFC 7628).

    ``token`` is :class:`ClientCredentials` or :class:`JwtBearer`, which fetch tokens of an identity
    provider and keep them while they are valid. Or it is a function, or a coroutine function,
    without arguments, which returns a token that is valid now. It is called for each login: on each
    connection, and again before a session ends, which is when the token expires. So it should keep
    a token while it is valid. A function may block, because it runs in a thread.

    ``extensions`` go with the token (KIP-342), such as ``logicalCluster`` and ``identityPoolId`` of
    Confluent Cloud.
    """

    token: Callable[[], str | Secret | Awaitable[str | Secret]] = attrs.field(
        validator=_callable, repr=False
    )
    extensions: Mapping[str, str] = attrs.field(factory=dict, kw_only=True, repr=False)

    def __attrs_post_init__(self) -> None:
        if not all(isinstance(value, str) for value in self.extensions.values()):
            raise ConfigurationError("extensions: the values must be str")
        try:
            OAuthBearerResponse("token", "", self.extensions)
        except EncodeError as error:
            raise ConfigurationError(f"extensions: {error}") from None

    @property
    def mechanism(self) -> str:
        return "OAUTHBEARER"

    @property
    def principal(self) -> str:
        """Return the client that asks for tokens, where it is known: only the token says more."""
        principal: str = getattr(self.token, "principal", "")
        return principal

    @property
    def advice(self) -> str:
        return "check that the token is valid, and meant for this broker (audience, scope)"

    def exchange(self, nonce: str, host: str) -> Exchange:
        """Return a new exchange."""
        function = getattr(self.token, "token_on_loop", self.token)
        is_coroutine = inspect.iscoroutinefunction(function)
        token = yield Work(
            lambda: self._called(function),
            is_long=not is_coroutine,
            problem=lambda: getattr(self.token, "problem", ""),
        )
        try:
            response = yield SaslAuthenticateRequest(
                auth_bytes=OAuthBearerResponse(token.reveal(), "", self.extensions).encode()
            )
        except LoginRefusedError:
            self._forget(token)
            raise
        if response.auth_bytes:
            self._forget(token)
            failure = OAuthBearerFailure.decode(response.auth_bytes)
            # The broker now fails the login with an error of its own, which says more.
            yield SaslAuthenticateRequest(auth_bytes=FAILURE_SEEN)
            said = failure.status.replace(token.reveal(), HIDDEN)[:MOST_SAID]
            raise CredentialsError(f"the broker does not take the token: {said}")

    def _called(self, function: Callable[[], Any]) -> Any:
        with without_secrets(FUNCTION, CredentialsError):
            token = function()
        return self._awaited(token) if inspect.isawaitable(token) else _checked(token)

    def _forget(self, token: Secret) -> None:
        """Fetch another token for the next login, where pyk is what fetches them."""
        forget: Callable[[Secret], None] | None = getattr(self.token, "forget", None)
        if forget is not None:
            forget(token)

    async def _awaited(self, coming: Awaitable[Any]) -> Secret:
        with without_secrets(FUNCTION, CredentialsError):
            token = await coming
        return _checked(token)


def _checked(token: Any) -> Secret:
    try:
        secret = secret_of(token)
    except TypeError:
        kind = type(token).__name__
        raise CredentialsError(f"{FUNCTION} returned {kind}, not a str") from None
    if not secret:
        raise CredentialsError(f"{FUNCTION} returned an empty str")
    if secret.reveal() != secret.reveal().strip():
        raise CredentialsError(f"{FUNCTION} returned a token with white space around it")
    return secret
