"""A broker with several listeners: clients are told the addresses of the one they use."""

from __future__ import annotations

from typing import Any

import pytest

from pyk.clients import AsyncConsumer, AsyncProducer
from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.describe_cluster import DescribeClusterRequest
from pyk.protocol.messages.find_coordinator import FindCoordinatorRequest
from pyk.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from pyk.reference_broker import AsyncCluster
from pyk.runtime.network import Address, SystemNetwork
from support.raw_client import RawClient

CONFIG = {
    "listeners": "CLIENTS://127.0.0.1:0,BROKERS://127.0.0.1:0,HIDDEN://127.0.0.1:0",
    "advertised.listeners": "CLIENTS://127.0.0.1:0,BROKERS://localhost:0",
    "listener.security.protocol.map": "CLIENTS:PLAINTEXT,BROKERS:PLAINTEXT,HIDDEN:PLAINTEXT",
    "inter.broker.listener.name": "BROKERS",
}


def hidden_port(cluster: AsyncCluster) -> int:
    (broker,) = cluster._brokers.values()
    assert broker.listeners is not None
    return broker.listeners.bound[-1].port


@pytest.mark.parametrize(("listener", "host"), [("CLIENTS", "127.0.0.1"), ("BROKERS", "localhost")])
async def test_clients_are_told_the_addresses_of_their_listener(listener: str, host: str) -> None:
    async with AsyncCluster(config=CONFIG) as cluster:
        bootstrap = cluster.bootstrap_of(listener)
        async with RawClient(bootstrap) as client:
            (metadata,) = (await client.ask(MetadataRequest())).brokers
            (described,) = (await client.ask(DescribeClusterRequest())).brokers
            find = FindCoordinatorRequest(coordinator_keys=["g"])
            (coordinator,) = (await client.ask(find)).coordinators

    assert bootstrap.startswith(host)
    for told in (metadata, described, coordinator):
        assert f"{told.host}:{told.port}" == bootstrap


async def test_a_listener_that_is_not_advertised_answers_without_addresses() -> None:
    topics = [MetadataRequestTopic(name="orders")]
    async with AsyncCluster(config=CONFIG) as cluster:
        await cluster.create_topic("orders")
        async with RawClient(f"127.0.0.1:{hidden_port(cluster)}") as client:
            metadata = await client.ask(MetadataRequest(topics=topics))
            old = await client.ask(MetadataRequest(topics=topics), version=5)
            find = FindCoordinatorRequest(coordinator_keys=["g"])
            (coordinator,) = (await client.ask(find)).coordinators

    assert metadata.brokers == []
    (partition,), (old_partition,) = (each.topics[0].partitions for each in (metadata, old))
    assert (partition.error_code, partition.leader_id) == (ErrorCode.LISTENER_NOT_FOUND, -1)
    assert old_partition.error_code == ErrorCode.LEADER_NOT_AVAILABLE
    assert coordinator.error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE


async def test_listeners_keep_their_ports_when_a_node_is_started_again() -> None:
    async with AsyncCluster(config=CONFIG) as cluster:
        before = cluster.bootstrap, cluster.bootstrap_of("BROKERS")
        await cluster.stop()
        await cluster.start()

        assert (cluster.bootstrap, cluster.bootstrap_of("BROKERS")) == before


async def test_a_listener_that_is_not_advertised_has_no_bootstrap() -> None:
    async with AsyncCluster(config=CONFIG) as cluster:
        with pytest.raises(ValueError, match="no listener 'HIDDEN' is advertised"):
            cluster.bootstrap_of("HIDDEN")


async def test_brokers_take_the_place_of_clients_where_all_connections_are_used() -> None:
    async with (
        AsyncCluster(config={**CONFIG, "max.connections": "1"}) as cluster,
        RawClient(cluster.bootstrap) as first,
    ):
        assert (await first.ask(MetadataRequest())).brokers

        async with RawClient(cluster.bootstrap_of("BROKERS")) as second:
            assert (await second.ask(MetadataRequest())).brokers

        assert await first.is_cut_off()


async def test_clients_of_two_networks_work_each_at_its_own_address() -> None:
    networks = {
        "listeners": "HOST://127.0.0.1:0,CONTAINERS://127.0.0.2:0",
        "listener.security.protocol.map": "HOST:PLAINTEXT,CONTAINERS:PLAINTEXT",
        "inter.broker.listener.name": "HOST",
    }
    async with AsyncCluster(config=networks) as cluster:
        await cluster.create_topic("orders")
        hosts = {"HOST": "127.0.0.1", "CONTAINERS": "127.0.0.2"}
        for number, (listener, host) in enumerate(hosts.items()):
            network = RecordedNetwork()
            options = {**cluster.client_options(listener=listener), "network": network}
            async with (
                AsyncProducer(**options) as producer,
                AsyncConsumer(
                    **options, topics=["orders"], group_id="g", auto_offset_reset="earliest"
                ) as consumer,
            ):
                await producer.send_and_wait("orders", b"%d" % number)
                record = await anext(aiter(consumer))
                await consumer.commit(record)

            assert record.value == b"%d" % number
            assert network.hosts == {host}


class RecordedNetwork(SystemNetwork):
    """The machine's network, which keeps the hosts that were connected to."""

    def __init__(self) -> None:
        super().__init__()
        self.hosts: set[str] = set()

    async def connect(self, factory: Any, address: Address, *arguments: Any) -> Any:
        self.hosts.add(address.host)
        return await super().connect(factory, address, *arguments)
