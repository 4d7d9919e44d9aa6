"""How share consumers end, and leave their group."""

from __future__ import annotations

import asyncio

import pytest

from pyk.clients.errors import StateError
from pyk.protocol.messages.share_acknowledge import ShareAcknowledgeRequest
from pyk.protocol.messages.share_group_heartbeat import ShareGroupHeartbeatRequest
from pyk.runtime.virtual_time import virtual_time
from support.scripted_broker import SILENCE
from support.share_consuming import share_cluster, share_consumer, values_of


@pytest.mark.parametrize("seconds", [0, 60])
@pytest.mark.parametrize("silent", [ShareAcknowledgeRequest, ShareGroupHeartbeatRequest])
@virtual_time
async def test_an_unsubscribe_that_is_cancelled_reads_nothing_more_and_may_subscribe_again(
    silent, seconds
):
    async with share_cluster() as cluster, share_consumer(cluster) as consumer:
        cluster.produce(b"a", b"b")
        await consumer.poll(5, max_records=1)
        cluster.once(silent, SILENCE)
        unsubscribing = asyncio.create_task(consumer.unsubscribe())
        await asyncio.sleep(1)
        unsubscribing.cancel()
        await asyncio.wait({unsubscribing})

        with pytest.raises(StateError, match="nothing to read: call subscribe"):
            await consumer.poll(1)
        await asyncio.sleep(seconds)
        assert consumer.health().partitions == {}
        consumer.subscribe(["orders"])
        assert await values_of(consumer, 2) == [b"a", b"b"]
        heartbeats = [one.message for one in cluster.requests(ShareGroupHeartbeatRequest)]
        assert [one.member_epoch for one in heartbeats].count(-1) == 1
