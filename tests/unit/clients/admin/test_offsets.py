"""Offsets are asked of the leaders of partitions, and records deleted by them."""

from __future__ import annotations

import asyncio

import pytest

from pyk.clients import OffsetSpec, TopicPartition
from pyk.clients.errors import SeveralErrors
from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.delete_records import (
    DeleteRecordsPartitionResult,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    DeleteRecordsTopicResult,
)
from pyk.protocol.messages.list_offsets import ListOffsetsRequest, ListOffsetsResponse
from pyk.runtime.virtual_time import current_clock, virtual_time
from support.administering import ORDERS, administered, listed


@virtual_time
async def test_offsets_are_asked_of_the_leaders() -> None:
    async with administered(nodes=2) as (cluster, admin):
        cluster.add_topic("orders", leaders=[1, 2])
        cluster.on(
            ListOffsetsRequest,
            lambda request: ListOffsetsResponse(
                topics=[
                    listed(topic.name, partition.partition_index, 5)
                    for topic in request.topics
                    for partition in topic.partitions
                ]
            ),
        )
        second = TopicPartition("orders", 1)

        offsets = await admin.list_offsets({ORDERS: OffsetSpec.LATEST, second: 1_000})

        assert {place: found.offset for place, found in offsets.items() if found} == {
            ORDERS: 5,
            second: 5,
        }
        assert {
            one.node_id: one.message.topics[0].partitions[0].timestamp
            for one in cluster.requests(ListOffsetsRequest)
        } == {1: -1, 2: 1_000}


@virtual_time
async def test_a_leader_that_has_moved_is_found_again() -> None:
    async with administered(nodes=2) as (cluster, admin):
        topic = cluster.add_topic("orders", leaders=[1])

        def moved(request: ListOffsetsRequest) -> ListOffsetsResponse:
            topic.leaders, topic.epochs = [2], [1]
            wrong = listed("orders", 0, -1, ErrorCode.NOT_LEADER_OR_FOLLOWER)
            return ListOffsetsResponse(topics=[wrong])

        cluster.on(ListOffsetsRequest, ListOffsetsResponse(topics=[listed("orders", 0, 5)]))
        cluster.once(ListOffsetsRequest, moved)

        offsets = await admin.list_offsets({ORDERS: OffsetSpec.EARLIEST})

        found = offsets[ORDERS]
        assert found is not None
        assert found.offset == 5
        assert cluster.requests(ListOffsetsRequest)[-1].node_id == 2


@virtual_time
async def test_a_partition_that_does_not_exist_does_not_spoil_the_others() -> None:
    async with administered() as (cluster, admin):
        cluster.add_topic("orders", leaders=[1])
        cluster.on(ListOffsetsRequest, ListOffsetsResponse(topics=[listed("orders", 0, 5)]))
        missing = TopicPartition("orders", 7)

        with pytest.raises(SeveralErrors) as raised:
            await admin.list_offsets({ORDERS: 0, missing: 0, TopicPartition("no", 0): 0})

        assert set(raised.value.results) == {ORDERS}
        assert str(raised.value.errors[missing]) == "topic 'orders' has no partition 7"
        assert current_clock().now() < 3.5


@virtual_time
async def test_a_topic_that_was_just_made_is_waited_for() -> None:
    async with administered() as (cluster, admin):
        cluster.on(ListOffsetsRequest, ListOffsetsResponse(topics=[listed("orders", 0, 0)]))
        asking = asyncio.ensure_future(admin.list_offsets({ORDERS: OffsetSpec.LATEST}))
        await asyncio.sleep(1)

        cluster.add_topic("orders", leaders=[1])

        found = (await asking)[ORDERS]
        assert found.offset == 0


@virtual_time
async def test_the_offset_is_none_if_no_record_is_that_new() -> None:
    async with administered() as (cluster, admin):
        cluster.add_topic("orders", leaders=[1])
        cluster.on(ListOffsetsRequest, ListOffsetsResponse(topics=[listed("orders", 0, -1)]))

        assert await admin.list_offsets({ORDERS: 10**13}) == {ORDERS: None}


@virtual_time
async def test_records_are_deleted_by_the_leader() -> None:
    async with administered() as (cluster, admin):
        cluster.add_topic("orders", leaders=[1])
        gone = DeleteRecordsPartitionResult(partition_index=0, low_watermark=3)
        topic = DeleteRecordsTopicResult(name="orders", partitions=[gone])
        cluster.on(DeleteRecordsRequest, DeleteRecordsResponse(topics=[topic]))

        assert await admin.delete_records({ORDERS: 3}) == {ORDERS: 3}
