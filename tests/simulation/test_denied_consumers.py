"""A consumer that may not read raises at once, and goes on by itself when it may."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from pyk.clients import TopicPartition
from pyk.clients.errors import (
    GroupAuthorizationFailedError,
    TopicAuthorizationFailedError,
)
from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
)
from pyk.runtime.virtual_time import current_clock, virtual_time
from support.administering import fetched
from support.consuming import fetching, make_consumer
from support.fetching_cluster import FetchingCluster

SECRET = TopicPartition("secret", 0)
AT_ONCE = 2.0


@asynccontextmanager
async def at_once() -> AsyncIterator[None]:
    """Check that a block takes seconds, not until a timeout."""
    began = current_clock().now()
    yield
    assert current_clock().now() - began < AT_ONCE


def hide(cluster: FetchingCluster) -> None:
    cluster.add_topic("secret", [1])
    cluster.deny("secret")


@virtual_time
@pytest.mark.parametrize("call", ["beginning_offsets", "end_offsets"])
async def test_offsets_of_a_denied_topic_are_refused_until_it_is_allowed(call):
    async with fetching() as (cluster, consumer):
        hide(cluster)
        for _ in range(2):
            async with at_once():
                with pytest.raises(TopicAuthorizationFailedError, match="secret"):
                    await getattr(consumer, call)([SECRET])
        cluster.deny()

        async with at_once():
            assert await getattr(consumer, call)([SECRET]) == {SECRET: 0}


@virtual_time
async def test_times_in_a_denied_topic_are_refused_until_it_is_allowed():
    async with fetching() as (cluster, consumer):
        hide(cluster)
        async with at_once():
            with pytest.raises(TopicAuthorizationFailedError, match="secret"):
                await consumer.offsets_for_times({SECRET: 1})
        cluster.deny()

        async with at_once():
            assert SECRET in await consumer.offsets_for_times({SECRET: 1})


@virtual_time
async def test_a_position_in_a_denied_topic_is_refused_until_it_is_allowed():
    async with fetching() as (cluster, consumer):
        hide(cluster)
        consumer.assign([SECRET])
        for _ in range(2):
            async with at_once():
                with pytest.raises(TopicAuthorizationFailedError, match="secret"):
                    await consumer.position(SECRET)
        cluster.deny()

        async with at_once():
            assert await consumer.position(SECRET) == 0


@virtual_time
async def test_a_position_of_a_denied_group_is_refused_until_it_is_allowed():
    async with fetching() as (cluster, _):
        denied = OffsetFetchResponseGroup(
            group_id="g", error_code=ErrorCode.GROUP_AUTHORIZATION_FAILED
        )
        cluster.on(OffsetFetchRequest, OffsetFetchResponse(groups=[denied]))
        consumer = make_consumer(cluster, group_id="g")
        async with consumer:
            consumer.assign([("orders", 0)])
            for _ in range(2):
                async with at_once():
                    with pytest.raises(GroupAuthorizationFailedError, match="group 'g'"):
                        await consumer.position(("orders", 0))
            cluster.on(OffsetFetchRequest, fetched("orders", 0, 0))

            async with at_once():
                assert await consumer.position(("orders", 0)) == 0
