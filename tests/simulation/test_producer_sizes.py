"""Records, batches, requests and the buffer keep to their sizes."""

from __future__ import annotations

import asyncio

import pytest

from pyk.clients.errors import BufferExhaustedError, RecordTooLargeError
from pyk.protocol.messages.produce import ProduceRequest
from pyk.runtime.virtual_time import current_clock, virtual_time
from support.producing_cluster import producing
from support.scripted_broker import SILENCE


@virtual_time
async def test_a_batch_that_is_too_large_is_split_until_it_fits():
    async with producing() as (cluster, producer):
        cluster.log().max_batch_bytes = 400
        deliveries = [
            await producer.send("orders", b"%02d" % n + b"x" * 40, b"key", headers={"h": b"v"})
            for n in range(40)
        ]

        results = await asyncio.gather(*deliveries)

        assert [result.offset for result in results] == list(range(40))
        assert [value[:2] for value in cluster.values()] == [b"%02d" % n for n in range(40)]
        assert set(cluster.log().keys) == {b"key"}
        assert cluster.log().batches > 5
        assert producer.stats().buffer_available_bytes == producer.stats().buffer_total_bytes


@virtual_time
async def test_a_single_record_that_is_too_large_fails_and_others_go_on():
    async with producing(batch_size=0) as (cluster, producer):
        cluster.log().max_batch_bytes = 400
        before = await producer.send("orders", b"small")
        large = await producer.send("orders", b"x" * 1_000)
        after = await producer.send("orders", b"after")

        with pytest.raises(RecordTooLargeError) as caught:
            await large
        assert caught.value.definite
        await asyncio.gather(before, after)

        assert cluster.values() == [b"small", b"after"]


@virtual_time
async def test_a_record_larger_than_a_request_is_refused_at_once():
    async with producing(max_request_size=1_000) as (_, producer):
        with pytest.raises(RecordTooLargeError, match="max_request_size=1000"):
            await producer.send("orders", b"x" * 1_000)


@virtual_time
async def test_requests_hold_several_partitions_and_stay_within_their_size():
    async with producing(partitions=20, max_request_size=5_000, linger_ms=1_000) as (
        cluster,
        producer,
    ):
        for n in range(200):
            await producer.send("orders", b"x" * 100, partition=n % 20)
        await producer.flush()

        sizes = [
            sum(
                len(part.records)
                for topic in one.message.topic_data
                for part in topic.partition_data
            )
            for one in cluster.requests(ProduceRequest)
        ]
        assert len(cluster.values()) == 200
        assert max(sizes) <= 5_000
        assert len(sizes) < 10


@virtual_time
async def test_a_full_buffer_makes_send_wait_and_never_fail_while_brokers_answer():
    async with producing(buffer_memory=10_000, batch_size=2_000) as (cluster, producer):
        for n in range(1_000):
            await producer.send("orders", b"%05d" % n + b"x" * 100)
            assert producer.stats().buffer_available_bytes >= 0
        await producer.flush()

        assert [int(value[:5]) for value in cluster.values()] == list(range(1_000))


@virtual_time
async def test_many_tasks_that_wait_for_room_all_get_it():
    async with producing(buffer_memory=2_000, batch_size=1_000) as (cluster, producer):
        await asyncio.gather(
            *[producer.send_and_wait("orders", b"%03d" % n + b"x" * 500) for n in range(200)]
        )

        assert sorted(int(value[:3]) for value in cluster.values()) == list(range(200))
        assert producer.stats().buffer_available_bytes == 2_000


@virtual_time
async def test_a_buffer_that_stays_full_ends_the_wait_with_max_block_ms():
    async with producing(buffer_memory=1_000, max_block_ms=500) as (cluster, producer):
        await producer.send_and_wait("orders", b"warm")
        cluster.on(ProduceRequest, SILENCE)
        await producer.send("orders", b"x" * 900)
        before = current_clock().now()

        with pytest.raises(BufferExhaustedError, match="max_block_ms=500"):
            await producer.send("orders", b"y" * 900)

        assert current_clock().now() - before == pytest.approx(0.5, abs=0.01)
        await producer.close(timeout=1)
