"""Tokens of an identity provider: what is asked for, and with what.

The objects are given to :class:`~pyk.clients.security.Oauth`. One may serve several clients, which
then share its tokens.
"""

from __future__ import annotations

import base64
import random
import ssl
import threading
import urllib.parse
from typing import Any

import attrs

from pyk.clients.errors import ConfigurationError
from pyk.clients.security.assertions import Assertion
from pyk.clients.security.tls import new_context
from pyk.clients.security.tls_settings import TlsSettings
from pyk.clients.security.token_answers import Token, TokenError, token_of
from pyk.clients.security.token_life import RefreshWindow, Retries
from pyk.clients.security.token_source import TokenSource
from pyk.runtime import allow_list, https, slotted
from pyk.runtime.clock import Clock
from pyk.runtime.secret import Secret, secret_of
from pyk.runtime.system_clock import SystemClock

HEADERS = {
    "Accept": "application/json",
    "Cache-Control": "no-cache",
    "Content-Type": "application/x-www-form-urlencoded",
}
ASSERTION_TYPE = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
JWT_BEARER = "urn:ietf:params:oauth:grant-type:jwt-bearer"


@slotted.frozen(kw_only=True)
class TokenRequests:
    """How a token endpoint is asked.

    ``ssl_cafile`` has the authorities to trust, in PEM or PKCS12; ``ssl_context`` or ``tls`` are
    used instead where they are given. ``allow_http_on_loopback`` lets a test ask a server on this
    machine without TLS. ``retries`` and ``window`` say when to ask again.
    """

    connect_timeout_ms: int = 10_000
    read_timeout_ms: int = 10_000
    retries: Retries = slotted.field(factory=Retries)
    window: RefreshWindow = slotted.field(factory=RefreshWindow)
    ssl_cafile: str | None = None
    ssl_context: ssl.SSLContext | None = slotted.field(default=None, repr=False)
    tls: TlsSettings | None = None
    allow_http_on_loopback: bool = False

    @property
    def limits(self) -> https.Limits:
        return https.Limits(
            connect_timeout=self.connect_timeout_ms / 1000, read_timeout=self.read_timeout_ms / 1000
        )

    def url(self, text: str) -> https.Url:
        """Return the address of an endpoint; raise :class:`ConfigurationError`."""
        try:
            allow_list.check_url(text)
            return https.parse_url(text, allows_http_on_loopback=self.allow_http_on_loopback)
        except (TypeError, ValueError) as error:
            raise ConfigurationError(f"the URL of the token endpoint {error}") from None

    def context(self) -> ssl.SSLContext:
        """Return what checks the endpoint's certificate; raise :class:`ConfigurationError`."""
        return new_context(
            self.tls or TlsSettings(context=self.ssl_context, trust_file=self.ssl_cafile)
        )


def _one_text(_: Any, __: attrs.Attribute[Any], scope: object) -> None:
    if not isinstance(scope, str | None):
        kind = type(scope).__name__
        raise ConfigurationError(f"scope must be a str, such as 'read write', not {kind}")


@attrs.define(eq=False)
class _TokenEndpoint:
    """What all kinds of requests have: an endpoint, and a source that keeps its tokens."""

    token_url: str
    scope: str | None = attrs.field(default=None, kw_only=True, validator=_one_text)
    requests: TokenRequests = attrs.field(factory=TokenRequests, kw_only=True)
    _clock: Clock = attrs.field(factory=SystemClock, kw_only=True, repr=False)
    _url: https.Url = attrs.field(init=False, repr=False)
    _source: TokenSource = attrs.field(init=False, repr=False)

    def __attrs_post_init__(self) -> None:
        self._url = self.requests.url(self.token_url)
        self._source = TokenSource(
            self._fetch,
            self.requests.window,
            self.requests.retries,
            clock=self._clock,
            random=random.Random(),  # noqa: S311 - spreads the load, keeps no secret
            wait=threading.Event().wait,
        )

    def __call__(self) -> Secret:
        """Return a token that is valid now, for :class:`Oauth`; it may block for a while."""
        return self._source.token()

    async def token_on_loop(self) -> Secret:
        """Return the same without blocking the event loop."""
        return await self._source.token_on_loop()

    @property
    def problem(self) -> str:
        """Why there is no token yet, while the endpoint is asked again; empty otherwise."""
        return self._source.problem

    def forget(self, token: Secret) -> None:
        """Do not return a token again, because a broker has refused it."""
        self._source.forget(token)

    def _fetch(self) -> Token:
        now = self._clock.time_ms() / 1000
        form, headers, secrets = self._request(now)
        if self.scope is not None:
            form["scope"] = self.scope
        try:
            answer = https.send(
                self._url,
                body=urllib.parse.urlencode(form).encode(),
                headers=HEADERS | headers,
                # Of the files as they are now; it is needed once in an hour or so.
                context=self.requests.context() if self._url.has_tls else None,
                limits=self.requests.limits,
            )
        except ConfigurationError as error:
            raise TokenError(f"no token of {self._url}: {error}") from None
        except https.HttpsError as error:
            raise TokenError(f"no token: {error}", is_retriable=error.is_retriable) from None
        return token_of(answer.status, answer.body, str(self._url), now, _writings(secrets))

    def _request(self, now: float) -> tuple[dict[str, str], dict[str, str], list[str]]:
        """Return form and headers of a request, and the secrets in them."""
        raise NotImplementedError


@attrs.define(eq=False)
class ClientCredentials(_TokenEndpoint):
    """Tokens for the application itself: the client credentials grant (RFC 6749, section 4.4).

    ``token_url`` is the token endpoint of the identity provider and begins with ``https://``. The
    client shows ``client_secret``, or an ``assertion`` instead (RFC 7523). ``url_encodes_header``
    encodes id and secret as RFC 6749 has it; Kafka's clients and so most providers do not
    (``sasl.oauthbearer.header.urlencode``). Raises :class:`ConfigurationError`.
    """

    client_id: str
    client_secret: Secret | None = attrs.field(
        default=None, converter=attrs.converters.optional(secret_of)
    )
    assertion: Assertion | None = attrs.field(default=None, kw_only=True)
    url_encodes_header: bool = attrs.field(default=False, kw_only=True)

    def __attrs_post_init__(self) -> None:
        if not self.client_id or (not self.client_secret) == (self.assertion is None):
            raise ConfigurationError(
                "ClientCredentials needs client_id, and either client_secret or assertion"
            )
        super().__attrs_post_init__()

    @property
    def principal(self) -> str:
        return self.client_id

    def _request(self, now: float) -> tuple[dict[str, str], dict[str, str], list[str]]:
        form = {"grant_type": "client_credentials"}
        if self.assertion is not None:
            text = self.assertion.assertion(now).reveal()
            form |= {
                "client_id": self.client_id,
                "client_assertion_type": ASSERTION_TYPE,
                "client_assertion": text,
            }
            return form, {}, [text]
        assert self.client_secret is not None
        names = [self.client_id, self.client_secret.reveal()]
        if self.url_encodes_header:
            names = [urllib.parse.quote_plus(name) for name in names]
        basic = base64.b64encode(":".join(names).encode()).decode()
        return form, {"Authorization": f"Basic {basic}"}, [self.client_secret.reveal(), basic]


@attrs.define(eq=False)
class JwtBearer(_TokenEndpoint):
    """Tokens for an ``assertion``: the JWT bearer grant (RFC 7523, KIP-1139).

    ``token_url`` is the token endpoint of the identity provider and begins with ``https://``.
    Raises :class:`ConfigurationError`.
    """

    assertion: Assertion

    @property
    def principal(self) -> str:
        return getattr(self.assertion, "subject", None) or ""

    def _request(self, now: float) -> tuple[dict[str, str], dict[str, str], list[str]]:
        text = self.assertion.assertion(now).reveal()
        return {"grant_type": JWT_BEARER, "assertion": text}, {}, [text]


def _writings(secrets: list[str]) -> list[Any]:
    """Return how an endpoint may repeat secrets."""
    found = []
    for secret in secrets:
        raw = secret.encode()
        found += [secret, urllib.parse.quote(secret, safe=""), urllib.parse.quote_plus(secret)]
        found += [base64.b64encode(raw).decode(), raw.hex()]
    return found
