"""Transactions that try to write to the internal topics, whose markers would go to coordinators."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
)
from pyk.protocol.topics import TopicPartition
from pyk.reference_broker.controller.names import GROUP_METADATA_TOPIC, TRANSACTION_STATE_TOPIC
from pyk.runtime.virtual_time import virtual_time
from support.running_brokers import TOPIC, running_broker
from support.transaction_requests import TransactionRequests

ORDERS = TopicPartition(TOPIC, 0)
INTERNAL = [GROUP_METADATA_TOPIC, TRANSACTION_STATE_TOPIC]
internal_topics = pytest.mark.parametrize("topic", INTERNAL)


async def begin(broker: Any) -> tuple[TransactionRequests, tuple[int, int]]:
    requests = TransactionRequests(broker)
    await requests.find("readers", key_type=0)
    return requests, await requests.init()


def end_offsets(broker: Any, topic: str) -> list[int]:
    return [each.log_end_offset for each in broker.services.replicas.of_topic(topic)]


@internal_topics
@virtual_time
async def test_clients_cannot_add_internal_topics(topic: str) -> None:
    async with running_broker() as broker:
        requests, producer = await begin(broker)
        internal, unknown = TopicPartition(topic, 0), TopicPartition("unknown", 0)

        assert await requests.add(producer, ORDERS, internal, unknown) == {
            internal: ErrorCode.TOPIC_AUTHORIZATION_FAILED,
            ORDERS: ErrorCode.OPERATION_NOT_ATTEMPTED,
            unknown: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        }
        assert (await requests.describe()).transaction_state == "Empty"


@virtual_time
async def test_brokers_cannot_add_the_log_of_a_transaction_coordinator() -> None:
    async with running_broker() as broker:
        requests, producer = await begin(broker)
        offsets = TopicPartition(GROUP_METADATA_TOPIC, 0)
        states = TopicPartition(TRANSACTION_STATE_TOPIC, 0)

        assert await requests.add(producer, offsets, version=5) == {offsets: ErrorCode.NONE}
        assert await requests.add(producer, states, version=5) == {
            states: ErrorCode.TOPIC_AUTHORIZATION_FAILED
        }


@internal_topics
@virtual_time
async def test_a_refused_write_adds_no_internal_topic(topic: str) -> None:
    async with running_broker() as broker:
        requests, producer = await begin(broker)

        refused = await requests.write(producer, TopicPartition(topic, 0))

        assert refused is ErrorCode.INVALID_TOPIC_EXCEPTION
        assert (await requests.describe()).transaction_state == "Empty"


@virtual_time
async def test_a_marker_in_the_log_of_a_transaction_coordinator_is_written_once() -> None:
    """A transaction of Apache Kafka may have such a partition: a producer can add it there."""
    async with running_broker() as broker:
        requests, producer = await begin(broker)
        number = _add_partition_of_own_log(requests, producer)
        before = end_offsets(broker, TRANSACTION_STATE_TOPIC)[number]

        await requests.end(producer)
        await asyncio.sleep(10)

        assert (await requests.describe()).transaction_state == "CompleteCommit"
        records = ["PrepareCommit", "marker", "CompleteCommit"]
        assert end_offsets(broker, TRANSACTION_STATE_TOPIC)[number] == before + len(records)


def _add_partition_of_own_log(requests: TransactionRequests, producer: tuple[int, int]) -> int:
    """Add a partition of ``__transaction_state`` behind the back of the handler."""
    shards = requests.broker.shards
    runtime = shards.find(
        TRANSACTION_STATE_TOPIC,
        requests.transactional_id,
        len(requests.broker.image.topics[TRANSACTION_STATE_TOPIC].partitions),
    )
    number = int(str(runtime._name).rsplit("-", 1)[1])
    names = [TopicPartition(TRANSACTION_STATE_TOPIC, number)]
    runtime.tell(
        lambda shard, moment: shard.add_partitions(
            requests.transactional_id, producer, names, 2, moment
        )[1]
    )
    return number


@internal_topics
@virtual_time
async def test_markers_of_nobody_harm_no_coordinator(topic: str) -> None:
    async with running_broker() as broker:
        requests, producer = await begin(broker)
        count = len(broker.image.topics[topic].partitions)
        marker = WritableTxnMarker(
            producer_id=4711,
            producer_epoch=0,
            transaction_result=True,
            topics=[WritableTxnMarkerTopic(name=topic, partition_indexes=list(range(count)))],
        )

        answered = await requests.ask(WriteTxnMarkersRequest(markers=[marker]), 1)

        results = answered.markers[0].topics[0].partitions
        assert {each.error_code for each in results} == {ErrorCode.NONE}
        assert await requests.write(producer, ORDERS) is ErrorCode.NONE
        assert await requests.end(producer) == (producer[0], producer[1] + 1)
        assert await requests.settle() == "CompleteCommit"
