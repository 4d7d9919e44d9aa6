"""An admin client beside brokers that follow a script, in virtual time."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from pyk.clients import AsyncAdmin, TopicPartition
from pyk.protocol.messages.list_offsets import (
    ListOffsetsPartitionResponse,
    ListOffsetsTopicResponse,
)
from pyk.protocol.messages.offset_fetch import (
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartition,
    OffsetFetchResponsePartitions,
    OffsetFetchResponseTopic,
    OffsetFetchResponseTopics,
)
from pyk.runtime.network import MemoryNetwork
from pyk.runtime.virtual_time import current_clock
from support.environments import client_options
from support.scripted_broker import ScriptedCluster

ORDERS = TopicPartition("orders", 0)


@asynccontextmanager
async def administered(nodes: int = 1, **options: Any) -> AsyncIterator[Any]:
    """Run a scripted cluster and an admin client of it."""
    async with ScriptedCluster(MemoryNetwork(), nodes) as cluster:
        admin = AsyncAdmin(
            "broker1:9092",
            **client_options(cluster.network),
            **options,
        )
        async with admin:
            yield cluster, admin
        await asyncio.sleep(0.01)
        assert asyncio.all_tasks() == {asyncio.current_task()}


async def let_control(node_id: int, cluster: ScriptedCluster, admin: AsyncAdmin) -> None:
    """Make a node the controller, and wait until the client knows."""
    cluster.controller_id = node_id
    admin._core.client.metadata_keeper.request_update()
    await admin._core.client.metadata_keeper.updated(1, current_clock().now() + 1)


def listed(topic: str, partition: int, offset: int, code: int = 0) -> ListOffsetsTopicResponse:
    """Return a leader's response to ListOffsets for one partition."""
    found = ListOffsetsPartitionResponse(
        partition_index=partition, offset=offset, error_code=code, leader_epoch=4
    )
    return ListOffsetsTopicResponse(name=topic, partitions=[found])


def fetched(
    topic: str,
    partition: int,
    offset: int,
    *,
    version: int = 9,
    note: str = "",
    leader_epoch: int = -1,
    code: int = 0,
) -> OffsetFetchResponse:
    """Return a coordinator's response, in a version, to OffsetFetch of group ``g``."""
    one: dict[str, Any] = {
        "partition_index": partition,
        "committed_offset": offset,
        "committed_leader_epoch": leader_epoch,
        "metadata": note,
        "error_code": code,
    }
    if version < 8:
        old = OffsetFetchResponseTopic(name=topic, partitions=[OffsetFetchResponsePartition(**one)])
        return OffsetFetchResponse(topics=[old])
    new = OffsetFetchResponseTopics(name=topic, partitions=[OffsetFetchResponsePartitions(**one)])
    return OffsetFetchResponse(groups=[OffsetFetchResponseGroup(group_id="g", topics=[new])])
