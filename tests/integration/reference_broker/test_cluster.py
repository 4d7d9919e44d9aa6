"""Clusters for tests: addresses, configuration, and closing without leaks."""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.metadata import MetadataRequest
from pyk.reference_broker import AsyncCluster, Cluster
from pyk.reference_broker.errors import ApiError
from pyk.runtime.network.host_name import reachable_host
from support.broker_requests import find_coordinator
from support.forks import status_of_fork
from support.raw_client import RawClient


def open_files() -> list[str]:
    """Return the open files of this process, without the directory that lists them."""
    folder = Path("/proc/self/fd")
    links = [os.readlink(link) for link in folder.iterdir() if link.is_symlink()]
    return sorted(link for link in links if not link.startswith("/proc"))


def test_a_blocking_cluster_serves_and_leaves_nothing_behind() -> None:
    with Cluster():
        pass  # import and open what is created only once
    threads, files = threading.active_count(), open_files()

    with Cluster() as cluster:
        cluster.create_topic("orders", partitions=3, configs={"retention.ms": 1000})
        host, _, port = cluster.bootstrap.partition(":")
        with socket.create_connection((host, int(port))):
            pass

    assert threading.active_count() == threads
    assert open_files() == files
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection((host, int(port)))


def test_a_cluster_of_several_brokers_is_refused() -> None:
    with pytest.raises(ValueError, match="runs clusters of one broker"):
        Cluster(brokers=3)


def test_an_invalid_topic_is_an_error_with_its_code() -> None:
    with Cluster() as cluster, pytest.raises(ApiError) as error:
        cluster.create_topic("a/b")

    assert error.value.code is ErrorCode.INVALID_TOPIC_EXCEPTION


def test_a_cluster_that_cannot_start_leaves_no_thread() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        threads = threading.active_count()

        with pytest.raises(OSError, match="in use"):
            Cluster(port=taken.getsockname()[1]).open()

    assert threading.active_count() == threads


def test_using_a_cluster_that_is_not_open_raises() -> None:
    with pytest.raises(RuntimeError, match="not open"):
        Cluster().create_topic("orders")
    with pytest.raises(RuntimeError, match=r"no port yet: enter it with .* or call open\(\)"):
        print(Cluster().bootstrap)
    assert repr(Cluster()) == "<Cluster not open>"


async def test_configurations_apply_to_the_broker_and_its_topics() -> None:
    async with AsyncCluster(config={"num.partitions": 5, "max.message.bytes": 2000}) as cluster:
        (broker,) = cluster._brokers.values()
        await cluster.create_topic("orders", partitions=-1)

        assert len(broker.services.replicas.of_topic("orders")) == 5
        assert broker.services.replicas.get("orders", 0).log.config.max_message_bytes == 2000


async def test_a_broker_on_all_addresses_advertises_the_address_that_the_client_used() -> None:
    async with AsyncCluster(host="0.0.0.0") as cluster:
        port = cluster.bootstrap.rpartition(":")[2]
        async with RawClient(f"127.0.0.1:{port}") as client:
            metadata = await client.ask(MetadataRequest())
            found = await client.ask(find_coordinator())

    assert metadata.brokers[0].host == found.coordinators[0].host == "127.0.0.1"


async def told_addresses(bootstrap: str) -> set[tuple[str, int]]:
    """Return the addresses of brokers in the metadata for a client."""
    async with RawClient(bootstrap.replace("[", "").replace("]", "")) as client:
        response = await client.ask(MetadataRequest(topics=[]), 12)
    return {(broker.host, broker.port) for broker in response.brokers}


@pytest.mark.skipif(not socket.has_ipv6, reason="this machine has no IPv6")
async def test_an_ipv6_address_has_brackets_and_is_reached() -> None:
    async with AsyncCluster(host="::1") as cluster:
        host, port = cluster.bootstrap.rsplit(":", 1)

        assert host == "[::1]"
        assert await told_addresses(cluster.bootstrap) == {("::1", int(port))}


async def test_the_bootstrap_address_of_a_broker_on_all_addresses_is_the_machines() -> None:
    async with AsyncCluster(host="0.0.0.0") as cluster:
        host, port = cluster.bootstrap.rsplit(":", 1)

        assert host == reachable_host()
        assert await told_addresses(cluster.bootstrap) == {(host, int(port))}


async def test_metadata_has_the_advertised_address() -> None:
    async with AsyncCluster(advertise="kafka.example") as cluster:
        host, port = cluster.bootstrap.rsplit(":", 1)

        assert host == "kafka.example"
        assert await told_addresses(f"127.0.0.1:{port}") == {(host, int(port))}


async def test_the_advertised_port_can_differ_from_the_listening_port() -> None:
    with socket.socket() as reserved:
        reserved.bind(("127.0.0.1", 0))
        port = reserved.getsockname()[1]
    async with AsyncCluster(port=port, advertise="localhost:19092") as cluster:
        assert cluster.bootstrap == "localhost:19092"
        assert await told_addresses(f"127.0.0.1:{port}") == {("localhost", 19092)}


@pytest.mark.parametrize(
    ("advertise", "words"),
    [
        ("kafka:http", "advertise: 'kafka:http' is not HOST or HOST:PORT"),
        ("kafka:0", "advertise: 'kafka:0' has a port"),
        ("0.0.0.0", r"advertise: clients cannot connect to '0\.0\.0\.0'"),
    ],
)
def test_an_invalid_advertised_address_is_refused(advertise: str, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        Cluster(advertise=advertise)


def test_a_forked_child_cannot_use_the_cluster_of_its_parent() -> None:
    with Cluster() as cluster:

        def is_not_refused() -> int:
            try:
                cluster.create_topic("orders")
            except RuntimeError as error:
                cluster.close()
                return "forked child" not in str(error)
            return 2

        status = status_of_fork(is_not_refused)
        cluster.create_topic("orders")

    assert os.waitstatus_to_exitcode(status) == 0


def test_expecting_records_of_a_topic_that_does_not_exist_says_so() -> None:
    with Cluster() as cluster, pytest.raises(AssertionError, match="there is no such topic"):
        cluster.expect("orders", b"one", timeout=0.01)


async def test_a_blocking_wait_on_an_event_loop_says_what_it_blocked() -> None:
    with Cluster() as cluster, pytest.raises(AssertionError) as failed:
        cluster.expect("orders", b"one", timeout=0.01)

    assert "expect() blocked the event loop" in failed.value.__notes__[0]


@pytest.mark.parametrize("record", ["abc", b"abc", {"value": "abc"}])
def test_one_record_in_place_of_a_list_is_not_seeded(record: Any) -> None:
    with Cluster() as cluster:
        with pytest.raises(TypeError, match="records of 'orders' must be a list of records, not"):
            cluster.seed({"orders": record})
        with pytest.raises(ApiError, match="no topic"):
            cluster.records("orders")


def test_seeding_without_topics_says_what_is_needed() -> None:
    records: Any = [b"one"]
    with Cluster() as cluster, pytest.raises(TypeError, match=r"\{topic: records\}, not list"):
        cluster.seed(records)


async def test_an_async_cluster_that_is_not_open_says_how_to_enter_it() -> None:
    with pytest.raises(RuntimeError, match=r"enter it with `async with`, or await open\(\)"):
        print(AsyncCluster().bootstrap)
    with pytest.raises(RuntimeError, match=r"enter it with `async with`, or await open\(\)"):
        await AsyncCluster().seed({"orders": [b"one"]})


def test_a_cluster_that_is_opened_twice_goes_on_and_can_be_closed() -> None:
    threads = threading.active_count()

    with Cluster() as cluster:
        with pytest.raises(RuntimeError, match="the cluster is open already: close it first"):
            cluster.open()

        cluster.seed({"orders": ["one"]})

    assert threading.active_count() == threads


@pytest.mark.parametrize(
    "use",
    [
        lambda cluster: cluster.open(),
        lambda cluster: cluster.requests(),
        lambda cluster: cluster.client_metrics(),
        lambda cluster: cluster.skew_clock(1),
        lambda cluster: cluster.disk,
        lambda cluster: cluster.faults,
    ],
)
def test_nothing_of_a_cluster_works_silently_in_a_forked_child(
    use: Callable[[Cluster], object],
) -> None:
    with Cluster() as cluster:

        def is_not_refused() -> int:
            try:
                use(cluster)
            except RuntimeError as error:
                return "not in this forked child" not in str(error)
            return 2

        assert status_of_fork(is_not_refused) == 0
