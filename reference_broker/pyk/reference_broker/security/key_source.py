"""Fetch the keys of an identity provider when a broker starts, and again while it runs.

They are fetched whether or not anybody logs in: a key that the provider has withdrawn must not let
in the first client after a quiet night. A login never waits for that: it is decided by the keys
that are there. A key that is not known has the keys fetched again, so that the next login finds it;
but not for each token that names one.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import ssl
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from pyk.protocol.sasl.json_web_tokens import JsonWebToken
from pyk.reference_broker.config.errors import InvalidConfigError
from pyk.runtime import allow_list, https, slotted
from pyk.runtime.clock import Clock
from pyk.runtime.key_stores import StoreError, pem_of
from pyk.runtime.secret import Secret
from pyk.runtime.timers import TimerQueue
from pyk.runtime.tls import load_trust

from .json_web_keys import (
    CryptographyMissingError,
    InvalidKeySetError,
    KeySet,
    parse_key_set,
)

if TYPE_CHECKING:
    from pyk.reference_broker.broker_configs import BrokerConfigs

log = logging.getLogger(__name__)

MECHANISM = "OAUTHBEARER"
OPTION = "sasl.oauthbearer.jwks.endpoint.url"
FILE = "file:"
HEADERS = {"Accept": "application/jwk-set+json, application/json"}
SHORTEST_WAIT = 10.0
"""The seconds from one fetch to another that an unknown key may begin.

Whoever can connect can name keys: they must not have the provider asked all the time.
"""


async def open_keys(
    listener: str, configs: BrokerConfigs, clock: Clock, timers: TimerQueue
) -> KeySource:
    """Return the keys that the tokens of a listener are signed with, fetched for the first time.

    Raises ``InvalidConfigError`` if they cannot be had: the start of a broker then fails, as
    Kafka's does.
    """
    config = configs.listener(listener, MECHANISM)
    assert config.sasl_oauthbearer_jwks_endpoint_url is not None
    jaas = configs.jaas_options(listener, MECHANISM, "OAuthBearerLoginModule")
    if not config.sasl_oauthbearer_expected_audience:
        log.warning(
            "Listener %s takes tokens without an audience, whatever they are for: set "
            "sasl.oauthbearer.expected.audience",
            listener,
        )
    location = KeyLocation(
        url=config.sasl_oauthbearer_jwks_endpoint_url,
        refresh_ms=config.sasl_oauthbearer_jwks_endpoint_refresh_ms,
        retry_backoff_ms=config.sasl_oauthbearer_jwks_endpoint_retry_backoff_ms,
        retry_backoff_max_ms=config.sasl_oauthbearer_jwks_endpoint_retry_backoff_max_ms,
        trust=trust_of(jaas),
    )
    return await KeySource.open(location, clock, timers)


class KeysUnavailableError(Exception):
    """The keys cannot be fetched; the text says why."""


@slotted.frozen(kw_only=True)
class KeyLocation:
    """Where keys are, and how often they are fetched."""

    url: str
    """``https:``, ``file:``, or ``http:`` on this machine."""
    refresh_ms: int = 3_600_000
    retry_backoff_ms: int = 100
    """The wait after a fetch that failed; it doubles each time."""
    retry_backoff_max_ms: int = 10_000
    trust: ssl.SSLContext | None = None
    """What checks the provider's certificate; the system's authorities without it."""


class KeySource:
    """The keys of one provider. It belongs to the event loop that it was opened on."""

    def __init__(
        self, location: KeyLocation, clock: Clock, timers: TimerQueue, keys: KeySet
    ) -> None:
        self._location = location
        self._clock = clock
        self._timers = timers
        self._keys = keys
        self.is_refreshing = False
        """Whether keys are being fetched."""
        self._failures = 0
        self._asked_at = clock.now()
        self._refresh_after(location.refresh_ms)

    @classmethod
    async def open(cls, location: KeyLocation, clock: Clock, timers: TimerQueue) -> KeySource:
        """Return a source with keys; raise ``InvalidConfigError`` if it cannot be had."""
        loop = asyncio.get_running_loop()
        try:
            keys = await loop.run_in_executor(None, fetch_keys, location)
        except KeysUnavailableError as error:
            raise InvalidConfigError(f"{OPTION}: {error}", name=OPTION) from None
        return cls(location, clock, timers, keys)

    def verifies(self, token: JsonWebToken) -> bool:
        """Return whether one of the keys signed a token; fetch them again if it names another."""
        now = self._clock.now()
        if now >= self._asked_at + SHORTEST_WAIT and self._is_unknown(token.header.get("kid")):
            self._refresh(now)
        return self._keys.verifies(token)

    def _is_unknown(self, key_id: object) -> bool:
        return isinstance(key_id, str) and not self._keys.has(key_id)

    def _refresh_after(self, wait_ms: int) -> None:
        self._timers.schedule(self, self._clock.now() + wait_ms / 1000, self._refresh)

    def _refresh(self, now: float) -> None:
        """Fetch the keys in a thread, which the end of a broker does not wait for."""
        if self.is_refreshing:
            return
        self._asked_at, self.is_refreshing = now, True
        loop = asyncio.get_running_loop()

        def fetch() -> None:
            outcome: KeySet | KeysUnavailableError = KeysUnavailableError("a bug in pyk")
            try:
                outcome = fetch_keys(self._location)
            except KeysUnavailableError as error:
                outcome = error
            finally:
                with contextlib.suppress(RuntimeError):  # the broker has ended, and its loop
                    loop.call_soon_threadsafe(self._came, outcome)

        threading.Thread(target=fetch, name="pyk-keys", daemon=True).start()

    def _came(self, outcome: KeySet | KeysUnavailableError) -> None:
        self.is_refreshing = False
        if isinstance(outcome, KeySet):
            self._keys, self._failures = outcome, 0
            self._refresh_after(self._location.refresh_ms)
            log.info("Fetched %d keys of the identity provider", len(outcome.keys))
            return
        wait_ms = self._location.retry_backoff_ms * 2 ** min(self._failures, 30)
        self._refresh_after(min(wait_ms, self._location.retry_backoff_max_ms))
        self._failures += 1
        log.warning("Cannot fetch the keys of the identity provider: %s", outcome)


def fetch_keys(location: KeyLocation) -> KeySet:
    """Return the keys as they are now; it blocks. Raises :class:`KeysUnavailableError`."""
    try:
        allow_list.check_url(location.url)
        is_file = location.url.startswith(FILE)
        data = _read_file(location.url) if is_file else _fetch(location)
        return parse_key_set(data)
    except (ValueError, https.HttpsError, CryptographyMissingError) as error:
        raise KeysUnavailableError(str(error)) from None
    except InvalidKeySetError as error:
        raise KeysUnavailableError(f"it does not lead to a JSON Web Key Set: {error}") from None


def trust_of(jaas: Mapping[str, str]) -> ssl.SSLContext | None:
    """Return what the login module says about the provider's certificate, as in Kafka."""
    location, text = jaas.get("ssl.truststore.location"), jaas.get("ssl.truststore.certificates")
    if location is None and text is None:
        return None
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    password = jaas.get("ssl.truststore.password")
    try:
        if location is not None:
            data = Path(location).read_bytes()
            text = pem_of(data, None if password is None else Secret(password)).certificates
        load_trust(context, text or "")
    except (OSError, ValueError, StoreError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.filename else None
        why = reason or (str(error) if isinstance(error, StoreError) else "it has no certificate")
        name = "ssl.truststore." + ("certificates" if location is None else "location")
        raise InvalidConfigError(f"{name} of {MECHANISM}: {why}", name=name) from None
    return context


def _read_file(url: str) -> bytes:
    path = url.removeprefix(FILE)
    path = path.removeprefix("//") if path.startswith("///") else path
    try:
        with Path(path).open("rb") as file:
            data = file.read(https.MAX_ANSWER_BYTES + 1)
    except OSError as error:
        raise KeysUnavailableError(f"cannot read {path!r}: {error.strerror}") from None
    if len(data) > https.MAX_ANSWER_BYTES:
        raise KeysUnavailableError(f"{path!r} has more than {https.MAX_ANSWER_BYTES} bytes")
    return data


def _fetch(location: KeyLocation) -> bytes:
    url = https.parse_url(location.url, allows_http_on_loopback=True)
    answer = https.send(url, headers=HEADERS, context=location.trust, limits=https.Limits())
    if answer.status != 200:
        raise KeysUnavailableError(f"{url} answers with HTTP {answer.status}")
    return answer.body
