"""Consumers and admin clients ask for metadata of the topics in use, and of no others."""

from __future__ import annotations

import asyncio

import pytest

from pyk.clients import AsyncAdmin, TopicPartition
from pyk.clients.errors import TopicAuthorizationFailedError
from pyk.clients.offsets import OffsetSpec
from pyk.protocol.messages.metadata import MetadataRequest
from pyk.runtime.virtual_time import current_clock, virtual_time
from support.consuming import P0, fetching, make_consumer, reference_cluster
from support.environments import client_options


def topics_asked_for(cluster):
    topics = cluster.requests(MetadataRequest)[-1].message.topics
    return None if topics is None else [topic.name for topic in topics]


@virtual_time
async def test_a_consumer_with_other_topics_stops_asking_for_the_former_ones():
    async with fetching(metadata_max_age_ms=1_000) as (cluster, consumer):
        cluster.add_topic("payments", [1])
        consumer.assign([TopicPartition("payments", 0)])
        await asyncio.sleep(3)
        assert topics_asked_for(cluster) == ["payments"]

        await consumer.unsubscribe()
        consumer.subscribe(pattern="ord.*")
        await asyncio.sleep(3)
        assert topics_asked_for(cluster) is None

        await consumer.unsubscribe()
        consumer.assign([P0])
        await asyncio.sleep(3)
        assert topics_asked_for(cluster) == ["orders"]


@virtual_time
async def test_a_topic_whose_offsets_were_looked_up_is_not_asked_for_again():
    async with fetching(metadata_max_age_ms=1_000) as (cluster, consumer):
        cluster.add_topic("payments", [1])
        await consumer.end_offsets([TopicPartition("payments", 0)])
        await asyncio.sleep(3)

        assert "payments" not in topics_asked_for(cluster)


@virtual_time
async def test_an_admin_client_sees_a_grant_and_forgets_the_topic():
    async with fetching() as (cluster, _):
        admin = AsyncAdmin(
            "broker1:9092",
            **client_options(cluster.network),
            metadata_max_age_ms=1_000,
        )
        async with admin:
            cluster.deny("orders")
            with pytest.raises(TopicAuthorizationFailedError):
                await admin.list_offsets({P0: OffsetSpec.LATEST})
            cluster.deny()

            await admin.list_offsets({P0: OffsetSpec.LATEST})

            await asyncio.sleep(3)
            assert topics_asked_for(cluster) == []


@virtual_time
async def test_a_deleted_topic_does_not_come_back_because_it_is_read():
    async with fetching(metadata_max_age_ms=1_000) as (cluster, consumer):

        def create(request):
            for topic in request.topics or ():
                if request.allow_auto_topic_creation and topic.name not in cluster.topics:
                    cluster.add_topic(topic.name, [1])
            return cluster.metadata(request)

        cluster.on(MetadataRequest, create)
        await consumer.poll(timeout=1)
        del cluster.topics["orders"]

        await asyncio.sleep(5)

        assert "orders" not in cluster.topics


@virtual_time
async def test_a_consumer_that_leads_its_group_no_more_forgets_the_topics_of_the_others():
    async with reference_cluster() as cluster:
        for topic in ("orders", "payments"):
            await cluster.create_topic(topic)
        options = {"group_id": "g", "heartbeat_interval_ms": 500}
        first = make_consumer(cluster, topics=["orders"], **options)
        async with first, make_consumer(cluster, topics=["payments"], **options) as other:
            leader, follower = first, other
            await poll_both(first, other, lambda: has_topics(leader, {"orders", "payments"}))

            await leader.unsubscribe()
            leader.subscribe(["orders"])
            await poll_both(first, other, lambda: has_topics(follower, {"orders", "payments"}))

            await poll_both(first, other, lambda: has_topics(leader, {"orders"}))


async def poll_both(first, other, until):
    deadline = current_clock().now() + 60
    while not until():
        assert current_clock().now() < deadline
        await asyncio.gather(first.poll(0.2), other.poll(0.2))


def has_topics(consumer, topics):
    return consumer._core.client.metadata_keeper.interest.topics == topics
