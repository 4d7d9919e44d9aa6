"""Ends of transactions that their coordinator refuses."""

from __future__ import annotations

import pytest

from pyk.clients.errors import KafkaTimeoutError, ProducerFencedError, TransactionAbortableError
from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.add_partitions_to_txn import AddPartitionsToTxnRequest
from pyk.protocol.messages.end_txn import EndTxnRequest, EndTxnResponse
from pyk.runtime.virtual_time import virtual_time
from support.scripted_broker import SILENCE
from support.transactional_cluster import transacting

BOTH = pytest.mark.parametrize("version", [1, 2])


@pytest.mark.parametrize(
    "code",
    [
        ErrorCode.INVALID_TXN_STATE,
        ErrorCode.TRANSACTION_ABORTABLE,
        ErrorCode.UNKNOWN_PRODUCER_ID,
    ],
    ids=lambda code: code.name,
)
@BOTH
@virtual_time
async def test_a_commit_that_is_refused_has_to_be_aborted(version, code):
    async with transacting(version) as (cluster, producer):
        cluster.once(EndTxnRequest, EndTxnResponse(error_code=code))
        await producer.begin_transaction()
        await producer.send("orders", b"refused")
        with pytest.raises(TransactionAbortableError):
            await producer.commit_transaction()
        await producer.abort_transaction()
        async with producer.transaction():
            await producer.send("orders", b"next")

    assert (cluster.committed, cluster.aborted) == ([b"next"], [b"refused"])


@pytest.mark.parametrize("call", ["commit_transaction", "abort_transaction"])
@BOTH
@virtual_time
async def test_an_end_of_a_producer_that_was_replaced_is_fenced(version, call):
    async with transacting(version) as (cluster, producer):
        cluster.on(EndTxnRequest, lambda _: EndTxnResponse(error_code=ErrorCode.PRODUCER_FENCED))
        await producer.begin_transaction()
        await producer.send_and_wait("orders", b"refused")

        with pytest.raises(ProducerFencedError) as fenced:
            await getattr(producer, call)()
        with pytest.raises(ProducerFencedError):
            await producer.begin_transaction()

    assert fenced.value.fatal
    assert cluster.committed == []


@virtual_time
async def test_the_abort_of_what_nobody_heard_of_is_fenced_if_the_producer_was_replaced():
    async with transacting(1, request_timeout_ms=500) as (cluster, producer):
        cluster.on(AddPartitionsToTxnRequest, lambda _: SILENCE)
        cluster.on(EndTxnRequest, lambda _: EndTxnResponse(error_code=ErrorCode.PRODUCER_FENCED))
        await producer.begin_transaction()
        await producer.send("orders", b"never")
        with pytest.raises(KafkaTimeoutError):
            await producer.commit_transaction(timeout=1)

        with pytest.raises(ProducerFencedError):
            await producer.abort_transaction()
