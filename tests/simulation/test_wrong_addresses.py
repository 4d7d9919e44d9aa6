"""Brokers advertise the address of another one, until somebody corrects that."""

from __future__ import annotations

from pyk.runtime.network import MemoryNetwork
from pyk.runtime.virtual_time import virtual_time
from support.consuming import P0, make_consumer, read
from support.fetching_cluster import FetchingCluster


@virtual_time
async def test_a_corrected_address_is_used_although_the_wrong_one_answers():
    cluster = FetchingCluster(MemoryNetwork(latency=0.001), 2)
    async with cluster:
        cluster.add_topic("orders", [1])
        cluster.append([b"a"])
        cluster.nodes[1] = "broker2"

        async with make_consumer(cluster) as consumer:
            consumer.assign([P0])
            assert not await consumer.poll(20)
            assert "NOT_LEADER_OR_FOLLOWER" in consumer.health().problems[0]
            cluster.nodes[1] = "broker1"

            assert await read(consumer, 1, timeout=15) == [b"a"]


@virtual_time
async def test_a_connection_stays_while_responses_do_not_agree_about_an_address():
    cluster = FetchingCluster(MemoryNetwork(latency=0.001), 1)
    async with cluster:
        cluster.add_topic("orders", [1])
        cluster.append([b"a"])
        async with make_consumer(cluster, metadata_max_age_ms=1000) as consumer:
            consumer.assign([P0])
            await read(consumer, 1)
            before = sum(cluster.connection_counts.values())

            for number in range(30):
                cluster.nodes[1] = ("broker1", "elsewhere")[number % 2]
                await consumer.poll(1)

        assert sum(cluster.connection_counts.values()) == before
