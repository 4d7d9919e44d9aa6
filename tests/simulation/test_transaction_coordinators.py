"""A transactional producer beside coordinators that lose answers, move, die and refuse."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import attrs
import pytest

from pyk.clients import AsyncProducer, TopicPartition
from pyk.clients.offsets import ConsumerGroupMetadata
from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.add_offsets_to_txn import (
    AddOffsetsToTxnRequest,
    AddOffsetsToTxnResponse,
)
from pyk.protocol.messages.add_partitions_to_txn import AddPartitionsToTxnRequest
from pyk.protocol.messages.end_txn import EndTxnRequest, EndTxnResponse
from pyk.protocol.messages.init_producer_id import InitProducerIdRequest
from pyk.protocol.messages.produce import ProduceRequest
from pyk.protocol.messages.txn_offset_commit import TxnOffsetCommitRequest
from pyk.runtime.network import MemoryNetwork
from pyk.runtime.virtual_time import virtual_time
from support.producing_cluster import make_producer
from support.scripted_broker import CLOSE, SILENCE
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


# -- lost answers ----------------------------------------------------------------------------------


def apply_and(lose: Any, apply: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Carry a request out, and lose its answer."""

    def answer(request: Any) -> Any:
        apply(request)
        return lose

    return answer


@attrs.frozen
class Lost:
    """A request whose answer is lost, and which part of the cluster carries it out."""

    request: type
    handler: str
    version: int


LOST = [
    Lost(InitProducerIdRequest, "init_producer_id", 1),
    Lost(InitProducerIdRequest, "init_producer_id", 2),
    Lost(AddPartitionsToTxnRequest, "add_partitions", 1),
    Lost(AddOffsetsToTxnRequest, "add_offsets", 1),
    Lost(TxnOffsetCommitRequest, "commit_offsets", 1),
    Lost(TxnOffsetCommitRequest, "commit_offsets", 2),
    Lost(EndTxnRequest, "end", 1),
    Lost(EndTxnRequest, "end", 2),
    Lost(ProduceRequest, "produce", 1),
    Lost(ProduceRequest, "produce", 2),
]


@pytest.mark.parametrize("lost", LOST, ids=lambda lost: f"{lost.handler}-{lost.version}")
@pytest.mark.parametrize("how", [CLOSE, SILENCE], ids=str)
@pytest.mark.parametrize("is_applied", [True, False], ids=["applied", "not applied"])
@virtual_time
async def test_a_lost_answer_changes_nothing(lost, how, is_applied):
    async with make_cluster(lost.version) as cluster:
        cluster.add_topic("orders", [1, 2, 3])
        answer = apply_and(how, getattr(cluster, lost.handler)) if is_applied else how
        cluster.once(lost.request, answer)
        async with make_producer(
            cluster, transactional_id="billing", request_timeout_ms=2000
        ) as producer:
            await run_transaction(producer, b"a", b"b", b"c")
            await run_transaction(producer, b"d")

    assert sorted(cluster.committed) == [b"a", b"b", b"c", b"d"]
    assert cluster.aborted == []
    assert cluster.ends == [True, True]


@pytest.mark.parametrize(
    "lost", [one for one in LOST[2:8] if one.version == 1], ids=lambda lost: lost.handler
)
@virtual_time
async def test_in_version_1_nothing_new_begins_before_another_epoch_after_a_lost_answer(lost):
    """KAFKA-17754: the lost request may arrive late; only the epoch can refuse it then."""
    async with transacting(1) as (cluster, producer):
        cluster.once(lost.request, apply_and(CLOSE, getattr(cluster, lost.handler)))
        await run_transaction(producer, b"a")
        late = cluster.requests(lost.request)[0].message
        await producer.begin_transaction()

        answer = getattr(cluster, lost.handler)(late)

        assert len(cluster.requests(InitProducerIdRequest)) == FIRST_INIT + 1
        assert ErrorCode.PRODUCER_FENCED.value in codes_in(answer)
        await producer.send("orders", b"b")
        await producer.commit_transaction()

    assert cluster.committed == [b"a", b"b"]


@virtual_time
async def test_in_version_2_a_late_end_is_refused_by_the_epoch_of_the_end_before():
    async with transacting(2) as (cluster, producer):
        await run_transaction(producer, b"a")
        await run_transaction(producer, b"b")
        late = cluster.requests(EndTxnRequest)[0].message
        await producer.begin_transaction()
        await producer.send_and_wait("orders", b"c")

        assert cluster.end(late).error_code == ErrorCode.PRODUCER_FENCED
        assert len(cluster.requests(InitProducerIdRequest)) == FIRST_INIT
        await producer.commit_transaction()


def codes_in(answer: Any) -> set[int]:
    """Return all error codes of an answer."""
    if isinstance(answer, list):
        return {code for one in answer for code in codes_in(one)}
    if not hasattr(answer, "__slots__") and not hasattr(answer, "__dict__"):
        return set()
    names = [name for kind in type(answer).__mro__ for name in getattr(kind, "__slots__", ())]
    found: set[int] = set()
    for name in names:
        value = getattr(answer, name, None)
        if name.endswith("error_code") and isinstance(value, int):
            found.add(int(value))
        elif isinstance(value, list):
            found |= codes_in(value)
    return found


# -- coordinators ----------------------------------------------------------------------------------


@BOTH
@virtual_time
async def test_a_coordinator_that_moves_in_a_transaction_is_followed(version):
    async with transacting(version) as (cluster, producer):
        await producer.begin_transaction()
        await producer.send_and_wait("orders", b"a")
        cluster.coordinator_id = 2
        cluster.once(EndTxnRequest, EndTxnResponse(error_code=ErrorCode.NOT_COORDINATOR))
        await producer.commit_transaction()

    ends = cluster.requests(EndTxnRequest)
    assert [one.node_id for one in ends] == [1, 2]
    assert cluster.committed == [b"a"]


@BOTH
@virtual_time
async def test_a_coordinator_that_dies_is_looked_up_again(version):
    async with transacting(version) as (cluster, producer):
        await producer.begin_transaction()
        await producer.send_and_wait("orders", b"a", partition=1)
        cluster.coordinator_id = 3
        await cluster.kill(1)
        await producer.commit_transaction()

    assert cluster.committed == [b"a"]


@pytest.mark.parametrize(
    "code",
    [
        ErrorCode.CONCURRENT_TRANSACTIONS,
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ],
    ids=lambda code: code.name,
)
@BOTH
@virtual_time
async def test_errors_of_a_coordinator_that_pass_are_waited_out(version, code):
    async with transacting(version) as (cluster, producer):
        cluster.once(EndTxnRequest, *[EndTxnResponse(error_code=code)] * 3)
        cluster.once(AddOffsetsToTxnRequest, *[AddOffsetsToTxnResponse(error_code=code)] * 3)
        await run_transaction(producer, b"a", b"b")

    assert sorted(cluster.committed) == [b"a", b"b"]
    assert len(cluster.requests(InitProducerIdRequest)) == FIRST_INIT


@virtual_time
async def test_a_batch_that_comes_before_the_markers_of_the_transaction_before_is_sent_again():
    async with transacting(2) as (cluster, producer):
        cluster.once(ProduceRequest, cluster.refuse(ErrorCode.CONCURRENT_TRANSACTIONS))
        await run_transaction(producer, b"a")

    assert cluster.committed == [b"a"]
