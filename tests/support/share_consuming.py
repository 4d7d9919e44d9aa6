"""Share consumers in virtual time, beside brokers that keep a share group."""

from __future__ import annotations

import itertools
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from random import Random
from typing import Any

from pyk.clients import (
    AlterConfig,
    AsyncAdmin,
    AsyncShareConsumer,
    ConfigResource,
    ConfigResourceType,
)
from pyk.reference_broker import AsyncCluster
from pyk.runtime.network import MemoryNetwork
from pyk.runtime.virtual_time import current_clock
from support.consuming import network_of
from support.environments import client_options
from support.share_cluster import ShareCluster

_seeds = itertools.count(1)


@asynccontextmanager
async def share_cluster(**options: Any) -> AsyncIterator[ShareCluster]:
    """Run brokers with a share group in virtual time."""
    async with ShareCluster(MemoryNetwork(latency=0.001), **options) as cluster:
        yield cluster


def share_consumer(cluster: ShareCluster, **options: Any) -> AsyncShareConsumer[bytes, bytes]:
    """Return a share consumer of the topic ``orders`` that is not started yet."""
    return AsyncShareConsumer(
        cluster.bootstrap,
        topics=options.pop("topics", ["orders"]),
        group_id="g",
        clock=current_clock(),
        network=cluster.network,
        random=Random(next(_seeds)),
        **options,
    )


async def sharing_orders(cluster: AsyncCluster) -> AsyncShareConsumer[bytes, bytes]:
    """Return a share consumer of the reference broker, whose group begins at the beginning."""
    clients = client_options(network_of(cluster))
    async with AsyncAdmin(cluster.bootstrap, **clients) as admin:
        group = ConfigResource(ConfigResourceType.GROUP, "g")
        changes = [AlterConfig("share.auto.offset.reset", "earliest")]
        await admin.incremental_alter_configs({group: changes})
    environment = {**clients, "random": Random(next(_seeds))}
    return AsyncShareConsumer(cluster.bootstrap, topics=["orders"], group_id="g", **environment)


async def values_of(consumer: AsyncShareConsumer[Any, Any], count: int) -> list[Any]:
    """Return the values of at least so many records, read with polls."""
    values: list[Any] = []
    while len(values) < count:
        values += [record.value for record in await consumer.poll(5)]
    return values
