"""Tokens of an identity provider under Kafka's names."""

from __future__ import annotations

from typing import Any

import pytest

from pyk.clients.config import AdminConfig
from pyk.clients.errors import ConfigurationError
from pyk.clients.security import (
    AssertionFile,
    ClientCredentials,
    JwtBearer,
    Oauth,
    RefreshWindow,
    Retries,
    Secret,
    SignedAssertion,
)

KAFKA = "org.apache.kafka.common.security.oauthbearer"
MODULE = f"{KAFKA}.OAuthBearerLoginModule required"
URL = "https://login.example/token"
BASE = {
    "bootstrap.servers": "broker:9092",
    "security.protocol": "SASL_SSL",
    "sasl.mechanism": "OAUTHBEARER",
    "sasl.oauthbearer.token.endpoint.url": URL,
}
CREDENTIALS = "sasl.oauthbearer.client.credentials.client"
SECRET = {f"{CREDENTIALS}.id": "shop", f"{CREDENTIALS}.secret": "canary"}
KEY = "sasl.oauthbearer.assertion.private.key.file"


def oauth(**properties: str | None) -> Oauth:
    given = {name: value for name, value in (BASE | properties).items() if value is not None}
    made = AdminConfig.from_properties(given).credentials()
    assert isinstance(made, Oauth)
    return made


def source(**properties: str | None) -> Any:
    return oauth(**properties).token


def test_a_properties_file_of_kafka_4_is_understood(caplog: pytest.LogCaptureFixture) -> None:
    made = source(
        **SECRET,
        **{
            "sasl.oauthbearer.scope": "kafka",
            "sasl.login.callback.handler.class": f"{KAFKA}.OAuthBearerLoginCallbackHandler",
            "sasl.oauthbearer.jwt.retriever.class": f"{KAFKA}.ClientCredentialsJwtRetriever",
            "sasl.login.connect.timeout.ms": "2000",
            "sasl.login.read.timeout.ms": "3000",
            "sasl.login.retry.backoff.ms": "50",
            "sasl.login.retry.backoff.max.ms": "4000",
            "sasl.login.refresh.window.factor": "0.7",
            "sasl.login.refresh.window.jitter": "0.1",
            "sasl.login.refresh.min.period.seconds": "30",
            "sasl.login.refresh.buffer.seconds": "90",
            "sasl.oauthbearer.header.urlencode": "true",
        },
    )

    assert isinstance(made, ClientCredentials)
    assert (made.token_url, made.client_id, made.client_secret) == (URL, "shop", Secret("canary"))
    assert (made.scope, made.url_encodes_header) == ("kafka", True)
    assert made.requests.connect_timeout_ms == 2000
    assert made.requests.read_timeout_ms == 3000
    assert made.requests.retries == Retries(backoff_ms=50, backoff_max_ms=4000)
    assert made.requests.window == RefreshWindow(
        factor=0.7, jitter=0.1, min_period_seconds=30, buffer_seconds=90
    )
    assert caplog.records == []


def test_a_properties_file_of_kafka_3_is_understood() -> None:
    entry = (
        f'{MODULE} clientId="shop" clientSecret="canary" scope="kafka" '
        'extension_logicalCluster="lkc-1" ssl.truststore.location="/etc/ca.pem";'
    )

    made = oauth(**{"sasl.jaas.config": entry, "sasl.mechanism": None})

    assert made.extensions == {"logicalCluster": "lkc-1"}
    assert made.principal == "shop"
    assert made.token.client_secret == Secret("canary")  # type: ignore[attr-defined]
    assert made.token.requests.tls.trust_file == "/etc/ca.pem"  # type: ignore[attr-defined]


def test_options_win_over_the_login_module() -> None:
    entry = f'{MODULE} clientId="other" clientSecret="other" scope="other";'

    made = source(**SECRET, **{"sasl.jaas.config": entry, "sasl.oauthbearer.scope": "kafka"})

    assert (made.client_id, made.scope) == ("shop", "kafka")


def test_an_assertion_is_signed_as_the_options_say() -> None:
    prefix = "sasl.oauthbearer.assertion"

    made = source(
        **{
            f"{CREDENTIALS}.id": "shop",
            KEY: "/key.pem",
            f"{prefix}.private.key.passphrase": "canary",
            f"{prefix}.algorithm": "ES256",
            f"{prefix}.claim.iss": "i",
            f"{prefix}.claim.sub": "s",
            f"{prefix}.claim.aud": "a",
            f"{prefix}.claim.exp.seconds": "120",
            f"{prefix}.claim.nbf.seconds": "10",
            f"{prefix}.claim.jti.include": "true",
            f"{prefix}.template.file": "/template.json",
        }
    )

    assert isinstance(made, ClientCredentials)
    assert made.assertion == SignedAssertion(
        key_file="/key.pem",
        key_password="canary",
        algorithm="ES256",
        issuer="i",
        subject="s",
        audience="a",
        expires_in_seconds=120,
        not_before_seconds=10,
        has_id=True,
        template_file="/template.json",
    )


def test_the_jwt_bearer_grant_is_asked_for_by_kafkas_class() -> None:
    made = source(
        **{
            "sasl.oauthbearer.jwt.retriever.class": f"{KAFKA}.JwtBearerJwtRetriever",
            "sasl.oauthbearer.assertion.file": "/assertion",
        }
    )

    assert isinstance(made, JwtBearer)
    assert made.assertion == AssertionFile("/assertion")


@pytest.mark.parametrize(
    ("properties", "words"),
    [
        ({"sasl.oauthbearer.token.endpoint.url": None}, "needs sasl_oauthbearer_token_endpoint"),
        ({}, "needs sasl_oauthbearer_client_credentials_client_id"),
        ({f"{CREDENTIALS}.id": "shop"}, "needs sasl_oauthbearer_client_credentials_client_id"),
        (
            SECRET | {"sasl.oauthbearer.token.endpoint.url": "file:///etc/passwd"},
            "the URL of the token endpoint must",
        ),
        (
            SECRET | {"sasl.oauthbearer.token.endpoint.url": "http://localhost/token"},
            "must begin with https://",
        ),
        (
            SECRET | {"sasl.login.callback.handler.class": "com.example.Mine"},
            "a Java class that Python cannot run; give auth=Oauth",
        ),
        (
            {"sasl.oauthbearer.jwt.retriever.class": f"{KAFKA}.FileJwtRetriever"},
            "a Java class that Python cannot run; give auth=Oauth",
        ),
        (
            {"sasl.oauthbearer.jwt.retriever.class": f"{KAFKA}.JwtBearerJwtRetriever"},
            "JwtBearerJwtRetriever needs",
        ),
        ({"sasl.login.refresh.window.factor": "0.3"}, r"factor is '0.3', but must be 0.5 to 1.0"),
        ({"sasl.login.refresh.window.jitter": "x"}, r"jitter is 'x', but must be 0.0 to 0.25"),
        ({"sasl.oauthbearer.assertion.algorithm": "none"}, "'RS256' or 'ES256'"),
        ({"sasl.oauthbearer.client.id": "shop"}, "it is called 'sasl.oauthbearer.client.cred"),
    ],
)
def test_what_cannot_be_used_is_an_error_that_names_it(
    properties: dict[str, str | None], words: str
) -> None:
    with pytest.raises(ConfigurationError, match=words) as caught:
        oauth(**properties)

    assert "canary" not in str(caught.value)


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ({"sasl.mechanism": "PLAIN", "sasl.username": "a", "sasl.password": "b"}, "PLAIN"),
        ({"security.protocol": "PLAINTEXT"}, "security_protocol is PLAINTEXT"),
    ],
)
def test_another_login_says_that_these_have_no_effect(
    given: dict[str, str], reason: str, caplog: pytest.LogCaptureFixture
) -> None:
    AdminConfig.from_properties(BASE | given | {"sasl.login.callback.handler.class": "a.B"})

    assert reason in caplog.text
    assert "sasl.login.callback.handler.class" in caplog.text


def test_credentials_of_ones_own_leave_the_options_without_effect(
    caplog: pytest.LogCaptureFixture,
) -> None:
    AdminConfig.from_kwargs(
        "broker:9092", auth=Oauth(lambda: "token"), sasl_oauthbearer_scope="kafka"
    )

    assert "sasl_oauthbearer_scope (auth has its own settings)" in caplog.text


def test_a_process_can_be_limited_to_its_providers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYK_OAUTHBEARER_ALLOWED_URLS", f" {URL}, https://other.example/")
    assert source(**SECRET)

    monkeypatch.setenv("PYK_OAUTHBEARER_ALLOWED_URLS", "")
    with pytest.raises(ConfigurationError, match="one of those in PYK_OAUTHBEARER_ALLOWED_URLS"):
        source(**SECRET)
