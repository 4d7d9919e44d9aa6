"""Throttled clients on sockets: a broker that reads nothing of them would not see them leave."""

from __future__ import annotations

import asyncio

from pyk.reference_broker import AsyncCluster
from support.broker_requests import create_topic, produce
from support.quotas import limit
from support.raw_client import RawClient, batch
from support.real_time import IN_TIME


async def test_a_client_that_leaves_while_it_is_throttled_is_gone() -> None:
    async with AsyncCluster() as cluster:
        (broker,) = cluster._brokers.values()
        assert broker._listener is not None
        async with RawClient(cluster.bootstrap) as client:
            await client.ask(create_topic())
            await client.ask(limit({"client-id": None}, producer_byte_rate=1))
            throttled = await client.ask(produce(batch(bytes(1000))), 12)

        async with asyncio.timeout(IN_TIME):
            while broker._listener.connection_count:
                await asyncio.sleep(0)

    assert throttled.throttle_time_ms > 10 * IN_TIME * 1000
