"""No secret of a login with tokens is in a log, error, repr, traceback or pickle, in any writing.

Tracebacks are written with the local variables of all functions, as tools that report errors do.
"""

from __future__ import annotations

import base64
import contextlib
import json
import logging
import pickle
import traceback
import urllib.parse
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import attrs
import pytest

from pyk.clients import Admin, ClientCredentials, JwtBearer, MskIam, Oauth
from pyk.clients.errors import AuthenticationError
from pyk.clients.security import (
    AssertionFile,
    AwsCredentials,
    Retries,
    SignedAssertion,
    TokenRequests,
)
from pyk.reference_broker import Cluster
from support.certificates import Authority
from support.identity_provider import Answer, Asked, IdentityProvider, as_json

CANARY = "k4n/ri3n+v0gel-g3heim"
TOKEN_CANARY = "t0ken-k4nari3n-v0gel"


@attrs.define
class Flow:
    """What a login needs, and the secrets in it."""

    auth: Any
    secrets: list[str] = attrs.field(factory=lambda: [CANARY], repr=False)


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("authority"))


@pytest.fixture
def provider(authority: Authority) -> Iterator[IdentityProvider]:
    provider = IdentityProvider(authority.server(authority.issue("localhost")))
    provider.claims = {"jti": TOKEN_CANARY}
    yield provider
    provider.close()


@pytest.fixture
def server(provider: IdentityProvider, tmp_path: Path) -> Iterator[str]:
    """A broker that takes the tokens of the provider."""
    keys = tmp_path / "keys.json"
    keys.write_text(json.dumps({"keys": [provider.key.jwk()]}))
    config = {
        "listeners": "SASL_PLAINTEXT://127.0.0.1:0,PLAINTEXT://127.0.0.1:0",
        "inter.broker.listener.name": "PLAINTEXT",
        "sasl.enabled.mechanisms": "OAUTHBEARER",
        "sasl.oauthbearer.jwks.endpoint.url": keys.as_uri(),
    }
    with Cluster(config=config) as cluster:
        yield cluster.bootstrap


def with_secret(url: str, requests: TokenRequests, _: Path) -> Flow:
    return Flow(Oauth(ClientCredentials(url, "shop", CANARY, requests=requests)))


def with_key(url: str, requests: TokenRequests, folder: Path) -> Flow:
    from support.signed_tokens import SigningKey

    pem = SigningKey.rs256("of a client").pem(CANARY)
    (folder / "key.pem").write_bytes(pem)
    assertion = SignedAssertion(key_file=str(folder / "key.pem"), key_password=CANARY)
    source = ClientCredentials(url, "shop", assertion=assertion, requests=requests)
    return Flow(Oauth(source), [CANARY, pem.decode().splitlines()[3]])


def with_assertion(url: str, requests: TokenRequests, folder: Path) -> Flow:
    text = f"{TOKEN_CANARY}.of.a-file"
    (folder / "assertion").write_text(text)
    source = JwtBearer(url, AssertionFile(str(folder / "assertion")), requests=requests)
    return Flow(Oauth(source), [text])


def with_aws(url: str, requests: TokenRequests, _: Path) -> Flow:
    keys = AwsCredentials("AKIDEXAMPLE", CANARY, f"s3ssion-{CANARY}")
    return Flow(MskIam(region="eu-west-1", credentials=lambda: keys))


def writings(secret: str) -> set[str]:
    """Return how a secret may be written: plain, percent-encoded, in hex and in base64."""
    data = secret.encode()
    shifted = [base64.b64encode(b"\0" * shift + data).decode()[4:-4] for shift in range(3)]
    url_safe = [one.replace("+", "-").replace("/", "_") for one in shifted]
    quoted = {urllib.parse.quote(secret, safe=""), urllib.parse.quote_plus(secret)}
    return {secret, *quoted, data.hex(), repr(data)[2:-1], *shifted, *url_safe}


def check(text: str, secrets: list[str]) -> None:
    lowered = text.lower()
    for secret in [*secrets, TOKEN_CANARY]:
        assert [one for one in writings(secret) if one.lower() in lowered] == []


def answers_of(kind: str) -> Callable[[Asked], Answer | None]:
    """Return what the provider says; some of it repeats what it was sent."""

    def repeats(asked: Asked) -> Answer:
        said = [asked.headers.get("Authorization", ""), asked.body, *asked.form.values()]
        return as_json({"error": "invalid_client", "error_description": " ".join(said)}, 401)

    return {
        "token": lambda _: None,
        "expired token": lambda _: None,
        "refusal": repeats,
        "no JSON": lambda asked: Answer(asked.body.encode()),
        "no HTTP": lambda asked: Answer(raw=asked.body.encode()),
        "redirect": lambda asked: Answer(b"", 307, {"Location": f"http://evil/?{asked.body}"}),
    }[kind]


def traceback_of(error: BaseException) -> str:
    return "".join(traceback.TracebackException.from_exception(error, capture_locals=True).format())


@pytest.mark.parametrize(
    "kind", ["token", "expired token", "refusal", "no JSON", "no HTTP", "redirect"]
)
@pytest.mark.parametrize("flow", [with_secret, with_key, with_assertion, with_aws])
def test_nothing_shows_a_secret(
    flow: Callable[..., Flow],
    kind: str,
    provider: IdentityProvider,
    authority: Authority,
    server: str,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG)
    provider.answers = answers_of(kind)
    if kind == "expired token":
        provider.claims["exp"] = 1_000_000_000
    requests = TokenRequests(ssl_cafile=str(authority.file), retries=Retries(backoff_max_ms=0))
    given = flow(provider.url(), requests, tmp_path)
    shown = [repr(given.auth), str(vars(type(given.auth)))]

    try:
        with Admin(server, auth=given.auth, security_protocol="SASL_PLAINTEXT") as admin:
            admin.list_topics()
            shown.append(f"{admin!r} {vars(admin)!r}")
    except AuthenticationError as error:
        shown += [f"{error} {error!r} {vars(error)!r}", str(pickle.dumps(error))]
        shown.append(traceback_of(error))
    else:
        assert kind == "token"
        assert flow is not with_aws
    with contextlib.suppress(TypeError, AttributeError, pickle.PicklingError):
        shown.append(str(pickle.dumps(given.auth)))

    assert caplog.records
    for text in (*shown, caplog.text, *(repr(record.args) for record in caplog.records)):
        check(text, given.secrets)


def test_the_writings_are_found() -> None:
    for text in (CANARY, f"shop:{CANARY}", f"secret={CANARY}"):
        for written in (text, base64.b64encode(text.encode()).decode(), text.encode().hex()):
            with pytest.raises(AssertionError):
                check(f"x {written}", [CANARY])
