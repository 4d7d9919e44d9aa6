"""Tokens are fetched from an identity provider over TLS, with a secret or with an assertion."""

from __future__ import annotations

import base64
import copy
import json
import pickle
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, padding, utils

from pyk.clients.errors import ConfigurationError
from pyk.clients.security import (
    AssertionFile,
    ClientCredentials,
    JwtBearer,
    Retries,
    SignedAssertion,
    TokenRequests,
)
from pyk.clients.security.exchange import CredentialsError
from support.certificates import Authority
from support.identity_provider import Answer, IdentityProvider, as_json
from support.signed_tokens import SigningKey

URL = "https://login.example/token"


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("authority"))


@pytest.fixture
def provider(authority: Authority) -> Iterator[IdentityProvider]:
    provider = IdentityProvider(authority.server(authority.issue("localhost")))
    yield provider
    provider.close()


@pytest.fixture
def requests(authority: Authority) -> TokenRequests:
    return TokenRequests(ssl_cafile=str(authority.file), retries=Retries(backoff_max_ms=0))


def decoded(part: str) -> dict[str, Any]:
    value: dict[str, Any] = json.loads(base64.urlsafe_b64decode(part + "=="))
    return value


def test_a_token_is_fetched_with_the_secret_and_kept(
    provider: IdentityProvider, requests: TokenRequests
) -> None:
    source = ClientCredentials(
        provider.url(), "shop", "s3cret", scope="kafka read", requests=requests
    )

    token = source()

    assert decoded(token.reveal().split(".")[1])["sub"] == "alice"
    assert source() == token
    (asked,) = provider.asked
    assert asked.form == {"grant_type": "client_credentials", "scope": "kafka read"}
    assert asked.headers["Authorization"] == f"Basic {base64.b64encode(b'shop:s3cret').decode()}"
    assert asked.headers["Content-Type"] == "application/x-www-form-urlencoded"


def test_id_and_secret_are_encoded_if_the_provider_goes_by_the_letter(
    provider: IdentityProvider, requests: TokenRequests
) -> None:
    ClientCredentials(
        provider.url(), "shop:1", "s+ /é", url_encodes_header=True, requests=requests
    )()

    basic = provider.asked[0].headers["Authorization"].removeprefix("Basic ")
    assert base64.b64decode(basic) == b"shop%3A1:s%2B+%2F%C3%A9"


@pytest.mark.parametrize("algorithm", ["RS256", "ES256"])
def test_a_signed_assertion_takes_the_place_of_the_secret(
    algorithm: str, provider: IdentityProvider, requests: TokenRequests, tmp_path: Path
) -> None:
    key = SigningKey.elliptic("k") if algorithm == "ES256" else SigningKey.rs256("k")
    (tmp_path / "key.pem").write_bytes(key.pem("pass"))
    (tmp_path / "template.json").write_text(
        '{"header": {"kid": "k"}, "payload": {"jurisdiction": "EU"}}'
    )
    assertion = SignedAssertion(
        key_file=str(tmp_path / "key.pem"),
        key_password="pass",
        algorithm=algorithm,
        issuer="shop",
        subject="shop",
        audience=provider.url(),
        has_id=True,
        template_file=str(tmp_path / "template.json"),
    )

    ClientCredentials(provider.url(), "shop", assertion=assertion, requests=requests)()

    form = provider.asked[0].form
    assert form["grant_type"] == "client_credentials"
    assert form["client_assertion_type"] == "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
    header, claims, signature = form["client_assertion"].split(".")
    assert decoded(header) == {"typ": "JWT", "kid": "k", "alg": algorithm}
    shown = decoded(claims)
    assert shown["jurisdiction"] == "EU"
    assert (shown["iss"], shown["sub"], shown["aud"]) == ("shop", "shop", provider.url())
    assert shown["exp"] - shown["iat"] == 300
    assert shown["iat"] - shown["nbf"] == 60
    assert abs(shown["iat"] - time.time()) < 60
    assert len(shown["jti"]) == 36
    verify(key, f"{header}.{claims}".encode(), base64.urlsafe_b64decode(signature + "=="))


def verify(key: SigningKey, signed: bytes, signature: bytes) -> None:
    public = key.private.public_key()
    if key.algorithm == "RS256":
        public.verify(signature, signed, padding.PKCS1v15(), hashes.SHA256())
        return
    r, s = (int.from_bytes(part, "big") for part in (signature[:32], signature[32:]))
    public.verify(utils.encode_dss_signature(r, s), signed, ec.ECDSA(hashes.SHA256()))


def test_an_assertion_of_a_file_is_read_for_each_token(
    provider: IdentityProvider, requests: TokenRequests, tmp_path: Path
) -> None:
    file = tmp_path / "assertion"
    assertion = AssertionFile(str(file))
    for text in ("one.two.three\n", "four.five.six"):
        file.write_text(text)
        JwtBearer(provider.url(), assertion, scope="kafka", requests=requests)()

    assert [asked.form for asked in provider.asked] == [
        {
            "grant_type": "urn:ietf:params:oauth:grant-type:jwt-bearer",
            "assertion": text,
            "scope": "kafka",
        }
        for text in ("one.two.three", "four.five.six")
    ]


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (as_json({"error": "invalid_client", "error_description": "canary"}, 401), "HTTP 401"),
        (as_json({"error": "c2hvcDpjYW5hcnk="}, 400), "HTTP 400"),
        (Answer(b"", 302, {"Location": "file:///etc/passwd"}), "not followed"),
        (Answer(b"", 307, {"Location": "http://169.254.169.254/"}), "not followed"),
        (Answer(b"root:x:0:0:canary"), "not answer with a JSON object"),
        (Answer(b"x" * (1 << 20) + b"x"), "more than 1048576 bytes"),
        (Answer(b"canary", 503), "HTTP 503"),
    ],
)
def test_what_is_not_a_token_is_an_error_without_the_secret(
    answer: Answer, words: str, provider: IdentityProvider, requests: TokenRequests
) -> None:
    provider.answers = lambda _: answer

    with pytest.raises(CredentialsError, match=words) as caught:
        ClientCredentials(provider.url(), "shop", "canary", requests=requests)()

    assert provider.url() in str(caught.value)
    for secret in ("canary", "c2hvcDpjYW5hcnk", "root:"):
        assert secret not in str(caught.value)


def test_a_provider_that_is_down_is_asked_again(
    provider: IdentityProvider, authority: Authority
) -> None:
    provider.answers = lambda _: Answer(b"", 503) if len(provider.asked) < 3 else None
    requests = TokenRequests(ssl_cafile=str(authority.file), retries=Retries(backoff_ms=1))

    ClientCredentials(provider.url(), "shop", "s3cret", requests=requests)()

    assert len(provider.asked) == 3


def test_http_is_for_tests_on_this_machine() -> None:
    provider = IdentityProvider()
    try:
        with pytest.raises(ConfigurationError, match="must begin with https://"):
            ClientCredentials(provider.url(), "shop", "s3cret")
        requests = TokenRequests(allow_http_on_loopback=True)
        assert ClientCredentials(provider.url(), "shop", "s3cret", requests=requests)()
    finally:
        provider.close()


@pytest.mark.parametrize("url", ["file:///etc/passwd", "http://login.example/token", "", None])
def test_other_urls_are_refused_when_they_are_given(url: Any) -> None:
    with pytest.raises(ConfigurationError, match="the URL of the token endpoint must"):
        ClientCredentials(url, "shop", "s3cret")


@pytest.mark.parametrize(
    "new_source",
    [
        lambda: ClientCredentials(URL, "shop", "s3cret"),
        lambda: JwtBearer(URL, AssertionFile("assertion")),
    ],
)
def test_only_listed_endpoints_are_asked_where_there_is_a_list(
    new_source: Callable[[], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYK_OAUTHBEARER_ALLOWED_URLS", "https://other.example/token")

    with pytest.raises(ConfigurationError, match="this process is limited to"):
        new_source()


@pytest.mark.parametrize(
    ("assertion", "what"),
    [
        (lambda folder: AssertionFile(f"{folder}/assertion"), "the assertion"),
        (lambda folder: SignedAssertion(key_file=f"{folder}/assertion"), "the key of assertions"),
        (
            lambda folder: SignedAssertion(
                key_file=f"{folder}/listed", template_file=f"{folder}/assertion"
            ),
            "the template of assertions",
        ),
    ],
)
def test_only_listed_files_are_read_where_there_is_a_list(
    assertion: Any, what: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "assertion").write_text("a.b.c")
    (tmp_path / "listed").write_bytes(SigningKey.rs256("k").pem())
    monkeypatch.setenv("PYK_OAUTHBEARER_ALLOWED_FILES", str(tmp_path / "listed"))

    with pytest.raises(CredentialsError, match=f"{what}, .* this process is limited to"):
        assertion(tmp_path).assertion(0.0)


def test_several_scopes_are_one_text() -> None:
    with pytest.raises(ConfigurationError, match="scope must be a str, such as 'read write'"):
        ClientCredentials(URL, "shop", "s3cret", scope=["read", "write"])  # type: ignore[arg-type]


def test_a_client_shows_a_secret_or_an_assertion() -> None:
    assertion = AssertionFile("assertion")
    for options in ({}, {"client_secret": "s3cret", "assertion": assertion}):
        with pytest.raises(ConfigurationError, match="either client_secret or assertion"):
            ClientCredentials(URL, "shop", **options)  # type: ignore[arg-type]
    with pytest.raises(ConfigurationError, match="RS256 or ES256, not 'none'"):
        SignedAssertion(key_file="key.pem", algorithm="none")


@pytest.mark.parametrize(
    ("assertion", "words"),
    [
        (lambda folder: AssertionFile(f"{folder}/none"), "No such file"),
        (lambda folder: AssertionFile(f"{folder}/text"), "does not hold a token"),
        (lambda folder: SignedAssertion(key_file=f"{folder}/none"), "No such file"),
        (lambda folder: SignedAssertion(key_file=f"{folder}/text"), "private key in PEM"),
        (lambda folder: SignedAssertion(key_file=f"{folder}/locked"), "password is missing"),
        (
            lambda folder: SignedAssertion(key_file=f"{folder}/key", algorithm="ES256"),
            "not one for ES256",
        ),
        (
            lambda folder: SignedAssertion(
                key_file=f"{folder}/key", template_file=f"{folder}/text"
            ),
            "is not JSON with the objects header and payload",
        ),
    ],
)
def test_files_that_cannot_be_used_are_named_and_not_shown(
    assertion: Any, words: str, tmp_path: Path
) -> None:
    (tmp_path / "text").write_text("{canary}")
    (tmp_path / "key").write_bytes(SigningKey.rs256("k").pem())
    (tmp_path / "locked").write_bytes(SigningKey.rs256("k").pem("canary"))
    source = JwtBearer(
        URL, assertion(tmp_path), requests=TokenRequests(retries=Retries(backoff_max_ms=0))
    )

    with pytest.raises(CredentialsError, match=words) as caught:
        source()

    assert str(tmp_path) in str(caught.value)
    assert "canary" not in str(caught.value)


def test_a_source_shows_no_secret_and_is_not_pickled() -> None:
    source = ClientCredentials(URL, "shop", "canary")

    assert "canary" not in repr(source)
    assert "shop" in repr(source)
    with pytest.raises(TypeError, match="cannot be pickled: create"):
        pickle.dumps(source)


def test_a_copy_of_a_source_has_the_same_tokens(
    provider: IdentityProvider, requests: TokenRequests
) -> None:
    source = ClientCredentials(provider.url(), "shop", "secret", requests=requests)

    assert copy.deepcopy(source)() == source()
    assert len(provider.asked) == 1
