"""How batches end that are not written: they expire, are refused, split, or abandoned."""

from __future__ import annotations

import pytest

from pyk.clients.errors import (
    ClosedError,
    ClusterAuthorizationFailedError,
    InvalidRecordError,
    InvalidTimestampError,
    KafkaTimeoutError,
    NodeDisconnectedError,
    NodeUnavailableError,
)
from pyk.clients.producer.sending.partition_queue import NEVER
from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.produce import (
    BatchIndexAndErrorMessage,
)
from pyk.runtime.virtual_time import VirtualClock
from support.producer_parts import (
    Routes,
    make_accumulator,
    make_planner,
    nowhere,
    on_node_1,
    put,
    refused,
    written,
)


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


def test_a_record_whose_time_is_refused_has_an_error_of_its_own():
    accumulator = make_accumulator(linger=0.0)
    planner = make_planner(accumulator)
    put(accumulator, b"early")
    (call,) = planner.poll(0.0, on_node_1).calls
    early = BatchIndexAndErrorMessage(batch_index=0, batch_index_error_message="too early")

    (batch,) = planner.answered(
        call, refused(ErrorCode.INVALID_TIMESTAMP, record_errors=[early]), 0.0
    ).settled

    assert isinstance(batch.record_errors[0], InvalidTimestampError)
    assert "too early" in str(batch.record_errors[0])


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
