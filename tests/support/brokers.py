"""The reference broker and Apache Kafka behind one interface, to write each scenario once."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
from collections.abc import Awaitable, Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Protocol

from pyk.clients import Admin, NewTopic
from pyk.clients.errors import TopicAlreadyExistsError
from pyk.protocol import ApiKey
from pyk.protocol.messages.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponseTopic,
)
from pyk.reference_broker import Cluster
from support.apache_kafka import ApacheKafkaCluster
from support.proxy import Proxy
from support.raw_client import RawClient
from support.real_time import eventually

_numbers = itertools.count()


class Kafka(Protocol):
    """A running broker or cluster for scenarios."""

    bootstrap: str
    """The addresses of all nodes, that of node 0 first."""
    nodes: int
    min_insync_replicas: int
    """``min.insync.replicas`` of topics that do not set it."""

    def kill_and_restart(self, node: int = 0) -> None:
        """Kill the process of a broker, start it again on the same data, and wait for a whole
        cluster: every replica is in sync."""

    def losing_reply(self, api_key: ApiKey) -> contextlib.AbstractContextManager[str]:
        """Apply the next such request but lose its reply; gives the bootstrap address to use."""


class ReferenceBroker:
    """pyk's own broker, on disk."""

    nodes = 1
    min_insync_replicas = 1

    def __init__(self, folder: Path, config: dict[str, str] | None = None) -> None:
        self._cluster = Cluster(data_dir=folder, config=config)

    def __enter__(self) -> ReferenceBroker:
        self._cluster.__enter__()
        self.bootstrap = self._cluster.bootstrap
        return self

    def __exit__(self, *exc: object) -> None:
        self._cluster.__exit__(None, None, None)

    def kill_and_restart(self, node: int = 0) -> None:
        self._cluster.kill(node)
        self._cluster.start(node)

    @contextlib.contextmanager
    def losing_reply(self, api_key: ApiKey) -> Iterator[str]:
        with self._cluster.faults.on(api_key.name).once().apply_then_lose_response() as rule:
            yield self.bootstrap
            assert rule.hits == 1


class RealKafka:
    """Apache Kafka, with a proxy in front of the second listener of each node."""

    def __init__(
        self, nodes: int = 1, config: dict[str, str] | None = None, *, has_racks: bool = False
    ) -> None:
        self.nodes = nodes
        self._kafka = ApacheKafkaCluster(nodes, config=config, has_racks=has_racks)
        self.min_insync_replicas = self._kafka.min_insync_replicas
        to_lose: list[ApiKey] = []
        self._proxies = [
            Proxy(node.proxy_port, node.proxied_port, to_lose) for node in self._kafka.nodes
        ]

    def __enter__(self) -> RealKafka:
        self._kafka.__enter__()
        for proxy in self._proxies:
            proxy.__enter__()
        self.bootstrap = self._kafka.bootstrap
        return self

    def __exit__(self, *exc: object) -> None:
        for proxy in self._proxies:
            proxy.__exit__()
        self._kafka.__exit__()

    def kill_and_restart(self, node: int = 0) -> None:
        self._kafka.nodes[node].kill()
        self._kafka.nodes[node].start()
        # A second kill might otherwise take the only replica that has all records, and the next
        # tests, which share the cluster, would meet one that is not whole.
        eventually(lambda: every_replica_is_in_sync(self))

    @contextlib.contextmanager
    def losing_reply(self, api_key: ApiKey) -> Iterator[str]:
        before = self._lost
        with self._proxies[0].losing_reply(api_key):
            yield f"127.0.0.1:{self._kafka.nodes[0].proxy_port}"
        assert self._lost == before + 1

    @property
    def _lost(self) -> int:
        return sum(proxy.lost for proxy in self._proxies)


async def restart_beside_heartbeats(
    kafka: Kafka, nodes: Iterable[int], beat: Callable[[RawClient], Awaitable[object]]
) -> None:
    """Kill nodes one after another and start them again; meanwhile every node gets heartbeats.

    Without them the sessions of members may end before a busy machine has started the nodes.
    """

    async def restart() -> None:
        for node in nodes:
            await asyncio.to_thread(kafka.kill_and_restart, node)

    restarting = asyncio.create_task(restart())
    while not restarting.done():
        for address in kafka.bootstrap.split(","):
            with contextlib.suppress(OSError, EOFError, TimeoutError):  # it is down
                async with asyncio.timeout(5), RawClient(address) as client:
                    await beat(client)
        await asyncio.sleep(0.5)
    await restarting


def make_topic(kafka: Kafka, name: str, *, partitions: int = 1, **configs: str) -> str:
    """Create a topic and return its name, made unique.

    It keeps records of any age: otherwise the first check of retention would delete those that
    tests write with old timestamps.
    """
    unique = f"{name}-{next(_numbers)}"
    _create(kafka, NewTopic(unique, partitions, configs={"retention.ms": "-1", **configs}))
    return unique


def make_topic_of_node_0(kafka: Kafka, name: str, *, partitions: int = 1, **configs: str) -> str:
    """Create a topic as :func:`make_topic` does, with node 0 as the leader of every partition.

    A :class:`RawClient` asks node 0 and does not look for leaders.
    """
    unique = f"{name}-{next(_numbers)}"
    assignments = dict.fromkeys(range(partitions), tuple(range(kafka.nodes)))
    configs = {"retention.ms": "-1", **configs}
    _create(kafka, NewTopic(unique, configs=configs, assignments=assignments))
    return unique


def every_node_knows(kafka: Kafka, topic: str) -> bool:
    """Say whether every node names the leaders of a topic's partitions.

    A new topic reaches the nodes one after another, and a client may ask any of them.
    """

    def has_leaders(found: MetadataResponseTopic) -> bool:
        return not any((found.error_code, *(one.error_code for one in found.partitions)))

    return _every_node_says(kafka, has_leaders, topic)


def every_replica_is_in_sync(kafka: Kafka) -> bool:
    """Say whether every node knows every replica of every partition to be in sync."""

    def is_in_sync(found: MetadataResponseTopic) -> bool:
        return all(set(one.isr_nodes) == set(one.replica_nodes) for one in found.partitions)

    return _every_node_says(kafka, is_in_sync)


def _every_node_says(
    kafka: Kafka, holds: Callable[[MetadataResponseTopic], bool], *topics: str
) -> bool:
    """Say whether something holds of topics, or of all, as each node knows them."""
    request = MetadataRequest(topics=[MetadataRequestTopic(name=name) for name in topics] or None)

    async def says(address: str) -> bool:
        async with RawClient(address) as node:
            return all(map(holds, (await node.ask(request)).topics))

    # In threads of their own, for callers who are in an event loop.
    with ThreadPoolExecutor() as threads:
        return all(threads.map(lambda node: asyncio.run(says(node)), kafka.bootstrap.split(",")))


def _create(kafka: Kafka, topic: NewTopic) -> None:
    # A busy broker may create it and answer too late; the name is new.
    with Admin(kafka.bootstrap) as admin, contextlib.suppress(TopicAlreadyExistsError):
        admin.create_topics([topic])
    eventually(lambda: every_node_knows(kafka, topic.name))
