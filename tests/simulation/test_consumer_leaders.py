"""A consumer follows its partitions from broker to broker."""

from __future__ import annotations

from typing import Any

import pytest

from pyk.clients import AsyncConsumer, OffsetAndMetadata
from pyk.clients.consumer import PartitionState
from pyk.clients.errors import LogTruncatedError
from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.fetch import (
    FetchRequest,
    FetchResponse,
    LeaderIdAndEpoch,
    NodeEndpoint,
    PartitionData,
)
from pyk.protocol.messages.offset_fetch import OffsetFetchRequest
from pyk.protocol.messages.offset_for_leader_epoch import (
    EpochEndOffset,
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
    OffsetForLeaderTopicResult,
)
from pyk.runtime.virtual_time import current_clock, virtual_time
from support.administering import fetched
from support.consuming import P0, fail_once, fetching, read
from support.fetching_cluster import FetchingCluster
from support.scripted_broker import PORT, SILENCE, Received


@virtual_time
async def test_a_partition_is_followed_to_its_new_leader():
    async with fetching() as (cluster, consumer):
        cluster.append([b"a"])
        await read(consumer, 1)

        cluster.on(OffsetForLeaderEpochRequest, SILENCE)
        for number in range(20):
            cluster.move(0, 1 + number % 2)
            fail_once(cluster, ErrorCode.NOT_LEADER_OR_FOLLOWER)
            cluster.on(OffsetForLeaderEpochRequest, epoch_ends(cluster.end()))
            cluster.append([b"%d" % number])

            assert await read(consumer, 1, timeout=3) == [b"%d" % number]


@virtual_time
async def test_the_answer_that_names_the_new_leader_saves_asking_for_metadata_and_waiting():
    backoff = {"retry_backoff_ms": 5000, "retry_backoff_max_ms": 5000}
    async with fetching(**backoff) as (cluster, consumer):
        cluster.append([b"a"])
        await read(consumer, 1)
        cluster.on(OffsetForLeaderEpochRequest, epoch_ends(cluster.end()))
        cluster.move(0, 2)
        endpoint = NodeEndpoint(node_id=2, host="broker2", port=PORT)

        def say_who(request: Any) -> FetchResponse:
            answer = cluster.fetch(request)
            answer.node_endpoints = [endpoint]
            return answer

        fail_once(
            cluster,
            ErrorCode.NOT_LEADER_OR_FOLLOWER,
            current_leader=LeaderIdAndEpoch(leader_id=2, leader_epoch=1),
        )
        cluster.once(FetchRequest, say_who)
        cluster.append([b"b"])
        began = current_clock().now()

        assert await read(consumer, 1) == [b"b"]
        assert current_clock().now() - began < 0.7
        assert cluster.served_by[P0] == 2


@pytest.mark.parametrize("named", [(1, 0), (3, 0), (-1, -1)], ids=["itself", "stale", "nobody"])
@virtual_time
async def test_a_hint_that_is_no_news_does_not_end_the_backoff(named):
    async with fetching(leaders=(1, 1)) as (cluster, consumer):
        await consumer.poll(1)
        before = len(cluster.requests(FetchRequest))
        stays = LeaderIdAndEpoch(leader_id=named[0], leader_epoch=named[1])
        news = LeaderIdAndEpoch(leader_id=2, leader_epoch=9)

        def edit(topic: str, number: int, asked: Any, data: PartitionData) -> PartitionData:
            return PartitionData(
                partition_index=number,
                error_code=ErrorCode.NOT_LEADER_OR_FOLLOWER,
                high_watermark=-1,
                current_leader=news if number == 0 else stays,
            )

        cluster.edit = edit
        await consumer.poll(0.6)

        fetches = cluster.requests(FetchRequest)[before:]
        at_once = next(fetch for fetch in fetches if fetch.node_id == 2)
        later = next(fetch for fetch in fetches if fetch.node_id == 1)
        assert partitions_of(at_once) == [0]  # what has news
        assert later.at - at_once.at > 0.05


def partitions_of(fetch: Received) -> list[int]:
    return [one.partition for topic in fetch.message.topics for one in topic.partitions]


@virtual_time
async def test_truncation_by_a_new_leader_is_noticed():
    async with fetching() as (cluster, consumer):
        cluster.append([b"a", b"b", b"c"])
        await read(consumer, 3)
        cluster.move(0, 2)
        cluster.logs["orders", 0].clear()
        cluster.append([b"a"])
        cluster.on(OffsetForLeaderEpochRequest, epoch_ends(1))
        fail_once(cluster, ErrorCode.FENCED_LEADER_EPOCH)
        cluster.append([b"x"])

        assert await read(consumer, 1, timeout=5) == [b"x"]


def cut_log(cluster: FetchingCluster) -> None:
    """Epoch 1 ends at offset 2; records of epoch 1 from there on are gone."""
    cluster.topics["orders"].epochs[0] = 1
    cluster.append([b"0", b"1"])
    cluster.topics["orders"].epochs[0] = 2
    cluster.append([b"new %d" % number for number in range(2, 9)])


@pytest.mark.parametrize("policy", ["earliest", "none"])
@virtual_time
async def test_a_committed_offset_that_was_cut_off_is_noticed(policy):
    async with fetching(
        group_id="g", enable_auto_commit=False, auto_offset_reset=policy, leaders=(1,)
    ) as (cluster, reader):
        cut_log(cluster)
        cluster.on(OffsetFetchRequest, fetched("orders", 0, 5, leader_epoch=1))
        await notices_truncation(reader, policy)


@pytest.mark.parametrize("policy", ["earliest", "none"])
@virtual_time
async def test_an_offset_that_was_sought_and_cut_off_is_noticed(policy):
    async with fetching(leaders=(1,), auto_offset_reset=policy) as (cluster, reader):
        cut_log(cluster)
        reader.seek(P0, OffsetAndMetadata(5, leader_epoch=1))
        await notices_truncation(reader, policy)


async def notices_truncation(reader: AsyncConsumer[Any, Any], policy: str) -> None:
    if policy == "none":
        with pytest.raises(LogTruncatedError) as caught:
            await reader.poll(5)
        assert caught.value.offset == 2
    else:
        assert (await read(reader, 1))[0] == b"new 2"


@pytest.mark.parametrize("policy", ["earliest", "none"])
@virtual_time
async def test_an_epoch_that_the_leader_does_not_know_is_no_reason_to_read_on(policy):
    async with fetching(leaders=(1,), auto_offset_reset=policy) as (cluster, reader):
        cut_log(cluster)
        cluster.move(0, 1)
        reader.seek(P0, OffsetAndMetadata(5, leader_epoch=2))
        cluster.on(OffsetForLeaderEpochRequest, epoch_ends(-1, leader_epoch=-1))

        if policy == "none":
            with pytest.raises(LogTruncatedError):
                await reader.poll(5)
        else:
            assert (await read(reader, 1))[0] == b"0"


@virtual_time
async def test_a_leader_of_an_older_epoch_than_was_read_is_asked_again_before_it_is_believed():
    async with fetching(auto_offset_reset="none") as (cluster, reader):
        cluster.topics["orders"].epochs[0] = 5
        cluster.append([b"%d" % number for number in range(9)])
        reader.assign([P0])
        reader.seek(P0, OffsetAndMetadata(8, leader_epoch=6))

        assert await reader.poll(1) == []
        cluster.move(0, 2)

        assert await read(reader, 1) == [b"8"]


@pytest.mark.parametrize("policy", ["earliest", "latest", "none"])
@virtual_time
async def test_a_former_leader_that_was_cut_off_is_left_for_the_one_that_other_brokers_name(policy):
    async with fetching(auto_offset_reset=policy, leaders=(1,)) as (cluster, reader):
        cluster.append([b"0", b"1"])
        reader.seek(P0, 0)
        await read(reader, 2)
        reader.pause(P0)
        await reader.poll(1)  # until no fetch is in flight that would learn of the other leader
        cluster.move(0, 2)
        cluster.append([b"2", b"3"])
        unknown = epoch_ends(-1, leader_epoch=-1)

        def answer(request: OffsetForLeaderEpochRequest) -> OffsetForLeaderEpochResponse:
            believes_that_it_leads = cluster.received[-1].node_id == 1
            return (unknown if believes_that_it_leads else cluster.epoch_ends)(request)

        cluster.on(OffsetForLeaderEpochRequest, answer)
        reader.seek(P0, OffsetAndMetadata(3, leader_epoch=1))
        reader.resume(P0)

        assert await read(reader, 1, timeout=5) == [b"3"]


def send_to_follower(cluster: FetchingCluster) -> None:
    """Let node 1 send the consumer to node 2, once."""
    cluster.followers = {2}
    answers = iter([PartitionData(partition_index=0, high_watermark=1, preferred_read_replica=2)])

    def edit(topic: str, number: int, asked: Any, data: PartitionData) -> PartitionData:
        return next(answers, data) if cluster.served_by[topic, number] == 1 else data

    cluster.edit = edit


@virtual_time
async def test_a_nearer_replica_is_read_from_and_left_when_it_lags():
    async with fetching(client_rack="east") as (cluster, consumer):
        send_to_follower(cluster)
        cluster.append([b"a"])
        assert await read(consumer, 1) == [b"a"]
        assert cluster.served_by[P0] == 2
        assert cluster.requests(FetchRequest)[-1].message.rack_id == "east"

        cluster.append([b"b"])
        fail_once(cluster, ErrorCode.OFFSET_OUT_OF_RANGE)
        assert await read(consumer, 1) == [b"b"]
        assert cluster.served_by[P0] == 1


@virtual_time
async def test_a_nearer_replica_that_dies_is_left_for_the_leader():
    async with fetching(client_rack="east") as (cluster, consumer):
        send_to_follower(cluster)
        cluster.append([b"a"])
        assert await read(consumer, 1) == [b"a"]
        assert cluster.served_by[P0] == 2

        await cluster.kill(2)
        cluster.append([b"b"])

        assert await read(consumer, 1, timeout=5) == [b"b"]
        assert cluster.served_by[P0] == 1


@virtual_time
async def test_leaderless_partitions_are_asked_after_and_read_once_they_have_one():
    async with fetching(leaders=(99, 2, 3)) as (cluster, consumer):
        cluster.append([b"a"])
        assert await consumer.poll(3) == []
        assert consumer.health().partitions[P0].state is PartitionState.WITHOUT_LEADER

        cluster.move(0, 1)

        assert await read(consumer, 1, timeout=5) == [b"a"]


def epoch_ends(end_offset: int, leader_epoch: int = 0) -> Any:
    """Answer that the epoch asked for ends there."""

    def answer(request: OffsetForLeaderEpochRequest) -> OffsetForLeaderEpochResponse:
        return OffsetForLeaderEpochResponse(
            topics=[
                OffsetForLeaderTopicResult(
                    topic=topic.topic,
                    partitions=[
                        EpochEndOffset(
                            partition=one.partition,
                            leader_epoch=leader_epoch,
                            end_offset=end_offset,
                        )
                        for one in topic.partitions
                    ],
                )
                for topic in request.topics
            ]
        )

    return answer
