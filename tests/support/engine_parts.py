"""A client of the engine on an in-memory network, with defaults that suit tests."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from pyk.clients.config import ClientConfig
from pyk.clients.engine.client import Client
from pyk.runtime.network import MemoryNetwork
from support.environments import client_options
from support.scripted_broker import ScriptedCluster


def make_client(cluster: ScriptedCluster, **options: Any) -> Client:
    """Return a client of a cluster that is not started yet."""
    config = ClientConfig.from_kwargs(options.pop("bootstrap", "broker1:9092"), **options)
    return Client(config, **client_options(cluster.network))


@asynccontextmanager
async def running(
    nodes: int = 1, *, latency: float = 0.0, **options: Any
) -> AsyncIterator[tuple[ScriptedCluster, Client]]:
    """Run a scripted cluster and a client that has found it."""
    async with ScriptedCluster(MemoryNetwork(latency=latency), nodes) as cluster:
        client = make_client(cluster, **options)
        await client.start()
        try:
            yield cluster, client
        finally:
            await client.close()
