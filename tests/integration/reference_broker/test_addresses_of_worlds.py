"""Connections between a world and the machine: the client's error tells why there are none."""

from __future__ import annotations

import pytest

from pyk.clients import AsyncProducer, BootstrapError, Producer
from pyk.reference_broker import AsyncCluster, Cluster, World


def test_a_client_outside_of_a_world_is_told_that_its_address_is_in_memory() -> None:
    world = World()

    async def main() -> str:
        async with AsyncCluster() as cluster:
            return cluster.bootstrap

    bootstrap = world.run(main())

    with (
        pytest.raises(BootstrapError, match="A World has this address on its network in memory"),
        Producer(bootstrap, delivery_timeout_ms=1000, request_timeout_ms=500) as producer,
    ):
        producer.send_and_wait("orders", b"first")


def test_a_client_in_a_world_is_told_that_a_cluster_outside_cannot_be_reached() -> None:
    async def main(bootstrap: str) -> None:
        async with AsyncProducer(bootstrap) as producer:
            await producer.send_and_wait("orders", b"first")

    with (
        Cluster() as cluster,
        pytest.raises(BootstrapError, match="In a World, only clusters that were made inside"),
    ):
        World().run(main(cluster.bootstrap))


def test_a_broker_that_is_down_is_only_asked_for() -> None:
    with Cluster() as cluster:
        bootstrap = cluster.bootstrap

    with (
        pytest.raises(BootstrapError, match=r"is the broker up, and the port right\?$"),
        Producer(bootstrap, delivery_timeout_ms=1000, request_timeout_ms=500) as producer,
    ):
        producer.send_and_wait("orders", b"first")
