"""``pyk doctor`` where an address, TLS, a login or a version is wrong: it finds just that.

What takes long to fail is in tests/simulation/test_doctor.py, in virtual time.
"""

from __future__ import annotations

import datetime
import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import attrs
import pytest

from pyk.protocol.api_keys import ApiKey
from pyk.reference_broker import Cluster
from support.altering_proxy import AlteringProxy
from support.apache_kafka import free_ports
from support.certificates import Authority
from support.doctor import WORKS, Broken, doctor, of_client, properties
from support.forward_proxy import ForwardProxy


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    with Cluster() as cluster:
        cluster.seed({"orders": [b"one"]})
        yield cluster


def test_nothing_is_found_where_all_works(cluster: Cluster) -> None:
    found = doctor(cluster.bootstrap, "-t", "orders")

    assert (found.ran.code, found.findings, found.ok) == (0, [], WORKS)


# -- addresses -------------------------------------------------------------------------------------


def test_a_name_that_is_unknown_is_told_beside_a_server_that_works(cluster: Cluster) -> None:
    found = doctor(f"nowhere.invalid:9092,{cluster.bootstrap}", "-t", "orders")

    assert (found.ran.code, found.ok) == (1, WORKS)
    assert (found.only["check"], found.only["subject"]) == ("DNS", "nowhere.invalid:9092")
    assert found.only["advice"] == "is the name right, and known on this machine?"


def test_a_server_is_told_by_its_name_and_by_the_address_that_was_connected_to(
    cluster: Cluster,
) -> None:
    port = cluster.bootstrap.rpartition(":")[2]

    found = doctor(f"localhost:{port}")

    tcp = [one for one in found.ran.json if one["check"] == "TCP" and one["status"] == "ok"]
    assert [(one["subject"], one["seen"]) for one in tcp if one["subject"][:5] == "local"] == [
        (f"localhost:{port}", f"127.0.0.1:{port} accepts connections")
    ]
    (dns,) = [one for one in found.ran.json if one["check"] == "DNS"]
    assert (dns["subject"], dns["status"]) == (f"localhost:{port}", "ok")
    assert f"127.0.0.1:{port}" in dns["seen"]


def test_a_name_is_looked_up_by_the_proxy_if_there_is_one(cluster: Cluster) -> None:
    port = cluster.bootstrap.rpartition(":")[2]

    with ForwardProxy() as proxy:
        found = doctor(f"localhost:{port}", *properties(proxy=proxy.url("socks5h")))

    assert (found.ran.code, found.findings) == (0, [])
    assert "DNS" not in found.ok


def test_a_port_that_refuses_is_told_beside_a_server_that_works(cluster: Cluster) -> None:
    found = doctor(f"127.0.0.1:1,{cluster.bootstrap}", "-t", "orders")

    assert (found.ran.code, found.ok) == (1, WORKS)
    assert (found.only["check"], found.only["seen"]) == ("TCP", "connection refused")
    assert found.only["advice"] == "is the broker up, and the port right?"


def serving(answer: Callable[[socket.socket], None]) -> socket.socket:
    """Return a listening socket whose connections get an answer that is not Kafka's."""
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        with listener:
            while True:
                try:
                    connection, _ = listener.accept()
                except OSError:
                    return
                with connection:
                    answer(connection)

    threading.Thread(target=serve, daemon=True).start()
    return listener


@pytest.mark.parametrize(
    ("said", "seen"),
    [
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", "it speaks HTTP: this is a web server"),
        (b"SSH-2.0-OpenSSH_9.6\r\n", "it speaks SSH: this is no Kafka broker"),
        (b"-ERR unknown command\r\n", "it is a Redis server, not a Kafka broker"),
    ],
)
def test_a_server_that_is_not_kafka_is_told_by_what_it_says(said: bytes, seen: str) -> None:
    def answer(connection: socket.socket) -> None:
        connection.recv(100)
        connection.sendall(said)

    listener = serving(answer)
    found = doctor(f"127.0.0.1:{listener.getsockname()[1]}")
    listener.close()

    assert found.ran.code == 3
    assert found.only["check"] == "ApiVersions"
    assert seen in found.only["seen"]


# -- TLS -------------------------------------------------------------------------------------------


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path)


YESTERDAY = datetime.datetime.now(datetime.UTC) - datetime.timedelta(days=1)


@pytest.mark.parametrize(
    ("name", "expires", "trusts", "seen", "advice"),
    [
        ("shop.example", None, True, "127.0.0.1", "connect by a name that the certificate has"),
        ("127.0.0.1", YESTERDAY, True, "certificate has expired", "renew the broker's certificate"),
        ("127.0.0.1", None, False, "unable to get local issuer", "the file of ssl_cafile="),
    ],
    ids=["wrong name", "expired", "wrong authority"],
)
def test_a_certificate_that_cannot_be_believed_is_told(
    authority: Authority,
    tmp_path: Path,
    name: str,
    expires: datetime.datetime | None,
    trusts: bool,
    seen: str,
    advice: str,
) -> None:
    leaf = authority.issue(name, **({} if expires is None else {"expires": expires}))
    file = authority.write_for_java(leaf, "server.pem")
    trusted = (authority if trusts else Authority(tmp_path)).file
    options = {"security.protocol": "SSL", "ssl.cafile": trusted}
    config = {
        "listeners": "SSL://127.0.0.1:0", "ssl.keystore.type": "PEM",
        "ssl.keystore.location": str(file),
    }  # fmt: skip

    with Cluster(config=config) as cluster:
        found = doctor(cluster.bootstrap, *properties(**options))
        error = of_client(cluster.bootstrap, options)

    assert (found.ran.code, found.ok) == (3, set())
    assert found.only["check"] == "TLS"
    assert seen in found.only["seen"]
    assert found.only["advice"].startswith(advice)
    assert str(error) == f"{found.only['seen']}; {found.only['advice']}"


# -- logins ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("mechanism", "seen", "advice"),
    [
        ("SCRAM-SHA-512", "refused the login as 'alice'", "check user name and password"),
        ("PLAIN", "does not have the SASL mechanism PLAIN", "give another sasl_mechanism"),
    ],
)
def test_a_login_that_is_refused_is_told_in_the_words_of_the_client(
    mechanism: str, seen: str, advice: str
) -> None:
    options = {
        "security_protocol": "SASL_PLAINTEXT", "sasl_mechanism": mechanism,
        "sasl_username": "alice", "sasl_password": "wrong",
    }  # fmt: skip
    only_scram = {"sasl.enabled.mechanisms": "SCRAM-SHA-512"}

    with Cluster(sasl={"alice": "secret"}, config=only_scram) as cluster:
        found = doctor(cluster.bootstrap, *properties(**options))
        error = of_client(cluster.bootstrap, options)

    assert found.ran.code == 1
    assert found.only["check"] == "SASL"
    assert seen in found.only["seen"]
    assert found.only["advice"].startswith(advice)
    assert str(error) == f"{found.only['seen']}; {found.only['advice']}"


def test_a_login_at_a_listener_without_logins_is_told(cluster: Cluster) -> None:
    found = doctor(
        cluster.bootstrap,
        *properties(
            security_protocol="SASL_PLAINTEXT", sasl_mechanism="PLAIN",
            sasl_username="alice", sasl_password="secret",
        ),
    )  # fmt: skip

    assert found.ran.code == 1
    assert found.only["check"] == "SASL"
    assert "it is a listener without SASL" in found.only["seen"]
    assert found.only["advice"].startswith("give security_protocol='PLAINTEXT'")


def test_a_listener_that_wants_a_login_is_told_in_the_words_of_the_client() -> None:
    with Cluster(sasl={"alice": "secret"}) as cluster:
        found = doctor(cluster.bootstrap)
        error = of_client(cluster.bootstrap, {"security.protocol": "PLAINTEXT"})

    assert found.ran.code == 1
    assert found.only["check"] == "Metadata"
    assert found.only["advice"].startswith("a listener that requires SASL closes connections")
    assert found.only["advice"] in str(error)


# -- versions --------------------------------------------------------------------------------------


def test_an_old_broker_works_and_a_broker_without_a_needed_api_is_told(cluster: Cluster) -> None:
    def before_fetch(response: Any) -> None:
        for api in response.api_keys:
            if api.api_key == ApiKey.FETCH:
                api.min_version = api.max_version = 0

    with AlteringProxy(cluster.bootstrap, {ApiKey.API_VERSIONS: before_fetch}) as proxy:
        ancient = doctor(proxy.bootstrap, "-t", "orders")
    cluster.faults.pretend("2.1")
    old = doctor(cluster.bootstrap, "-t", "orders")

    assert (old.ran.code, old.findings) == (0, [])
    assert any("those of Kafka 1.1 or newer" in one["seen"] for one in old.ran.json)
    assert ancient.ran.code == 1
    assert ancient.ok == WORKS - {"versions"}
    assert ancient.only["seen"] == "no version in common of Fetch"
    assert ancient.only["advice"] == "pyk needs brokers from Kafka 2.1 on"


# -- what brokers advertise ------------------------------------------------------------------------


@attrs.frozen
class Advertised:
    """A cluster whose broker names another address than the one it is reached at."""

    advertise: str

    def doctor(self) -> Broken:
        (port,) = free_ports(1)
        with Cluster(port=port, advertise=self.advertise) as cluster:
            cluster.create_topic("orders")
            return doctor(f"127.0.0.1:{port}")


def test_an_advertised_port_that_refuses_is_told() -> None:
    found = Advertised("127.0.0.1:1").doctor()

    assert found.ran.code == 1
    findings = {one["check"]: one for one in found.findings}
    assert findings["TCP"]["subject"] == "127.0.0.1:1"
    assert "the broker itself names this address" in findings["TCP"]["meaning"]
    assert findings["TCP"]["advice"].endswith(
        "if clients cannot reach it, correct the broker's advertised.listeners"
    )


def test_an_advertised_address_of_ip_version_6_is_told_with_brackets() -> None:
    found = Advertised("[::1]:1").doctor()

    tcp = next(one for one in found.findings if one["check"] == "TCP")
    assert (tcp["subject"], tcp["seen"]) == ("[::1]:1", "connection refused")


def test_an_advertised_address_that_leads_to_another_cluster_is_told(cluster: Cluster) -> None:
    host, port = cluster.bootstrap.rsplit(":", 1)

    def elsewhere(response: Any) -> None:
        for broker in response.brokers:
            broker.host, broker.port = host, int(port)

    with (
        Cluster() as other,
        AlteringProxy(other.bootstrap, {ApiKey.METADATA: elsewhere}) as proxy,
    ):
        found = doctor(proxy.bootstrap)

    assert found.ran.code == 1
    assert (found.only["check"], found.only["subject"]) == ("cluster", cluster.bootstrap)
    assert found.only["seen"].startswith("it belongs to cluster ")


def test_an_advertised_address_that_leads_to_another_broker_is_told(cluster: Cluster) -> None:
    host, port = cluster.bootstrap.rsplit(":", 1)

    def elsewhere(response: Any) -> None:
        response.controller_id = 7
        for broker in response.brokers:
            broker.node_id, broker.host, broker.port = 7, host, int(port)

    with AlteringProxy(cluster.bootstrap, {ApiKey.METADATA: elsewhere}) as proxy:
        found = doctor(proxy.bootstrap)

    assert found.ran.code == 1
    assert found.only["seen"] == f"it advertises {cluster.bootstrap}, where another broker answers"


def test_bootstrap_servers_of_two_clusters_are_told(cluster: Cluster) -> None:
    with Cluster() as other:
        found = doctor(f"{cluster.bootstrap},{other.bootstrap}", "-t", "orders")

    assert (found.ran.code, found.ok) == (1, WORKS)
    assert (found.only["check"], found.only["subject"]) == ("cluster", other.bootstrap)
