"""Clients that reach their brokers through a proxy, and what they say if they do not."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

from pyk.clients import (
    Admin,
    AsyncAdmin,
    AsyncConsumer,
    AsyncProducer,
    BootstrapError,
    Consumer,
    NewTopic,
    Producer,
)
from pyk.clients.errors import KafkaError, ProxyAuthenticationError, SslAuthenticationError, Stage
from pyk.reference_broker import Cluster
from support.apache_kafka import free_ports
from support.forward_proxy import ForwardProxy

SCHEMES = ("socks5", "socks5h", "http")
LOGIN = ("alice", "k4n:ri3n@/")
ENCODED = "alice:k4n%3Ari3n%40%2F@"


@pytest.fixture(scope="module")
def secured() -> Iterator[Cluster]:
    with Cluster(tls=True, sasl={"alice": "secret"}) as cluster:
        yield cluster


def brokers_of(cluster: Cluster) -> set[tuple[str, int]]:
    """Return host and port of each broker."""
    host, _, port = cluster.bootstrap.rpartition(":")
    return {(host, int(port)), ("127.0.0.1", int(port))}


def refusal(server: str, **options: Any) -> KafkaError:
    """Return the error of a client that starts, which must not wait for a timeout."""
    began_at = time.monotonic()
    with pytest.raises(KafkaError) as caught:
        Admin(server, **options).__enter__()

    assert time.monotonic() - began_at < 5  # of 10, on a busy machine
    return caught.value


@pytest.mark.parametrize("scheme", SCHEMES)
def test_records_travel_through_a_proxy(scheme: str, secured: Cluster) -> None:
    with ForwardProxy(login=LOGIN) as proxy:
        options = secured.client_options() | {"proxy": proxy.url(scheme, ENCODED)}
        with Admin(**options) as admin:
            admin.create_topics([NewTopic(scheme, partitions=1)])
        with Producer(**options) as producer:
            producer.send(scheme, b"one").result(10)
        with Consumer(topics=[scheme], auto_offset_reset="earliest", **options) as consumer:
            (record,) = consumer.poll(10)

    assert record.value == b"one"
    assert set(proxy.asked) <= brokers_of(secured)
    assert len(proxy.asked) >= 3


@pytest.mark.parametrize("scheme", SCHEMES)
async def test_coroutines_use_a_proxy_as_well(scheme: str, secured: Cluster) -> None:
    topic = f"async-{scheme}"
    with ForwardProxy() as proxy:
        options = secured.client_options() | {"proxy": proxy.url(scheme)}
        async with AsyncAdmin(**options) as admin:
            await admin.create_topics([NewTopic(topic, partitions=1)])
        async with AsyncProducer(**options) as producer:
            await producer.send_and_wait(topic, b"one")
        async with AsyncConsumer(
            topics=[topic], auto_offset_reset="earliest", **options
        ) as consumer:
            (record,) = await consumer.poll(timeout=10)

    assert record.value == b"one"
    assert len(proxy.asked) >= 3


@pytest.mark.parametrize("scheme", ["socks5h", "http"])
def test_the_proxy_resolves_names(scheme: str, cluster: Cluster) -> None:
    _, _, port = cluster.bootstrap.rpartition(":")
    names = {"kafka.internal": "127.0.0.1", "localhost": "127.0.0.1"}
    with (
        ForwardProxy(names) as proxy,
        Admin(f"kafka.internal:{port}", proxy=proxy.url(scheme)) as admin,
    ):
        admin.describe_cluster()

    assert proxy.asked[0] == ("kafka.internal", int(port))


def test_socks5_resolves_names_on_this_machine(cluster: Cluster) -> None:
    _, _, port = cluster.bootstrap.rpartition(":")
    with ForwardProxy({}) as proxy:
        with Admin(f"localhost:{port}", proxy=proxy.url("socks5")) as admin:
            admin.describe_cluster()

        error = refusal("kafka.invalid:9092", proxy=proxy.url("socks5"))

    assert {host for host, _ in proxy.asked} <= {"127.0.0.1", "::1"}
    assert isinstance(error, BootstrapError)
    assert error.attempts[0].stage is Stage.DNS


@pytest.mark.parametrize("scheme", ["socks5h", "http"])
def test_the_name_of_the_broker_is_checked_not_that_of_the_proxy(
    scheme: str, secured: Cluster
) -> None:
    _, _, port = secured.bootstrap.rpartition(":")
    with ForwardProxy({"kafka.internal": "127.0.0.1"}) as proxy:
        options = secured.client_options() | {"proxy": proxy.url(scheme)}
        options.pop("bootstrap_servers")

        error = refusal(f"kafka.internal:{port}", **options)

    assert isinstance(error, SslAuthenticationError)
    assert "not valid for 'kafka.internal'" in str(error)
    assert f"TLS through {proxy.url(scheme)}" in str(error)


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize(
    ("login", "words"), [("", "requires a login"), ("alice:wrong@", "refused the login as 'alice'")]
)
def test_a_login_that_the_proxy_refuses_is_told_at_once(
    scheme: str, login: str, words: str, cluster: Cluster
) -> None:
    with ForwardProxy(login=LOGIN) as proxy:
        error = refusal(cluster.bootstrap, proxy=proxy.url(scheme, login))

    assert isinstance(error, ProxyAuthenticationError)
    assert f"the proxy {proxy.url(scheme)} {words}" in str(error)
    assert "wrong" not in str(error)
    assert not proxy.asked


@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_proxy_that_is_down_is_named(scheme: str) -> None:
    url = f"{scheme}://127.0.0.1:{free_ports(1)[0]}"

    error = refusal("localhost:9092", proxy=url)

    assert f"proxy {url} at 127.0.0.1:" in str(error)
    assert "connection refused; is the proxy up, and the port right?" in str(error)


def test_a_proxy_whose_name_is_unknown_is_named() -> None:
    error = refusal("localhost:9092", proxy="http://proxy.invalid:3128")

    assert "proxy http://proxy.invalid:3128: " in str(error)
    assert "is the proxy's name right" in str(error)


@pytest.mark.parametrize(
    ("scheme", "words"),
    [
        ("socks5", "the broker refused the connection"),
        ("socks5h", "the broker refused the connection"),
        ("http", "HTTP 502 Bad Gateway: it cannot reach the broker"),
    ],
)
def test_a_broker_that_is_down_behind_a_proxy_is_told(scheme: str, words: str) -> None:
    with ForwardProxy() as proxy:
        error = refusal(f"localhost:{free_ports(1)[0]}", proxy=proxy.url(scheme))

    assert words in str(error)
    assert proxy.url(scheme) in str(error)


@pytest.mark.parametrize(
    ("scheme", "words"),
    [("socks5h", "does not answer as a SOCKS5 proxy"), ("http", "not answer as an HTTP proxy")],
)
def test_a_server_that_is_no_proxy_of_this_kind_is_told(scheme: str, words: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        threading.Thread(target=_mumble, args=[server], daemon=True).start()
        url = f"{scheme}://127.0.0.1:{server.getsockname()[1]}"

        error = refusal("localhost:9092", proxy=url)

    assert words in str(error)


def _mumble(server: socket.socket) -> None:
    """Answer as a mail server does."""
    accepted, _ = server.accept()
    accepted.recv(1000)
    accepted.sendall(b"220 mail.example ESMTP\r\n")
    accepted.close()


def test_proxies_of_the_environment_are_not_used(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("ALL_PROXY", "all_proxy", "HTTPS_PROXY", "https_proxy"):
        monkeypatch.setenv(name, f"socks5://127.0.0.1:{free_ports(1)[0]}")

    with Admin(cluster.bootstrap) as admin:
        admin.describe_cluster()
