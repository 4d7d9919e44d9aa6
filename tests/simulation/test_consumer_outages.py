"""A consumer with brokers that fail, do not answer, or send wrong data."""

from __future__ import annotations

import asyncio
from typing import Any

import attrs
import pytest

from pyk.clients.consumer import PartitionState
from pyk.clients.errors import (
    CorruptRecordError,
    KafkaError,
    KafkaTimeoutError,
    NetworkError,
    RequestTimeoutError,
    TopicAuthorizationFailedError,
    UnknownCodeError,
    UnknownServerError,
)
from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.api_versions import ApiVersionsRequest
from pyk.protocol.messages.fetch import FetchRequest, FetchResponse, PartitionData
from pyk.protocol.messages.list_offsets import ListOffsetsRequest
from pyk.protocol.messages.offset_for_leader_epoch import OffsetForLeaderEpochRequest
from pyk.runtime.virtual_time import current_clock, virtual_time
from support.batches import batch
from support.consuming import P0, fail_once, fetching, read
from support.scripted_broker import CLOSE, SILENCE


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


@pytest.mark.parametrize("request_class", [ListOffsetsRequest, OffsetForLeaderEpochRequest])
@virtual_time
async def test_a_node_that_is_silent_about_offsets_does_not_stop_the_others(request_class):
    async with fetching() as (cluster, consumer):
        for number in range(3):
            cluster.append([b"first"], partition=number)
        if request_class is OffsetForLeaderEpochRequest:
            assert await read(consumer, 3) == [b"first"] * 3
        plain = {
            ListOffsetsRequest: cluster.list_offsets,
            OffsetForLeaderEpochRequest: cluster.epoch_ends,
        }[request_class]

        async def silence() -> None:
            await asyncio.sleep(3600)

        cluster.on(
            request_class,
            lambda request: silence() if cluster.received[-1].node_id == 3 else plain(request),
        )
        for number, leader in enumerate((3, 1, 2)):
            cluster.move(number, leader)
            cluster.append([b"second"], partition=number)

        values = await read(consumer, 2, timeout=3)

        assert len(values) >= 2


@virtual_time
async def test_a_late_error_of_a_former_leader_is_not_reported():
    async with fetching(leaders=(1,)) as (cluster, consumer):
        cluster.append([b"first"])
        assert await read(consumer, 1) == [b"first"]
        plain, has_refused = cluster.epoch_ends, asyncio.Event()

        async def refuse_late(request: Any) -> Any:
            await asyncio.sleep(5)
            has_refused.set()
            answer = plain(request)
            answer.topics[0].partitions[0].error_code = ErrorCode.TOPIC_AUTHORIZATION_FAILED
            return answer

        cluster.on(
            OffsetForLeaderEpochRequest,
            lambda one: refuse_late(one) if cluster.received[-1].node_id == 2 else plain(one),
        )
        for leader in (2, 3):
            cluster.move(0, leader)
            consumer._core.client.metadata_keeper.request_update()
            await asyncio.sleep(1)
        cluster.append([b"second"])

        assert await read(consumer, 1) == [b"second"]
        assert not has_refused.is_set()
        assert await consumer.poll(10) == ()
        assert has_refused.is_set()
        assert consumer.health().is_healthy


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


async def silent(cluster):
    """Let the node answer no fetch."""
    cluster.on(FetchRequest, lambda request: SILENCE)


async def dead(cluster):
    await cluster.kill(1)


@pytest.mark.parametrize("fault", [silent, dead])
@virtual_time
async def test_an_outage_that_lasts_is_told_in_health_and_logs_and_raised_in_the_end(fault, caplog):
    async with fetching(request_timeout_ms=10_000) as (cluster, consumer):
        cluster.append([b"a"])
        await read(consumer, 1)
        await fault(cluster)

        for _ in range(7):
            assert await consumer.poll(5) == ()
        health = consumer.health().partitions[P0]
        warnings = [text for text in caplog.messages if "orders-0 has had no answer" in text]
        with pytest.raises((RequestTimeoutError, NetworkError)):
            await read(consumer, 1, timeout=30)

        assert health.state is PartitionState.FAILING
        assert isinstance(health.error, (RequestTimeoutError, NetworkError))
        assert 2 <= len(warnings) <= 4


@virtual_time
async def test_an_outage_that_is_raised_ends_by_itself():
    async with fetching(request_timeout_ms=10_000) as (cluster, consumer):
        cluster.append([b"a"])
        await read(consumer, 1)
        await cluster.kill(1)

        with pytest.raises(KafkaError):
            await read(consumer, 1, timeout=60)
        await cluster.start(1)
        cluster.append([b"b"])

        values: list[bytes] = []
        while not values:
            try:
                values += await read(consumer, 1, timeout=5)
            except KafkaError:
                continue
        assert values == [b"b"]


@virtual_time
async def test_a_refusal_that_lasts_is_raised_after_the_time_of_one_request():
    async with fetching(request_timeout_ms=10_000) as (cluster, consumer):
        cluster.append([b"a"])
        await read(consumer, 1)
        began = current_clock().now()
        cluster.edit = lambda topic, number, asked, data: PartitionData(
            partition_index=number, error_code=ErrorCode.UNKNOWN_SERVER_ERROR, high_watermark=-1
        )

        with pytest.raises(UnknownServerError):
            await read(consumer, 1, timeout=60)

        assert 10 <= current_clock().now() - began <= 15


@virtual_time
async def test_a_server_that_was_reached_before_is_not_taken_for_one_with_tls():
    async with fetching() as (cluster, consumer):
        cluster.append([b"a"])
        await read(consumer, 1)
        cluster.on(ApiVersionsRequest, CLOSE)
        for host in cluster.nodes.values():
            cluster.network.reset(host)
        await consumer.poll(5)

        problem = consumer.health().unreachable_nodes[0]
        assert "so does a load balancer whose broker is down" in problem
        assert "TLS" not in problem


@virtual_time
async def test_a_node_whose_address_leads_to_another_one_is_named():
    async with fetching() as (cluster, consumer):
        cluster.append([b"a"])
        await read(consumer, 1)
        cluster.edit = lambda topic, number, asked, data: PartitionData(
            partition_index=number,
            error_code=ErrorCode.NOT_LEADER_OR_FOLLOWER,
            high_watermark=-1,
        )
        await consumer.poll(20)

        error = str(consumer.health().partitions[P0].error)
        assert "partition 0, node 1)" in error
        assert "if that lasts, an advertised address leads to the wrong broker" in error


@pytest.mark.parametrize(
    ("code", "error"),
    [
        (ErrorCode.TOPIC_AUTHORIZATION_FAILED, TopicAuthorizationFailedError),
        (ErrorCode.CORRUPT_MESSAGE, CorruptRecordError),
        (31_000, UnknownCodeError),
    ],
)
@virtual_time
async def test_an_error_for_the_application_is_raised_and_forgotten_when_it_has_passed(code, error):
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
async def test_a_refused_session_is_opened_again(code):
    async with fetching() as (cluster, consumer):
        cluster.append([b"a"])
        await read(consumer, 1)

        cluster.once(FetchRequest, FetchResponse(error_code=code))
        cluster.append([b"b"])

        assert await read(consumer, 1, timeout=3) == [b"b"]


@virtual_time
async def test_a_node_that_has_answered_again_is_retried_as_soon_as_after_a_first_failure():
    refusal = FetchResponse(error_code=ErrorCode.FETCH_SESSION_ID_NOT_FOUND)
    async with fetching() as (cluster, consumer):
        cluster.on(FetchRequest, lambda _: refusal)
        await consumer.poll(10)
        cluster.on(FetchRequest, cluster.fetch)
        cluster.append([b"a"])
        await read(consumer, 1)

        cluster.once(FetchRequest, refusal)
        cluster.append([b"b"])
        appended_at = current_clock().now()

        assert await read(consumer, 1) == [b"b"]
        assert 0.05 < current_clock().now() - appended_at < 0.5


@virtual_time
async def test_an_offset_out_of_range_waits_until_the_records_before_it_are_read():
    async with fetching(max_poll_records=1, auto_offset_reset="earliest") as (cluster, consumer):
        cluster.append([b"0", b"1", b"2"])
        assert await read(consumer, 1) == [b"0"]

        fail_once(cluster, ErrorCode.OFFSET_OUT_OF_RANGE)
        cluster.append([b"3"])
        await asyncio.sleep(1)

        assert await read(consumer, 3) == [b"1", b"2", b"3"]


@virtual_time
async def test_answers_that_were_not_requested_or_come_twice_are_ignored():
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


@pytest.mark.parametrize("isolation_level", ["read_uncommitted", "read_committed"])
@virtual_time
async def test_watermarks_that_make_no_sense_do_no_harm(isolation_level):
    async with fetching(isolation_level=isolation_level) as (cluster, consumer):

        def edit(topic: str, number: int, asked: Any, data: PartitionData) -> PartitionData:
            data.high_watermark, data.last_stable_offset = -5, 2**60
            return data

        cluster.edit = edit
        cluster.append([b"a"])

        assert await read(consumer, 1) == [b"a"]
        assert await consumer.poll(30) == ()
        assert consumer.health().is_healthy


@virtual_time
async def test_a_partition_that_responses_leave_out_is_requested_again_and_then_reported():
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
async def test_incomplete_records_are_reported_even_after_a_failure() -> None:
    async with fetching() as (cluster, consumer):
        cluster.edit = lambda _, number, asked, data: (
            attrs.evolve(data, records=bytes(data.records)[:30]) if data.records else data
        )
        fail_once(cluster, ErrorCode.NOT_LEADER_OR_FOLLOWER)
        cluster.append([b"a"])

        with pytest.raises(CorruptRecordError, match="seek"):
            await read(consumer, 1)

        assert consumer.health().partitions[P0].state is PartitionState.FAILED
