"""Produce: when it is answered, and with what."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from pyk.protocol.records import Compression
from pyk.reference_broker.broker import Broker
from pyk.reference_broker.deferred import Deferred
from pyk.reference_broker.handlers.produce import produce
from pyk.runtime.virtual_time import START_MS, virtual_time
from support.logs import batch
from support.running_brokers import TOPIC, LaggingReplica, context, running_broker

E = ErrorCode
ALL = -1


def send(
    broker: Broker,
    *numbers: int,
    acks: int = ALL,
    records: bytes | None = None,
    version: int = 12,
    timeout_ms: int = 30_000,
) -> Any:
    """Produce one batch to each of these partitions, 0 if none is given; return the reply."""
    data = [
        PartitionProduceData(index=number, records=records or batch(b"x"))
        for number in numbers or (0,)
    ]
    request = ProduceRequest(
        acks=acks,
        timeout_ms=timeout_ms,
        topic_data=[TopicProduceData(name=TOPIC, partition_data=data)],
    )
    return produce(broker.services, request, context(version))


async def answer(reply: Any) -> list[Any]:
    """Return the partitions of the response, which must be there by the next turn of the loop."""
    if isinstance(reply, Deferred):
        found: list[ProduceResponse] = []
        reply.when_done(found.append)
        await asyncio.sleep(0)
        assert found, "the request still waits"
        (reply,) = found
    partitions: list[Any] = reply.responses[0].partition_responses
    return partitions


async def codes(reply: Any) -> list[int]:
    return [each.error_code for each in await answer(reply)]


@virtual_time
async def test_acks_all_is_answered_when_the_high_watermark_has_passed() -> None:
    async with running_broker() as broker:
        replica = LaggingReplica(broker.services.replicas.get(TOPIC, 0))
        reply = send(broker)
        await asyncio.sleep(1)
        assert isinstance(reply, Deferred)
        assert not reply.is_done

        replica.catch_up()

        assert await codes(reply) == [E.NONE]


@virtual_time
async def test_a_waiting_produce_that_meets_a_bug_is_answered_as_unknown(caplog) -> None:
    async with running_broker() as broker:
        partition = broker.services.replicas.get(TOPIC, 0)
        replica = LaggingReplica(partition)
        reply = send(broker)

        def fail(*_: object, **__: object) -> None:
            raise ValueError("a bug")

        partition.acknowledged_offset = fail
        replica.catch_up()

        assert await codes(reply) == [E.UNKNOWN_SERVER_ERROR]
        assert "a bug" in caplog.text


@virtual_time
async def test_acks_1_does_not_wait_for_the_high_watermark() -> None:
    async with running_broker() as broker:
        LaggingReplica(broker.services.replicas.get(TOPIC, 0))

        assert isinstance(send(broker, acks=1), ProduceResponse)


@virtual_time
async def test_acks_all_waits_for_every_partition() -> None:
    async with running_broker(partitions=2) as broker:
        first, second = (LaggingReplica(broker.services.replicas.get(TOPIC, n)) for n in range(2))
        reply = send(broker, 0, 1)

        first.catch_up()
        await asyncio.sleep(1)
        assert not reply.is_done
        second.catch_up()

        assert await codes(reply) == [E.NONE, E.NONE]


@virtual_time
async def test_a_leader_that_resigns_does_not_acknowledge_waiting_batches() -> None:
    async with running_broker() as broker:
        LaggingReplica(broker.services.replicas.get(TOPIC, 0))
        reply = send(broker)

        broker.services.replicas.get(TOPIC, 0).resign(7, 1)

        assert await codes(reply) == [E.NOT_LEADER_OR_FOLLOWER]


@virtual_time
async def test_a_batch_that_is_replicated_stays_so_while_another_waits() -> None:
    async with running_broker(partitions=2) as broker:
        first, second = (LaggingReplica(broker.services.replicas.get(TOPIC, n)) for n in range(2))
        reply = send(broker, 0, 1)
        first.catch_up()
        await asyncio.sleep(1)
        broker.services.replicas.get(TOPIC, 0).resign(7, 1)
        await asyncio.sleep(1)

        second.catch_up()

        assert await codes(reply) == [E.NONE, E.NONE]


@virtual_time
async def test_a_batch_that_is_not_replicated_in_time_is_unknown() -> None:
    async with running_broker(partitions=2) as broker:
        first, _ = (LaggingReplica(broker.services.replicas.get(TOPIC, n)) for n in range(2))
        reply = send(broker, 0, 1, timeout_ms=500)
        first.catch_up()
        await asyncio.sleep(0.4)
        assert not reply.is_done

        await asyncio.sleep(0.2)

        assert await codes(reply) == [E.NONE, E.REQUEST_TIMED_OUT]
        assert broker.services.replicas.get(TOPIC, 1).log_end_offset == 1


@virtual_time
async def test_acks_all_needs_replicas_in_sync() -> None:
    async with running_broker(topic_configs={"min.insync.replicas": 2}) as broker:
        assert await codes(send(broker)) == [E.NOT_ENOUGH_REPLICAS]
        assert await codes(send(broker, acks=1)) == [E.NONE]


@virtual_time
async def test_zstd_needs_a_producer_that_knows_it() -> None:
    records = batch(b"x", compression=Compression.ZSTD)
    async with running_broker() as broker:
        old = await codes(send(broker, records=records, version=6))
        new = await codes(send(broker, records=records, version=7))

    assert (old, new) == ([E.UNSUPPORTED_COMPRESSION_TYPE], [E.NONE])


@virtual_time
async def test_a_response_holds_the_base_offset_and_the_log_start_offset() -> None:
    async with running_broker(topic_configs={"message.timestamp.type": "LogAppendTime"}) as broker:
        await answer(send(broker, records=batch(b"one", b"two")))
        broker.services.replicas.get(TOPIC, 0).delete_records(1)
        await asyncio.sleep(5)

        (partition,) = await answer(send(broker))

    assert (partition.base_offset, partition.log_start_offset) == (2, 1)
    assert partition.log_append_time_ms == START_MS + 5000


@virtual_time
async def test_a_refusal_names_the_records_and_gives_no_offset() -> None:
    records = batch(b"one", b"two", timestamp_ms=START_MS)
    limits = {"message.timestamp.after.max.ms": 0}
    async with running_broker(topic_configs=limits) as broker:
        (refused,) = await answer(send(broker, records=records))

    assert (refused.error_code, refused.base_offset) == (E.INVALID_TIMESTAMP, -1)
    (error,) = refused.record_errors
    assert error.batch_index == 1
    assert "timestamp" in error.batch_index_error_message


@virtual_time
async def test_a_refusal_names_the_new_leader() -> None:
    async with running_broker() as broker:
        broker.services.replicas.get(TOPIC, 0).resign(7, 3)

        (refused,) = await answer(send(broker))

    assert refused.error_code == E.NOT_LEADER_OR_FOLLOWER
    assert (refused.current_leader.leader_id, refused.current_leader.leader_epoch) == (7, 3)


@pytest.mark.parametrize("acks", [1, ALL])
@virtual_time
async def test_one_partition_that_fails_does_not_hinder_the_others(acks: int) -> None:
    async with running_broker(partitions=2) as broker:
        assert await codes(send(broker, 0, 9, 1, acks=acks)) == [
            E.NONE, E.UNKNOWN_TOPIC_OR_PARTITION, E.NONE
        ]  # fmt: skip
