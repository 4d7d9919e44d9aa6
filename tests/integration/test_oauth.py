"""Clients that get tokens of an identity provider, and brokers that know its keys."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pyk.clients import (
    Admin,
    ClientCredentials,
    Consumer,
    Oauth,
    Producer,
    SaslAuthenticationFailedError,
)
from pyk.clients.security import RefreshWindow, Retries, TokenRequests
from pyk.reference_broker import Cluster
from pyk.reference_broker.config import InvalidConfigError
from support.bearer_tokens import unsecured
from support.certificates import Authority
from support.identity_provider import Answer, IdentityProvider
from support.signed_tokens import SigningKey

AUDIENCE, ISSUER = "kafka", "https://login.example"
HANDLER = "org.apache.kafka.common.security.oauthbearer.OAuthBearerValidatorCallbackHandler"
MODULE = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule"
PREFIX = "listener.name.sasl_plaintext.oauthbearer"


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("authority"))


@pytest.fixture
def provider(authority: Authority) -> Iterator[IdentityProvider]:
    provider = IdentityProvider(authority.server(authority.issue("localhost")))
    provider.claims = {"aud": AUDIENCE, "iss": ISSUER}
    yield provider
    provider.close()


def broker(provider: IdentityProvider, authority: Authority, **config: str) -> Cluster:
    return Cluster(
        config={
            "listeners": "SASL_PLAINTEXT://127.0.0.1:0,PLAINTEXT://127.0.0.1:0",
            "inter.broker.listener.name": "PLAINTEXT",
            "sasl.enabled.mechanisms": "OAUTHBEARER",
            f"{PREFIX}.sasl.server.callback.handler.class": HANDLER,
            f"{PREFIX}.sasl.oauthbearer.jwks.endpoint.url": provider.url("/keys"),
            f"{PREFIX}.sasl.jaas.config": (
                f'{MODULE} required ssl.truststore.location="{authority.file}";'
            ),
            "sasl.oauthbearer.expected.audience": AUDIENCE,
            "sasl.oauthbearer.expected.issuer": ISSUER,
            **config,
        }
    )


def auth(provider: IdentityProvider, authority: Authority) -> Oauth:
    requests = TokenRequests(
        ssl_cafile=str(authority.file),
        retries=Retries(backoff_max_ms=0),
        window=RefreshWindow(min_period_seconds=0, buffer_seconds=0),
    )
    return Oauth(ClientCredentials(provider.url(), "shop", "s3cret", requests=requests))


def options(auth: Oauth) -> dict[str, Any]:
    return {"auth": auth, "security_protocol": "SASL_PLAINTEXT"}


def test_records_travel_with_a_token_that_all_clients_share(
    provider: IdentityProvider, authority: Authority
) -> None:
    given = options(auth(provider, authority))

    with broker(provider, authority) as cluster:
        server = cluster.bootstrap
        with Producer(server, **given) as producer:
            producer.send("orders", b"one").result(30)
        with Consumer(server, topics=["orders"], auto_offset_reset="earliest", **given) as consumer:
            assert [record.value for record in consumer.poll(30)] == [b"one"]

    assert [asked.method for asked in provider.asked] == ["GET", "POST"]


def test_a_new_token_is_fetched_before_the_old_one_ends(
    provider: IdentityProvider, authority: Authority
) -> None:
    provider.lifetime = 2
    given = options(auth(provider, authority))

    with (
        broker(provider, authority, **{"sasl.oauthbearer.clock.skew.seconds": "0"}) as cluster,
        Producer(cluster.bootstrap, **given) as producer,
    ):
        deliveries, end = [], time.monotonic() + 5
        while time.monotonic() < end:
            deliveries.append(producer.send("orders", b"x"))
            deliveries[-1].result(30)

        assert all(one.exception() is None for one in deliveries)
    assert len([asked for asked in provider.asked if asked.method == "POST"]) >= 3


@pytest.mark.parametrize(
    ("claims", "words"),
    [
        ({"aud": "web"}, "aud has none of the audiences"),
        ({"iss": "https://evil.example"}, "iss is not the issuer"),
        ({"iat": 999_999_999, "exp": 1_000_000_000}, "expired"),
    ],
)
def test_a_token_that_is_not_for_the_cluster_is_refused(
    claims: dict[str, Any],
    words: str,
    provider: IdentityProvider,
    authority: Authority,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level("INFO")
    token = provider.new_token(**claims)

    with (
        broker(provider, authority) as cluster,
        pytest.raises(SaslAuthenticationFailedError, match="invalid_token"),
    ):
        Admin(cluster.bootstrap, **options(Oauth(lambda: token))).__enter__()

    assert words in caplog.text
    assert token not in caplog.text


def test_a_token_that_proves_nothing_is_refused(
    provider: IdentityProvider, authority: Authority
) -> None:
    now = int(time.time())
    token = unsecured(sub="admin", iat=now, exp=now + 60, aud=AUDIENCE, iss=ISSUER)

    with (
        broker(provider, authority) as cluster,
        pytest.raises(SaslAuthenticationFailedError, match="invalid_token"),
    ):
        Admin(cluster.bootstrap, **options(Oauth(lambda: token))).__enter__()


def test_a_provider_that_refuses_the_client_is_told_at_once(
    provider: IdentityProvider, authority: Authority
) -> None:
    given = options(auth(provider, authority))

    with broker(provider, authority) as cluster:
        refusal = json.dumps({"error": "invalid_client", "error_description": "unknown"})
        provider.answers = lambda _: Answer(refusal.encode(), 401)
        with pytest.raises(SaslAuthenticationFailedError) as caught:
            Admin(cluster.bootstrap, **given).__enter__()

    text = str(caught.value)
    assert "as 'shop' with OAUTHBEARER" in text
    assert "gives no token (HTTP 401): invalid_client - unknown" in text
    assert "s3cret" not in text


def test_keys_of_a_file_are_enough(
    provider: IdentityProvider, authority: Authority, tmp_path: Path
) -> None:
    file = tmp_path / "keys.json"
    file.write_text(json.dumps({"keys": [SigningKey.rs256("first").jwk()]}))
    url = {f"{PREFIX}.sasl.oauthbearer.jwks.endpoint.url": f"file://{file}"}

    with (
        broker(provider, authority, **url) as cluster,
        Admin(cluster.bootstrap, **options(auth(provider, authority))) as admin,
    ):
        assert admin.list_topics() is not None


@pytest.mark.parametrize(
    ("config", "words"),
    [
        ({f"{PREFIX}.sasl.oauthbearer.jwks.endpoint.url": "file:/none"}, "No such file"),
        ({f"{PREFIX}.sasl.server.callback.handler.class": "com.example.Mine"}, "is not served"),
        (
            {f"{PREFIX}.sasl.jaas.config": f'{MODULE} required ssl.truststore.location="/none";'},
            "No such file",
        ),
    ],
)
def test_a_broker_that_cannot_validate_tokens_does_not_start(
    config: dict[str, str], words: str, provider: IdentityProvider, authority: Authority
) -> None:
    with pytest.raises(InvalidConfigError, match=words):
        broker(provider, authority, **config).__enter__()


def test_a_broker_that_is_to_validate_tokens_needs_keys() -> None:
    config = {
        "listeners": "SASL_PLAINTEXT://127.0.0.1:0,PLAINTEXT://127.0.0.1:0",
        "inter.broker.listener.name": "PLAINTEXT",
        "sasl.enabled.mechanisms": "OAUTHBEARER",
        "sasl.server.callback.handler.class": HANDLER,
    }

    with pytest.raises(InvalidConfigError, match=r"needs sasl\.oauthbearer\.jwks\.endpoint\.url"):
        Cluster(config=config).__enter__()
