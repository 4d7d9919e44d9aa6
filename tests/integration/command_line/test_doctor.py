"""``pyk doctor`` on clusters that work, and on those that do not."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from typing import Any

import pytest

from pyk.clients import Admin, AlterConfig, ConfigResource, Consumer, Producer, ShareConsumer
from pyk.reference_broker import Cluster
from support.pyk_command import Ran, run, run_on_terminal
from support.real_time import eventually


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    with Cluster() as cluster:
        cluster.create_topic("orders")
        yield cluster


def doctor(bootstrap: str, *words: object) -> Ran:
    return run("doctor", "-b", bootstrap, *words, "--timeout", 5)


def failures(ran: Ran) -> list[tuple[str, str]]:
    return [(one["check"], one["seen"]) for one in ran.json if one["status"] == "failed"]


def properties(options: dict[str, Any]) -> list[str]:
    return [word for name, value in options.items() for word in ("-X", f"{name}={value}")]


def test_a_cluster_that_works_is_told_step_by_step(cluster: Cluster) -> None:
    b = cluster.bootstrap
    with Producer(b) as producer:
        producer.send_and_wait("orders", b"x")
    with Consumer(b, group_id="billing", topics=["orders"], auto_offset_reset="earliest") as reader:
        eventually(lambda: bool(reader.poll(1)))
        reader.commit()
        ran = doctor(b, "-t", "orders", "-g", "billing", "--json")

    assert ran.code == 0
    assert [(one["check"], one["subject"]) for one in ran.json] == [
        ("TCP", b), ("ApiVersions", b), ("versions", b), ("Metadata", "cluster"),
        ("controller", "cluster"), ("clock", "controller"), ("leaders", "orders"),
        ("replicas", "orders"), ("authorization", "orders"), ("authorization", "orders"),
        ("clock", "orders"),
        ("group", "billing"), ("authorization", "billing"), ("lag", "billing"),
    ]  # fmt: skip
    assert {one["status"] for one in ran.json} == {"ok"}


def test_findings_are_lines_with_and_without_a_terminal(cluster: Cluster) -> None:
    piped = doctor(cluster.bootstrap, "-t", "ordrs")
    shown = run_on_terminal("doctor", "-b", cluster.bootstrap, "-t", "ordrs")

    assert (piped.code, shown.code) == (1, 1)
    assert "\x1b[" not in piped.out
    assert "\x1b[31m" in shown.out
    assert piped.lines[0] == (
        f"ok       TCP {cluster.bootstrap}: {cluster.bootstrap} accepts connections"
    )
    for lines in (piped.lines, shown.lines):
        assert lines[-3:] == [
            "failed   topic ordrs: it does not exist, or the client may not see it",
            "         means: records can be neither written nor read",
            "         do: did you mean 'orders'?",
        ]


def test_a_broker_that_is_not_there_is_told_by_dns_or_tcp() -> None:
    ran = doctor("127.0.0.1:1,nowhere.invalid:9092", "--json")

    assert ran.code == 3
    assert [check for check, _ in failures(ran)] == ["TCP", "DNS"]
    assert failures(ran)[0] == ("TCP", "connection refused")


def test_a_client_with_tls_on_a_listener_without_is_told(cluster: Cluster) -> None:
    ran = doctor(cluster.bootstrap, "-X", "security.protocol=SSL", "--json")

    assert ran.code == 3
    assert failures(ran) == [("TLS", "it closed the connection during the handshake")]


def test_a_client_without_tls_on_a_listener_with_is_told() -> None:
    with Cluster(tls=True) as cluster:
        ran = doctor(cluster.bootstrap, "--json")

    assert ran.code == 3
    (finding,) = [one for one in ran.json if one["status"] == "failed"]
    assert finding["check"] == "ApiVersions"
    assert "security_protocol='SSL'" in finding["advice"]


def test_a_certificate_that_is_not_trusted_is_told() -> None:
    with Cluster(tls=True) as cluster:
        ran = doctor(cluster.bootstrap, "-X", "security.protocol=SSL", "--json")

    assert ran.code == 3
    (finding,) = [one for one in ran.json if one["status"] == "failed"]
    assert finding["check"] == "TLS"
    assert "certificate" in finding["seen"]


def test_a_login_that_works_and_one_that_does_not_are_told() -> None:
    with Cluster(tls=True, sasl={"alice": "secret"}) as cluster:
        options = cluster.client_properties(user="alice")
        del options["bootstrap.servers"]
        good = doctor(cluster.bootstrap, *properties(options), "--json")
        options["sasl.jaas.config"] = options["sasl.jaas.config"].replace("secret", "wrong")
        bad = doctor(cluster.bootstrap, *properties(options), "--json")

    assert good.code == 0
    assert [one["check"] for one in good.json][:4] == ["TCP", "TLS", "ApiVersions", "SASL"]
    assert bad.code == 1
    assert [check for check, _ in failures(bad)] == ["SASL"]


def test_an_advertised_address_that_nobody_can_reach_is_told() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with Cluster(port=port, advertise="nowhere.invalid:9092"):
        ran = doctor(f"127.0.0.1:{port}", "--json")

    assert ran.code == 1
    (finding,) = [one for one in ran.json if one["status"] == "failed"]
    assert (finding["check"], finding["subject"]) == ("DNS", "nowhere.invalid:9092")
    assert "advertised.listeners" in finding["meaning"]
    assert "advertised.listeners" in finding["advice"]


def test_a_group_that_nobody_joined_is_a_warning(cluster: Cluster) -> None:
    ran = doctor(cluster.bootstrap, "-g", "billing", "--json")

    assert ran.code == 0
    assert [(one["check"], one["seen"]) for one in ran.json if one["status"] == "warning"] == [
        ("group", "it does not exist")
    ]


def test_a_share_group_is_told_by_its_state_and_lag(cluster: Cluster) -> None:
    topic = "shared"
    cluster.create_topic(topic)
    with Admin(cluster.bootstrap) as admin:
        group = ConfigResource.group("sharers")
        earliest = AlterConfig("share.auto.offset.reset", "earliest")
        admin.incremental_alter_configs({group: [earliest]})
    with Producer(cluster.bootstrap) as producer:
        producer.send(topic, b"1")
    with ShareConsumer(cluster.bootstrap, topics=[topic], group_id="sharers") as consumer:
        while not consumer.poll(timeout=5):
            pass
        consumer.commit()

        ran = doctor(cluster.bootstrap, "-g", "sharers", "--json")

    found = [(one["check"], one["seen"]) for one in ran.json if one["subject"] == "sharers"]
    assert found == [
        ("group", "Stable, 1 member"),
        ("authorization", "the client may be a member of it"),
        ("lag", "0 offsets"),
    ]
