"""The keys of an identity provider: fetched at the start, and again when that is due."""

from __future__ import annotations

import asyncio
import json
import ssl
from collections.abc import Iterator
from pathlib import Path

import attrs
import pytest
from cryptography import x509
from cryptography.hazmat.primitives.serialization import BestAvailableEncryption, pkcs12

from pyk.protocol.sasl.json_web_tokens import JsonWebToken
from pyk.reference_broker.config import InvalidConfigError
from pyk.reference_broker.security.key_source import KeyLocation, KeySource, trust_of
from pyk.runtime.timers import TimerQueue
from support.certificates import Authority
from support.identity_provider import Answer, IdentityProvider
from support.signed_tokens import SigningKey

FIRST, SECOND = SigningKey.rs256("first"), SigningKey.rs256("second")
CLAIMS = {"sub": "alice"}


@attrs.define
class FakeClock:
    seconds: float = 1000.0

    def now(self) -> float:
        return self.seconds

    def time_ms(self) -> int:
        return int(self.seconds * 1000)


def token_of(key: SigningKey) -> JsonWebToken:
    return JsonWebToken.decode(key.sign(CLAIMS))


def new_timers() -> TimerQueue:
    return TimerQueue(lambda _: None)


async def opened(
    location: KeyLocation, clock: FakeClock | None = None, timers: TimerQueue | None = None
) -> KeySource:
    timers = new_timers() if timers is None else timers
    return await KeySource.open(location, clock or FakeClock(), timers)


def fetches(source: KeySource, clock: FakeClock, timers: TimerQueue, *, after: float) -> bool:
    """Let time pass, and return whether keys are being fetched then."""
    clock.seconds += after
    timers.advance(clock.now())
    return source.is_refreshing


async def refreshed(source: KeySource) -> None:
    """Wait until the keys that are being fetched are there."""
    while source.is_refreshing:
        await asyncio.sleep(0)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "keys.json"
    write(path, FIRST)
    return path


def write(path: Path, *keys: SigningKey) -> None:
    path.write_text(json.dumps({"keys": [key.jwk() for key in keys]}))


async def test_keys_are_fetched_again_though_nobody_logs_in(file: Path) -> None:
    clock, timers = FakeClock(), new_timers()
    location = KeyLocation(url=f"file://{file}", refresh_ms=60_000)
    source = await opened(location, clock, timers)
    write(file, SECOND)

    assert not fetches(source, clock, timers, after=59)
    for key in (SECOND, FIRST):
        assert fetches(source, clock, timers, after=60)
        await refreshed(source)
        assert source.verifies(token_of(key))
        write(file, FIRST)

    assert not source.verifies(token_of(SECOND))


async def test_an_unknown_key_has_them_fetched_but_not_all_the_time(file: Path) -> None:
    clock = FakeClock()
    source = await opened(KeyLocation(url=f"file:{file}"), clock)
    write(file, FIRST, SECOND)

    clock.seconds += 9
    assert not source.verifies(token_of(SECOND))
    assert not source.is_refreshing
    clock.seconds += 1
    assert not source.verifies(token_of(SECOND))
    assert source.is_refreshing
    await refreshed(source)
    assert source.verifies(token_of(SECOND))
    assert not source.verifies(token_of(SigningKey.rs256("third")))
    assert not source.is_refreshing


async def test_keys_stay_while_they_cannot_be_fetched(
    file: Path, caplog: pytest.LogCaptureFixture
) -> None:
    clock, timers = FakeClock(), new_timers()
    location = KeyLocation(url=f"file:{file}", refresh_ms=60_000, retry_backoff_ms=1000)
    source = await opened(location, clock, timers)
    write(file)

    for wait in (60, 1, 2, 4, 8, 10, 10):
        assert not fetches(source, clock, timers, after=wait - 0.5)
        assert fetches(source, clock, timers, after=0.5)
        await refreshed(source)
        assert source.verifies(token_of(FIRST))

    assert "Cannot fetch the keys of the identity provider: it does not lead to" in caplog.text
    write(file, SECOND)
    assert fetches(source, clock, timers, after=10)
    await refreshed(source)
    assert source.verifies(token_of(SECOND))


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("file:/no/such/file", "No such file"),
        ("http://login.example/keys", "must begin with https://"),
        ("ftp://login.example/keys", "must begin with https://"),
        ("keys.json", "https://HOST/PATH"),
        ("", "must be a URL"),
    ],
)
async def test_a_source_without_keys_is_not_opened(url: str, words: str) -> None:
    with pytest.raises(InvalidConfigError, match=words) as caught:
        await opened(KeyLocation(url=url))

    assert "sasl.oauthbearer.jwks.endpoint.url" in str(caught.value)


async def test_a_file_is_not_shown_in_the_error_that_refuses_it(tmp_path: Path) -> None:
    (tmp_path / "passwd").write_text("root:canary")

    with pytest.raises(InvalidConfigError, match="not lead to a JSON Web Key Set") as caught:
        await opened(KeyLocation(url=f"file:{tmp_path}/passwd"))

    assert "canary" not in str(caught.value)


@pytest.fixture
def provider(tmp_path: Path) -> Iterator[tuple[IdentityProvider, ssl.SSLContext]]:
    authority = Authority(tmp_path)
    provider = IdentityProvider(authority.server(authority.issue("localhost")))
    yield provider, ssl.create_default_context(cafile=str(authority.file))
    provider.close()


async def test_keys_come_over_https(provider: tuple[IdentityProvider, ssl.SSLContext]) -> None:
    server, trust = provider
    location = KeyLocation(url=server.url("/keys"), trust=trust)

    source = await opened(location)

    assert source.verifies(token_of(FIRST))
    assert [asked.path for asked in server.asked] == ["/keys"]


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (Answer(b"", 302, {"Location": "file:///etc/passwd"}), "HTTP 302"),
        (Answer(b"canary", 500), "HTTP 500"),
        (Answer(b"canary"), "JSON Web Key Set"),
        (Answer(b"x" * (1 << 20) + b"x"), "more than 1048576 bytes"),
    ],
)
async def test_other_answers_are_refused(
    answer: Answer, words: str, provider: tuple[IdentityProvider, ssl.SSLContext]
) -> None:
    server, trust = provider
    server.answers = lambda _: answer

    with pytest.raises(InvalidConfigError, match=words) as caught:
        await opened(KeyLocation(url=server.url("/keys"), trust=trust))

    assert "canary" not in str(caught.value)


async def test_a_provider_whose_certificate_is_not_trusted_is_refused(
    provider: tuple[IdentityProvider, ssl.SSLContext],
) -> None:
    server, _ = provider

    with pytest.raises(InvalidConfigError, match="is not accepted"):
        await opened(KeyLocation(url=server.url("/keys")))


@pytest.mark.parametrize("option", ["ssl.truststore.location", "ssl.truststore.certificates"])
def test_the_login_module_says_whom_to_trust(option: str, tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    value = str(authority.file) if option.endswith("location") else authority.pem

    context = trust_of({option: value})

    assert context is not None
    assert len(context.get_ca_certs()) == 1
    assert (context.verify_mode, context.check_hostname) == (ssl.CERT_REQUIRED, True)
    assert context.minimum_version is ssl.TLSVersion.TLSv1_2


def test_a_trust_store_may_have_a_password(tmp_path: Path) -> None:
    certificate = x509.load_pem_x509_certificate(Authority(tmp_path).pem.encode())
    store = tmp_path / "trust.p12"
    encryption = BestAvailableEncryption(b"open sesame")
    store.write_bytes(
        pkcs12.serialize_key_and_certificates(None, None, None, [certificate], encryption)
    )
    options = {"ssl.truststore.location": str(store)}

    context = trust_of({**options, "ssl.truststore.password": "open sesame"})

    assert context is not None
    assert len(context.get_ca_certs()) == 1
    with pytest.raises(InvalidConfigError, match="of OAUTHBEARER: ") as caught:
        trust_of({**options, "ssl.truststore.password": "canary"})
    assert "canary" not in str(caught.value)


def test_without_a_trust_store_the_system_says_whom_to_trust() -> None:
    assert trust_of({"ssl.truststore.password": "unused"}) is None


@pytest.mark.parametrize(
    ("option", "value", "reason"),
    [
        ("ssl.truststore.location", "/no/such/file", "No such file or directory"),
        ("ssl.truststore.location", "/dev/null", "it is neither PEM nor PKCS12"),
        ("ssl.truststore.certificates", "canary", "it has no certificate"),
    ],
)
def test_a_trust_store_that_cannot_be_used_is_refused(option: str, value: str, reason: str) -> None:
    with pytest.raises(InvalidConfigError) as caught:
        trust_of({option: value})

    assert str(caught.value) == f"{option} of OAUTHBEARER: {reason}"
