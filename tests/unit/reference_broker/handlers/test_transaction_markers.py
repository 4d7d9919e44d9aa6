"""WriteTxnMarkers, and what other requests say of transactions."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.describe_producers import DescribeProducersRequest, TopicRequest
from pyk.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from pyk.protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from pyk.protocol.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from pyk.protocol.messages.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
)
from pyk.reference_broker.broker import Broker
from pyk.reference_broker.deferred import Deferred
from pyk.reference_broker.handlers.fetch import fetch
from pyk.reference_broker.handlers.offsets import list_offsets
from pyk.reference_broker.handlers.produce import produce
from pyk.reference_broker.handlers.producers import describe_producers
from pyk.reference_broker.handlers.transaction_markers import write_txn_markers
from pyk.runtime.virtual_time import START_MS, virtual_time
from support.logs import batch, transactional_batch
from support.running_brokers import TOPIC, LaggingReplica, context, running_broker

E = ErrorCode
PRODUCER = 7

unverified_broker = partial(running_broker, transaction_partition_verification_enable=False)
"""Runs a broker that asks no coordinator about the partitions of transactions."""


def send(broker: Broker, *batches: bytes, transactional_id: str | None = "payments") -> list[int]:
    """Produce a batch to each of the partitions 0, 1, …; return the error codes."""
    data = [PartitionProduceData(index=n, records=records) for n, records in enumerate(batches)]
    request = ProduceRequest(
        acks=-1,
        transactional_id=transactional_id,
        topic_data=[TopicProduceData(name=TOPIC, partition_data=data)],
    )
    reply = produce(broker.services, request, context(11))
    assert isinstance(reply, ProduceResponse)
    return [each.error_code for each in reply.responses[0].partition_responses]


def in_transaction(base_sequence: int = 0, producer_id: int = PRODUCER, epoch: int = 0) -> bytes:
    return transactional_batch(
        b"x", producer_id=producer_id, producer_epoch=epoch, base_sequence=base_sequence
    )


def end(broker: Broker, *numbers: int, commit: bool = True, epoch: int = 0, **more: Any) -> Any:
    """Return the reply to WriteTxnMarkers for these partitions."""
    marker = WritableTxnMarker(
        producer_id=PRODUCER,
        producer_epoch=epoch,
        transaction_result=commit,
        topics=[WritableTxnMarkerTopic(name=TOPIC, partition_indexes=list(numbers))],
        **more,
    )
    return write_txn_markers(
        broker.services, WriteTxnMarkersRequest(markers=[marker]), context(version=2)
    )


def codes(response: Any) -> list[int]:
    return [each.error_code for each in response.markers[0].topics[0].partitions]


def read_committed(broker: Broker, max_wait_ms: int = 0) -> Any:
    asked = FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=1 << 20)
    request = FetchRequest(
        isolation_level=1,
        max_wait_ms=max_wait_ms,
        min_bytes=1,
        session_epoch=-1,
        topics=[FetchTopic(topic=TOPIC, partitions=[asked])],
    )
    return fetch(broker.services, request, context())


def end_offset(broker: Broker, isolation_level: int) -> int:
    asked = ListOffsetsTopic(name=TOPIC, partitions=[ListOffsetsPartition(timestamp=-1)])
    request = ListOffsetsRequest(isolation_level=isolation_level, topics=[asked])
    return (
        list_offsets(broker.services, request, context(version=10)).topics[0].partitions[0].offset
    )


@virtual_time
async def test_markers_end_transactions_partition_by_partition() -> None:
    async with unverified_broker(partitions=2) as broker:
        send(broker, in_transaction(), in_transaction())

        response = end(broker, 0, 9, 1)

        assert codes(response) == [E.NONE, E.UNKNOWN_TOPIC_OR_PARTITION, E.NONE]
        assert response.markers[0].producer_id == PRODUCER
        for number in (0, 1):
            partition = broker.services.replicas.get(TOPIC, number)
            assert partition.last_stable_offset == partition.log_end_offset == 2


@virtual_time
async def test_late_markers_are_refused() -> None:
    async with unverified_broker() as broker:
        send(broker, in_transaction(epoch=3))

        assert codes(end(broker, 0, epoch=2)) == [E.INVALID_PRODUCER_EPOCH]
        assert codes(end(broker, 0, epoch=3, transaction_version=2)) == [E.INVALID_PRODUCER_EPOCH]
        assert codes(end(broker, 0, epoch=4, transaction_version=2, coordinator_epoch=5)) == [0]
        late = end(broker, 0, epoch=4, coordinator_epoch=4)
        assert codes(late) == [E.TRANSACTION_COORDINATOR_FENCED]


@virtual_time
async def test_request_without_markers_is_answered() -> None:
    async with unverified_broker() as broker:
        response: Any = write_txn_markers(
            broker.services, WriteTxnMarkersRequest(), context(version=1)
        )

    assert response.markers == []


@virtual_time
async def test_markers_are_answered_when_the_high_watermark_has_passed_them() -> None:
    async with unverified_broker() as broker:
        send(broker, in_transaction())
        replica = LaggingReplica(broker.services.replicas.get(TOPIC, 0))
        reply = end(broker, 0)
        assert isinstance(reply, Deferred)
        assert not reply.is_done

        replica.catch_up()
        broker.services.waiting.produces.check(
            broker.services.replicas.get(TOPIC, 0).topic_partition
        )

        found: list[Any] = []
        reply.when_done(found.append)
        assert codes(found[0]) == [E.NONE]


@virtual_time
async def test_too_few_replicas_refuse_a_marker() -> None:
    async with unverified_broker(topic_configs={"min.insync.replicas": 2}) as broker:
        assert codes(end(broker, 0)) == [E.NOT_ENOUGH_REPLICAS]


@virtual_time
async def test_marker_listeners_are_told_before_the_marker_counts() -> None:
    told = []
    async with unverified_broker() as broker:
        partition = broker.services.replicas.get(TOPIC, 0)
        send(broker, in_transaction())
        partition.add_marker_listener(
            lambda marker, offset: told.append((marker.is_commit, offset, partition.high_watermark))
        )

        end(broker, 0, commit=False)

    assert told == [(False, 1, 1)]


@virtual_time
async def test_reader_of_committed_records_waits_for_the_marker() -> None:
    async with unverified_broker() as broker:
        send(broker, in_transaction())
        before = read_committed(broker).responses[0].partitions[0]
        waiting = read_committed(broker, max_wait_ms=60_000)
        assert isinstance(waiting, Deferred)

        end(broker, 0, commit=False)
        broker.services.waiting.fetches.check(
            broker.services.replicas.get(TOPIC, 0).topic_partition
        )

        found: list[Any] = []
        waiting.when_done(found.append)
    after = found[0].responses[0].partitions[0]
    assert (before.high_watermark, before.last_stable_offset, len(before.records)) == (1, 0, 0)
    assert before.aborted_transactions == []
    assert (after.high_watermark, after.last_stable_offset) == (2, 2)
    assert [(each.producer_id, each.first_offset) for each in after.aborted_transactions] == [
        (PRODUCER, 0)
    ]


@virtual_time
async def test_end_of_a_partition_depends_on_the_isolation_level() -> None:
    async with unverified_broker() as broker:
        send(broker, in_transaction())

        assert (end_offset(broker, 0), end_offset(broker, 1)) == (1, 0)
        end(broker, 0)
        assert (end_offset(broker, 0), end_offset(broker, 1)) == (2, 2)


@virtual_time
async def test_open_transactions_are_described() -> None:
    async with unverified_broker() as broker:
        send(broker, in_transaction())
        end(broker, 0, coordinator_epoch=4)
        send(broker, in_transaction(1))

        request = DescribeProducersRequest(topics=[TopicRequest(name=TOPIC, partition_indexes=[0])])
        response = describe_producers(broker.services, request, context(version=0))

    (producer,) = response.topics[0].partitions[0].active_producers
    assert (producer.producer_id, producer.producer_epoch, producer.last_sequence) == (
        PRODUCER,
        0,
        1,
    )
    assert producer.last_timestamp == START_MS
    assert (producer.coordinator_epoch, producer.current_txn_start_offset) == (4, 2)


@pytest.mark.parametrize(
    ("transactional_id", "second", "expected"),
    [
        (None, in_transaction(), E.TRANSACTIONAL_ID_AUTHORIZATION_FAILED),
        ("payments", in_transaction(producer_id=8), E.INVALID_PRODUCER_ID_MAPPING),
        ("payments", in_transaction(epoch=1), E.INVALID_PRODUCER_ID_MAPPING),
        ("payments", in_transaction(), E.NONE),
        ("payments", batch(b"outside of any transaction"), E.NONE),
    ],
)
@virtual_time
async def test_transactional_batches_of_a_request_are_of_one_producer_with_an_id(
    transactional_id: str | None, second: bytes, expected: ErrorCode
) -> None:
    async with unverified_broker(partitions=2) as broker:
        found = send(broker, in_transaction(), second, transactional_id=transactional_id)

    assert found == [expected] * 2
