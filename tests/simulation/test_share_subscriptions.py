"""What share consumers subscribe to, before they are started and afterwards."""

from __future__ import annotations

import asyncio
from random import Random

import pytest

from pyk.clients import AsyncShareConsumer
from pyk.clients.errors import ClosedError, StateError, TopicAuthorizationFailedError
from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.metadata import MetadataRequest
from pyk.protocol.messages.share_group_heartbeat import ShareGroupHeartbeatRequest
from pyk.runtime.virtual_time import virtual_time
from support.share_cluster import ShareCluster
from support.share_consuming import share_cluster, share_consumer, values_of


def forbid(cluster: ShareCluster, name: str) -> None:
    cluster.add_topic(name, [1], epoch=1).error_code = ErrorCode.TOPIC_AUTHORIZATION_FAILED


def subscribed(cluster: ShareCluster) -> list[list[str]]:
    """Return what each heartbeat of a member subscribes to, where it says that."""
    beats = [one.message for one in cluster.requests(ShareGroupHeartbeatRequest)]
    return [beat.subscribed_topic_names for beat in beats if beat.subscribed_topic_names]


@virtual_time
async def test_a_subscription_before_the_start_counts_instead_of_the_first_topics():
    async with share_cluster() as cluster:
        cluster.produce(b"a")
        consumer = share_consumer(cluster, topics=["bills"])
        consumer.subscribe(["orders"])

        async with consumer:
            assert await values_of(consumer, 1) == [b"a"]

        assert subscribed(cluster) == [["orders"]]


@virtual_time
async def test_a_consumer_without_topics_is_well_and_reads_nothing_before_it_subscribes():
    async with share_cluster() as cluster, share_consumer(cluster, topics=None) as consumer:
        cluster.produce(b"a")
        assert consumer.health().is_healthy
        with pytest.raises(StateError, match="nothing to read"):
            await consumer.poll(1)

        consumer.subscribe(["orders"])

        assert await values_of(consumer, 1) == [b"a"]


@pytest.mark.parametrize("end", ["subscribe", "unsubscribe"])
@virtual_time
async def test_errors_of_topics_that_are_not_subscribed_any_more_are_not_told(end: str):
    async with share_cluster() as cluster, share_consumer(cluster, topics=["bills"]) as consumer:
        cluster.produce(b"a")
        forbid(cluster, "bills")
        with pytest.raises(TopicAuthorizationFailedError):
            await consumer.poll(5)
        await asyncio.sleep(5)  # metadata have said it again
        assert list(consumer.health().topics) == ["bills"]

        if end == "unsubscribe":
            await consumer.unsubscribe()
            assert consumer.health().topics == {}
        consumer.subscribe(["orders"])

        assert consumer.health().topics == {}
        assert await values_of(consumer, 1) == [b"a"]


@virtual_time
async def test_metadata_are_not_asked_for_topics_that_were_unsubscribed():
    async with share_cluster() as cluster, share_consumer(cluster) as consumer:
        await consumer.poll(1)
        await consumer.unsubscribe()
        asked = len(cluster.requests(MetadataRequest))
        consumer._core.client.metadata_keeper.request_update()
        await asyncio.sleep(5)

        later = cluster.requests(MetadataRequest)[asked:]
        assert later
        assert not any(topic.name == "orders" for one in later for topic in one.message.topics)


@virtual_time
async def test_a_topic_that_is_created_later_is_found_soon():
    async with share_cluster() as cluster, share_consumer(cluster, topics=["bills"]) as consumer:
        cluster.assigned = []
        await consumer.poll(10)
        assert list(consumer.health().topics) == ["bills"]
        cluster.add_topic("bills", [1], epoch=1)

        await consumer.poll(5)

        assert consumer.health().topics == {}


@virtual_time
async def test_access_to_a_topic_that_is_granted_later_is_noticed_soon():
    async with share_cluster() as cluster, share_consumer(cluster, topics=["bills"]) as consumer:
        cluster.assigned = []
        forbid(cluster, "bills")
        with pytest.raises(TopicAuthorizationFailedError):
            await consumer.poll(5)
        cluster.topics["bills"].error_code = ErrorCode.NONE
        await asyncio.sleep(5)

        assert consumer.health().topics == {}


@virtual_time
async def test_metadata_are_left_alone_while_all_is_well():
    async with share_cluster() as cluster, share_consumer(cluster) as consumer:
        await consumer.poll(5)
        asked = len(cluster.requests(MetadataRequest))

        await consumer.poll(60)

        assert len(cluster.requests(MetadataRequest)) == asked


@pytest.mark.parametrize("call", ["unsubscribe", "commit"])
@virtual_time
async def test_a_closed_consumer_takes_no_calls(call: str):
    async with share_cluster() as cluster:
        consumer = share_consumer(cluster)
        await consumer.poll(1)
        await consumer.close()

        with pytest.raises(ClosedError):
            await getattr(consumer, call)()
        with pytest.raises(ClosedError):
            consumer.commit_async()
        with pytest.raises(ClosedError):
            consumer.subscribe(["orders"])


@pytest.mark.parametrize("may_create", [False, True])
@virtual_time
async def test_topics_are_created_by_asking_for_them_only_if_that_is_allowed(may_create: bool):
    async with (
        share_cluster() as cluster,
        share_consumer(cluster, topics=["bills"], allow_auto_create_topics=may_create) as consumer,
    ):
        await consumer.poll(1)

        asked = [one.message for one in cluster.requests(MetadataRequest)]
        assert any(one.allow_auto_topic_creation for one in asked) is may_create


@virtual_time
async def test_a_consumer_uses_the_random_numbers_that_it_is_given():
    random = Random(7)
    consumer: AsyncShareConsumer[bytes, bytes] = AsyncShareConsumer(
        "broker1:9092", group_id="g", random=random
    )

    assert consumer._core.client.random is random
