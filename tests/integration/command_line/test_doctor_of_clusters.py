"""``pyk doctor`` where a topic, a group, a permission or a clock is wrong: it finds just that."""

from __future__ import annotations

import asyncio
import datetime
import time
from collections.abc import Iterator
from typing import Any
from uuid import UUID

import pytest

from pyk.clients import (
    AccessControlEntry,
    AclBinding,
    AclOperation,
    Admin,
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
from support.broker_requests import coordinator_of
from support.doctor import WORKS, Broken, doctor, properties
from support.raw_client import RawClient
from support.raw_groups import Coordinator


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    with Cluster() as cluster:
        cluster.seed({"orders": [b"one"]})
        yield cluster


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
        without_a_group = doctor(proxy.bootstrap)

    assert (found.ran.code, without_a_group.ran.code) == (1, 0)
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


def test_one_partition_with_a_record_from_the_future_is_enough(cluster: Cluster) -> None:
    cluster.create_topic("bills", partitions=2)
    with Producer[bytes, bytes](cluster.bootstrap) as producer:
        for partition, ahead_ms in ((0, 0), (1, 1_800_000)):
            stamped = int(time.time() * 1000) + ahead_ms
            producer.send("bills", b"x", partition=partition, timestamp_ms=stamped)

    found = doctor(cluster.bootstrap, "-t", "bills")

    assert (found.only["check"], found.only["subject"]) == ("clock", "bills")


def test_the_name_of_an_internal_topic_is_suggested(cluster: Cluster) -> None:
    with Admin(cluster.bootstrap) as admin:
        admin.reset_offsets("billing", to="earliest", partitions=[TopicPartition("orders", 0)])

    found = doctor(cluster.bootstrap, "-t", "__consumer_ofsets")

    assert "__consumer_offsets" in found.only["advice"]
