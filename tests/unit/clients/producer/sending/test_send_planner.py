"""The plans for the sender, and what responses lead to."""

from __future__ import annotations

import pytest

from pyk.clients.errors import (
    ClosedError,
    ClusterAuthorizationFailedError,
    InvalidRecordError,
    KafkaTimeoutError,
    NodeDisconnectedError,
    NodeUnavailableError,
)
from pyk.clients.producer.sending.identity import IdempotentIdentity
from pyk.clients.producer.sending.partition_queue import NEVER
from pyk.clients.producer.sending.sequences import ProducerIdentity
from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.produce import (
    BatchIndexAndErrorMessage,
    LeaderIdAndEpoch,
    PartitionProduceResponse,
    ProduceResponse,
    TopicProduceResponse,
)
from pyk.runtime.virtual_time import VirtualClock
from support.producer_parts import PARTITION, Routes, make_accumulator, make_planner, put


def on_node(node_id: int | None) -> Routes:
    """Routes to one node."""
    return Routes(lambda place: node_id)


on_node_1, nowhere = on_node(1), on_node(None)


def response(*partitions: PartitionProduceResponse) -> ProduceResponse:
    topic = TopicProduceResponse(name="orders", partition_responses=list(partitions))
    return ProduceResponse(responses=[topic])


def written(base_offset: int = 0, partition: int = 0) -> ProduceResponse:
    return response(PartitionProduceResponse(index=partition, base_offset=base_offset))


def refused(code: ErrorCode, **more: object) -> ProduceResponse:
    return response(PartitionProduceResponse(index=0, error_code=code, **more))


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


@pytest.mark.parametrize(
    ("error", "definite"),
    [(NodeUnavailableError("down"), True), (NodeDisconnectedError("cut"), False)],
)
def test_a_batch_expires_and_says_whether_it_may_be_written(error, definite):
    accumulator = make_accumulator(linger=0.0)
    planner = make_planner(accumulator)
    put(accumulator, b"a")
    (call,) = planner.poll(0.0, on_node_1).calls
    assert planner.failed(call, error, 0.0).needs_metadata

    (batch,) = planner.poll(120.0, nowhere).settled

    assert isinstance(batch.error, KafkaTimeoutError)
    assert batch.error.definite is definite
    assert str(error) in str(batch.error)
    assert planner.poll(120.0, on_node_1).look_again_at == NEVER


def test_all_batches_of_a_partition_expire_at_once():
    accumulator = make_accumulator(batch_size=0)
    planner = make_planner(accumulator)
    put(accumulator, b"a", b"b", b"c")

    assert len(planner.poll(120.0, nowhere).settled) == 3


def test_a_batch_expires_in_flight_and_its_late_answer_is_heard():
    clock = VirtualClock()
    accumulator = make_accumulator(clock, linger=0.0)
    planner = make_planner(accumulator)
    put(accumulator, b"a")
    (call,) = planner.poll(0.0, on_node_1).calls

    (batch,) = planner.poll(120.0, on_node_1).settled
    assert not batch.error.definite
    assert "no answer came" in str(batch.error)
    assert planner.answered(call, written(), 121.0).settled == []

    clock.advance(121.0)
    put(accumulator, b"b")
    (following,) = planner.poll(121.0, on_node_1).calls
    batch = following.batches[0]
    assert (batch.producer_epoch, batch.base_sequence) == (0, 1)


def test_an_open_batch_expires_too():
    accumulator = make_accumulator(linger=500.0)
    planner = make_planner(accumulator)
    put(accumulator, b"a")
    flush = accumulator.waits.begin_flush(lambda: None)

    (batch,) = planner.poll(120.0, nowhere).settled
    accumulator.drain.release(batch)

    assert batch.error.definite
    assert "never sent" in str(batch.error)
    assert not flush.remaining


def test_invalid_records_are_named_and_their_neighbours_fail_with_them():
    accumulator = make_accumulator(linger=0.0)
    planner = make_planner(accumulator)
    put(accumulator, b"a", b"bad", b"c")
    (call,) = planner.poll(0.0, on_node_1).calls
    bad = BatchIndexAndErrorMessage(batch_index=1, batch_index_error_message="no such schema")
    unexplained = BatchIndexAndErrorMessage(batch_index=2)

    (batch,) = planner.answered(
        call,
        refused(
            ErrorCode.INVALID_RECORD, error_message="schemas", record_errors=[bad, unexplained]
        ),
        0.0,
    ).settled

    assert list(batch.record_errors) == [1, 2]
    assert "no such schema" in str(batch.record_errors[1])
    assert "schemas" in str(batch.record_errors[2])
    assert isinstance(batch.error, InvalidRecordError)
    assert "together" in str(batch.error)


def test_batches_that_fail_together_each_say_whether_they_may_be_written():
    accumulator = make_accumulator(partitions=2, linger=0.0)
    planner = make_planner(accumulator, is_idempotent=False)
    put(accumulator, b"sent before", partition=0)
    (call,) = planner.poll(0.0, on_node_1).calls
    planner.failed(call, NodeDisconnectedError("cut"), 0.0)
    put(accumulator, b"new", partition=1)
    (call,) = planner.poll(1.0, on_node_1).calls

    settled = planner.failed(call, ClusterAuthorizationFailedError("no"), 1.0).settled

    assert {batch.partition: batch.error.definite for batch in settled} == {0: False, 1: True}
    assert ["may have been written" in str(batch.error) for batch in settled] == [True, False]


def test_an_unknown_error_code_fails_a_batch_without_being_definite():
    accumulator = make_accumulator(linger=0.0)
    planner = make_planner(accumulator)
    put(accumulator, b"a")
    (call,) = planner.poll(0.0, on_node_1).calls

    (batch,) = planner.answered(call, refused(ErrorCode(31_000)), 0.0).settled

    assert batch.error.code == 31_000
    assert not batch.error.definite


def test_a_large_batch_is_halved_in_its_place():
    accumulator = make_accumulator(linger=0.0, batch_size=1000)
    planner = make_planner(accumulator)
    put(accumulator, b"a", b"b", b"c")
    (call,) = planner.poll(0.0, on_node_1).calls

    planner.answered(call, refused(ErrorCode.MESSAGE_TOO_LARGE), 0.0)
    (first,) = planner.poll(1.0, on_node_1).calls
    planner.answered(first, written(), 1.0)
    (second,) = planner.poll(1.0, on_node_1).calls

    batches = [call.batches[0] for call in (first, second)]
    assert [(batch.base_sequence, batch.count) for batch in batches] == [(0, 1), (1, 2)]


def test_without_acknowledgements_a_batch_is_settled_when_it_is_sent():
    accumulator = make_accumulator(linger=0.0)
    planner = make_planner(accumulator, is_idempotent=False)
    put(accumulator, b"a")
    (call,) = planner.poll(0.0, on_node_1).calls

    (batch,) = planner.answered(call, None, 0.0).settled

    assert (batch.error, batch.base_offset) == (None, -1)


def test_everything_can_be_abandoned_whatever_its_state():
    accumulator = make_accumulator(partitions=3, linger=0.0)
    planner = make_planner(accumulator)
    for partition in range(3):
        put(accumulator, b"a", partition=partition)
    leaders = {0: 1, 1: 2}
    flying, lost = planner.poll(0.0, Routes(lambda place: leaders.get(place.partition))).calls
    planner.failed(lost, NodeDisconnectedError("cut"), 0.0)
    put(accumulator, b"open", partition=0)

    given_up = planner.abandon(ClosedError("closed"))

    assert len(given_up) == 4
    assert [batch.error.definite for batch in given_up].count(False) == 2
    assert planner.abandon(ClosedError("closed")) == []
    assert planner.answered(flying, written(), 0.0).settled == []
