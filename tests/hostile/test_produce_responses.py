"""A producer whose brokers send wrong or malformed responses."""

from __future__ import annotations

import asyncio
from uuid import uuid5

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pyk.clients.errors import KafkaError
from pyk.protocol.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from pyk.protocol.messages.produce import (
    BatchIndexAndErrorMessage,
    LeaderIdAndEpoch,
    NodeEndpoint,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceResponse,
)
from pyk.runtime.virtual_time import run_virtual, virtual_time
from support.producing_cluster import make_producer, producing
from support.scripted_broker import CLOSE, NAMESPACE

INT16 = st.integers(-(1 << 15), (1 << 15) - 1)
INT32 = st.integers(-(1 << 31), (1 << 31) - 1)
INT64 = st.integers(-(1 << 63), (1 << 63) - 1)
TEXT = st.text(max_size=20)
ORDERS = uuid5(NAMESPACE, "orders")
WRITTEN = (0, 46)  # success and a duplicate: a producer has to believe both

partitions = st.builds(
    PartitionProduceResponse,
    index=st.sampled_from([0, 0, 0, 1, -1, 2**31 - 1]),
    error_code=st.one_of(st.integers(-1, 140), INT16).filter(lambda code: code not in WRITTEN),
    base_offset=INT64,
    log_append_time_ms=INT64,
    log_start_offset=INT64,
    record_errors=st.lists(
        st.builds(
            BatchIndexAndErrorMessage,
            batch_index=INT32,
            batch_index_error_message=st.none() | TEXT,
        ),
        max_size=3,
    ),
    error_message=st.none() | TEXT,
    current_leader=st.builds(LeaderIdAndEpoch, leader_id=INT32, leader_epoch=INT32),
)


topics = st.builds(
    TopicProduceResponse,
    topic_id=st.sampled_from([ORDERS, ORDERS, uuid5(NAMESPACE, "another")]),
    partition_responses=st.lists(partitions, max_size=3),
)
responses = st.builds(
    ProduceResponse,
    responses=st.lists(topics, max_size=2),
    throttle_time_ms=st.sampled_from([0, 0, 50, -1]),
    node_endpoints=st.lists(
        st.builds(NodeEndpoint, node_id=INT32, host=TEXT, port=INT32), max_size=2
    ),
)
frames = st.binary(max_size=64)


@settings(max_examples=200)
@given(st.lists(st.one_of(responses, frames), min_size=1, max_size=6))
def test_every_record_is_settled_and_later_ones_are_written_whatever_a_broker_answers(answers):
    async def run() -> None:
        async with producing(delivery_timeout_ms=3_000, request_timeout_ms=500, batch_size=0) as (
            cluster,
            producer,
        ):
            cluster.once(ProduceRequest, *answers)
            deliveries = [await producer.send("orders", b"%d" % n) for n in range(5)]
            async with asyncio.timeout(4):
                outcomes = await asyncio.gather(*deliveries, return_exceptions=True)

            unexpected = [o for o in outcomes if isinstance(o, Exception) and not is_typed(o)]
            assert unexpected == []
            cluster.forget_scripts()
            await producer.send_and_wait("orders", b"last")
            for value, outcome in enumerate(outcomes):
                if not isinstance(outcome, Exception):
                    assert cluster.values().count(b"%d" % value) == 1
            assert producer.stats().buffer_available_bytes == producer.stats().buffer_total_bytes

    run_virtual(run())


def is_typed(error: BaseException) -> bool:
    return isinstance(error, KafkaError) and len(str(error)) < 1_000


@pytest.mark.parametrize(
    "answer",
    [
        InitProducerIdResponse(producer_id=-1),
        InitProducerIdResponse(producer_id=5, producer_epoch=-1),
        InitProducerIdResponse(error_code=31_000),
        b"not a frame",
        CLOSE,
    ],
)
def test_an_invalid_producer_id_is_not_used(answer):
    @virtual_time
    async def run():
        async with producing() as (cluster, _):
            cluster.once(InitProducerIdRequest, answer)
            async with make_producer(cluster) as producer:
                await asyncio.sleep(0.5)
                await producer.send_and_wait("orders", b"one")

            assert cluster.values() == [b"one"]

    run()


@virtual_time
async def test_a_delivery_expires_in_time_when_a_broker_answers_only_garbage():
    async with producing(delivery_timeout_ms=2_000, request_timeout_ms=500) as (cluster, producer):
        cluster.on(ProduceRequest, b"HTTP/1.1 400 Bad Request\r\n\r\n")

        delivery = await producer.send("orders", b"one")

        async with asyncio.timeout(3):
            with pytest.raises(KafkaError, match="not acknowledged") as caught:
                await delivery
        assert not caught.value.definite
        assert len(cluster.requests(ProduceRequest)) < 20
        await producer.close(0)
