"""A client follows its cluster to other brokers, and leaves those of a former one."""

from __future__ import annotations

import asyncio

import attrs
import pytest

from pyk.clients.engine.client import Client
from pyk.clients.engine.metadata import Node
from pyk.clients.topic_partition import TopicPartition
from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from pyk.protocol.messages.find_coordinator import (
    FindCoordinatorRequest,
)
from pyk.protocol.messages.metadata import (
    MetadataRequest,
    MetadataResponse,
    MetadataResponseBroker,
)
from pyk.runtime.virtual_time import current_clock, virtual_time
from support.engine_parts import running

ORDERS = TopicPartition("orders", 0)
BILLS = TopicPartition("bills", 0)


@virtual_time
async def test_a_cluster_that_has_moved_is_found_again_at_the_bootstrap_servers() -> None:
    async with running(nodes=2) as (cluster, client):
        # The nodes that metadata name are gone; the bootstrap server knows where they are now.
        cluster.nodes = {7: "broker1"}
        cluster.controller_id = 7
        client.metadata_keeper._set_image(  # as if an earlier answer had named them
            attrs.evolve(client.metadata, version=9, nodes={5: Node(5, "gone", 9092)})
        )
        client.metadata_keeper.request_update()

        await client.metadata_keeper.updated(9, current_clock().now() + 10)

        assert set(client.metadata.nodes) == {7}


@virtual_time
async def test_a_broker_can_send_the_client_back_to_its_bootstrap_servers() -> None:
    async with running() as (cluster, client):
        go_back = MetadataResponse(error_code=ErrorCode.REBOOTSTRAP_REQUIRED)
        cluster.once(MetadataRequest, go_back)
        connections = cluster.connection_counts[1]
        version = client.metadata.version
        client.metadata_keeper.request_update()

        await client.metadata_keeper.updated(version, current_clock().now() + 5)

        assert cluster.connection_counts[1] == connections + 1


@pytest.mark.parametrize("lane", ["main", "fetch", "group"])
@virtual_time
async def test_a_client_that_is_sent_back_leaves_the_brokers_that_it_is_connected_to(lane) -> None:
    async with running(nodes=2) as (cluster, client):
        request = FindCoordinatorRequest(coordinator_keys=["g"])
        await client.send(1, request, lane=lane)
        cluster.once(MetadataRequest, MetadataResponse(error_code=ErrorCode.REBOOTSTRAP_REQUIRED))
        cluster.nodes = {1: "broker2"}  # another cluster: its node 1 is not the one from before
        await updated(client)

        await client.send(1, request, lane=lane)

        assert cluster.received[-1].node_id == 2


@virtual_time
async def test_a_client_that_does_not_rebootstrap_asks_another_node_when_it_is_sent_back() -> None:
    async with running(nodes=2, metadata_recovery_strategy="none") as (cluster, client):
        request = FindCoordinatorRequest(coordinator_keys=["g"])
        for node_id in (1, 2):
            await client.send(node_id, request)
        connections = cluster.connection_counts.copy()
        cluster.once(MetadataRequest, MetadataResponse(error_code=ErrorCode.REBOOTSTRAP_REQUIRED))

        await updated(client)
        for node_id in (1, 2):
            await client.send(node_id, request)

        assert cluster.connection_counts == connections


@pytest.mark.parametrize("lane", ["main", "fetch", "group"])
@virtual_time
async def test_brokers_of_another_cluster_than_before_get_new_connections(lane) -> None:
    async with running(nodes=2) as (cluster, client):
        request = FindCoordinatorRequest(coordinator_keys=["g"])
        await client.send(1, request, lane=lane)
        cluster.on(MetadataRequest, metadata_of_another_cluster)
        await updated(client)

        await client.send(1, request, lane=lane)

        assert cluster.received[-1].node_id == 2


@virtual_time
async def test_nothing_that_was_known_of_the_topics_of_a_former_cluster_stays() -> None:
    async with running(nodes=2) as (cluster, client):
        for name in ("orders", "bills"):
            cluster.add_topic(name, [1], epoch=7)
        client.topics.use("test", {"orders", "bills"})
        await updated(client)
        assert client.metadata.leader(ORDERS) == 1
        for topic in cluster.topics.values():  # with the same ids, or none, as of an old broker
            topic.leaders, topic.epochs = [2], [3]

        def answer(request: MetadataRequest) -> MetadataResponse:
            response = cluster.metadata(request)
            response.cluster_id = "another"
            return response

        cluster.on(MetadataRequest, answer)
        client.topics.also_use("test", {"payments"})  # which alone is asked for
        await asyncio.sleep(1)

        assert client.metadata.leader(ORDERS) == client.metadata.leader(BILLS) == 2
        assert client.metadata.leader_epoch(ORDERS) == 3


@virtual_time
async def test_a_connection_that_was_being_made_to_a_broker_of_the_former_cluster_is_not_used():
    async with running(nodes=2) as (cluster, client):
        request = FindCoordinatorRequest(coordinator_keys=["g"])
        await client.send(1, request)
        may_connect = asyncio.Event()

        async def answer_late(_: ApiVersionsRequest) -> ApiVersionsResponse:
            await may_connect.wait()
            return ApiVersionsResponse(api_keys=cluster.offered(1))

        cluster.once(ApiVersionsRequest, answer_late)
        sending = asyncio.ensure_future(client.send(1, request, lane="fetch"))
        await asyncio.sleep(0.1)
        cluster.on(MetadataRequest, metadata_of_another_cluster)
        await updated(client)

        may_connect.set()
        await sending

        assert cluster.received[-1].node_id == 2


def metadata_of_another_cluster(_: MetadataRequest) -> MetadataResponse:
    there = MetadataResponseBroker(node_id=1, host="broker2", port=9092)
    return MetadataResponse(cluster_id="another", controller_id=1, brokers=[there])


async def updated(client: Client) -> None:
    """Wait for the next metadata."""
    version = client.metadata.version
    client.metadata_keeper.request_update()
    await client.metadata_keeper.updated(version, current_clock().now() + 5)
