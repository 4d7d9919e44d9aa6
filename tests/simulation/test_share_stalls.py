"""A leader that fails or hangs keeps no records of other leaders from a share consumer."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from pyk.protocol.messages.share_fetch import ShareFetchRequest
from pyk.runtime.virtual_time import current_clock, virtual_time
from support.share_consuming import share_cluster, share_consumer

MODES = ("batch_optimized", "record_limit")


async def hang(request: ShareFetchRequest) -> Any:
    await asyncio.sleep(3600)


async def seconds_of_polls(consumer: Any, cluster: Any, count: int) -> float:
    """Return how long it took to poll so many records of the second partition, one by one."""
    began = current_clock().now()
    for number in range(count):
        cluster.produce(b"%d" % number, partition=1)
        [record] = await consumer.poll(None)
        assert record.value == b"%d" % number
    return current_clock().now() - began


@pytest.mark.parametrize("mode", MODES)
@virtual_time
async def test_a_leader_that_is_down_does_not_hold_up_the_others(mode: str):
    async with (
        share_cluster(nodes=2, partitions=2) as cluster,
        share_consumer(cluster, share_acquire_mode=mode) as consumer,
    ):
        cluster.coordinator_id = 2
        await seconds_of_polls(consumer, cluster, 2)

        await cluster.kill(1)

        assert await asyncio.wait_for(seconds_of_polls(consumer, cluster, 5), 120) < 20


@pytest.mark.parametrize("mode", MODES)
@virtual_time
async def test_a_node_that_leads_nothing_any_more_is_not_asked_nor_waited_for(mode: str):
    async with (
        share_cluster(nodes=2, partitions=2) as cluster,
        share_consumer(cluster, share_acquire_mode=mode) as consumer,
    ):
        await seconds_of_polls(consumer, cluster, 2)
        cluster.move(0, 2)
        await seconds_of_polls(consumer, cluster, 2)
        before = fetches_at(cluster, 1)

        assert await asyncio.wait_for(seconds_of_polls(consumer, cluster, 5), 60) < 5
        assert fetches_at(cluster, 1) == before


def fetches_at(cluster: Any, node_id: int) -> int:
    return sum(one.node_id == node_id for one in cluster.requests(ShareFetchRequest))


@pytest.mark.parametrize("mode", MODES)
@virtual_time
async def test_a_leader_that_hangs_does_not_hold_up_the_others(mode: str):
    async with (
        share_cluster(nodes=2, partitions=2) as cluster,
        share_consumer(cluster, share_acquire_mode=mode) as consumer,
    ):
        await seconds_of_polls(consumer, cluster, 2)

        fetch = cluster._handlers[ShareFetchRequest.api_key]
        cluster.on(
            ShareFetchRequest,
            lambda request: hang(request) if cluster.received[-1].node_id == 1 else fetch(request),
        )

        assert await asyncio.wait_for(seconds_of_polls(consumer, cluster, 5), 600) < 20
