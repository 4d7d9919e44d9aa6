"""The calls of a transactional producer: cancelled, made twice, made while another goes on."""

from __future__ import annotations

import asyncio

import pytest

from pyk.clients import PreparedTransaction, TopicPartition
from pyk.clients.errors import (
    KafkaTimeoutError,
    StateError,
    TransactionAbortableError,
    TransactionAbortedError,
)
from pyk.clients.offsets import ConsumerGroupMetadata
from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.end_txn import EndTxnRequest
from pyk.protocol.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from pyk.protocol.messages.produce import ProduceRequest
from pyk.protocol.messages.txn_offset_commit import TxnOffsetCommitRequest
from pyk.runtime.network import MemoryNetwork
from pyk.runtime.virtual_time import virtual_time
from support.producing_cluster import make_producer
from support.scripted_broker import SILENCE
from support.transactional_cluster import TransactionalCluster, transacting

BOTH = pytest.mark.parametrize("version", [1, 2])
GROUP = ConsumerGroupMetadata("billing", 3, "member-1")
READ = TopicPartition("payments", 0)
UNKNOWN = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def lose_the_topic_of_offsets(cluster: TransactionalCluster) -> None:
    """Let the group's coordinator refuse offsets until it knows their topic."""
    cluster.on(TxnOffsetCommitRequest, lambda request: cluster.answer_offsets(request, UNKNOWN))


# -- begin -----------------------------------------------------------------------------------------


@BOTH
@virtual_time
async def test_of_two_tasks_that_begin_at_once_the_second_is_refused(version):
    async with transacting(version) as (_, producer):
        first = asyncio.ensure_future(producer.begin_transaction())
        await asyncio.sleep(0)
        with pytest.raises(StateError, match="is in a transaction"):
            await producer.begin_transaction()
        await first


@virtual_time
async def test_two_tasks_that_begin_while_an_epoch_is_asked_for_do_not_share_a_transaction():
    async with transacting(1) as (cluster, producer):
        cluster.once(EndTxnRequest, SILENCE)
        await producer.begin_transaction()
        await producer.send("orders", b"a")
        await producer.commit_transaction()

        results = await asyncio.gather(
            producer.begin_transaction(), producer.begin_transaction(), return_exceptions=True
        )

    assert [type(one) for one in results] == [type(None), StateError]


@pytest.mark.parametrize("steps", range(12))
@BOTH
@virtual_time
async def test_a_begin_that_is_cancelled_may_be_made_again_at_once(version, steps):
    """Steps of the event loop, so that the moment of the result is met as well."""
    async with transacting(version) as (cluster, producer):
        begun = asyncio.ensure_future(producer.begin_transaction())
        for _ in range(steps):
            await asyncio.sleep(0)
        begun.cancel()
        await asyncio.wait([begun])
        if begun.cancelled():
            await producer.begin_transaction()
        await producer.send("orders", b"a")
        await producer.commit_transaction()

    assert cluster.committed == [b"a"]


@pytest.mark.parametrize("steps", range(40))
@virtual_time
async def test_a_commit_that_is_cancelled_may_be_made_again_at_once(steps):
    async with transacting() as (cluster, producer):
        await producer.begin_transaction()
        await producer.send_and_wait("orders", b"a")
        commit = asyncio.ensure_future(producer.commit_transaction())
        for _ in range(steps):
            await asyncio.sleep(0.0001)
        commit.cancel()
        await asyncio.wait([commit])
        if commit.cancelled():
            await producer.commit_transaction()

    assert cluster.committed == [b"a"]


# -- prepare ---------------------------------------------------------------------------------------


@BOTH
@virtual_time
async def test_no_record_is_taken_once_prepare_transaction_was_called(version):
    async with transacting(version, request_timeout_ms=1000) as (cluster, producer):
        cluster.once(ProduceRequest, SILENCE)
        await producer.begin_transaction()
        await producer.send("orders", b"a")
        preparing = asyncio.ensure_future(producer.prepare_transaction())
        await asyncio.sleep(0.1)

        with pytest.raises(StateError, match="writing the rest"):
            await producer.send("orders", b"late")
        with pytest.raises(StateError, match="writing the rest"):
            await producer.send_offsets_to_transaction({READ: 1}, GROUP)
        await producer.complete_transaction(await preparing)

    assert cluster.committed == [b"a"]


@pytest.mark.parametrize("is_commit", [True, False])
@BOTH
@virtual_time
async def test_a_prepared_transaction_without_records_needs_nobody_to_end_it(version, is_commit):
    async with transacting(version) as (cluster, producer):
        await producer.begin_transaction()
        prepared = PreparedTransaction.from_json((await producer.prepare_transaction()).to_json())
        async with make_producer(cluster) as other:
            await other.complete_transaction(prepared, commit=is_commit)
        await producer.complete_transaction(prepared, commit=is_commit)

    assert prepared.is_empty
    assert cluster.requests(EndTxnRequest) == []


@BOTH
@virtual_time
async def test_a_batch_that_fails_while_the_transaction_is_prepared_leads_to_an_abort(version):
    async with transacting(version) as (cluster, producer):
        cluster.once(ProduceRequest, cluster.refuse(ErrorCode.INVALID_RECORD))
        await producer.begin_transaction()
        await producer.send("orders", b"bad")
        with pytest.raises(TransactionAbortableError):
            await producer.prepare_transaction()
        await producer.abort_transaction()
        await producer.begin_transaction()
        await producer.send("orders", b"next")
        await producer.commit_transaction()

    assert cluster.committed == [b"next"]


# -- calls that cannot go on -----------------------------------------------------------------------


@pytest.mark.parametrize("call", ["commit_transaction", "prepare_transaction"])
@BOTH
@virtual_time
async def test_a_call_that_is_stuck_on_offsets_names_why_and_may_be_followed_by_an_abort(
    version, call
):
    async with transacting(version) as (cluster, producer):
        lose_the_topic_of_offsets(cluster)
        await producer.begin_transaction()
        await producer.send("orders", b"a")
        with pytest.raises(KafkaTimeoutError, match=r"TxnOffsetCommit: .*UNKNOWN_TOPIC"):
            await producer.send_offsets_to_transaction({READ: 1}, GROUP, timeout=1)
        with pytest.raises(KafkaTimeoutError, match=r"TxnOffsetCommit: .*UNKNOWN_TOPIC"):
            await getattr(producer, call)(timeout=1)

        await producer.abort_transaction()
        cluster.on(TxnOffsetCommitRequest, cluster.commit_offsets)
        await producer.begin_transaction()
        await producer.send("orders", b"b")
        await producer.send_offsets_to_transaction({READ: 2}, GROUP)
        await producer.commit_transaction()

    assert (cluster.committed, cluster.aborted) == ([b"b"], [b"a"])
    assert cluster.offsets == {("billing", "payments", 0): 2}


@BOTH
@virtual_time
async def test_a_caller_that_waits_for_a_commit_learns_of_the_abort_by_another_one(version):
    async with transacting(version, request_timeout_ms=1000) as (cluster, producer):
        cluster.on(ProduceRequest, SILENCE)
        await producer.begin_transaction()
        await producer.send("orders", b"a")
        commit = asyncio.ensure_future(producer.commit_transaction())
        await asyncio.sleep(0.1)

        await producer.abort_transaction()

        with pytest.raises(TransactionAbortedError):
            await commit
    assert cluster.committed == []


@virtual_time
async def test_a_commit_that_waits_for_its_records_names_the_last_error_of_their_brokers():
    async with transacting(request_timeout_ms=1000) as (cluster, producer):
        cluster.on(ProduceRequest, cluster.refuse(ErrorCode.NOT_ENOUGH_REPLICAS))
        await producer.begin_transaction()
        await producer.send("orders", b"a")

        with pytest.raises(KafkaTimeoutError, match="NOT_ENOUGH_REPLICAS"):
            await producer.commit_transaction(timeout=2)


@virtual_time
async def test_an_initialization_that_times_out_names_the_last_error_of_the_coordinator():
    async with TransactionalCluster(MemoryNetwork(latency=0.001)) as cluster:
        refusal = InitProducerIdResponse(error_code=ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
        cluster.on(InitProducerIdRequest, lambda _: refusal)
        producer = make_producer(cluster, transactional_id="billing")
        with pytest.raises(KafkaTimeoutError, match="COORDINATOR_LOAD_IN_PROGRESS"):
            await producer.init_transactions(timeout=2)
        await producer.close(0)
