"""Applications hear at once that brokers refuse a client, and go on when they let it in again."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from pyk.clients import AsyncAdmin, SaslAuthenticationFailedError, Scram
from pyk.runtime.network import MemoryNetwork
from pyk.runtime.virtual_time import current_clock, eventually, virtual_time
from support.consuming import make_consumer
from support.environments import client_options
from support.fetching_cluster import FetchingCluster
from support.producing_cluster import ProducingCluster, make_producer
from support.sasl_broker import SaslBroker
from support.scripted_broker import ScriptedCluster

OPTIONS: dict[str, Any] = {
    "auth": Scram("alice", "secret", "SCRAM-SHA-256"),
    "security_protocol": "SASL_PLAINTEXT",
}
USERS = {"alice": "secret"}


async def expel(cluster: ScriptedCluster, broker: SaslBroker) -> None:
    """Let brokers forget alice, and end her connections."""
    broker.users = {}
    for node_id in cluster.nodes:
        await cluster.kill(node_id)
        await cluster.start(node_id)


@asynccontextmanager
async def guarded(kind: type[Any], nodes: int = 1) -> AsyncIterator[tuple[Any, SaslBroker]]:
    async with kind(MemoryNetwork(latency=0.001), nodes) as cluster:
        cluster.add_topic("orders", [1])
        broker = SaslBroker(dict(USERS))
        broker.serve(cluster)
        yield cluster, broker


@asynccontextmanager
async def reading(nodes: int = 1) -> AsyncIterator[tuple[Any, SaslBroker, Any]]:
    """Run a consumer that has been let in."""
    async with (
        guarded(FetchingCluster, nodes) as (cluster, broker),
        make_consumer(cluster, **OPTIONS) as consumer,
    ):
        consumer.assign([("orders", 0)])
        await consumer.poll(0.5)
        yield cluster, broker, consumer


@pytest.mark.parametrize("idempotent", [True, False])
def test_a_delivery_fails_with_the_reason_of_the_broker(idempotent: bool) -> None:
    @virtual_time
    async def run() -> None:
        async with guarded(ProducingCluster) as (cluster, broker):
            async with make_producer(cluster, enable_idempotence=idempotent, **OPTIONS) as producer:
                await producer.send_and_wait("orders", b"one")
                await expel(cluster, broker)
                began_at = current_clock().now()

                with pytest.raises(SaslAuthenticationFailedError, match="as 'alice'"):
                    await producer.send_and_wait("orders", b"two")

                assert current_clock().now() - began_at < 3
                broker.users = dict(USERS)
                await producer.send_and_wait("orders", b"three")
            assert cluster.values() == [b"one", b"three"]

    run()


@virtual_time
async def test_a_send_to_a_new_topic_raises_the_reason_of_the_broker() -> None:
    async with guarded(ProducingCluster) as (cluster, broker):
        cluster.add_topic("payments", [1])
        async with make_producer(cluster, **OPTIONS) as producer:
            await producer.send_and_wait("orders", b"one")
            await expel(cluster, broker)
            began_at = current_clock().now()

            with pytest.raises(SaslAuthenticationFailedError, match="as 'alice'"):
                await producer.send_and_wait("payments", b"two")

            assert current_clock().now() - began_at < 3


@virtual_time
async def test_a_poll_raises_the_reason_of_the_broker() -> None:
    async with reading() as (cluster, broker, consumer):
        await expel(cluster, broker)
        began_at = current_clock().now()

        with pytest.raises(SaslAuthenticationFailedError, match="as 'alice'"):
            await consumer.poll(30)

        assert current_clock().now() - began_at < 3
        broker.users = dict(USERS)

        def is_back() -> bool:
            return len(broker.logins) > 2

        await eventually(is_back)
        await consumer.poll(5)


@virtual_time
async def test_a_member_of_a_group_hears_the_reason_of_the_broker() -> None:
    async with guarded(FetchingCluster) as (cluster, broker):
        broker.users = dict(USERS)
        consumer = make_consumer(cluster, topics=["orders"], group_id="readers", **OPTIONS)
        async with consumer:
            await expel(cluster, broker)
            began_at = current_clock().now()

            with pytest.raises(SaslAuthenticationFailedError, match="as 'alice'"):
                await consumer.poll(30)

            assert current_clock().now() - began_at < 3


@virtual_time
async def test_a_call_of_an_admin_client_raises_the_reason_of_the_broker() -> None:
    async with guarded(ScriptedCluster) as (cluster, broker):
        admin = AsyncAdmin("broker1:9092", **client_options(cluster.network), **OPTIONS)
        async with admin:
            await expel(cluster, broker)
            began_at = current_clock().now()

            with pytest.raises(SaslAuthenticationFailedError, match="as 'alice'"):
                await admin.list_topics()

            assert current_clock().now() - began_at < 3


@virtual_time
async def test_a_client_that_is_expelled_does_not_storm_the_brokers() -> None:
    async with reading(nodes=3) as (cluster, broker, consumer):
        await expel(cluster, broker)
        began_at = current_clock().now()
        while current_clock().now() - began_at < 60:
            with pytest.raises(SaslAuthenticationFailedError):
                await consumer.poll(5)

        assert 10 <= broker.refusals <= 62
