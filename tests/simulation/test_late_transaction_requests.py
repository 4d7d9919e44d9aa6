"""Requests of a transaction that come late: they count for their own transaction, or for none."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from pyk.clients import TopicPartition
from pyk.clients.errors import KafkaTimeoutError, TransactionAbortedError
from pyk.clients.offsets import ConsumerGroupMetadata
from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.add_offsets_to_txn import AddOffsetsToTxnRequest
from pyk.protocol.messages.add_partitions_to_txn import (
    AddPartitionsToTxnPartitionResult,
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnTopicResult,
)
from pyk.protocol.messages.end_txn import EndTxnRequest
from pyk.protocol.messages.produce import ProduceRequest
from pyk.protocol.messages.txn_offset_commit import TxnOffsetCommitRequest
from pyk.runtime.virtual_time import virtual_time
from support.transactional_cluster import TransactionalCluster, transacting

BOTH = pytest.mark.parametrize("version", [1, 2])
GROUP = ConsumerGroupMetadata("billing", 3, "member-1")
READ = TopicPartition("payments", 0)
UNKNOWN = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def partition_codes(
    request: AddPartitionsToTxnRequest, codes: dict[int, ErrorCode], others: ErrorCode
) -> AddPartitionsToTxnResponse:
    """Answer with a code for each partition."""
    return AddPartitionsToTxnResponse(
        results_by_topic_v3_and_below=[
            AddPartitionsToTxnTopicResult(
                name=topic.name,
                results_by_partition=[
                    AddPartitionsToTxnPartitionResult(
                        partition_index=number, partition_error_code=codes.get(number, others)
                    )
                    for number in topic.partitions
                ],
            )
            for topic in request.v3_and_below_topics
        ]
    )


async def write(producer: Any, value: bytes) -> None:
    await producer.begin_transaction()
    await producer.send("orders", value, partition=0)
    await producer.commit_transaction()


# -- offsets ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("code", [UNKNOWN, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS])
@BOTH
@virtual_time
async def test_offsets_of_an_aborted_transaction_are_not_sent_in_the_next_one(version, code):
    async with transacting(version, retry_backoff_ms=900) as (cluster, producer):
        cluster.once(TxnOffsetCommitRequest, lambda one: cluster.answer_offsets(one, code))
        await producer.begin_transaction()
        sending = asyncio.ensure_future(producer.send_offsets_to_transaction({READ: 1}, GROUP))
        await asyncio.sleep(0.1)
        await producer.abort_transaction()
        await producer.begin_transaction()
        await producer.send("orders", b"a")
        await asyncio.sleep(5)
        await producer.commit_transaction()

        with pytest.raises(TransactionAbortedError):
            await sending

    assert len(cluster.requests(TxnOffsetCommitRequest)) == 1
    assert cluster.offsets == {}
    assert cluster.committed == [b"a"]


@virtual_time
async def test_a_group_of_an_aborted_transaction_is_not_added_to_the_next_one():
    async with transacting(1, retry_backoff_ms=900) as (cluster, producer):
        refusal = cluster.add_offsets_with(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
        cluster.once(AddOffsetsToTxnRequest, refusal)
        await producer.begin_transaction()
        with pytest.raises(KafkaTimeoutError):
            await producer.send_offsets_to_transaction({READ: 1}, GROUP, timeout=0.1)
        await producer.abort_transaction()
        await producer.begin_transaction()
        await asyncio.sleep(5)
        await producer.commit_transaction()

    assert len(cluster.requests(AddOffsetsToTxnRequest)) == 1
    assert cluster.ends in ([], [False])


@pytest.mark.parametrize(
    "code", [ErrorCode.ILLEGAL_GENERATION, ErrorCode.GROUP_AUTHORIZATION_FAILED]
)
@BOTH
@virtual_time
async def test_offsets_that_are_refused_while_the_transaction_is_aborted_change_nothing(
    version, code
):
    async with transacting(version) as (cluster, producer):
        refusal = cluster.later(0.5, lambda one: cluster.answer_offsets(one, code))
        cluster.once(TxnOffsetCommitRequest, refusal)
        await producer.begin_transaction()
        sending = asyncio.ensure_future(producer.send_offsets_to_transaction({READ: 1}, GROUP))
        await asyncio.sleep(0.1)
        await producer.abort_transaction()
        with pytest.raises(TransactionAbortedError):
            await sending
        await write(producer, b"next")

    assert cluster.committed == [b"next"]


@BOTH
@virtual_time
async def test_offsets_whose_caller_gave_up_are_waited_for_by_the_commit(version):
    async with transacting(version) as (cluster, producer):
        answer = cluster.later(2, cluster.commit_offsets)
        cluster.once(TxnOffsetCommitRequest, answer)
        await producer.begin_transaction()
        with pytest.raises(KafkaTimeoutError):
            await producer.send_offsets_to_transaction({READ: 1}, GROUP, timeout=0.5)
        await producer.commit_transaction()

    assert cluster.offsets == {("billing", "payments", 0): 1}


# -- partitions, version 1 -------------------------------------------------------------------------


@virtual_time
async def test_partitions_of_an_aborted_transaction_are_not_added_to_the_next_one():
    async with transacting(1, retry_backoff_ms=900) as (cluster, producer):
        cluster.once(AddPartitionsToTxnRequest, lambda one: partition_codes(one, {}, UNKNOWN))
        await producer.begin_transaction()
        await producer.send("orders", b"never", partition=2)
        await asyncio.sleep(0.1)
        await producer.abort_transaction()
        await write(producer, b"next")

    added = [one.message for one in cluster.requests(AddPartitionsToTxnRequest)]
    assert [one.v3_and_below_topics[0].partitions for one in added] == [[2], [0]]
    assert cluster.committed == [b"next"]


@virtual_time
async def test_the_next_transaction_does_not_wait_for_the_retry_of_an_aborted_one():
    async with transacting(1, retry_backoff_ms=900) as (cluster, producer):
        cluster.once(AddPartitionsToTxnRequest, lambda one: partition_codes(one, {}, UNKNOWN))
        await producer.begin_transaction()
        await producer.send("orders", b"never", partition=2)
        await asyncio.sleep(0.1)
        began_at = asyncio.get_running_loop().time()
        await producer.abort_transaction()
        await write(producer, b"next")
        took = asyncio.get_running_loop().time() - began_at

    assert took < 0.2
    assert cluster.committed == [b"next"]


@virtual_time
async def test_a_partition_that_the_coordinator_does_not_know_yet_is_added_again_with_the_others():
    """The others of its request were not attempted: that is no error of theirs."""
    async with transacting(1, linger_ms=5) as (cluster, producer):
        not_attempted = ErrorCode.OPERATION_NOT_ATTEMPTED
        cluster.once(
            AddPartitionsToTxnRequest,
            lambda one: partition_codes(one, {1: UNKNOWN}, not_attempted),
        )
        await producer.begin_transaction()
        for partition in range(3):
            await producer.send("orders", b"%d" % partition, partition=partition)
        await producer.commit_transaction()

    assert sorted(cluster.committed) == [b"0", b"1", b"2"]


@pytest.mark.parametrize(
    "code", [ErrorCode.INVALID_TOPIC_EXCEPTION, ErrorCode.TOPIC_AUTHORIZATION_FAILED]
)
@virtual_time
async def test_a_partition_that_cannot_be_added_costs_its_transaction_only(code):
    async with transacting(1, linger_ms=5) as (cluster, producer):
        cluster.once(AddPartitionsToTxnRequest, lambda one: partition_codes(one, {}, code))
        await producer.begin_transaction()
        delivery = await producer.send("orders", b"never", partition=1)
        with pytest.raises(Exception, match=code.name):
            await delivery
        await producer.abort_transaction()
        await write(producer, b"next")

    assert cluster.committed == [b"next"]


# -- batches, version 1 ----------------------------------------------------------------------------


@virtual_time
async def test_a_batch_that_expired_in_flight_is_answered_before_the_transaction_ends():
    """In version 1 nothing else would keep its late append out of the next transaction."""
    async with transacting(1, request_timeout_ms=2000, delivery_timeout_ms=2005) as (
        cluster,
        producer,
    ):
        done: list[str] = []
        cluster.once(ProduceRequest, cluster.refuse(ErrorCode.NOT_ENOUGH_REPLICAS))
        cluster.once(ProduceRequest, append_later(cluster, 1.99, done))
        cluster.on(EndTxnRequest, noted(cluster.end, done))
        await producer.begin_transaction()
        delivery = await producer.send("orders", b"slow", partition=1)
        with pytest.raises(KafkaTimeoutError):
            await delivery
        await producer.abort_transaction()
        await write(producer, b"next")

    assert done == ["append", "end", "end"]
    assert (cluster.committed, cluster.aborted) == ([b"next"], [b"slow"])


def append_later(cluster: TransactionalCluster, seconds: float, done: list[str]) -> Any:
    async def answer(request: ProduceRequest) -> Any:
        await asyncio.sleep(seconds)
        done.append("append")
        return cluster.produce(request)

    return answer


def noted(handler: Any, done: list[str]) -> Any:
    def answer(request: EndTxnRequest) -> Any:
        done.append("end")
        return handler(request)

    return answer
