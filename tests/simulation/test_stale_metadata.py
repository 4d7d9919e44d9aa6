"""Metadata that are wrong for a while: topics left out, called unknown, or named by an old id."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from uuid import UUID

import attrs
import pytest

from pyk.clients import AsyncConsumer
from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.list_offsets import ListOffsetsRequest, ListOffsetsResponse
from pyk.protocol.messages.metadata import MetadataRequest, MetadataResponse
from pyk.protocol.messages.offset_fetch import OffsetFetchRequest, OffsetFetchResponse
from pyk.runtime.virtual_time import current_clock, virtual_time
from support.administering import fetched
from support.consuming import P0, fetching, make_consumer, produce, reference_cluster
from support.fetching_cluster import FetchingCluster
from support.stale_metadata import name_another_id

POLICIES = pytest.mark.parametrize("policy", ["earliest", "latest"])
NEW_ID = UUID(int=0xBEEF)
SUBSCRIPTIONS = pytest.mark.parametrize(
    "subscription", [{"topics": ["orders"]}, {"pattern": "ord.*"}], ids=["names", "pattern"]
)


@asynccontextmanager
async def reading(
    **options: Any,
) -> AsyncIterator[tuple[FetchingCluster, AsyncConsumer[Any, Any]]]:
    """Run scripted brokers and a consumer that is not subscribed yet, unless options say so."""
    async with fetching() as (cluster, _), make_consumer(cluster, **options) as consumer:
        yield cluster, consumer


async def poll(consumer: AsyncConsumer[Any, Any], seconds: float) -> list[bytes]:
    values: list[bytes] = []
    until = current_clock().now() + seconds
    while current_clock().now() < until:
        values += [record.value for record in await consumer.poll(0.1)]
    return values


def append_everywhere(cluster: FetchingCluster, values: range) -> list[bytes]:
    """Write values to the partitions in turn and return them."""
    written = [b"%d" % value for value in values]
    partition_count = len(cluster.topics["orders"].leaders)
    for value in values:
        cluster.append([b"%d" % value], partition=value % partition_count)
    return written


def ask_for_metadata(consumer: AsyncConsumer[Any, Any]) -> None:
    consumer._core.client.metadata_keeper.request_update()


def without_topics(cluster: FetchingCluster) -> Any:
    def answer(request: MetadataRequest) -> MetadataResponse:
        response = cluster.metadata(request)
        response.topics = []
        return response

    return answer


@POLICIES
@virtual_time
async def test_a_pattern_survives_an_answer_that_leaves_the_topic_out(policy):
    async with reading(auto_offset_reset=policy) as (cluster, consumer):
        consumer.subscribe(pattern="ord.*")
        await poll(consumer, 1)
        before = append_everywhere(cluster, range(30))
        assert sorted(await poll(consumer, 1)) == sorted(before)

        cluster.once(MetadataRequest, without_topics(cluster))
        ask_for_metadata(consumer)
        after = append_everywhere(cluster, range(30, 60))

        assert sorted(await poll(consumer, 3)) == sorted(after)
        assert len(consumer.assignment()) == 3


@virtual_time
async def test_a_pattern_in_a_group_survives_an_answer_that_leaves_the_topic_out():
    async with reference_cluster() as cluster:
        await cluster.create_topic("orders", partitions=2)
        async with make_consumer(cluster, group_id="g", metadata_max_age_ms=1000) as consumer:
            consumer.subscribe(pattern="ord.*")
            await poll(consumer, 2)
            generation = consumer._core.group.membership.standing.identity

            leave_out_topics_once(consumer)
            await produce(cluster, "orders", 10, partitions=2)

            assert len(await poll(consumer, 5)) == 10
            assert consumer._core.group.membership.standing.identity == generation


def leave_out_topics_once(consumer: AsyncConsumer[Any, Any]) -> None:
    """Let the next answer with metadata name no topics."""
    source: Any = consumer._core.client.metadata_keeper._source
    plain = source._ask

    async def ask(node_id: int, **more: Any) -> Any:
        source._ask = plain
        return attrs.evolve(await plain(node_id, **more), topics=())

    source._ask = ask


@SUBSCRIPTIONS
@POLICIES
@virtual_time
async def test_a_topic_that_is_unknown_for_long_and_comes_back_is_read_on(policy, subscription):
    async with reading(auto_offset_reset=policy) as (cluster, consumer):
        consumer.subscribe(**subscription)
        await poll(consumer, 1)
        before = append_everywhere(cluster, range(30))
        assert sorted(await poll(consumer, 1)) == sorted(before)

        if "pattern" in subscription:
            cluster.on(MetadataRequest, without_topics(cluster))
        cluster.topics["orders"].error_code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        ask_for_metadata(consumer)
        during = await poll(consumer, 10)
        assert consumer.assignment() == set()
        assert consumer.subscription() == set(subscription.get("topics", ()))
        after = append_everywhere(cluster, range(30, 60))
        cluster.topics["orders"].error_code = ErrorCode.NONE
        cluster.on(MetadataRequest, cluster.metadata)

        ask_for_metadata(consumer)
        assert sorted(during + await poll(consumer, 5)) == sorted(after)


@SUBSCRIPTIONS
@pytest.mark.parametrize("is_located", [True, False])
@virtual_time
async def test_a_partition_is_still_paused_when_its_topic_comes_back(subscription, is_located):
    async with reading() as (cluster, consumer):
        if not is_located:
            cluster.on(ListOffsetsRequest, not_yet(cluster))
        consumer.subscribe(**subscription)
        await poll(consumer, 1)
        consumer.pause(P0)
        cluster.topics["orders"].error_code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        ask_for_metadata(consumer)
        await poll(consumer, 10)
        assert consumer.paused() == set()

        cluster.topics["orders"].error_code = ErrorCode.NONE
        cluster.on(ListOffsetsRequest, cluster.list_offsets)
        written = append_everywhere(cluster, range(30))
        ask_for_metadata(consumer)

        of_others = await poll(consumer, 40)
        assert consumer.paused() == {P0}
        assert sorted(of_others) == sorted(v for v in written if int(v) % 3 != 0)
        consumer.resume(P0)
        assert sorted(of_others + await poll(consumer, 5)) == sorted(written)


def not_yet(cluster: FetchingCluster) -> Any:
    def answer(request: ListOffsetsRequest) -> ListOffsetsResponse:
        response = cluster.list_offsets(request)
        for topic in response.topics:
            for partition in topic.partitions:
                partition.error_code = ErrorCode.LEADER_NOT_AVAILABLE
        return response

    return answer


@pytest.mark.parametrize("error", [ErrorCode.NONE, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION])
@virtual_time
async def test_another_subscription_forgets_where_a_topic_was_read(error):
    async with reading(topics=["orders"]) as (cluster, consumer):
        await poll(consumer, 1)
        written = append_everywhere(cluster, range(30))
        assert len(await poll(consumer, 1)) == 30
        cluster.topics["orders"].error_code = error
        ask_for_metadata(consumer)
        await poll(consumer, 10)
        assert (consumer.assignment() == set()) is (error is not ErrorCode.NONE)

        consumer.subscribe(["payments"])
        cluster.topics["orders"].error_code = ErrorCode.NONE
        consumer.subscribe(["orders"])

        assert sorted(await poll(consumer, 5)) == sorted(written)


@POLICIES
@virtual_time
async def test_a_topic_that_is_created_again_after_a_while_is_read_from_its_beginning(policy):
    async with reading(topics=["orders"], auto_offset_reset=policy) as (cluster, consumer):
        await poll(consumer, 1)
        append_everywhere(cluster, range(30))
        assert len(await poll(consumer, 1)) == 30

        cluster.topics["orders"].error_code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        ask_for_metadata(consumer)
        await poll(consumer, 10)
        recreate(cluster)
        written = append_everywhere(cluster, range(100, 106))

        assert sorted(await poll(consumer, 5)) == sorted(written)


def recreate(cluster: FetchingCluster) -> None:
    cluster.logs.clear()
    cluster.topics["orders"].topic_id = NEW_ID
    cluster.topics["orders"].error_code = ErrorCode.NONE


@POLICIES
@pytest.mark.parametrize("count", [1, 2, 5])
@virtual_time
async def test_answers_with_the_id_of_a_deleted_topic_do_not_rewind_the_new_one(count, policy):
    async with reading(topics=["orders"], auto_offset_reset=policy, metadata_max_age_ms=500) as (
        cluster,
        consumer,
    ):
        await poll(consumer, 1)
        old_id = cluster.topics["orders"].topic_id
        recreate(cluster)
        await poll(consumer, 2)
        before = append_everywhere(cluster, range(30))
        assert sorted(await poll(consumer, 2)) == sorted(before)

        cluster.once(MetadataRequest, *[with_topic_id(cluster, old_id)] * count)
        ask_for_metadata(consumer)
        after = append_everywhere(cluster, range(30, 60))

        assert sorted(await poll(consumer, 10)) == sorted(after)


@pytest.mark.parametrize("count", [1, 2, 5])
@virtual_time
async def test_answers_with_the_id_of_a_deleted_topic_take_nothing_from_a_member(count):
    async with reference_cluster() as cluster:
        await cluster.create_topic("orders")
        async with make_consumer(
            cluster, topics=["orders"], group_id="g", group_protocol="consumer"
        ) as consumer:
            await poll(consumer, 2)
            await produce(cluster, "orders", 5)
            assert len(await poll(consumer, 2)) == 5

            name_another_id(consumer, count)
            await poll(consumer, 0.5)
            await produce(cluster, "orders", 3)

            assert await poll(consumer, 2) == [b"0", b"1", b"2"]
            assert await poll(consumer, 10) == []
            await consumer.commit()
            assert [one.offset for one in (await consumer.committed([P0])).values() if one] == [8]


@virtual_time
async def test_a_committed_offset_of_a_deleted_topic_that_comes_late_is_not_read_from():
    async with reading(group_id="g", auto_offset_reset="earliest") as (cluster, consumer):
        may_answer = asyncio.Event()

        async def answer_late(request: OffsetFetchRequest) -> OffsetFetchResponse:
            await may_answer.wait()
            return fetched("orders", 0, 5)

        cluster.once(OffsetFetchRequest, answer_late)
        cluster.on(OffsetFetchRequest, lambda _: fetched("orders", 0, -1))
        consumer.assign([P0])
        await poll(consumer, 1)
        recreate(cluster)
        for _ in range(3):
            ask_for_metadata(consumer)
            await poll(consumer, 1)
        cluster.append([b"%d" % value for value in range(9)])

        may_answer.set()

        assert await poll(consumer, 5) == [b"%d" % value for value in range(9)]


def with_topic_id(cluster: FetchingCluster, topic_id: UUID) -> Any:
    def answer(request: MetadataRequest) -> MetadataResponse:
        response = cluster.metadata(request)
        for topic in response.topics:
            topic.topic_id = topic_id
        return response

    return answer
