"""No secret is in a log, error, repr, metric, pickle or answer, over all flows and at DEBUG."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import pytest
import trustme
from click.testing import CliRunner

from pyk.clients import (
    Admin,
    ConfigResource,
    Consumer,
    KafkaError,
    NewTopic,
    Producer,
    ScramCredentialInfo,
    UserScramCredentialUpsertion,
)
from pyk.clients.config import ClientConfig
from pyk.command_line.main import main
from pyk.reference_broker import Cluster
from support.canaries import check, shown_by_error, shown_by_object
from support.certificates import Authority, encrypted_key, key_store
from support.forward_proxy import ForwardProxy

PASSWORD = "k4n/ri3n+v0gel-g3heim"
PROXY_PASSWORD = "4nd3r3r+v0gel/im-k4sten"
KEY_PASSWORD = "schl0ss+f\u00fcr/den-k4fig"
NEW_PASSWORD = "n3uer+v0gel/zum-br0t"
SECRETS = (PASSWORD, PROXY_PASSWORD, KEY_PASSWORD, NEW_PASSWORD)
ENCODED = PROXY_PASSWORD.replace("/", "%2F").replace("+", "%2B")
DELAY = {"connection.failed.authentication.delay.ms": "1"}


class Shown:
    """Everything that was shown."""

    def __init__(self, caplog: pytest.LogCaptureFixture) -> None:
        caplog.set_level(logging.DEBUG)
        caplog.set_level(logging.DEBUG, "pyk")
        self._caplog = caplog
        self.texts: list[str] = []

    def note(self, *things: Any) -> None:
        self.texts += map(shown_by_object, things)

    def check(self, *secrets: str) -> None:
        records = self._caplog.records
        assert records
        logged = [f"{one.getMessage()} {one.args!r} {one.exc_text}" for one in records]
        for text in (*self.texts, *logged, self._caplog.text):
            check(text, *(secrets or SECRETS))


@pytest.fixture
def shown(caplog: pytest.LogCaptureFixture) -> Shown:
    return Shown(caplog)


def identity(authority: Authority) -> dict[str, Any]:
    """Return the options of a certificate whose key is locked."""
    leaf: trustme.LeafCert = authority.issue("alice")
    return {
        "ssl_keystore_certificate_chain": leaf.cert_chain_pems[0].bytes().decode(),
        "ssl_keystore_key": encrypted_key(leaf, KEY_PASSWORD),
        "ssl_key_password": KEY_PASSWORD,
    }


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"])
@pytest.mark.parametrize("scheme", ["socks5h", "http"])
def test_clients_and_broker_that_work_show_no_secret(
    mechanism: str, scheme: str, shown: Shown, tmp_path: Path
) -> None:
    given = identity(Authority(tmp_path))
    with (
        Cluster(tls=True, sasl={"alice": PASSWORD}, config=DELAY) as cluster,
        ForwardProxy(login=("bob", PROXY_PASSWORD)) as proxy,
    ):
        options = cluster.client_options() | given
        options |= {"proxy": proxy.url(scheme, f"bob:{ENCODED}@"), "sasl_mechanism": mechanism}
        with Admin(**options) as admin:
            admin.create_topics([NewTopic("orders", partitions=1)])
            _change_password(admin, shown)
            answer = admin.describe_configs([ConfigResource.broker(0)])
            shown.note(admin, answer, *answer.values())
        with Producer(**options) as producer:
            producer.send("orders", b"one").result(10)
            shown.note(producer, producer.stats())
        with Consumer(topics=["orders"], group_id="g", **options) as consumer:
            consumer.poll(0.5)
            shown.note(consumer, consumer.stats(), consumer.health())
        shown.note(*cluster.requests())
        (broker,) = cluster._cluster._brokers.values()
        shown.texts += map(repr, (cluster, broker, broker.configs, broker.image))
        names = {"sasl_plain_username", "sasl_plain_password", "bootstrap_servers"}
        assert names <= options.keys()
        shown.note(ClientConfig.from_kwargs(**options))

    shown.check()


def _change_password(admin: Admin, shown: Shown) -> None:
    info = ScramCredentialInfo("SCRAM-SHA-512", iterations=4096)
    upsertion = UserScramCredentialUpsertion("carol", info, NEW_PASSWORD)
    shown.note(upsertion, admin.alter_user_scram_credentials([upsertion]))
    shown.note(admin.describe_user_scram_credentials(["carol"]))


def test_delegation_tokens_show_no_secret(shown: Shown) -> None:
    config = DELAY | {"delegation.token.secret.key": KEY_PASSWORD}
    with Cluster(sasl={"alice": PASSWORD}, config=config) as cluster:
        with Admin(**cluster.client_options()) as admin:
            token = admin.create_delegation_token(renewers=["User:bob"])
            shown.note(token, admin.describe_delegation_token(), token.credentials())
            admin.renew_delegation_token(token.hmac)
            worker: dict[str, Any] = {
                "bootstrap_servers": cluster.bootstrap,
                "security_protocol": "SASL_PLAINTEXT",
                "auth": token.credentials(),
            }
            with Producer(**worker) as producer:
                producer.send("orders", b"one").result(10)
                shown.note(producer, producer.stats())
            admin.expire_delegation_token(token)
            late = Admin(**worker)
            for refused in (lambda: admin.renew_delegation_token(token), late.start):
                with pytest.raises(KafkaError) as caught:
                    refused()
                shown.texts += shown_by_error(caught.value)
            late.close()
            answer = admin.describe_configs([ConfigResource.broker(0)])
            shown.note(admin, answer, *answer.values(), *cluster.requests())
        (broker,) = cluster._cluster._brokers.values()
        shown.texts += map(repr, (cluster, broker, broker.configs, broker.image))

    shown.check(PASSWORD, KEY_PASSWORD, token.hmac.reveal())


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"])
def test_clients_and_broker_whose_login_fails_show_no_secret(mechanism: str, shown: Shown) -> None:
    with Cluster(tls=True, sasl={"alice": "another"}, config=DELAY) as cluster:
        options = cluster.client_options()
        options |= {"sasl_mechanism": mechanism, "sasl_plain_password": PASSWORD}
        for client in (Admin(**options), Producer(**options), Consumer(topics=["t"], **options)):
            with pytest.raises(KafkaError) as caught:
                client.start()
            shown.texts += shown_by_error(caught.value)
            shown.note(client)
            client.close()
        shown.note(*cluster.requests())
        shown.texts.append(repr(cluster))

    shown.check()


@pytest.mark.parametrize("scheme", ["socks5", "socks5h", "http"])
def test_clients_whose_proxy_refuses_them_show_no_secret(scheme: str, shown: Shown) -> None:
    with ForwardProxy(login=("bob", "another")) as proxy:
        url = proxy.url(scheme, f"bob:{ENCODED}@")
        admin = Admin("localhost:9092", proxy=url)
        with pytest.raises(KafkaError) as caught:
            admin.start()
        shown.texts += shown_by_error(caught.value)
        shown.note(admin)
        admin.close()

    shown.check(PROXY_PASSWORD)


@pytest.mark.parametrize(
    "options",
    [
        {"proxy": f"socks4://bob:{ENCODED}@localhost:1"},
        {"proxy": f"http://bob:{ENCODED}@local host:1"},
        {"proxy": f"http://bob:{ENCODED}%ff@localhost:1"},
        {"sasl_jaas_config": f'Plain required username="alice" password="{PASSWORD}'},
        {"sasl_jaas_config": f'Plain username="alice" password="{PASSWORD}";'},
        {"sasl_plain_password": [PASSWORD]},
        {"sasl_password": PASSWORD},
        {"sasl_plain_username": "alice", "sasl_plain_password": PASSWORD + "\0"},
        {"auth": PASSWORD},
        {"ssl_key_password": [KEY_PASSWORD], "security_protocol": "SSL"},
        {"ssl_truststore_certificates": PASSWORD, "security_protocol": "SSL"},
        {"ssl_keystore_key": PASSWORD, "security_protocol": "SSL"},
    ],
    ids=repr,
)
def test_options_that_are_refused_show_no_secret(options: dict[str, Any], shown: Shown) -> None:
    protocol = {"security_protocol": "SASL_SSL", "sasl_mechanism": "PLAIN"}
    with pytest.raises((KafkaError, TypeError, ValueError)) as caught:
        Admin("localhost:9092", **(protocol | options))

    shown.texts += shown_by_error(caught.value)
    logging.getLogger("pyk").debug("refused")
    shown.check()


def test_key_stores_that_cannot_be_opened_show_no_secret(shown: Shown, tmp_path: Path) -> None:
    store = tmp_path / "store.p12"
    store.write_bytes(key_store(Authority(tmp_path).issue("alice"), "another"))
    with pytest.raises(KafkaError) as caught:
        Admin(
            "localhost:9092",
            security_protocol="SSL",
            ssl_certfile=store,
            ssl_keystore_password=KEY_PASSWORD,
        )

    shown.texts += shown_by_error(caught.value)
    logging.getLogger("pyk").debug("refused")
    shown.check()


@pytest.mark.parametrize(
    "jaas",
    [
        f'PlainLoginModule required user_alice="{PASSWORD}"',
        f'PlainLoginModule required user_alice="{PASSWORD};',
        f'NoSuchModule required user_alice="{PASSWORD}";',
        f'PlainLoginModule required username="admin" user_alice="{PASSWORD}";',
    ],
)
def test_the_command_for_brokers_shows_no_secret(jaas: str, shown: Shown) -> None:
    arguments = ["broker", "--config", "listeners=SASL_PLAINTEXT://127.0.0.1:0", "--config"]
    arguments += [f"listener.name.sasl_plaintext.plain.sasl.jaas.config={jaas}", "--config"]
    arguments += ["sasl.enabled.mechanisms=PLAIN", "--config", "no.such.option=1"]

    result = CliRunner().invoke(main, arguments)

    assert result.exit_code != 0
    shown.texts += [result.output, str(result.exception)]
    logging.getLogger("pyk").debug("refused")
    shown.check()


def test_a_secret_that_is_shown_would_be_found(shown: Shown) -> None:
    logging.getLogger("pyk").debug("it is %s", PASSWORD.encode().hex())

    with pytest.raises(AssertionError):
        shown.check()
