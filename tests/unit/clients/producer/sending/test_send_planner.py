"""The plans for the sender, and what responses lead to."""

from __future__ import annotations

import pytest

from pyk.clients.errors import (
    ClosedError,
    ClusterAuthorizationFailedError,
    NodeDisconnectedError,
)
from pyk.clients.producer.sending.identity import IdempotentIdentity
from pyk.clients.producer.sending.partition_queue import NEVER
from pyk.clients.producer.sending.sequences import ProducerIdentity
from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.produce import (
    LeaderIdAndEpoch,
    PartitionProduceResponse,
)
from pyk.runtime.virtual_time import VirtualClock
from support.producer_parts import (
    PARTITION,
    Routes,
    make_accumulator,
    make_planner,
    nowhere,
    on_node,
    on_node_1,
    put,
    refused,
    response,
    written,
)


def places(plan) -> list[list[int]]:
    """Return the partitions of each request of a plan."""
    return [[batch.partition for batch in call.batches] for call in plan.calls]


def test_nothing_is_sent_before_its_linger_ends():
    accumulator = make_accumulator(VirtualClock(10.0), linger=0.005)
    planner = make_planner(accumulator)
    put(accumulator, b"a")

    early = planner.poll(10.001, on_node_1)
    late = planner.poll(10.005, on_node_1)

    assert early.calls == []
    assert early.look_again_at == 10.005
    assert places(late) == [[0]]


def test_a_request_goes_to_each_leader_with_all_its_partitions():
    accumulator = make_accumulator(partitions=4, linger=0.0)
    planner = make_planner(accumulator)
    for partition in range(4):
        put(accumulator, b"a", partition=partition)

    plan = planner.poll(0.0, Routes(lambda place: place.partition % 2))

    assert [
        (call.node.node_id, places(plan)[number]) for number, call in enumerate(plan.calls)
    ] == [
        (0, [0, 2]),
        (1, [1, 3]),
    ]


def test_batches_of_one_partition_go_in_requests_of_their_own():
    accumulator = make_accumulator(batch_size=0)
    planner = make_planner(accumulator)
    put(accumulator, b"first")
    planner.answered(planner.poll(0.0, on_node_1).calls[0], written(), 0.0)
    put(accumulator, *[b"a"] * 7)

    plan = planner.poll(0.0, on_node_1)

    assert places(plan) == [[0]] * 5
    assert planner.in_flight_requests == 5


def test_a_batch_that_is_due_goes_at_once_after_a_full_one():
    accumulator = make_accumulator(batch_size=200, linger=0.0)
    planner = make_planner(accumulator)
    put(accumulator, b"first")
    planner.answered(planner.poll(0.0, on_node_1).calls[0], written(), 0.0)
    put(accumulator, b"x" * 100, b"y" * 100)

    plan = planner.poll(0.0, on_node_1)

    assert places(plan) == [[0], [0]]


def test_a_partition_left_out_of_a_full_request_is_first_in_the_next():
    accumulator = make_accumulator(partitions=4, linger=0.0, batch_size=200)
    planner = make_planner(accumulator, max_request_size=400, max_in_flight=1)
    for _ in range(2):
        for partition in range(4):
            put(accumulator, b"x" * 100, partition=partition)

    first = planner.poll(0.0, on_node_1)
    (call,) = first.calls
    served = [batch.partition for batch in call.batches]
    answers = [PartitionProduceResponse(index=partition) for partition in served]
    planner.answered(call, response(*answers), 0.0)
    second = planner.poll(0.0, on_node_1)

    assert served == [0, 1]
    assert places(second) == [[2, 3]]


def test_partitions_of_one_node_share_its_only_request():
    accumulator = make_accumulator(partitions=3, linger=0.0)
    planner = make_planner(accumulator, max_in_flight=1)
    for partition in range(3):
        put(accumulator, b"a", partition=partition)

    assert places(planner.poll(0.0, on_node_1)) == [[0, 1, 2]]


def test_batches_that_fill_a_request_exactly_go_in_one():
    accumulator = make_accumulator(partitions=2, linger=0.0)
    for partition in range(2):
        put(accumulator, b"a", partition=partition)
    sizes = [batch.size for batch in accumulator.drain.take(NEVER)[1]]
    accumulator = make_accumulator(partitions=2, linger=0.0)
    planner = make_planner(accumulator, max_request_size=sum(sizes))
    for partition in range(2):
        put(accumulator, b"a", partition=partition)

    assert places(planner.poll(0.0, on_node_1)) == [[0, 1]]


def test_a_partition_left_out_of_a_full_request_goes_in_another_at_once():
    accumulator = make_accumulator(partitions=4, linger=0.0)
    planner = make_planner(accumulator, max_request_size=400)
    for partition in range(4):
        put(accumulator, b"x" * 100, partition=partition)

    plan = planner.poll(0.0, on_node_1)

    assert places(plan) == [[0, 1], [2, 3]]


def test_a_node_gets_no_more_requests_than_may_be_in_flight():
    accumulator = make_accumulator(partitions=3, linger=0.0)
    planner = make_planner(accumulator, max_in_flight=1)
    put(accumulator, b"a", partition=0)
    (call,) = planner.poll(0.0, on_node_1).calls
    put(accumulator, b"a", partition=1)

    assert planner.poll(0.0, on_node_1).calls == []
    planner.answered(call, written(), 0.0)
    assert places(planner.poll(0.0, on_node_1)) == [[1]]


def test_a_partition_without_a_leader_waits_and_asks_for_metadata():
    accumulator = make_accumulator(linger=0.0)
    planner = make_planner(accumulator)
    put(accumulator, b"a")

    plan = planner.poll(0.0, nowhere)

    assert plan.needs_metadata
    assert plan.calls == []
    assert plan.look_again_at == 120.0
    assert places(planner.poll(1.0, on_node_1)) == [[0]]


def test_a_batch_that_waits_for_its_leader_goes_on_growing():
    accumulator = make_accumulator(linger=0.0)
    planner = make_planner(accumulator)
    put(accumulator, b"a")
    planner.poll(0.0, nowhere)
    put(accumulator, b"b", b"c")

    (call,) = planner.poll(0.0, on_node_1).calls

    assert [batch.count for batch in call.batches] == [3]


def test_without_a_producer_id_one_is_asked_for_and_waited_for():
    accumulator = make_accumulator(linger=0.0)
    identity = IdempotentIdentity()
    planner = make_planner(accumulator, identity=identity)
    put(accumulator, b"a")

    plan = planner.poll(0.0, on_node_1)
    assert (plan.calls, plan.needs_producer_id) == ([], True)

    identity.received(ProducerIdentity(9, 0))
    (call,) = planner.poll(0.0, on_node_1).calls
    assert call.batches[0].producer_id == 9


def test_records_fail_when_the_producer_id_they_wait_for_is_refused():
    accumulator = make_accumulator(linger=0.0)
    planner = make_planner(accumulator, identity=IdempotentIdentity())
    (delivery,) = put(accumulator, b"a")
    planner.poll(0.0, on_node_1)
    error = ClusterAuthorizationFailedError("no")

    (batch,) = planner.producer_id_refused(error)

    assert batch.error.code == error.code
    assert not delivery.done()  # handing results out is the driver's part
    assert planner.poll(0.0, on_node_1).needs_producer_id is False


def test_a_refused_producer_id_fails_only_the_partitions_that_need_a_new_one():
    accumulator = make_accumulator(partitions=2, linger=0.0)
    planner = make_planner(accumulator)
    for partition in range(2):
        put(accumulator, b"a", partition=partition)
    (call,) = planner.poll(0.0, on_node_1).calls
    fenced = PartitionProduceResponse(index=0, error_code=ErrorCode.INVALID_PRODUCER_EPOCH)
    planner.answered(call, response(fenced, PartitionProduceResponse(index=1)), 0.0)
    put(accumulator, b"b", partition=1)
    assert planner.poll(1.0, nowhere).needs_producer_id

    failed = planner.producer_id_refused(ClusterAuthorizationFailedError("no"))

    assert [batch.partition for batch in failed] == [0]
    assert places(planner.poll(1.0, on_node_1)) == [[1]]


def test_an_answer_says_where_the_batch_is():
    accumulator = make_accumulator(linger=0.0)
    planner = make_planner(accumulator)
    put(accumulator, b"a")
    (call,) = planner.poll(0.0, on_node_1).calls

    answer = PartitionProduceResponse(index=0, base_offset=40, log_append_time_ms=99)
    (batch,) = planner.answered(call, response(answer), 0.0).settled

    assert (batch.base_offset, batch.log_append_time, batch.error) == (40, 99, None)
    assert planner.poll(0.0, on_node_1).look_again_at == NEVER


def test_transactions_of_one_version_share_the_template_of_a_partition():
    accumulator = make_accumulator(linger=0.0)
    planner = make_planner(accumulator, is_idempotent=False)
    templates = []
    for transaction_version in (2, 2, 1):
        planner.begin_transaction(transaction_version)
        put(accumulator, b"a")
        (call,) = planner.poll(0.0, on_node_1).calls
        call.encode_parts(call.within.highest, bytearray())
        templates.append(call.queues[0].template)
        planner.answered(call, written(), 0.0)

    first, second, third = templates

    assert second is first
    assert third is not first


def test_a_second_answer_for_a_partition_is_passed_over():
    accumulator = make_accumulator(linger=0.0)
    planner = make_planner(accumulator)
    put(accumulator, b"a")
    (call,) = planner.poll(0.0, on_node_1).calls
    twice = [PartitionProduceResponse(index=0, base_offset=offset) for offset in (40, 50)]

    (batch,) = planner.answered(call, response(*twice), 0.0).settled

    assert batch.base_offset == 40


def test_a_refused_batch_is_sent_again_after_a_backoff():
    accumulator = make_accumulator(linger=0.0)
    planner = make_planner(accumulator)
    put(accumulator, b"a")
    (call,) = planner.poll(0.0, on_node_1).calls

    effects = planner.answered(call, refused(ErrorCode.NOT_ENOUGH_REPLICAS), 0.0)
    waiting = planner.poll(0.0, on_node_1)

    assert effects.settled == []
    assert waiting.calls == []
    assert 0.08 <= waiting.look_again_at <= 0.12
    assert places(planner.poll(waiting.look_again_at, on_node_1)) == [[0]]


def test_a_request_that_failed_makes_room_for_the_next():
    accumulator = make_accumulator(partitions=2, linger=0.0)
    planner = make_planner(accumulator, max_in_flight=1)
    put(accumulator, b"a", partition=0)
    (call,) = planner.poll(0.0, on_node_1).calls
    put(accumulator, b"a", partition=1)

    planner.failed(call, NodeDisconnectedError("cut"), 0.0)

    assert places(planner.poll(0.0, on_node_1)) == [[1]]


def test_a_batch_that_an_answer_leaves_out_may_be_written():
    accumulator = make_accumulator(linger=0.0)
    planner = make_planner(accumulator)
    put(accumulator, b"a")
    (call,) = planner.poll(0.0, on_node_1).calls

    planner.answered(call, response(), 0.0)

    (batch,) = planner.abandon(ClosedError("closed"))
    assert not batch.error.definite


def test_a_batch_in_doubt_fails_before_a_fenced_partition_begins_a_new_order():
    accumulator = make_accumulator(linger=0.0)
    planner = make_planner(accumulator)
    put(accumulator, b"first")
    planner.answered(planner.poll(0.0, on_node_1).calls[0], written(), 0.0)
    put(accumulator, b"in doubt")
    (in_doubt,) = planner.poll(0.0, on_node_1).calls
    put(accumulator, b"fenced")
    (fenced,) = planner.poll(0.0, on_node_1).calls
    planner.failed(in_doubt, NodeDisconnectedError("cut"), 0.0)
    planner.answered(fenced, refused(ErrorCode.INVALID_PRODUCER_EPOCH), 0.0)

    plan = planner.poll(0.0, on_node_1)

    assert [batch.error.definite for batch in plan.settled] == [False]
    planner.identity.received(ProducerIdentity(8, 0))
    (call,) = planner.poll(1.0, on_node_1).calls
    assert [(batch.producer_id, batch.base_sequence) for batch in call.batches] == [(8, 0)]


@pytest.mark.parametrize("node_id", [0, 2])
def test_a_stale_leader_asks_for_metadata_and_a_named_one_is_passed_on_at_once(node_id):
    accumulator = make_accumulator(linger=0.0)
    planner = make_planner(accumulator)
    put(accumulator, b"a")
    (call,) = planner.poll(0.0, on_node_1).calls
    leader = LeaderIdAndEpoch(leader_id=node_id, leader_epoch=7)

    effects = planner.answered(
        call, refused(ErrorCode.NOT_LEADER_OR_FOLLOWER, current_leader=leader), 0.0
    )

    assert effects.needs_metadata
    assert effects.leaders == {PARTITION: (node_id, 7)}
    assert not planner.poll(0.0, on_node(node_id)).calls
    planner.leaders_moved([PARTITION])
    (again,) = planner.poll(0.0, on_node(node_id)).calls
    assert again.node.node_id == node_id


def test_all_batches_that_a_moved_leader_refused_go_to_the_new_one_without_a_backoff():
    accumulator = make_accumulator(batch_size=0)
    planner = make_planner(accumulator)
    put(accumulator, b"first")
    planner.answered(planner.poll(0.0, on_node_1).calls[0], written(), 0.0)
    put(accumulator, b"a", b"b")
    for call in planner.poll(0.0, on_node_1).calls:
        planner.answered(call, refused(ErrorCode.NOT_LEADER_OR_FOLLOWER), 0.0)

    planner.leaders_moved([PARTITION])
    (retried,) = planner.poll(0.0, on_node(2)).calls
    planner.answered(retried, written(1), 0.0)

    assert places(planner.poll(0.0, on_node(2))) == [[0]]


def test_a_partition_that_lost_its_leader_is_not_sent_to_the_old_one():
    accumulator = make_accumulator(linger=0.0)
    planner = make_planner(accumulator)
    put(accumulator, b"a")
    planner.answered(planner.poll(0.0, on_node_1).calls[0], written(), 0.0)
    put(accumulator, b"b")

    plan = planner.poll(0.0, nowhere)

    assert plan.calls == []
    assert plan.needs_metadata


def test_a_partition_without_records_is_not_looked_at():
    accumulator = make_accumulator(linger=0.0)
    planner = make_planner(accumulator)
    put(accumulator, b"a")
    planner.answered(planner.poll(0.0, on_node_1).calls[0], written(), 0.0)
    planner.poll(0.0, on_node_1)
    looked_up = []

    planner.poll(0.0, Routes(looked_up.append))

    assert looked_up == []
