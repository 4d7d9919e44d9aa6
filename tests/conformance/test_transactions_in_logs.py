"""What a partition leader accepts of transactions, and tells of them: as Apache Kafka does."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTopic,
)
from pyk.protocol.messages.describe_producers import DescribeProducersRequest, TopicRequest
from pyk.protocol.messages.init_producer_id import InitProducerIdRequest
from pyk.protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from pyk.protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from pyk.protocol.messages.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
)
from support.broker_requests import fetch, until_led
from support.brokers import Kafka, make_topic_of_node_0
from support.raw_client import RawClient, batch
from support.raw_coordinator import TRANSACTION_KEY, RawCoordinator, code_of

E = ErrorCode


class Leader:
    """A partition's leader, and a producer whose transaction the coordinator has begun."""

    def __init__(self, client: RawClient, topic: str, producer: tuple[int, int]) -> None:
        self.client = client
        self.topic = topic
        self.producer_id, self.epoch = producer

    async def write(self, sequence: int, *, is_transactional: bool = True) -> int:
        """Append one record; return the error code."""
        sealed = batch(
            b"x",
            producer_id=self.producer_id,
            producer_epoch=self.epoch,
            base_sequence=sequence,
            is_transactional=is_transactional,
        )
        data = [PartitionProduceData(index=0, records=sealed)]
        topics = [TopicProduceData(name=self.topic, partition_data=data)]
        request = ProduceRequest(
            acks=-1, transactional_id=self.topic, topic_data=topics, timeout_ms=10_000
        )
        answer = await self.client.ask(request, 11)
        return int(answer.responses[0].partition_responses[0].error_code)

    async def end(self, *, commit: bool, raise_epoch: int = 0, **more: int) -> int:
        """Append a marker, as coordinators do; return the error code."""
        topics = [WritableTxnMarkerTopic(name=self.topic, partition_indexes=[0])]
        marker = WritableTxnMarker(
            producer_id=self.producer_id,
            producer_epoch=self.epoch + raise_epoch,
            transaction_result=commit,
            topics=topics,
            **{"coordinator_epoch": 100, **more},
        )
        answer = await self.client.ask(WriteTxnMarkersRequest(markers=[marker]), 2)
        return int(answer.markers[0].topics[0].partitions[0].error_code)

    async def stands_at(self) -> tuple[int, int, int]:
        """Return high watermark, last stable offset, and the end for readers of committed ones."""
        found = await self.read()
        asked = [ListOffsetsPartition(timestamp=-1)]
        topics = [ListOffsetsTopic(name=self.topic, partitions=asked)]
        request = ListOffsetsRequest(replica_id=-1, isolation_level=1, topics=topics)
        listed = await self.client.ask(request, 7)
        end = listed.topics[0].partitions[0].offset
        return found.high_watermark, found.last_stable_offset, end

    async def aborted(self) -> list[tuple[bool, int]]:
        """Return whether each aborted transaction is the producer's, and where it begins."""
        told = (await self.read()).aborted_transactions
        return [(each.producer_id == self.producer_id, each.first_offset) for each in told]

    async def read(self) -> Any:
        request = fetch(0, topic=self.topic, isolation_level=1, max_wait_ms=0)
        answer = await self.client.ask(request, 12)
        return answer.responses[0].partitions[0]

    async def describe(self) -> tuple[int, int, int, int]:
        """Return epoch, last sequence, coordinator epoch and start of the open transaction."""
        topics = [TopicRequest(name=self.topic, partition_indexes=[0])]
        answer = await self.client.ask(DescribeProducersRequest(topics=topics), 0)
        (found,) = answer.topics[0].partitions[0].active_producers
        return (
            found.producer_epoch - self.epoch,
            found.last_sequence,
            found.coordinator_epoch,
            found.current_txn_start_offset,
        )


@pytest.fixture
async def leader(kafka: Kafka) -> AsyncIterator[Leader]:
    topic = make_topic_of_node_0(kafka, "transactions")
    async with RawClient(kafka.bootstrap) as client:
        await until_led(client, topic)
        async with RawCoordinator(kafka.bootstrap, TRANSACTION_KEY, topic) as coordinator:
            producer = await begin(coordinator, topic)
        yield Leader(client, topic, producer)


async def begin(coordinator: RawCoordinator, topic: str) -> tuple[int, int]:
    """Return id and epoch of a producer, named like the topic, whose transaction has it."""
    init = InitProducerIdRequest(transactional_id=topic, transaction_timeout_ms=60_000)
    await coordinator.ask_until_ready(init, 4)
    # The second identity has an epoch that is not the first there can be.
    identity = await coordinator.ask_until_ready(init, 4)
    add = AddPartitionsToTxnRequest(
        v3_and_below_transactional_id=topic,
        v3_and_below_producer_id=identity.producer_id,
        v3_and_below_producer_epoch=identity.producer_epoch,
        v3_and_below_topics=[AddPartitionsToTxnTopic(name=topic, partitions=[0])],
    )
    added = await coordinator.ask_until_ready(add, 3)
    assert code_of(added) is E.NONE
    return identity.producer_id, identity.producer_epoch


async def test_readers_of_committed_records_stop_at_an_open_transaction(leader: Leader) -> None:
    assert await leader.write(0) == E.NONE
    assert await leader.stands_at() == (1, 0, 0)
    assert await leader.describe() == (0, 0, -1, 0)

    assert await leader.end(commit=False) == E.NONE

    assert await leader.stands_at() == (2, 2, 2)
    assert await leader.aborted() == [(True, 0)]
    assert await leader.describe() == (0, 0, 100, -1)


async def test_late_and_repeated_markers(leader: Leader) -> None:
    await leader.write(0)
    assert await leader.end(commit=True, transaction_version=2) == E.INVALID_PRODUCER_EPOCH
    assert await leader.end(commit=True, transaction_version=1) == E.NONE

    assert await leader.end(commit=True, coordinator_epoch=99) == E.TRANSACTION_COORDINATOR_FENCED
    assert await leader.end(commit=True, raise_epoch=-1) == E.INVALID_PRODUCER_EPOCH
    assert await leader.end(commit=True, transaction_version=2) == E.NONE

    assert await leader.stands_at() == (3, 3, 3)
    assert await leader.aborted() == []


async def test_only_the_open_transaction_of_a_producer_is_written_to(leader: Leader) -> None:
    await leader.write(0)

    assert await leader.write(1, is_transactional=False) == E.INVALID_TXN_STATE
    assert await leader.write(2) == E.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert await leader.write(0) == E.NONE  # a retry
    assert await leader.stands_at() == (1, 0, 0)


async def test_a_marker_with_a_raised_epoch_fences_the_records_of_the_last(leader: Leader) -> None:
    await leader.write(0)
    assert await leader.end(commit=True, raise_epoch=1, transaction_version=2) == E.NONE

    assert await leader.describe() == (1, -1, 100, -1)
    assert await leader.write(1) == E.INVALID_PRODUCER_EPOCH
    assert await leader.stands_at() == (2, 2, 2)
