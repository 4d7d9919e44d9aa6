"""Clients on Apache Kafka under TLS and SASL: they get in, they stay in, or they say why not."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest

from pyk.clients import (
    Admin,
    BootstrapError,
    Consumer,
    IllegalSaslStateError,
    NewTopic,
    Oauth,
    Plain,
    Producer,
    SaslAuthenticationFailedError,
    Scram,
    SslAuthenticationError,
)
from support import apache_kafka
from support.bearer_tokens import unsecured
from support.forward_proxy import ForwardProxy
from support.secure_kafka import SecureKafka

pytestmark = pytest.mark.conformance

CREDENTIALS = {
    "PLAIN": Plain("alice", "alice-secret"),
    "SCRAM-SHA-256": Scram("bob", "bob-secret", "SCRAM-SHA-256"),
    "SCRAM-SHA-512": Scram("bob", "bob-secret", "SCRAM-SHA-512"),
    "OAUTHBEARER": Oauth(lambda: unsecured(sub="carol", exp=time.time() + 60)),
}
WAYS = [
    ("SSL", None),
    ("MTLS", None),
    *((protocol, name) for protocol in ("SASL_PLAINTEXT", "SASL_SSL") for name in CREDENTIALS),
]


@pytest.fixture(scope="module")
def secure_kafka() -> Iterator[SecureKafka]:
    if why := apache_kafka.missing():
        pytest.skip(why)
    with SecureKafka() as kafka:
        yield kafka


def options(kafka: SecureKafka, listener: str, mechanism: str | None = None) -> dict[str, Any]:
    """Return what a client needs for a listener."""
    found: dict[str, Any] = {"security_protocol": listener.replace("MTLS", "SSL")}
    if listener.endswith(("SSL", "TLS")):
        found["ssl_cafile"] = kafka.authority.file
    if listener == "MTLS":
        found["ssl_certfile"] = kafka.client_file
    if mechanism is not None:
        found["auth"] = CREDENTIALS[mechanism]
    return found


@pytest.mark.parametrize(("listener", "mechanism"), WAYS)
def test_records_travel_over_every_listener(
    listener: str, mechanism: str | None, secure_kafka: SecureKafka
) -> None:
    server, given = secure_kafka.at(listener), options(secure_kafka, listener, mechanism)
    check_records_travel(server, given, f"{listener}-{mechanism}")


@pytest.mark.parametrize("scheme", ["socks5", "socks5h", "http"])
@pytest.mark.parametrize(("listener", "mechanism"), [("MTLS", None), ("SASL_SSL", "SCRAM-SHA-512")])
def test_records_travel_through_proxies(
    scheme: str, listener: str, mechanism: str | None, secure_kafka: SecureKafka
) -> None:
    server, given = secure_kafka.at(listener), options(secure_kafka, listener, mechanism)
    with ForwardProxy(login=("carol", "carol-secret")) as proxy:
        url = proxy.url(scheme, "carol:carol-secret@")
        check_records_travel(server, given | {"proxy": url}, f"{scheme}-{listener}")

    host = "127.0.0.1" if scheme == "socks5" else "localhost"
    assert set(proxy.asked) == {(host, int(server.partition(":")[2]))}


def check_records_travel(server: str, given: dict[str, Any], topic: str) -> None:
    """Create a topic, write a thousand records, and read them as a group."""
    with Admin(server, **given) as admin:
        admin.create_topics([NewTopic(topic, partitions=2)])
    values = {b"%d" % number for number in range(1000)}

    with Producer(server, **given) as producer:
        for value in values:
            producer.send(topic, value)
    with Consumer(
        server, topics=[topic], group_id=topic, auto_offset_reset="earliest", **given
    ) as consumer:
        read: set[Any] = set()
        while read != values:
            read |= {record.value for record in consumer.poll(30)}


def test_nothing_is_lost_while_sessions_of_a_second_and_a_half_are_renewed(
    secure_kafka: SecureKafka,
) -> None:
    server = secure_kafka.at("SASL_SSL")
    given = options(secure_kafka, "SASL_SSL", "SCRAM-SHA-256")
    with Producer(server, **given) as producer:
        deliveries, end = [], time.monotonic() + 8
        while time.monotonic() < end:
            deliveries += [producer.send("renewed", b"x" * 100) for _ in range(100)]
        producer.flush()

        assert all(one.exception() is None for one in deliveries)
    offsets = {(one.result().partition, one.result().offset) for one in deliveries}
    assert len(offsets) == len(deliveries)


@pytest.mark.parametrize("auth", [Plain("alice", "wrong"), Scram("bob", "wrong")], ids=str)
def test_a_wrong_password_is_told_at_once(auth: Any, secure_kafka: SecureKafka) -> None:
    given = options(secure_kafka, "SASL_SSL") | {"auth": auth}

    with pytest.raises(SaslAuthenticationFailedError, match=r"(?i)invalid"):
        Admin(secure_kafka.at("SASL_SSL"), **given).__enter__()


@pytest.mark.parametrize(
    ("protocol", "listener", "error", "words"),
    [
        ("SSL", "SASL_PLAINTEXT", BootstrapError, "a listener without TLS closes"),
        ("PLAINTEXT", "SSL", BootstrapError, "it speaks TLS"),
        ("PLAINTEXT", "SASL_PLAINTEXT", BootstrapError, "requires SASL"),
        ("SASL_SSL", "SSL", IllegalSaslStateError, "a listener without SASL"),
        ("SSL", "MTLS", SslAuthenticationError, "ssl_certfile"),
    ],
)
def test_the_wrong_listener_is_told_at_once(
    protocol: str,
    listener: str,
    error: type[Exception],
    words: str,
    secure_kafka: SecureKafka,
) -> None:
    mechanism = "PLAIN" if protocol.startswith("SASL") else None

    with pytest.raises(error, match=words):
        Admin(secure_kafka.at(listener), **options(secure_kafka, protocol, mechanism)).__enter__()
