"""A transactional producer: what commits, what aborts, and what its calls raise."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from pyk.clients import AsyncProducer, TopicPartition
from pyk.clients.errors import (
    KafkaError,
    KafkaTimeoutError,
    ProducerFencedError,
    StateError,
    TransactionAbortableError,
    TransactionAbortedError,
)
from pyk.clients.offsets import ConsumerGroupMetadata
from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.add_offsets_to_txn import (
    AddOffsetsToTxnRequest,
)
from pyk.protocol.messages.add_partitions_to_txn import AddPartitionsToTxnRequest
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
FIRST_INIT = 1


def make_cluster(version: int = 2) -> TransactionalCluster:
    return TransactionalCluster(MemoryNetwork(latency=0.001), version=version)


async def run_transaction(producer: AsyncProducer[Any, Any], *values: bytes) -> None:
    """Write values to several partitions, with an offset, and commit."""
    await producer.begin_transaction()
    for number, value in enumerate(values):
        await producer.send("orders", value, partition=number % 3)
    await producer.send_offsets_to_transaction({READ: len(values)}, GROUP)
    await producer.commit_transaction()


# -- without faults --------------------------------------------------------------------------------


@BOTH
@virtual_time
async def test_what_is_committed_becomes_visible_and_what_is_aborted_does_not(version):
    async with transacting(version) as (cluster, producer):
        await run_transaction(producer, b"a", b"b", b"c")
        await producer.begin_transaction()
        await producer.send_and_wait("orders", b"never")
        await producer.abort_transaction()
        await run_transaction(producer, b"d")

    assert sorted(cluster.committed) == [b"a", b"b", b"c", b"d"]
    assert cluster.aborted == [b"never"]
    assert cluster.offsets == {("billing", "payments", 0): 1}
    assert cluster.ends == [True, False, True]


@BOTH
@virtual_time
async def test_a_transaction_begins_without_a_turn_of_the_loop(version):
    async with transacting(version) as (_, producer):
        await run_transaction(producer, b"a")
        begin = producer.begin_transaction()

        with pytest.raises(StopIteration):
            begin.send(None)


@virtual_time
async def test_version_2_adds_nothing_by_itself_and_takes_its_epoch_from_each_end():
    async with transacting(2) as (cluster, producer):
        await run_transaction(producer, b"a", b"b")
        await run_transaction(producer, b"c")

    assert cluster.requests(AddPartitionsToTxnRequest) == []
    assert cluster.requests(AddOffsetsToTxnRequest) == []
    assert len(cluster.requests(InitProducerIdRequest)) == FIRST_INIT
    assert {one.version >= 12 for one in cluster.requests(ProduceRequest)} == {True}
    assert [one.message.producer_epoch for one in cluster.requests(EndTxnRequest)] == [0, 1]


@virtual_time
async def test_version_1_adds_partitions_in_batches_and_keeps_its_epoch():
    async with transacting(1, linger_ms=50) as (cluster, producer):
        await run_transaction(producer, b"a", b"b", b"c")
        await run_transaction(producer, b"d", b"e", b"f")

    assert len(cluster.requests(AddPartitionsToTxnRequest)) == 2
    assert len(cluster.requests(InitProducerIdRequest)) == FIRST_INIT
    assert {one.version <= 11 for one in cluster.requests(ProduceRequest)} == {True}
    assert {one.version <= 4 for one in cluster.requests(EndTxnRequest)} == {True}
    assert {one.version for one in cluster.requests(TxnOffsetCommitRequest)} == {4}


@BOTH
@virtual_time
async def test_an_empty_transaction_ends_without_a_request(version):
    async with transacting(version) as (cluster, producer):
        await producer.begin_transaction()
        await producer.commit_transaction()
        await producer.begin_transaction()
        await producer.abort_transaction()

    assert cluster.requests(EndTxnRequest) == []


@BOTH
@virtual_time
async def test_an_abort_drops_what_was_not_sent_and_says_so(version):
    async with transacting(version, linger_ms=5000) as (cluster, producer):
        await producer.begin_transaction()
        delivery = await producer.send("orders", b"lingers")
        await producer.abort_transaction()

        with pytest.raises(TransactionAbortedError):
            await delivery
        await run_transaction(producer, b"next")

    assert cluster.committed == [b"next"]
    assert cluster.aborted == []


@pytest.mark.parametrize("call", ["commit_transaction", "prepare_transaction"])
@pytest.mark.parametrize("seconds", [0.4, 5])
@BOTH
@virtual_time
async def test_closing_aborts_a_transaction_whose_records_are_not_written_in_time(
    version, seconds, call
):
    async with transacting(version) as (cluster, producer):
        await producer.begin_transaction()
        await producer.send_and_wait("orders", b"written", partition=0)
        cluster.on(ProduceRequest, cluster.refuse(ErrorCode.NOT_ENOUGH_REPLICAS))
        await producer.send("orders", b"stuck", partition=1)
        ending = asyncio.ensure_future(getattr(producer, call)())
        await asyncio.sleep(0.1)
        await producer.close(timeout=seconds)

        with pytest.raises(TransactionAbortedError):
            await ending

    assert cluster.ends == [False]


@BOTH
@virtual_time
async def test_closing_aborts_the_open_transaction(version):
    async with transacting(version) as (cluster, producer):
        await producer.begin_transaction()
        await producer.send_and_wait("orders", b"open")

    assert cluster.ends == [False]


# -- calls in the wrong state ----------------------------------------------------------------------


@virtual_time
async def test_a_call_in_the_wrong_state_says_what_to_do():
    async with transacting() as (_, producer):
        with pytest.raises(StateError, match=r"call begin_transaction\(\) first"):
            await producer.send("orders", b"early")
        for call in (producer.commit_transaction, producer.abort_transaction):
            with pytest.raises(StateError, match=r"call begin_transaction\(\) first"):
                await call()
        await producer.begin_transaction()
        with pytest.raises(StateError, match="commit or abort it first"):
            await producer.begin_transaction()


@virtual_time
async def test_a_producer_without_a_transactional_id_has_no_transactions():
    async with transacting(transactional_id=None) as (_, producer):
        with pytest.raises(StateError, match="give it a transactional_id"):
            await producer.begin_transaction()


@virtual_time
async def test_send_before_the_initialization_raises_at_once():
    async with make_cluster() as cluster:
        producer = make_producer(cluster, transactional_id="billing")
        with pytest.raises(StateError, match="init_transactions"):
            await producer.send("orders", b"early")
        await producer.close()


# -- errors that abort, and errors that end --------------------------------------------------------


@pytest.mark.parametrize(
    "code",
    [
        ErrorCode.INVALID_RECORD,
        ErrorCode.INVALID_PRODUCER_EPOCH,
        ErrorCode.INVALID_TXN_STATE,
        ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
        ErrorCode.TOPIC_AUTHORIZATION_FAILED,
        ErrorCode.TRANSACTION_ABORTABLE,
        ErrorCode.UNKNOWN_PRODUCER_ID,
    ],
    ids=lambda code: code.name,
)
@BOTH
@virtual_time
async def test_a_batch_that_fails_makes_the_transaction_abortable_and_the_producer_goes_on(
    version, code
):
    async with transacting(version) as (cluster, producer):
        cluster.once(ProduceRequest, cluster.refuse(code))
        await producer.begin_transaction()
        delivery = await producer.send("orders", b"fails")
        with pytest.raises(TransactionAbortableError) as caught:
            await producer.commit_transaction()
        with pytest.raises(TransactionAbortableError):
            await producer.send("orders", b"more")
        await producer.abort_transaction()
        await run_transaction(producer, b"next")

    failure = delivery.exception()
    assert failure is not None
    assert (failure.code, failure.fatal, failure.txn_requires_abort) == (code, False, True)
    assert caught.value.txn_requires_abort
    assert isinstance(caught.value, KafkaError)
    assert cluster.committed == [b"next"]


@pytest.mark.parametrize(
    "code",
    [
        ErrorCode.FENCED_INSTANCE_ID,
        ErrorCode.GROUP_AUTHORIZATION_FAILED,
        ErrorCode.ILLEGAL_GENERATION,
        ErrorCode.TRANSACTION_ABORTABLE,
        ErrorCode.UNKNOWN_MEMBER_ID,
    ],
    ids=lambda code: code.name,
)
@BOTH
@virtual_time
async def test_offsets_that_the_group_refuses_make_the_transaction_abortable(version, code):
    async with transacting(version) as (cluster, producer):
        cluster.once(TxnOffsetCommitRequest, lambda request: cluster.answer_offsets(request, code))
        await producer.begin_transaction()
        await producer.send("orders", b"a")
        with pytest.raises(TransactionAbortableError):
            await producer.send_offsets_to_transaction({READ: 1}, GROUP)
        with pytest.raises(TransactionAbortableError):
            await producer.commit_transaction()
        await producer.abort_transaction()
        await run_transaction(producer, b"next")

    assert cluster.committed == [b"next"]


@BOTH
@virtual_time
async def test_a_later_producer_of_the_same_id_takes_over(version):
    async with transacting(version) as (cluster, first):
        await first.begin_transaction()
        await first.send_and_wait("orders", b"first")
        async with make_producer(cluster, transactional_id="billing") as second:
            with pytest.raises(ProducerFencedError, match="has taken over") as caught:
                await first.commit_transaction()
            for call in (first.begin_transaction, first.abort_transaction):
                with pytest.raises(ProducerFencedError):
                    await call()
            with pytest.raises(ProducerFencedError):
                await first.send("orders", b"more")
            await run_transaction(second, b"second")

    assert caught.value.fatal
    assert not caught.value.txn_requires_abort
    assert (cluster.committed, cluster.aborted) == ([b"second"], [b"first"])


@virtual_time
async def test_an_initialization_that_is_refused_may_be_tried_again():
    async with make_cluster() as cluster:
        cluster.add_topic("orders", [1, 2, 3])
        refusal = InitProducerIdResponse(error_code=ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)
        cluster.once(InitProducerIdRequest, refusal)
        producer = make_producer(cluster, transactional_id="billing")
        with pytest.raises(KafkaError, match="TRANSACTIONAL_ID_AUTHORIZATION_FAILED"):
            await producer.init_transactions()
        await producer.init_transactions()
        await run_transaction(producer, b"a")
        await producer.close()

    assert cluster.committed == [b"a"]


@BOTH
@virtual_time
async def test_a_record_that_expires_makes_the_transaction_abortable(version):
    async with transacting(version, delivery_timeout_ms=3000, request_timeout_ms=1000) as (
        cluster,
        producer,
    ):
        cluster.on(ProduceRequest, SILENCE)
        await producer.begin_transaction()
        await producer.send("orders", b"expires")
        with pytest.raises(TransactionAbortableError, match="delivery_timeout_ms"):
            await producer.commit_transaction()
        cluster.on(ProduceRequest, cluster.produce)
        await producer.abort_transaction()
        await run_transaction(producer, b"next")

    assert cluster.committed == [b"next"]


# -- timeouts and cancellation ---------------------------------------------------------------------


@BOTH
@virtual_time
async def test_a_commit_that_timed_out_is_waited_for_by_the_next_call(version):
    async with transacting(version, request_timeout_ms=1000) as (cluster, producer):
        cluster.once(EndTxnRequest, SILENCE, SILENCE)
        await producer.begin_transaction()
        await producer.send("orders", b"a")
        with pytest.raises(KafkaTimeoutError, match="call it again"):
            await producer.commit_transaction(timeout=0.5)
        with pytest.raises(StateError, match=r"call commit_transaction\(\) again"):
            await producer.abort_transaction()
        await producer.commit_transaction()
        await run_transaction(producer, b"b")

    assert cluster.committed == [b"a", b"b"]


@BOTH
@virtual_time
async def test_a_commit_that_succeeded_unseen_cannot_be_aborted(version):
    async with transacting(version, request_timeout_ms=1000) as (cluster, producer):
        cluster.once(EndTxnRequest, SILENCE)
        await producer.begin_transaction()
        await producer.send("orders", b"a")
        with pytest.raises(KafkaTimeoutError):
            await producer.commit_transaction(timeout=0.5)
        await asyncio.sleep(10)
        with pytest.raises(StateError, match="was committed meanwhile"):
            await producer.abort_transaction()
        await producer.commit_transaction()

    assert cluster.committed == [b"a"]


@BOTH
@virtual_time
async def test_no_transaction_begins_while_nobody_knows_that_the_last_one_was_committed(version):
    async with transacting(version, request_timeout_ms=1000) as (cluster, producer):
        cluster.once(EndTxnRequest, SILENCE)
        await producer.begin_transaction()
        await producer.send("orders", b"a")
        with pytest.raises(KafkaTimeoutError):
            await producer.commit_transaction(timeout=0.5)
        await asyncio.sleep(10)
        with pytest.raises(StateError, match=r"call commit_transaction\(\) again"):
            await producer.begin_transaction()
        await producer.commit_transaction()
        await run_transaction(producer, b"b")

    assert cluster.committed == [b"a", b"b"]


@pytest.mark.parametrize("moment", [number / 2000 for number in range(24)])
@BOTH
@virtual_time
async def test_a_call_that_is_cancelled_goes_on_and_may_be_made_again(version, moment):
    """The moments, half a millisecond apart, meet every await of the calls of a transaction."""
    async with transacting(version) as (cluster, producer):
        task = asyncio.ensure_future(run_transaction(producer, b"a", b"b"))
        await asyncio.sleep(moment)
        task.cancel()
        await asyncio.wait([task])

    assert sorted(cluster.committed) in ([], [b"a", b"b"])
    assert not cluster.is_ongoing
    if not task.cancelled():
        assert sorted(cluster.committed) == [b"a", b"b"]


@pytest.mark.parametrize("moment", [number / 2000 for number in range(24)])
@BOTH
@virtual_time
async def test_a_block_that_is_cancelled_commits_or_aborts_as_a_whole(version, moment):
    async with transacting(version) as (cluster, producer):

        async def block() -> None:
            async with producer.transaction():
                await producer.send("orders", b"a", partition=0)
                await producer.send("orders", b"b", partition=1)

        task = asyncio.ensure_future(block())
        await asyncio.sleep(moment)
        task.cancel()
        await asyncio.wait([task])

    assert sorted(cluster.committed) in ([], [b"a", b"b"])
    assert not cluster.is_ongoing


# -- the block -------------------------------------------------------------------------------------


async def write_and_fail(producer: AsyncProducer[Any, Any], value: bytes) -> None:
    async with producer.transaction():
        await producer.send_and_wait("orders", value)
        raise ZeroDivisionError


async def be_replaced_in_a_block(
    cluster: TransactionalCluster, producer: AsyncProducer[Any, Any]
) -> None:
    async with producer.transaction():
        async with make_producer(cluster, transactional_id="billing"):
            pass
        await producer.send("orders", b"late")


@BOTH
@virtual_time
async def test_a_block_commits_at_its_end_and_aborts_after_an_error(version):
    async with transacting(version) as (cluster, producer):
        async with producer.transaction():
            await producer.send("orders", b"good")
        with pytest.raises(ZeroDivisionError):
            await write_and_fail(producer, b"bad")
        async with producer.transaction():
            await producer.send("orders", b"good again")

    assert cluster.committed == [b"good", b"good again"]
    assert cluster.aborted == [b"bad"]


@virtual_time
async def test_a_block_whose_commit_is_refused_aborts_and_raises():
    async with transacting() as (cluster, producer):
        cluster.once(ProduceRequest, cluster.refuse(ErrorCode.INVALID_RECORD))
        with pytest.raises(TransactionAbortableError):
            async with producer.transaction():
                await producer.send("orders", b"bad")
        async with producer.transaction():
            await producer.send("orders", b"good")

    assert cluster.committed == [b"good"]


@virtual_time
async def test_a_block_of_a_producer_that_was_replaced_says_so():
    async with transacting() as (cluster, first):
        with pytest.raises(ProducerFencedError):
            await be_replaced_in_a_block(cluster, first)

    assert cluster.committed == []
