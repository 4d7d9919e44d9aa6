"""The clusters that chaos happens to: one node of the reference broker, or three of Apache Kafka.

Clients reach each node through a proxy, which loses responses and cuts connections.
"""

from __future__ import annotations

import asyncio
import os
import signal
from contextlib import ExitStack
from pathlib import Path
from typing import IO, Protocol, Self

from pyk.protocol import ApiKey
from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.update_features import FeatureUpdateKey, UpdateFeaturesRequest
from support.apache_kafka import ApacheKafkaCluster, free_ports, missing
from support.broker_process import BrokerProcess
from support.proxy import Proxy
from support.raw_client import RawClient

BROKERS = {
    "reference": "one node of the reference broker",
    "apache": "three nodes of Apache Kafka",
}
# A member that is killed or stopped is noticed in seconds, and so are the records that it holds.
GROUP_CONFIG = {
    f"group.{kind}.{name}.ms": milliseconds
    for kind in ("consumer", "share")
    for name, milliseconds in {
        "session.timeout": "6000",
        "min.session.timeout": "6000",
        "heartbeat.interval": "1000",
        "min.heartbeat.interval": "1000",
    }.items()
} | {
    "group.share.record.lock.duration.ms": "4000",
    "group.share.min.record.lock.duration.ms": "1000",
}
SAFE_DOWNGRADE = 2
UPGRADE = 1
APACHE_CONFIG = {
    "transaction.state.log.num.partitions": "6",
    "share.coordinator.state.topic.num.partitions": "6",
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "1000",
    # A node that is killed or stopped is noticed in seconds, and leads again soon after its return.
    "broker.session.timeout.ms": "3000",
    "broker.heartbeat.interval.ms": "500",
    "auto.leader.rebalance.enable": "true",
    "leader.imbalance.check.interval.seconds": "10",
    "leader.imbalance.per.broker.percentage": "0",
} | GROUP_CONFIG


class Node(Protocol):
    """A process that serves clients, on the same port after each start."""

    proxied_port: int
    """Where it serves those clients that come through the proxy."""
    proxy_port: int
    """Where it sends these clients to."""

    @property
    def pid(self) -> int: ...

    def kill(self) -> None:
        """Kill it with SIGKILL."""

    def shut_down(self) -> None:
        """Let it end cleanly."""

    def launch(self) -> None:
        """Start it on the data that it left, and do not wait until it serves."""

    def wait(self) -> None:
        """Wait until it serves."""

    @property
    def has_started(self) -> bool:
        """Whether it serves."""


class ReferenceNode:
    """The reference broker, in a process of its own."""

    def __init__(self, folder: Path) -> None:
        self.proxied_port, self.proxy_port = free_ports(2)
        self.has_started = False
        self._log: IO[bytes] = (folder / "broker.log").open("ab")
        self._process = BrokerProcess(
            folder / "broker",
            "--advertise",
            f"127.0.0.1:{self.proxy_port}",
            *_options({"transaction.two.phase.commit.enable": "true"} | GROUP_CONFIG),
            port=self.proxied_port,
            log=self._log,
        )

    @property
    def pid(self) -> int:
        return self._process.process.pid

    def kill(self) -> None:
        self.has_started = False
        self._process.kill()

    def shut_down(self) -> None:
        self.has_started = False
        self._process.terminate()

    def launch(self) -> None:
        self._process.start()
        self.has_started = True

    def wait(self) -> None:
        """Do nothing: it serves once it is launched."""


def _options(config: dict[str, str]) -> list[str]:
    """Return the options of ``pyk broker`` for a configuration."""
    return [text for name, value in config.items() for text in ("--config", f"{name}={value}")]


class ChaosCluster:
    """Nodes behind proxies. ``bootstrap`` is for clients.

    ``to_lose`` names responses that are to be lost, ``to_delay`` requests that are to arrive late,
    with seconds.
    """

    def __init__(self, broker: str, folder: Path) -> None:
        self.broker = broker
        self.to_lose: list[ApiKey] = []
        self.to_delay: dict[ApiKey, float] = {}
        self._stack = ExitStack()
        self._folder = folder

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            self.nodes = self._start(stack)
            self._proxies = [
                stack.enter_context(
                    Proxy(node.proxy_port, node.proxied_port, self.to_lose, self.to_delay)
                )
                for node in self.nodes
            ]
            self._stack = stack.pop_all()
        self.bootstrap = ",".join(f"127.0.0.1:{node.proxy_port}" for node in self.nodes)
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def _start(self, stack: ExitStack) -> list[Node]:
        if self.broker == "apache":
            cluster = ApacheKafkaCluster(3, config=APACHE_CONFIG, folder=self._folder)
            return list(stack.enter_context(cluster).nodes)
        node = ReferenceNode(self._folder)
        node.launch()
        stack.callback(node.kill)
        return [node]

    @property
    def is_whole(self) -> bool:
        """Whether all nodes serve."""
        return all(node.has_started for node in self.nodes)

    def wait(self) -> None:
        """Wait until all nodes serve."""
        for node in self.nodes:
            node.wait()

    def freeze(self, node: Node) -> None:
        os.kill(node.pid, signal.SIGSTOP)

    def thaw(self, node: Node) -> None:
        os.kill(node.pid, signal.SIGCONT)

    def cut_connections(self) -> None:
        """Close the connections of all clients to all nodes."""
        for proxy in self._proxies:
            proxy.cut()

    def finalize_transaction_version(self, level: int) -> int:
        """Switch ``transaction.version``; return the error code, that of a timeout without an
        answer: nodes of a busy machine may take long."""
        try:
            return asyncio.run(self._finalize(level))
        except TimeoutError:
            return int(ErrorCode.REQUEST_TIMED_OUT)

    async def _finalize(self, level: int) -> int:
        kind = UPGRADE if level == 2 else SAFE_DOWNGRADE
        update = FeatureUpdateKey(
            feature="transaction.version", max_version_level=level, upgrade_type=kind
        )
        async with RawClient(self.bootstrap) as client:
            response = await client.ask(UpdateFeaturesRequest(feature_updates=[update]))
        return int(response.error_code)


def why_not(broker: str) -> str | None:
    """Return why this broker cannot run here, None if it can."""
    return missing() if broker == "apache" else None
