"""Consumers in virtual time, beside the reference broker or brokers that follow a script."""

from __future__ import annotations

import itertools
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from random import Random
from typing import Any
from weakref import WeakKeyDictionary

from pyk.clients import AsyncAdmin, AsyncConsumer, AsyncProducer, TopicPartition
from pyk.protocol.messages.fetch import PartitionData
from pyk.reference_broker import AsyncCluster
from pyk.runtime.network import MemoryNetwork
from pyk.runtime.virtual_time import current_clock
from support.environments import client_options
from support.fetching_cluster import FetchingCluster
from support.scripted_broker import PORT, ScriptedCluster

P0 = TopicPartition("orders", 0)
_seeds: WeakKeyDictionary[MemoryNetwork, itertools.count[int]] = WeakKeyDictionary()


@asynccontextmanager
async def reference_cluster(
    *, latency: float = 0.001, **config: Any
) -> AsyncIterator[AsyncCluster]:
    """Run the reference broker in memory and in virtual time."""
    network = MemoryNetwork(latency=latency)
    names = {name.replace("_", "."): value for name, value in config.items()}
    async with AsyncCluster(network=network, clock=current_clock(), config=names) as cluster:
        yield cluster


def network_of(cluster: Any) -> MemoryNetwork:
    network = (
        cluster.network if isinstance(cluster, ScriptedCluster) else cluster._environment.network
    )
    assert isinstance(network, MemoryNetwork)
    return network


def make_consumer(cluster: Any, **options: Any) -> AsyncConsumer[bytes, bytes]:
    """Return a consumer of a cluster that is not started yet; it begins at the beginning."""
    options.setdefault("auto_offset_reset", "earliest")
    bootstrap = f"broker1:{PORT}" if isinstance(cluster, ScriptedCluster) else cluster.bootstrap
    network = network_of(cluster)
    # Each has a seed of its own: members choose their ids by chance (KIP-1082).
    seed = next(_seeds.setdefault(network, itertools.count(1)))
    environment = {**client_options(network), "random": Random(seed)}
    return AsyncConsumer(bootstrap, **{**environment, **options})


async def delete_topic(cluster: AsyncCluster, topic: str) -> None:
    """Delete a topic as an application does."""
    async with AsyncAdmin(cluster.bootstrap, **client_options(network_of(cluster))) as admin:
        await admin.delete_topics([topic])


async def produce(
    cluster: AsyncCluster,
    topic: str,
    count: int,
    *,
    partitions: int = 1,
    key: Callable[[int], bytes | None] = lambda n: None,
) -> None:
    """Write values 0, 1, 2 … to the partitions of a topic in turn; ``key`` makes their keys."""
    producer: AsyncProducer[bytes, bytes] = AsyncProducer(
        cluster.bootstrap, **client_options(network_of(cluster))
    )
    async with producer:
        for number in range(count):
            value = b"%d" % number
            await producer.send(topic, value, key(number), partition=number % partitions)
        await producer.flush()


@asynccontextmanager
async def cluster_with_orders(count: int) -> AsyncIterator[AsyncCluster]:
    """Run the reference broker with a topic ``orders`` of one partition and so many records."""
    async with reference_cluster() as cluster:
        await cluster.create_topic("orders", partitions=1)
        await produce(cluster, "orders", count)
        yield cluster


async def read(consumer: AsyncConsumer[Any, Any], count: int, *, timeout: float = 60) -> list[Any]:
    """Return the values of at least ``count`` records; fail if they do not come."""
    values: list[Any] = []
    deadline = current_clock().now() + timeout
    while len(values) < count:
        assert current_clock().now() < deadline, f"{len(values)} of {count} records came"
        values += [record.value for record in await consumer.poll(1.0)]
    return values


async def eventually_polled(
    consumer: AsyncConsumer[Any, Any], condition: Callable[[], bool], timeout: float = 60
) -> None:
    """Poll a consumer until a condition holds; fail if that never happens."""
    deadline = current_clock().now() + timeout
    while not condition():
        assert current_clock().now() < deadline, "the condition did not become true"
        await consumer.poll(0.2)


@asynccontextmanager
async def fetching(
    *, nodes: int = 3, leaders: tuple[int, ...] = (1, 2, 3), **options: Any
) -> AsyncIterator[tuple[FetchingCluster, AsyncConsumer[bytes, bytes]]]:
    """Run scripted brokers with a topic ``orders``, and a consumer that reads all of it.

    ``leaders`` are the nodes that lead partition 0, 1 …
    """
    network = MemoryNetwork(latency=0.001)
    cluster = FetchingCluster(network, nodes)
    async with cluster:
        cluster.add_topic("orders", list(leaders))
        consumer = make_consumer(cluster, **options)
        async with consumer:
            consumer.assign([("orders", number) for number in range(len(leaders))])
            yield cluster, consumer


def fail_once(cluster: FetchingCluster, code: int, partition: int = 0, **fields: Any) -> None:
    """Answer the next fetch of a partition with an error."""
    plain = cluster.edit

    def edit(topic: str, number: int, asked: Any, data: PartitionData) -> PartitionData:
        if number != partition:
            return data
        cluster.edit = plain
        return PartitionData(partition_index=number, error_code=code, high_watermark=-1, **fields)

    cluster.edit = edit
