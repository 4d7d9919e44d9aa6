"""The positions of a consumer, and the offsets at the ends of a log."""

from __future__ import annotations

import asyncio

import pytest

from pyk.clients import OffsetAndMetadata
from pyk.clients.errors import KafkaTimeoutError, OffsetOutOfRangeError
from pyk.protocol.api_keys import ApiKey
from pyk.protocol.messages.list_offsets import ListOffsetsRequest, ListOffsetsResponse
from pyk.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)
from pyk.protocol.messages.offset_fetch import OffsetFetchRequest
from pyk.protocol.versions import VersionRange
from pyk.runtime.virtual_time import current_clock, virtual_time
from support.administering import fetched, listed
from support.batches import batch
from support.consuming import P0, fetching, read
from support.scripted_broker import CLOSE, SILENCE


@virtual_time
async def test_a_position_below_the_log_is_reset_as_configured():
    async with fetching(auto_offset_reset="earliest") as (cluster, consumer):
        cluster.append([b"a", b"b"])
        await read(consumer, 2)
        cluster.logs["orders", 0][:] = []
        cluster.append_bytes(bytes(batch(50, [b"c"])), 50, 51)

        assert await read(consumer, 1) == [b"c"]


@virtual_time
async def test_without_a_policy_an_offset_out_of_range_is_raised_by_each_poll_until_a_seek():
    async with fetching(leaders=(1,), auto_offset_reset="none") as (cluster, consumer):
        cluster.append([b"a", b"b"])
        consumer.seek(P0, 9)

        for _ in range(2):
            with pytest.raises(OffsetOutOfRangeError) as caught:
                await consumer.poll(5)
            assert (caught.value.topic_partition, caught.value.offset) == (P0, 9)
        consumer.seek(P0, 1)

        assert await read(consumer, 1) == [b"b"]


@virtual_time
async def test_a_look_up_that_comes_after_a_seek_changes_nothing():
    async with fetching() as (cluster, consumer):
        cluster.append([b"a", b"b", b"c"])
        consumer.seek_to_beginning(P0)
        await asyncio.sleep(0)
        consumer.seek(P0, 2)

        assert await read(consumer, 1) == [b"c"]
        assert await consumer.position(P0) == 3


@virtual_time
async def test_offsets_are_asked_for_until_they_come():
    async with fetching() as (cluster, consumer):
        cluster.append([b"a"])
        cluster.once(ListOffsetsRequest, CLOSE, CLOSE)

        assert await consumer.end_offsets([P0]) == {P0: 1}
        assert await consumer.beginning_offsets([P0]) == {P0: 0}


@virtual_time
async def test_a_call_keeps_its_time():
    async with fetching() as (cluster, consumer):
        cluster.on(ListOffsetsRequest, SILENCE)
        began = current_clock().now()

        with pytest.raises(KafkaTimeoutError):
            await consumer.end_offsets([P0], timeout=2)

        assert current_clock().now() - began <= 2.25


@virtual_time
@pytest.mark.parametrize("answered", [[], [listed("orders", 0, -1)]])
async def test_an_end_that_a_leader_does_not_name_is_asked_for_again(answered):
    async with fetching(auto_offset_reset="earliest") as (cluster, consumer):
        cluster.append([b"a"])
        cluster.once(ListOffsetsRequest, *[ListOffsetsResponse(topics=answered)] * 2)

        assert await read(consumer, 1) == [b"a"]
        cluster.once(ListOffsetsRequest, ListOffsetsResponse(topics=answered))
        assert await consumer.end_offsets([P0]) == {P0: 1}


@virtual_time
@pytest.mark.parametrize("highest", [6, 7, 9])
async def test_a_group_goes_on_where_it_stopped_at_brokers_old_and_new(highest):
    async with fetching(group_id="g", isolation_level="read_committed") as (cluster, consumer):
        cluster.versions[ApiKey.OFFSET_FETCH] = VersionRange(1, highest)
        cluster.on(OffsetFetchRequest, fetched("orders", 0, 2, version=highest))

        assert await consumer.committed([P0]) == {P0: OffsetAndMetadata(2)}
        request = cluster.requests(OffsetFetchRequest)[-1]
        assert (request.version, request.message.require_stable) == (highest, highest >= 7)


@virtual_time
async def test_a_commit_that_an_answer_leaves_out_is_made_again():
    async with fetching(group_id="g", enable_auto_commit=False) as (cluster, consumer):
        cluster.on(OffsetFetchRequest, fetched("orders", 0, 0))
        stored = OffsetCommitResponseTopic(
            name="orders", partitions=[OffsetCommitResponsePartition(partition_index=0)]
        )
        cluster.on(OffsetCommitRequest, OffsetCommitResponse(topics=[stored]))
        cluster.once(OffsetCommitRequest, OffsetCommitResponse(topics=[]))

        await consumer.commit({P0: 1})

        assert len(cluster.requests(OffsetCommitRequest)) == 2
