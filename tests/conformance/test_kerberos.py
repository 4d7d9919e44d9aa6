"""Logins by Kerberos on Apache Kafka, with a key distribution centre of MIT."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import attrs
import pytest

from pyk.clients import Admin, Consumer, Kerberos, Producer, SaslAuthenticationFailedError
from support import apache_kafka, kerberos
from support.apache_kafka import ApacheKafka, free_ports
from support.kerberos import KeyDistributionCentre

pytestmark = pytest.mark.conformance

MODULE = "com.sun.security.auth.module.Krb5LoginModule"


class KerberosKafka(ApacheKafka):
    """An Apache Kafka with a listener for Kerberos, whose sessions last 1.5 seconds."""

    def __init__(self, centre: KeyDistributionCentre) -> None:
        option = f"-Djava.security.krb5.conf={centre.file}"
        super().__init__(jvm_options=(*apache_kafka.QUICK_START, option))
        self._keytab = centre.add("kafka/localhost")
        (self.port,) = free_ports(1)

    def _properties(self) -> dict[str, str]:
        mine = super()._properties()
        for name in ("listeners", "advertised.listeners"):
            mine[name] += f",KERBEROS://localhost:{self.port}"
        mine["listener.security.protocol.map"] += ",KERBEROS:SASL_PLAINTEXT"
        return mine | {
            "connections.max.reauth.ms": "1500",
            "sasl.enabled.mechanisms": "GSSAPI",
            "sasl.kerberos.service.name": "kafka",
            "listener.name.kerberos.gssapi.sasl.jaas.config": f"{MODULE} required useKeyTab=true "
            f'storeKey=true keyTab="{self._keytab}" principal="kafka/localhost@{kerberos.REALM}";',
        }


@attrs.define
class Realm:
    """A cluster, and two users: ``alice`` has a ticket, ``bob`` a keytab."""

    centre: KeyDistributionCentre
    port: int
    alice: Path
    bob: Path


@pytest.fixture(scope="module")
def realm() -> Iterator[Realm]:
    if why := apache_kafka.missing() or kerberos.missing():
        pytest.skip(why)
    with KeyDistributionCentre() as centre, KerberosKafka(centre) as kafka:
        yield Realm(centre, kafka.port, centre.add("alice"), centre.add("bob"))


@pytest.fixture(autouse=True)
def ticket_of_alice(realm: Realm, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in realm.centre.environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("KRB5CCNAME", realm.centre.kinit("alice", realm.alice))


def options(auth: Kerberos) -> dict[str, Any]:
    return {"auth": auth, "security_protocol": "SASL_PLAINTEXT"}


def keytab_of_bob(realm: Realm) -> Kerberos:
    return Kerberos(principal=f"bob@{kerberos.REALM}", keytab=str(realm.bob))


@pytest.mark.parametrize("auth", [lambda _: Kerberos(), keytab_of_bob], ids=["ticket", "keytab"])
def test_nothing_is_lost_while_sessions_are_renewed(auth: Any, realm: Realm) -> None:
    server, given = f"localhost:{realm.port}", options(auth(realm))
    topic = f"of-{given['auth'].principal.partition('@')[0]}"

    with Producer(server, **given) as producer:
        deliveries, end = [], time.monotonic() + 5
        while time.monotonic() < end:
            deliveries += [producer.send(topic, b"x") for _ in range(50)]
            producer.flush()
    with Consumer(server, topics=[topic], auto_offset_reset="earliest", **given) as consumer:
        read = 0
        while read < len(deliveries):
            read += len(consumer.poll(30))

    assert all(one.exception() is None for one in deliveries)


@pytest.mark.parametrize(
    ("options_of_auth", "words"),
    [
        ({"principal": f"eve@{kerberos.REALM}"}, "there is no ticket of Kerberos: run kinit"),
        ({"keytab": "/none"}, "the keytab '/none' gives no ticket"),
        ({"service_name": "stream"}, "Server stream/localhost@EXAMPLE not found in Kerberos"),
    ],
)
def test_a_login_that_cannot_be_is_told_at_once(
    options_of_auth: dict[str, str], words: str, realm: Realm
) -> None:
    auth = Kerberos(**options_of_auth)

    with pytest.raises(SaslAuthenticationFailedError, match=words):
        Admin(f"localhost:{realm.port}", **options(auth)).__enter__()


def test_an_address_is_not_the_name_of_a_broker(realm: Realm) -> None:
    with pytest.raises(SaslAuthenticationFailedError, match=r"Server kafka/127\.0\.0\.1@EXAMPLE"):
        Admin(f"127.0.0.1:{realm.port}", **options(Kerberos())).__enter__()


def test_a_ticket_that_is_over_is_told(realm: Realm, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KRB5CCNAME", realm.centre.kinit("alice", realm.alice, "1s"))
    time.sleep(2)

    with pytest.raises(SaslAuthenticationFailedError, match="has expired: run kinit"):
        Admin(f"localhost:{realm.port}", **options(Kerberos())).__enter__()
