"""``pyk doctor`` where one thing is broken: it finds exactly that, and all else keeps its verdict.

What takes long to fail is in tests/simulation/test_doctor.py, in virtual time.
"""

from __future__ import annotations

import asyncio
import datetime
import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from uuid import UUID

import attrs
import pytest

from pyk.clients import (
    AccessControlEntry,
    AclBinding,
    AclOperation,
    Admin,
    KafkaError,
    KafkaTimeoutError,
    Producer,
    ResourcePattern,
    ResourceType,
    TopicAuthorizationFailedError,
    TopicPartition,
)
from pyk.protocol.api_keys import ApiKey
from pyk.reference_broker import Cluster
from support.altering_proxy import Alter, AlteringProxy
from support.apache_kafka import free_ports
from support.broker_requests import coordinator_of
from support.certificates import Authority
from support.pyk_command import Ran, run
from support.raw_client import RawClient
from support.raw_groups import Coordinator

WORKS = {"TCP", "ApiVersions", "versions", "Metadata", "controller", "clock", "leaders",
         "replicas", "authorization"}  # fmt: skip
"""The checks of a cluster that works, and of its topic."""


@attrs.frozen
class Broken:
    """The findings that are not ok, and the checks of those that are."""

    ran: Ran

    @property
    def findings(self) -> list[dict[str, str]]:
        return [one for one in self.ran.json if one["status"] != "ok"]

    @property
    def only(self) -> dict[str, str]:
        (finding,) = self.findings
        assert finding["meaning"], finding
        assert finding["advice"], finding
        return finding

    @property
    def ok(self) -> set[str]:
        return {one["check"] for one in self.ran.json if one["status"] == "ok"}


def doctor(bootstrap: str, *words: object) -> Broken:
    return Broken(run("doctor", "-b", bootstrap, *words, "--timeout", 5, "--json"))


def properties(**options: object) -> list[str]:
    return [word for name, value in options.items() for word in ("-X", f"{name}={value}")]


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


def of_client(bootstrap: str, options: dict[str, Any]) -> KafkaError:
    """Return the error of an admin client with these options."""
    properties = {name: str(value) for name, value in options.items()}
    with (
        pytest.raises(KafkaError) as caught,
        Admin.from_properties({"bootstrap.servers": bootstrap, **properties}),
    ):
        pass
    return caught.value


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


# -- topics ----------------------------------------------------------------------------------------


def altering(name: str, **values: object) -> dict[ApiKey, Alter]:
    """Return what changes the first partition of a topic in the metadata."""

    def alter(response: Any) -> None:
        for topic in response.topics:
            if topic.name == name:
                for field, value in values.items():
                    setattr(topic.partitions[0], field, value)

    return {ApiKey.METADATA: alter}


def test_a_partition_without_a_leader_is_told_as_by_the_producer(cluster: Cluster) -> None:
    leaderless = altering("orders", error_code=5, leader_id=-1)

    with AlteringProxy(cluster.bootstrap, leaderless) as proxy:
        found = doctor(proxy.bootstrap, "-t", "orders")
        with Producer(proxy.bootstrap, delivery_timeout_ms=1000, request_timeout_ms=500) as client:
            error = client.send("orders", b"x", partition=0).exception()

    assert found.ran.code == 1
    assert found.ok == WORKS - {"leaders"}
    assert (found.only["check"], found.only["seen"]) == (
        "leaders", "1 partition of 1 without a leader: 0",
    )  # fmt: skip
    assert isinstance(error, KafkaTimeoutError)
    assert found.only["advice"] in str(error)


def test_replicas_that_are_too_few_are_told_as_by_the_producer(cluster: Cluster) -> None:
    cluster.create_topic("bills", configs={"min.insync.replicas": "2"})
    behind = altering("bills", replica_nodes=[0, 1])

    with AlteringProxy(cluster.bootstrap, behind) as proxy:
        found = doctor(proxy.bootstrap, "-t", "bills")
    with Producer(cluster.bootstrap, delivery_timeout_ms=1000, request_timeout_ms=500) as client:
        error = client.send("bills", b"x").exception()

    assert found.ran.code == 1
    assert (found.only["check"], found.only["seen"]) == (
        "replicas", "fewer than min.insync.replicas=2 in sync: partition 0",
    )  # fmt: skip
    assert isinstance(error, KafkaTimeoutError)
    assert found.only["advice"] in str(error)


def test_a_minimum_that_the_replicas_cannot_reach_is_told(cluster: Cluster) -> None:
    cluster.create_topic("bills", configs={"min.insync.replicas": "2"})

    found = doctor(cluster.bootstrap, "-t", "orders", "-t", "bills")

    assert (found.ran.code, found.ok) == (1, WORKS)
    assert found.only["seen"] == "min.insync.replicas is 2, and there are fewer replicas"
    assert "pyk config set topic bills min.insync.replicas=1" in found.only["advice"]


def test_the_topic_of_groups_without_a_leader_is_told(cluster: Cluster) -> None:
    with Admin(cluster.bootstrap) as admin:
        admin.reset_offsets("billing", to="earliest", partitions=[TopicPartition("orders", 0)])
    leaderless = altering("__consumer_offsets", error_code=5, leader_id=-1)

    with AlteringProxy(cluster.bootstrap, leaderless) as proxy:
        found = doctor(proxy.bootstrap, "-g", "billing")

    assert found.ran.code == 1
    failed = [one for one in found.findings if one["status"] == "failed"]
    assert [(one["check"], one["subject"]) for one in failed] == [("leaders", "__consumer_offsets")]
    assert failed[0]["meaning"].startswith("groups can neither commit nor get members")


# -- authorization ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("allowed", "not_ok", "code"),
    [
        ([], [("failed", "authorization")], 1),
        (["READ"], [("warning", "authorization")], 0),
        (["WRITE"], [("warning", "authorization")], 0),
        (["READ", "WRITE"], [], 0),
    ],
)
def test_what_the_user_may_not_do_with_a_topic_is_told(
    allowed: list[str], not_ok: list[tuple[str, str]], code: int
) -> None:
    with Cluster(sasl={"admin": "a", "shop": "s"}, super_users=["admin"]) as cluster:
        cluster.create_topic("orders")
        with Admin(**cluster.client_options("admin")) as admin:
            for name in allowed:
                entry = AccessControlEntry("User:shop", AclOperation[name])
                orders = ResourcePattern(ResourceType.TOPIC, "orders")
                admin.create_acls([AclBinding(orders, entry)])
        options = cluster.client_options("shop")
        bootstrap = options.pop("bootstrap_servers")
        found = doctor(bootstrap, *properties(**options), "-t", "orders")
        with Producer(**cluster.client_options("shop"), enable_idempotence=False) as client:
            error = client.send("orders", b"x").exception() if allowed == ["READ"] else None

    assert found.ran.code == code
    assert [(one["status"], one["check"]) for one in found.findings] == not_ok
    if error is not None:
        assert isinstance(error, TopicAuthorizationFailedError)
        assert found.only["advice"] in str(error)


@pytest.mark.parametrize(("allowed", "status"), [("DESCRIBE", "warning"), ("READ", "ok")])
def test_a_user_who_may_not_join_a_group_is_told(allowed: str, status: str) -> None:
    with Cluster(sasl={"admin": "a", "shop": "s"}, super_users=["admin"]) as cluster:
        cluster.create_topic("orders")
        with Admin(**cluster.client_options("admin")) as admin:
            admin.reset_offsets("billing", to="earliest", partitions=[TopicPartition("orders", 0)])
            for kind, name, operation in (
                (ResourceType.GROUP, "billing", AclOperation[allowed]),
                (ResourceType.TOPIC, "orders", AclOperation.DESCRIBE),
            ):
                entry = AccessControlEntry("User:shop", operation)
                admin.create_acls([AclBinding(ResourcePattern(kind, name), entry)])
        options = cluster.client_options("shop")
        bootstrap = options.pop("bootstrap_servers")
        found = doctor(bootstrap, *properties(**options), "-g", "billing")

    of_group = {one["check"]: one for one in found.ran.json if one["subject"] == "billing"}
    assert of_group["authorization"]["status"] == status
    assert found.ran.code == 0


# -- groups and clocks -----------------------------------------------------------------------------


def test_a_group_of_other_programs_is_told(cluster: Cluster) -> None:
    async def join() -> Broken:
        async with RawClient(cluster.bootstrap) as client:
            await coordinator_of(client, "workers")
            workers = Coordinator(client, "workers", "orders", UUID(int=0))
            await workers.classic_member(protocol_type="connect", metadata=b"")
            return await asyncio.to_thread(doctor, cluster.bootstrap, "-g", "workers")

    found = asyncio.run(join())

    assert found.ran.code == 1
    assert (found.only["check"], found.only["seen"]) == ("group", "its type is connect")
    assert "INCONSISTENT_GROUP_PROTOCOL" in found.only["meaning"]


@pytest.mark.parametrize("skewed", [-3600, 3600])
def test_a_clock_of_the_brokers_that_is_wrong_is_told(cluster: Cluster, skewed: int) -> None:
    cluster.skew_clock(skewed)

    found = doctor(cluster.bootstrap, "-t", "orders")

    assert (found.ran.code, found.ok) == (0, WORKS)
    assert (found.only["check"], found.only["subject"]) == ("clock", "controller")
    assert "3600 s" in found.only["seen"]


def test_a_record_from_the_future_is_told(cluster: Cluster) -> None:
    future = datetime.datetime.now(datetime.UTC) + datetime.timedelta(minutes=30)
    cluster.seed({"orders": [{"value": b"x", "timestamp_ms": int(future.timestamp() * 1000)}]})

    found = doctor(cluster.bootstrap, "-t", "orders")

    assert (found.ran.code, found.ok) == (0, WORKS)
    assert (found.only["check"], found.only["subject"]) == ("clock", "orders")
    assert "in the future" in found.only["seen"]
