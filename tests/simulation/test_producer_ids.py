"""When a producer asks for its id, and which answers it believes."""

from __future__ import annotations

import asyncio

import pytest

from pyk.clients.errors import KafkaTimeoutError
from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from pyk.protocol.messages.produce import ProduceRequest
from pyk.runtime.virtual_time import current_clock, virtual_time
from support.producing_cluster import make_producer, producing

UNAVAILABLE = InitProducerIdResponse(error_code=ErrorCode.COORDINATOR_NOT_AVAILABLE)


@virtual_time
async def test_a_producer_id_is_there_before_the_first_record():
    async with producing() as (cluster, producer):
        await producer.start()
        await asyncio.sleep(1)

        assert len(cluster.requests(InitProducerIdRequest)) == 1

        await producer.send_and_wait("orders", b"one")
        assert len(cluster.requests(InitProducerIdRequest)) == 1


@pytest.mark.parametrize(
    "wrong",
    [
        InitProducerIdResponse(producer_id=-1, producer_epoch=0),
        InitProducerIdResponse(producer_id=7, producer_epoch=-1),
    ],
)
@virtual_time
async def test_a_producer_id_that_cannot_be_one_is_not_used(wrong, caplog):
    caplog.set_level("INFO")
    async with producing(nodes=3, acks=1) as (cluster, _):  # which needs no id
        cluster.once(InitProducerIdRequest, wrong)
        async with make_producer(cluster) as producer:
            await producer.send_and_wait("orders", b"one")

        assert cluster.values() == [b"one"]
        assert len(cluster.requests(InitProducerIdRequest)) == 2
        assert "which is invalid" in caplog.text


@virtual_time
async def test_the_backoff_of_a_producer_id_grows_until_it_is_there():
    async with producing(acks=1) as (cluster, _):  # which needs no id
        cluster.once(InitProducerIdRequest, *[UNAVAILABLE] * 8)
        async with make_producer(cluster, retry_backoff_max_ms=60_000) as producer:
            await producer.send_and_wait("orders", b"one")
            grown = current_clock().now()

            cluster.once(ProduceRequest, cluster.refuse(ErrorCode.INVALID_PRODUCER_EPOCH))
            cluster.once(InitProducerIdRequest, UNAVAILABLE)
            await producer.send_and_wait("orders", b"two")
            from_the_start = current_clock().now() - grown

        assert cluster.values() == [b"one", b"two"]
        assert grown > 10
        assert from_the_start < 1


@virtual_time
async def test_a_record_that_expires_does_not_blame_a_producer_id_that_came_late():
    options = {"delivery_timeout_ms": 2_000, "request_timeout_ms": 500}
    async with producing(acks=1) as (cluster, _):  # which needs no id
        cluster.once(InitProducerIdRequest, UNAVAILABLE)
        async with make_producer(cluster, **options) as producer:
            await producer.send_and_wait("orders", b"one")
            cluster.topics["orders"].leaders[0] = -1
            with pytest.raises(KafkaTimeoutError):
                await producer.send_and_wait("orders", b"refused")

            with pytest.raises(KafkaTimeoutError, match="has no known leader"):
                await producer.send_and_wait("orders", b"never sent")


@virtual_time
async def test_a_partition_without_a_leader_is_asked_about_until_it_has_one():
    async with producing(nodes=3, enable_idempotence=False) as (cluster, producer):
        await producer.send_and_wait("orders", b"warm")
        cluster.topics["orders"].leaders[0] = -1
        cluster.once(ProduceRequest, cluster.refuse(ErrorCode.NOT_LEADER_OR_FOLLOWER))
        delivery = await producer.send("orders", b"one")
        await asyncio.sleep(5)

        cluster.move(0, 2)
        await asyncio.wait_for(delivery, 5)

        assert cluster.values() == [b"warm", b"one"]
