"""Groups when the topic that stores them is deleted."""

from __future__ import annotations

import asyncio

from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.delete_topics import DeleteTopicsRequest
from pyk.reference_broker import AsyncCluster
from support.broker_requests import find_coordinator, join
from support.raw_client import RawClient


async def test_waiting_members_get_not_coordinator_when_the_offsets_topic_is_deleted() -> None:
    config = {"group.initial.rebalance.delay.ms": 60_000}
    async with (
        AsyncCluster(config=config) as cluster,
        RawClient(cluster.bootstrap) as member,
        RawClient(cluster.bootstrap) as admin,
    ):
        await member.ask(find_coordinator())
        joined = await member.ask(join())
        waiting = asyncio.ensure_future(member.ask(join(joined.member_id)))
        await admin.ask(find_coordinator())

        await admin.ask(DeleteTopicsRequest(topic_names=["__consumer_offsets"]), 5)

        assert (await waiting).error_code == ErrorCode.NOT_COORDINATOR
