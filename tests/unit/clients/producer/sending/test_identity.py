"""Who a producer is to brokers: when it needs a producer id, and what follows after an error."""

from __future__ import annotations

import attrs
import pytest

from pyk.clients.errors import (
    ClusterAuthorizationFailedError,
    MalformedResponseError,
    NodeDisconnectedError,
)
from pyk.clients.producer.batching.batch import ProducerBatch
from pyk.clients.producer.sending.identity import (
    IdempotentIdentity,
    IdentityPolicy,
    NoIdentity,
)
from pyk.clients.producer.sending.partition_queue import PartitionQueue
from pyk.clients.producer.sending.sequences import MAX_EPOCH, ProducerIdentity
from pyk.clients.topic_partition import TopicPartition
from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.init_producer_id import InitProducerIdResponse
from pyk.protocol.messages.produce import (
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceResponse,
)
from pyk.protocol.schema import Message
from support.producer_parts import (
    Routes,
    make_accumulator,
    make_identity,
    make_planner,
    put,
)

on_node_1 = Routes(lambda partition: 1)


def answer(policy: IdentityPolicy, response: Message) -> None:
    """Answer the request of a policy."""
    request = policy.next_request()
    assert request is not None
    request.answered(response)


def new_queue() -> PartitionQueue:
    return PartitionQueue(TopicPartition("orders", 0), must_restart=True)


def numbers(queue: PartitionQueue) -> tuple[int, int, int]:
    sequence = queue.sequence
    return sequence.producer_id, sequence.epoch, sequence.next_sequence


def test_without_an_identity_an_order_begins_at_once_and_has_no_numbers():
    policy, queue = NoIdentity(), new_queue()

    assert policy.begin_order(queue)

    assert not queue.sequence.is_numbered()
    assert policy.next_request() is None


def test_an_order_waits_for_the_first_producer_id():
    policy, queue = IdempotentIdentity(), new_queue()
    assert not policy.begin_order(queue)

    answer(policy, InitProducerIdResponse(producer_id=7, producer_epoch=3))

    assert policy.begin_order(queue)
    assert numbers(queue) == (7, 3, 0)


def test_a_partition_raises_its_own_epoch():
    policy = make_identity(ProducerIdentity(7, 0))
    restarted, other = new_queue(), new_queue()
    for queue in (restarted, other):
        policy.begin_order(queue)

    assert policy.begin_order(restarted)

    assert numbers(restarted) == (7, 1, 0)
    assert numbers(other) == (7, 0, 0)


def test_after_the_last_epoch_a_partition_needs_another_producer_id():
    policy, queue = make_identity(ProducerIdentity(7, MAX_EPOCH)), new_queue()
    policy.begin_order(queue)

    assert not policy.begin_order(queue)
    assert queue.sequence.needs_new_producer_id

    policy.received(ProducerIdentity(8, 0))
    assert policy.begin_order(queue)
    assert not queue.sequence.needs_new_producer_id
    assert numbers(queue) == (8, 0, 0)


def test_a_refusal_is_raised_and_changes_nothing():
    policy = IdempotentIdentity()
    code = ErrorCode.CLUSTER_AUTHORIZATION_FAILED

    with pytest.raises(ClusterAuthorizationFailedError):
        answer(policy, InitProducerIdResponse(error_code=code, producer_id=7, producer_epoch=0))

    assert not policy.begin_order(new_queue())


@pytest.mark.parametrize(("producer_id", "epoch"), [(-1, 0), (7, -1)])
def test_a_producer_id_that_cannot_be_one_is_malformed(producer_id, epoch):
    response = InitProducerIdResponse(producer_id=producer_id, producer_epoch=epoch)

    with pytest.raises(MalformedResponseError, match="which is invalid"):
        answer(IdempotentIdentity(), response)


@attrs.define
class Transaction(IdempotentIdentity):
    """Admits partitions one by one, as a transaction does, with one epoch for all of them."""

    transactional_id: str | None = "billing"
    identity: ProducerIdentity = attrs.Factory(lambda: ProducerIdentity(7, 4))
    partitions_admitted: int = 0
    must_abort: bool = False

    def begin_order(self, queue):
        if self.partitions_admitted == 0 or self.must_abort:
            return False
        self.partitions_admitted -= 1
        queue.sequence.start(self.identity)
        return True

    def keeps_place(self, queue, batch, outcome):
        self.must_abort = True
        return False

    def batch_failed(self, batch: ProducerBatch) -> None:
        self.must_abort = True


def responses(*codes: ErrorCode) -> ProduceResponse:
    answers = [
        PartitionProduceResponse(index=index, error_code=code) for index, code in enumerate(codes)
    ]
    return ProduceResponse(
        responses=[TopicProduceResponse(name="orders", partition_responses=answers)]
    )


def test_a_policy_decides_which_partitions_may_send():
    accumulator = make_accumulator(partitions=2, linger=0.0)
    policy = Transaction()
    planner = make_planner(accumulator, identity=policy)
    for partition in range(2):
        put(accumulator, b"a", partition=partition)

    closed = planner.poll(0.0, on_node_1)
    policy.partitions_admitted = 1
    half_open = planner.poll(0.0, on_node_1)

    assert (closed.calls, closed.needs_producer_id) == ([], True)
    (batch,) = half_open.calls[0].batches
    assert (batch.producer_id, batch.producer_epoch, batch.base_sequence) == (7, 4, 0)
    assert half_open.needs_producer_id


def test_a_policy_that_aborts_keeps_its_partitions_from_sending():
    accumulator = make_accumulator(partitions=3, linger=0.0)
    policy = Transaction(partitions_admitted=2)
    planner = make_planner(accumulator, identity=policy)
    for partition in range(2):
        put(accumulator, b"a", partition=partition)
    (call,) = planner.poll(0.0, on_node_1).calls

    out_of_order = responses(ErrorCode.NONE, ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER)
    settled = planner.answered(call, out_of_order, 0.0).settled
    policy.partitions_admitted = 1
    put(accumulator, b"b", partition=2)

    assert policy.must_abort
    assert [batch.error is None for batch in settled] == [True, False]
    assert planner.poll(0.0, on_node_1).calls == []


def test_a_batch_that_expires_is_reported_to_the_policy():
    accumulator = make_accumulator(linger=0.0)
    policy = Transaction()
    planner = make_planner(accumulator, identity=policy, delivery_timeout=1.0)
    put(accumulator, b"a")
    planner.poll(0.0, on_node_1)

    planner.poll(1.0, on_node_1)

    assert policy.must_abort


def test_a_batch_that_a_broker_refuses_for_good_is_reported_to_the_policy():
    accumulator = make_accumulator(linger=0.0)
    policy = Transaction(partitions_admitted=1)
    planner = make_planner(accumulator, identity=policy)
    put(accumulator, b"a")
    (call,) = planner.poll(0.0, on_node_1).calls

    planner.answered(call, responses(ErrorCode.INVALID_RECORD), 0.0)

    assert policy.must_abort


class RaisedEpochs(IdempotentIdentity):
    """Counts the batches that were given up."""

    def __init__(self) -> None:
        super().__init__()
        self.failed: list[ProducerBatch] = []

    def batch_failed(self, batch: ProducerBatch) -> None:
        self.failed.append(batch)


def test_a_batch_in_doubt_that_a_new_order_drops_is_reported_to_the_policy():
    accumulator = make_accumulator(linger=0.0)
    policy = RaisedEpochs()
    policy.received(ProducerIdentity(7, 0))
    planner = make_planner(accumulator, identity=policy)
    put(accumulator, b"first")
    planner.answered(planner.poll(0.0, on_node_1).calls[0], responses(ErrorCode.NONE), 0.0)
    calls = []
    for value in (b"in doubt", b"fenced"):
        put(accumulator, value)
        calls += planner.poll(0.0, on_node_1).calls
    planner.failed(calls[0], NodeDisconnectedError("cut"), 0.0)
    planner.answered(calls[1], responses(ErrorCode.INVALID_PRODUCER_EPOCH), 0.0)
    assert policy.failed == []

    settled = planner.poll(0.0, on_node_1).settled

    assert policy.failed == settled == calls[0].batches


@pytest.mark.parametrize("partitions", [1, 2])
def test_requests_carry_the_transactional_id(partitions):
    accumulator = make_accumulator(partitions=partitions, linger=0.0)
    planner = make_planner(accumulator, identity=Transaction(partitions_admitted=2))
    for partition in range(partitions):
        put(accumulator, b"a", partition=partition)
    (call,) = planner.poll(0.0, on_node_1).calls

    encoded = b"".join(call.encode_parts(9, bytearray()))

    assert ProduceRequest.decode(encoded, 9).transactional_id == "billing"
