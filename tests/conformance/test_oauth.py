"""Tokens of an identity provider: Apache Kafka and our broker let the same ones in, and clients of
others fetch them for both."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pyk.clients import (
    Admin,
    BootstrapError,
    ClientCredentials,
    Consumer,
    JwtBearer,
    NewTopic,
    Oauth,
    Producer,
    SaslAuthenticationFailedError,
)
from pyk.clients.security import SignedAssertion, TokenRequests
from pyk.reference_broker import Cluster
from support import apache_kafka
from support.apache_kafka import ApacheKafka, free_ports
from support.bearer_tokens import unsecured
from support.identity_provider import IdentityProvider
from support.signed_tokens import SigningKey

pytestmark = pytest.mark.conformance

OAUTH = "org.apache.kafka.common.security.oauthbearer"
AUDIENCE, ISSUER = "kafka", "https://login.example"
KEYS = {
    "RS256": SigningKey.rs256("rsa", "RS256"),
    "PS256": SigningKey.rs256("pss", "PS256"),
    "ES256": SigningKey.elliptic("p256", "ES256"),
    "ES384": SigningKey.elliptic("p384", "ES384"),
    "ES512": SigningKey.elliptic("p521", "ES512"),
}
STRANGER = SigningKey.rs256("stranger")


def validation(listener: str, keys: Path) -> dict[str, str]:
    """Return how a listener validates tokens, under Kafka's names."""
    prefix = f"listener.name.{listener}.oauthbearer"
    return {
        f"{prefix}.sasl.server.callback.handler.class": (
            f"{OAUTH}.OAuthBearerValidatorCallbackHandler"
        ),
        f"{prefix}.sasl.oauthbearer.jwks.endpoint.url": keys.as_uri(),
        f"{prefix}.sasl.jaas.config": f"{OAUTH}.OAuthBearerLoginModule required;",
        "sasl.enabled.mechanisms": "OAUTHBEARER",
        "sasl.oauthbearer.expected.issuer": ISSUER,
    }


class TokenKafka(ApacheKafka):
    """An Apache Kafka whose listener STRICT expects an audience, and OPEN none."""

    def __init__(self, keys: Path) -> None:
        allowed = f"-Dorg.apache.kafka.sasl.oauthbearer.allowed.urls={keys.as_uri()}"
        super().__init__(jvm_options=(*apache_kafka.QUICK_START, allowed))
        self._keys = keys
        self.ports = dict(zip(("STRICT", "OPEN"), free_ports(2), strict=True))

    def _properties(self) -> dict[str, str]:
        mine = super()._properties()
        for name, port in self.ports.items():
            mine["listeners"] += f",{name}://127.0.0.1:{port}"
            mine["advertised.listeners"] += f",{name}://127.0.0.1:{port}"
            mine["listener.security.protocol.map"] += f",{name}:SASL_PLAINTEXT"
            mine |= validation(name.lower(), self._keys)
        audience = "listener.name.strict.oauthbearer.sasl.oauthbearer.expected.audience"
        return mine | {audience: AUDIENCE}


def own_cluster(keys: Path) -> Cluster:
    return Cluster(
        config={
            "listeners": "STRICT://127.0.0.1:0,OPEN://127.0.0.1:0,PLAINTEXT://127.0.0.1:0",
            "listener.security.protocol.map": "STRICT:SASL_PLAINTEXT,OPEN:SASL_PLAINTEXT,"
            "PLAINTEXT:PLAINTEXT",
            "inter.broker.listener.name": "PLAINTEXT",
            "listener.name.strict.oauthbearer.sasl.oauthbearer.expected.audience": AUDIENCE,
            **validation("strict", keys),
            **validation("open", keys),
        }
    )


@pytest.fixture(scope="module")
def brokers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[tuple[str, str], str]]:
    """Addresses by broker and listener."""
    if why := apache_kafka.missing():
        pytest.skip(why)
    keys = tmp_path_factory.mktemp("keys") / "keys.json"
    keys.write_text(json.dumps({"keys": [key.jwk() for key in KEYS.values()]}))
    with TokenKafka(keys) as kafka, own_cluster(keys) as ours:
        yield {
            **{("kafka", name): f"127.0.0.1:{port}" for name, port in kafka.ports.items()},
            **{("pyk", name): ours.bootstrap_of(name) for name in kafka.ports},
        }


@pytest.fixture
def provider() -> Iterator[IdentityProvider]:
    provider = IdentityProvider()
    provider.key = KEYS["RS256"]
    provider.claims = {"iss": ISSUER, "aud": AUDIENCE}
    yield provider
    provider.close()


def claims(**changes: Any) -> dict[str, Any]:
    now = int(time.time())
    own = {"sub": "alice", "iss": ISSUER, "aud": AUDIENCE, "iat": now, "exp": now + 300}
    return {name: value for name, value in (own | changes).items() if value is not None}


def signed(key: str = "RS256", header: dict[str, Any] | None = None, **changes: Any) -> str:
    return KEYS[key].sign(claims(**changes), **(header or {}))


NOW = int(time.time())
TOKENS = {
    **{name: lambda name=name: signed(name) for name in KEYS},
    "another key": lambda: STRANGER.sign(claims()),
    "another key of that name": lambda: STRANGER.sign(claims(), kid="rsa"),
    "no name of a key": lambda: signed(header={"kid": None}),
    "unsigned": lambda: unsecured(**claims()),
    "no algorithm": lambda: signed(header={"alg": None}),
    "the algorithm of another key": lambda: signed(header={"kid": "p256"}),
    "critical header": lambda: signed(header={"crit": ["x"], "x": 1}),
    "another audience": lambda: signed(aud="web"),
    "several audiences": lambda: signed(aud=["web", AUDIENCE]),
    "no audience": lambda: signed(aud=None),
    "another issuer": lambda: signed(iss="https://evil.example"),
    "no issuer": lambda: signed(iss=None),
    "no subject": lambda: signed(sub=None),
    "empty subject": lambda: signed(sub=""),
    "subject is a number": lambda: signed(sub=1),
    "no end": lambda: signed(exp=None),
    "no beginning": lambda: signed(iat=None),
    "over": lambda: signed(exp=NOW - 3600),
    "over within the skew": lambda: signed(iat=NOW - 3600, exp=int(time.time()) - 1),
    "over before it begins": lambda: signed(exp=int(time.time()) - 5),
    "over before it is valid": lambda: signed(nbf=NOW + 900, exp=NOW + 800),
    "issued later": lambda: signed(iat=NOW + 3600, exp=NOW + 7200),
    "not yet valid": lambda: signed(nbf=NOW + 3600),
    "end is text": lambda: signed(exp="soon"),
    "scope as text": lambda: signed(scope="a b"),
    "scope as a list": lambda: signed(scope=["a", "b"]),
    "scope twice": lambda: signed(scope=["a", "a"]),
    "garbage": lambda: "abc",
    "two parts": lambda: signed().rpartition(".")[0],
}


def is_let_in(server: str, token: str) -> bool:
    try:
        with Admin(server, auth=Oauth(lambda: token), security_protocol="SASL_PLAINTEXT") as admin:
            admin.list_topics()
    except (SaslAuthenticationFailedError, BootstrapError):  # the latter if its session is over
        return False
    return True


@pytest.mark.parametrize("listener", ["STRICT", "OPEN"])
@pytest.mark.parametrize("kind", TOKENS)
def test_both_brokers_take_the_same_tokens(
    kind: str, listener: str, brokers: dict[tuple[str, str], str]
) -> None:
    token = TOKENS[kind]()

    answers = {name: is_let_in(brokers[name, listener], token) for name in ("kafka", "pyk")}

    assert answers["pyk"] == answers["kafka"]


@pytest.mark.parametrize("broker", ["kafka", "pyk"])
@pytest.mark.parametrize("grant", ["secret", "assertion", "jwt bearer"])
def test_records_travel_with_tokens_that_are_fetched(
    grant: str,
    broker: str,
    brokers: dict[tuple[str, str], str],
    provider: IdentityProvider,
    tmp_path: Path,
) -> None:
    (tmp_path / "key.pem").write_bytes(KEYS["ES256"].pem())
    assertion = SignedAssertion(key_file=str(tmp_path / "key.pem"), algorithm="ES256")
    given: dict[str, Any] = {"requests": TokenRequests(allow_http_on_loopback=True)}
    source: Any = JwtBearer(provider.url(), assertion, **given)
    if grant == "secret":
        source = ClientCredentials(provider.url(), "shop", "s3cret", **given)
    elif grant == "assertion":
        source = ClientCredentials(provider.url(), "shop", assertion=assertion, **given)
    server, topic = brokers[broker, "STRICT"], f"of-{grant.replace(' ', '-')}"
    options = {"auth": Oauth(source), "security_protocol": "SASL_PLAINTEXT"}
    with Admin(server, **options) as admin:
        admin.create_topics([NewTopic(topic, partitions=1)])

    with Producer(server, **options) as producer:
        producer.send(topic, b"one").result(30)
    with Consumer(server, topics=[topic], auto_offset_reset="earliest", **options) as consumer:
        assert [record.value for record in consumer.poll(30)] == [b"one"]

    assert len(provider.asked) == 1


@pytest.mark.parametrize("broker", ["kafka", "pyk"])
def test_nothing_is_lost_while_tokens_of_two_seconds_are_replaced(
    broker: str, brokers: dict[tuple[str, str], str], provider: IdentityProvider
) -> None:
    provider.lifetime = 2
    source = ClientCredentials(
        provider.url(), "shop", "s3cret", requests=TokenRequests(allow_http_on_loopback=True)
    )
    options: dict[str, Any] = {"auth": Oauth(source), "security_protocol": "SASL_PLAINTEXT"}

    with Producer(brokers[broker, "STRICT"], **options) as producer:
        deliveries, end = [], time.monotonic() + 6
        while time.monotonic() < end:
            deliveries += [producer.send("renewed", b"x" * 100) for _ in range(50)]
            producer.flush()

    assert all(one.exception() is None for one in deliveries)
    assert len(provider.asked) >= 3


def test_kafkas_own_client_gets_in_with_the_same_provider(
    brokers: dict[tuple[str, str], str], provider: IdentityProvider, tmp_path: Path
) -> None:
    file = tmp_path / "client.properties"
    settings = {
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "OAUTHBEARER",
        "sasl.login.callback.handler.class": f"{OAUTH}.OAuthBearerLoginCallbackHandler",
        "sasl.jaas.config": f"{OAUTH}.OAuthBearerLoginModule required "
        'clientId="shop" clientSecret="s3cret" scope="kafka";',
        "sasl.oauthbearer.token.endpoint.url": provider.url(),
    }
    file.write_text("".join(f"{name}={value}\n" for name, value in settings.items()))
    allowed = f"-Dorg.apache.kafka.sasl.oauthbearer.allowed.urls={provider.url()}"
    server = brokers["pyk", "STRICT"]
    arguments = ["--bootstrap-server", server, "--command-config", str(file), "--list"]
    command = apache_kafka.command(
        "org.apache.kafka.tools.TopicCommand",
        *arguments,
        jvm_options=(*apache_kafka.QUICK_START, allowed),
    )

    done = subprocess.run(command, capture_output=True, check=False, text=True, timeout=120)

    assert done.returncode == 0, done.stderr
    java = provider.asked[-1]
    with Admin.from_properties(
        settings | {"bootstrap.servers": server},
        sasl_oauthbearer_allow_http_on_loopback=True,
    ) as admin:
        admin.list_topics()
    ours = provider.asked[-1]
    assert ours.form == java.form
    assert ours.headers["Authorization"] == java.headers["Authorization"]


def test_confluents_client_gets_in_with_the_same_provider(
    brokers: dict[tuple[str, str], str], provider: IdentityProvider
) -> None:
    confluent = pytest.importorskip("confluent_kafka.admin")
    client = confluent.AdminClient(
        {
            "bootstrap.servers": brokers["pyk", "STRICT"],
            "security.protocol": "SASL_PLAINTEXT",
            "sasl.mechanism": "OAUTHBEARER",
            "sasl.oauthbearer.method": "oidc",
            "sasl.oauthbearer.client.id": "shop",
            "sasl.oauthbearer.client.secret": "s3cret",
            "sasl.oauthbearer.token.endpoint.url": provider.url(),
        }
    )

    assert client.list_topics(timeout=30).brokers
