"""A consumer beside brokers that fail, move, lag and lie, in virtual time."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from pyk.clients import TopicPartition
from pyk.clients.consumer import PartitionState
from pyk.clients.errors import (
    CorruptRecordError,
    KafkaError,
    KafkaTimeoutError,
    OffsetOutOfRangeError,
    TopicAuthorizationFailedError,
    UnknownCodeError,
)
from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.fetch import (
    FetchRequest,
    FetchResponse,
    LeaderIdAndEpoch,
    NodeEndpoint,
    PartitionData,
)
from pyk.protocol.messages.list_offsets import ListOffsetsRequest
from pyk.protocol.messages.offset_for_leader_epoch import (
    EpochEndOffset,
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
    OffsetForLeaderTopicResult,
)
from support.batches import batch
from support.consuming import FetchingCluster, fetching, read
from support.scripted_broker import CLOSE, PORT, SILENCE
from support.virtual_time import current_clock, virtual_time

P0 = TopicPartition("orders", 0)


def fail_once(cluster: FetchingCluster, code: int, partition: int = 0, **fields: Any) -> None:
    """Answer the next fetch of a partition with an error."""
    plain = cluster.edit

    def edit(topic: str, number: int, asked: Any, data: PartitionData) -> PartitionData:
        if number != partition:
            return data
        cluster.edit = plain
        return PartitionData(partition_index=number, error_code=code, high_watermark=-1, **fields)

    cluster.edit = edit


@virtual_time
async def test_records_of_all_partitions_come_in_their_order():
    async with fetching(leaders=(1, 1, 1)) as (cluster, consumer):
        for number in range(3):
            cluster.append([b"%d" % n for n in range(10)], partition=number)

        values = await read(consumer, 30)

        assert sorted(values) == sorted([b"%d" % n for n in range(10)] * 3)


@virtual_time
async def test_the_first_records_of_all_partitions_come_after_a_few_round_trips():
    async with fetching(leaders=(1,) * 50) as (cluster, consumer):
        for number in range(50):
            cluster.append([b"a"], partition=number)
        began = current_clock().now()

        await read(consumer, 50)

        assert current_clock().now() - began < 0.03  # one round trip takes 2 ms


@virtual_time
async def test_a_caught_up_consumer_asks_for_nothing_it_was_told_already():
    async with fetching(leaders=(1, 1)) as (cluster, consumer):
        cluster.append([b"a"])
        await read(consumer, 1)
        await consumer.poll(5)

        last = cluster.requests(FetchRequest)[-1].message
        assert last.session_id == 1
        assert last.topics == []


@pytest.mark.parametrize(
    "code",
    [
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.FENCED_LEADER_EPOCH,
        ErrorCode.UNKNOWN_LEADER_EPOCH,
        ErrorCode.REPLICA_NOT_AVAILABLE,
        ErrorCode.KAFKA_STORAGE_ERROR,
        ErrorCode.OFFSET_NOT_AVAILABLE,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.UNKNOWN_TOPIC_ID,
        ErrorCode.UNKNOWN_SERVER_ERROR,
    ],
)
@virtual_time
async def test_an_error_that_passes_costs_only_a_moment(code):
    async with fetching() as (cluster, consumer):
        fail_once(cluster, code)
        cluster.append([b"a"])

        assert await read(consumer, 1, timeout=2) == [b"a"]


@virtual_time
async def test_a_partition_is_followed_to_its_new_leader():
    async with fetching(nodes=2) as (cluster, consumer):
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
async def test_the_answer_that_names_the_new_leader_saves_asking_for_metadata():
    async with fetching(nodes=2) as (cluster, consumer):
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
        assert cluster.requests(FetchRequest)[-1].node_id == 2


@virtual_time
async def test_truncation_by_a_new_leader_is_noticed():
    async with fetching(nodes=2) as (cluster, consumer):
        cluster.append([b"a", b"b", b"c"])
        await read(consumer, 3)
        cluster.move(0, 2)
        cluster.logs["orders", 0].clear()
        cluster.append([b"a"])
        cluster.on(OffsetForLeaderEpochRequest, epoch_ends(1))
        fail_once(cluster, ErrorCode.FENCED_LEADER_EPOCH)
        cluster.append([b"x"])

        assert await read(consumer, 1, timeout=5) == [b"x"]


@virtual_time
async def test_a_nearer_replica_is_read_from_and_left_when_it_lags():
    async with fetching(nodes=2, client_rack="east") as (cluster, consumer):
        cluster.append([b"a"])
        sends_away = True

        def edit(topic: str, number: int, asked: Any, data: PartitionData) -> PartitionData:
            if sends_away and cluster.received[-1].node_id == 1:
                return PartitionData(partition_index=0, high_watermark=1, preferred_read_replica=2)
            return data

        cluster.edit = edit
        assert await read(consumer, 1) == [b"a"]
        assert cluster.requests(FetchRequest)[-1].node_id == 2
        assert cluster.requests(FetchRequest)[-1].message.rack_id == "east"

        sends_away = False
        cluster.append([b"b"])
        fail_once(cluster, ErrorCode.OFFSET_OUT_OF_RANGE)
        assert await read(consumer, 1) == [b"b"]
        assert cluster.requests(FetchRequest)[-1].node_id == 1


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
    async with fetching(auto_offset_reset="none") as (cluster, consumer):
        cluster.append([b"a", b"b"])
        consumer.seek(P0, 9)

        for _ in range(2):
            with pytest.raises(OffsetOutOfRangeError) as caught:
                await consumer.poll(5)
            assert (caught.value.topic_partition, caught.value.offset) == (P0, 9)
        consumer.seek(P0, 1)

        assert await read(consumer, 1) == [b"b"]


@virtual_time
async def test_a_dead_node_does_not_stop_the_others():
    async with fetching(nodes=2, leaders=(1, 2)) as (cluster, consumer):
        await cluster.kill(2)
        for number in range(5):
            cluster.append([b"%d" % number], partition=0)
            assert await read(consumer, 1, timeout=2) == [b"%d" % number]

        cluster.append([b"late"], partition=1)
        await cluster.start(2)
        assert await read(consumer, 1, timeout=5) == [b"late"]


@pytest.mark.parametrize("deviation", [CLOSE, SILENCE, b"\x00\x00\x00\x08not kafk"])
@virtual_time
async def test_a_fetch_that_gets_no_answer_is_sent_again(deviation):
    async with fetching() as (cluster, consumer):
        cluster.once(FetchRequest, deviation)
        cluster.append([b"a"])

        assert await read(consumer, 1, timeout=35) == [b"a"]


@virtual_time
async def test_an_outage_costs_few_connects_and_is_seen_in_health():
    async with fetching() as (cluster, consumer):
        cluster.append([b"a"])
        await read(consumer, 1)
        await cluster.kill(1)
        before = cluster.connection_counts[1]

        await consumer.poll(20)
        health = consumer.health()
        assert not health.is_healthy
        assert health.partitions[P0].state is PartitionState.FAILING
        await cluster.start(1)
        cluster.append([b"b"])
        assert await read(consumer, 1, timeout=5) == [b"b"]

        assert cluster.connection_counts[1] - before <= 5
        assert consumer.health().is_healthy


@virtual_time
async def test_an_outage_that_lasts_is_raised_and_ends_by_itself():
    async with fetching(request_timeout_ms=10_000) as (cluster, consumer):
        cluster.append([b"a"])
        await read(consumer, 1)
        await cluster.kill(1)

        with pytest.raises(KafkaError):
            await read(consumer, 1, timeout=30)
        await cluster.start(1)
        cluster.append([b"b"])

        values: list[bytes] = []
        while not values:
            try:
                values += await read(consumer, 1, timeout=5)
            except KafkaError:
                continue
        assert values == [b"b"]


@pytest.mark.parametrize(
    ("code", "error"),
    [
        (ErrorCode.TOPIC_AUTHORIZATION_FAILED, TopicAuthorizationFailedError),
        (ErrorCode.CORRUPT_MESSAGE, CorruptRecordError),
        (31_000, UnknownCodeError),
    ],
)
@virtual_time
async def test_what_the_application_must_know_is_raised_and_forgotten_when_it_has_passed(
    code, error
):
    async with fetching() as (cluster, consumer):
        fail_once(cluster, code)
        cluster.append([b"a"])

        with pytest.raises(error):
            await consumer.poll(5)
        await asyncio.sleep(1)

        assert await read(consumer, 1, timeout=5) == [b"a"]


@pytest.mark.parametrize(
    "code",
    [
        ErrorCode.FETCH_SESSION_ID_NOT_FOUND,
        ErrorCode.INVALID_FETCH_SESSION_EPOCH,
        ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR,
    ],
)
@virtual_time
async def test_a_session_that_is_refused_is_opened_anew(code):
    async with fetching() as (cluster, consumer):
        cluster.append([b"a"])
        await read(consumer, 1)

        cluster.once(FetchRequest, FetchResponse(error_code=code))
        cluster.append([b"b"])

        assert await read(consumer, 1, timeout=3) == [b"b"]


@virtual_time
async def test_a_broker_that_refuses_every_fetch_is_not_hammered():
    async with fetching(request_timeout_ms=600_000) as (cluster, consumer):
        refusal = FetchResponse(error_code=ErrorCode.INVALID_FETCH_SESSION_EPOCH)
        cluster.on(FetchRequest, refusal)

        await consumer.poll(60)

        assert len(cluster.requests(FetchRequest)) < 100


@virtual_time
async def test_a_broker_that_never_waits_is_not_hammered():
    async with fetching() as (cluster, consumer):
        await consumer.poll(60)

        assert len(cluster.requests(FetchRequest)) < 200


@virtual_time
async def test_answers_for_what_was_not_asked_or_twice_are_not_taken():
    async with fetching() as (cluster, consumer):
        cluster.append([b"a"])

        def doubled(request: Any) -> FetchResponse:
            answer = cluster.fetch(request)
            (topic,) = answer.responses
            (data,) = topic.partitions
            stranger = PartitionData(
                partition_index=7, high_watermark=1, records=bytes(batch(0, [b"stranger"]))
            )
            topic.partitions = [data, data, stranger]
            return answer

        cluster.once(FetchRequest, doubled)

        assert await read(consumer, 1) == [b"a"]
        assert await consumer.poll(3) == []


@virtual_time
async def test_watermarks_that_make_no_sense_do_no_harm():
    async with fetching() as (cluster, consumer):

        def edit(topic: str, number: int, asked: Any, data: PartitionData) -> PartitionData:
            data.high_watermark, data.last_stable_offset = -5, 2**60
            return data

        cluster.edit = edit
        cluster.append([b"a"])

        assert await read(consumer, 1) == [b"a"]
        assert consumer.health().is_healthy


@virtual_time
async def test_a_partition_that_answers_leave_out_is_asked_for_anew_and_then_reported():
    async with fetching(leaders=(1, 1)) as (cluster, consumer):
        cluster.append([b"a"], partition=0)
        cluster.append([b"b"], partition=1)
        await read(consumer, 2)

        def edit(topic: str, number: int, asked: Any, data: PartitionData) -> PartitionData:
            if number == 0:
                data.records = b""
            return data

        cluster.edit = edit
        cluster.append([b"c"], partition=0)

        with pytest.raises(KafkaTimeoutError, match="orders-0 has records from offset 1 on"):
            await read(consumer, 1, timeout=60)
        opened = [r for r in cluster.requests(FetchRequest) if r.message.session_epoch == 0]
        assert len(opened) >= 3

        cluster.edit = None
        await asyncio.sleep(2)
        assert await read(consumer, 1) == [b"c"]


@virtual_time
async def test_what_is_fetched_stays_bounded_while_the_application_is_slow():
    value = b"x" * 1000
    async with fetching(
        leaders=(1,) * 8, max_partition_fetch_bytes=10_000, fetch_max_bytes=40_000
    ) as (cluster, consumer):
        for number in range(8):
            for _ in range(20):
                cluster.append([value] * 8, partition=number)

        def edit(topic: str, number: int, asked: Any, data: PartitionData) -> PartitionData:
            data.records = data.records[: asked.partition_max_bytes]
            return data

        cluster.edit = edit
        held = []
        for _ in range(100):
            await consumer.poll(1, max_records=1)
            await asyncio.sleep(0.1)
            held.append(consumer.stats().buffered_bytes)

        # What one answer may exceed the limit by is what was asked for when there was room.
        assert max(held) <= 40_000 + 8 * 10_000
        assert min(held) > 0


@virtual_time
async def test_while_a_partition_is_full_others_are_fetched_without_haste():
    async with fetching(leaders=(1, 1), max_poll_records=1) as (cluster, consumer):
        cluster.append([b"%d" % n for n in range(50)], partition=0)
        await consumer.poll(1)
        before = len(cluster.requests(FetchRequest))

        await asyncio.sleep(60)

        assert len(cluster.requests(FetchRequest)) - before < 200


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
async def test_leaderless_partitions_are_asked_after_and_read_once_they_have_one():
    async with fetching(leaders=(99,)) as (cluster, consumer):
        cluster.append([b"a"])
        assert await consumer.poll(3) == []
        assert consumer.health().partitions[P0].state is PartitionState.WITHOUT_LEADER

        cluster.move(0, 1)

        assert await read(consumer, 1, timeout=5) == [b"a"]


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
async def test_cancelled_polls_lose_nothing():
    async with fetching() as (cluster, consumer):
        values: list[bytes] = []
        for number in range(50):
            waiting = asyncio.ensure_future(consumer.poll(10))
            await asyncio.sleep(0.0007 * number)
            waiting.cancel()
            try:
                values += [record.value for record in await waiting]
            except asyncio.CancelledError:
                cluster.append([b"%d" % number])

        values += await read(consumer, cluster.end() - len(values))

        assert values == [b"%d" % int(v) for v in values]
        assert len(values) == cluster.end()


def epoch_ends(end_offset: int) -> Any:
    """Answer that the epoch asked for ends there."""

    def answer(request: OffsetForLeaderEpochRequest) -> OffsetForLeaderEpochResponse:
        return OffsetForLeaderEpochResponse(
            topics=[
                OffsetForLeaderTopicResult(
                    topic=topic.topic,
                    partitions=[
                        EpochEndOffset(
                            partition=one.partition,
                            leader_epoch=one.leader_epoch,
                            end_offset=end_offset,
                        )
                        for one in topic.partitions
                    ],
                )
                for topic in request.topics
            ]
        )

    return answer
