"""A share partition at its leader: what is stored, what locks do meanwhile, and how it ends."""

from __future__ import annotations

import pytest

from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.read_share_group_state import PartitionResult
from pyk.reference_broker.coordinator.share.state_batches import StateBatch
from pyk.reference_broker.share.acquisition import AcquiredRecords
from pyk.reference_broker.share.delivery import RecordState
from pyk.reference_broker.share.led_partition import merged
from pyk.reference_broker.storage import LogError
from pyk.reference_broker.storage.errors import StorageError
from pyk.runtime import slotted
from support.led_share_partition import LOCK, WITHOUT_MESSAGE, Leader, leader
from support.share_partition import ACCEPT, RELEASE, RENEW

E = ErrorCode


def batches(one: Leader, index: int = -1) -> list[tuple[int, int, int, int]]:
    """Return the batches of a write."""
    return [
        (each.first_offset, each.last_offset, each.delivery_state, each.delivery_count)
        for each in one.written[index].state_batches
    ]


def test_an_acceptance_counts_once_it_is_stored():
    one = leader()
    one.take()

    outcomes = one.say(ACCEPT)
    assert (outcomes, batches(one)) == ([], [(0, 9, RecordState.ACKNOWLEDGED, 1)])
    written = one.written[0]
    assert (written.state_epoch, written.leader_epoch, written.start_offset) == (2, 3, 0)

    moves = one.moves
    one.answer()
    assert outcomes == [None]
    assert one.moves > moves
    assert one.partition.state is not None
    assert one.partition.state.start_offset == 10


def test_locks_that_are_over_free_their_records_which_is_stored_and_told():
    one = leader()
    one.take()
    moves = one.moves

    one.advance(LOCK)

    assert batches(one) == [(0, 9, RecordState.AVAILABLE, 1)]
    assert one.moves == moves + 1
    assert one.take() == [(0, 9, 2)]


def test_records_are_free_whether_or_not_that_could_be_stored():
    one = leader()
    one.take()
    one.advance(LOCK)

    one.answer(E.COORDINATOR_NOT_AVAILABLE)

    assert one.take() == [(0, 9, 2)]


def test_records_that_were_archived_by_time_let_the_start_offset_move_once_that_is_stored():
    one = leader()
    for count in range(1, 6):
        assert one.take(0) == [(0, 0, count)]
        one.advance(one.now + LOCK)
        if count < 5:
            one.answer()
    assert one.partition.state is not None
    assert one.partition.state.start_offset == 0

    moves = one.moves
    one.answer()

    assert one.partition.state.start_offset == 1
    assert one.moves == moves + 1


def test_a_lock_that_is_over_while_its_acceptance_is_stored_waits_for_that():
    one = leader()
    one.take()
    outcomes = one.say(ACCEPT)

    one.advance(LOCK + 10)

    assert one.events <= 2
    assert one.take() == []
    one.answer()
    assert outcomes == [None]
    assert one.take() == []


def test_a_lock_that_was_over_meanwhile_frees_what_could_not_be_stored():
    one = leader()
    one.take()
    outcomes = one.say(ACCEPT)
    one.advance(LOCK + 10)

    one.answer(E.COORDINATOR_NOT_AVAILABLE)

    [error] = outcomes
    assert error is not None
    assert (error.code, error.message) == (
        E.COORDINATOR_NOT_AVAILABLE,
        "Error in write state RPC. no",
    )
    assert one.take() == [(0, 9, 2)]


def test_what_could_not_be_stored_is_locked_until_its_lock_is_over():
    one = leader()
    one.take()
    one.say(ACCEPT)
    one.answer(E.COORDINATOR_LOAD_IN_PROGRESS)
    assert one.take() == []

    one.advance(LOCK - 1)
    assert one.take() == []
    one.advance(LOCK)
    assert one.take() == [(0, 9, 2)]


def test_a_failure_just_before_the_lock_is_over_leaves_the_lock_in_force():
    one = leader()
    one.take()
    one.say(ACCEPT, 0, 4)
    one.say(RENEW, 5, 9)
    one.advance(20)
    one.say(ACCEPT, 5, 9)
    one.advance(LOCK - 0.5)
    one.answer(E.COORDINATOR_LOAD_IN_PROGRESS)

    one.advance(LOCK)
    assert one.take() == [(0, 4, 2)]


def test_a_renewed_lock_is_over_later():
    one = leader()
    one.take()
    one.advance(20)
    assert one.say(RENEW) == [None]

    one.advance(20 + LOCK - 1)
    assert one.take() == []
    one.advance(20 + LOCK)
    assert one.take() == [(0, 9, 2)]
    assert len(one.written) == 1


def test_a_lock_that_is_renewed_for_less_time_than_it_had_is_over_in_that_time():
    one = leader()
    one.take()
    one.settings = slotted.evolve(one.settings, lock_duration_ms=5_000)
    one.say_all((RENEW, 0, 4), (ACCEPT, 5, 9))
    one.answer()

    one.advance(5)

    assert one.take(4) == [(0, 4, 2)]


def test_a_refusal_is_known_at_once_and_changes_nothing():
    one = leader()
    one.take()

    [error] = one.say(ACCEPT, 0, 10)

    assert error is not None
    assert error.code is E.INVALID_REQUEST
    assert one.written == []
    assert one.say(RENEW) == [None]


def test_what_was_not_sent_is_free_for_those_who_wait():
    one = leader()
    one.take()
    moves = one.moves

    one.partition.give_back("a", [AcquiredRecords(0, 9, 1)])

    assert one.moves == moves + 1
    assert one.take() == [(0, 9, 1)]


def test_each_lock_is_over_in_its_time():
    one = leader()
    one.take(4)
    one.advance(10)
    one.take(9)

    one.advance(LOCK)
    assert batches(one) == [(0, 4, RecordState.AVAILABLE, 1)]
    one.advance(10 + LOCK)
    assert batches(one) == [(5, 9, RecordState.AVAILABLE, 1)]


def test_nothing_is_stored_once_all_writes_are_answered():
    one, done = leader(), list[None]()
    one.take()
    one.say(ACCEPT, 0, 4)
    one.say(RELEASE, 5, 9)

    one.partition.when_stored().when_done(done.append)
    one.answer()
    assert done == []
    one.answer()
    assert done == [None]
    one.partition.when_stored().when_done(done.append)
    assert done == [None, None]


def test_expiry_that_is_being_stored_is_waited_for_too():
    one, done = leader(), list[None]()
    one.take()
    one.advance(LOCK)

    one.partition.when_stored().when_done(done.append)
    assert done == []
    one.answer()
    assert done == [None]


def test_a_session_that_ends_releases_what_its_member_has():
    one = leader()
    one.take()

    one.partition.release("a")
    assert one.take() == []
    one.answer()

    assert one.take() == [(0, 9, 2)]
    one.partition.release("b")
    assert len(one.written) == 1


@pytest.mark.parametrize(("is_leader", "epoch"), [(False, 4), (False, 3), (True, 4)])
def test_a_partition_that_moves_is_dropped_with_its_timer(is_leader: bool, epoch: int):
    one = leader()
    one.take()
    moves = one.moves

    one.led.move(is_leader=is_leader, epoch=epoch)

    assert one.dropped == [one.partition]
    assert (one.led.listeners, len(one.timers)) == ([], 0)
    assert one.moves == moves + 1
    one.partition.drop()
    assert one.dropped == [one.partition]


def test_a_partition_that_is_led_on_is_kept():
    one = leader()

    one.led.move(is_leader=True, epoch=3)

    assert one.dropped == []


def test_an_answer_after_the_move_changes_nothing():
    one = leader()
    one.take()
    outcomes = one.say(ACCEPT)
    one.led.move()
    moves = one.moves

    one.answer()

    assert (outcomes, one.moves) == ([None], moves)


@pytest.mark.parametrize(
    ("code", "told", "is_dropped"),
    [
        (E.FENCED_LEADER_EPOCH, E.NOT_LEADER_OR_FOLLOWER, True),
        (E.FENCED_STATE_EPOCH, E.NOT_LEADER_OR_FOLLOWER, True),
        (E.GROUP_ID_NOT_FOUND, E.GROUP_ID_NOT_FOUND, True),
        (E.UNKNOWN_TOPIC_OR_PARTITION, E.UNKNOWN_TOPIC_OR_PARTITION, True),
        (E.NOT_COORDINATOR, E.COORDINATOR_NOT_AVAILABLE, False),
        (E.KAFKA_STORAGE_ERROR, E.UNKNOWN_SERVER_ERROR, False),
    ],
)
def test_a_leader_that_is_late_gives_up(code: E, told: E, is_dropped: bool):
    one = leader()
    one.take()
    outcomes = one.say(ACCEPT)
    one.answer(code)

    assert [each.code for each in outcomes if each is not None] == [told]
    assert bool(outcomes[0] and outcomes[0].message) is (code not in WITHOUT_MESSAGE)
    assert bool(one.dropped) is is_dropped

    other = leader()
    other.take()
    other.advance(LOCK)
    other.answer(code)
    assert bool(other.dropped) is is_dropped


def test_nothing_is_acknowledged_before_it_is_loaded():
    one = Leader()

    [error] = one.say(ACCEPT)
    assert error is not None
    assert error.code is E.INVALID_RECORD_STATE
    outcomes: list[object] = []
    one.partition.release("a").when_done(outcomes.append)
    one.partition.give_back("a", [])
    assert outcomes == [None]
    assert one.moves == 0


def test_a_partition_that_cannot_be_loaded_says_why_and_is_dropped():
    one = Leader()

    one.loading.complete(PartitionResult(error_code=E.FENCED_STATE_EPOCH, error_message="old"))

    assert one.partition.failure is not None
    assert (one.partition.failure.code, one.partition.failure.message) == (
        E.NOT_LEADER_OR_FOLLOWER,
        "old",
    )
    assert one.dropped == [one.partition]
    assert one.partition.state is None


def test_those_who_wait_are_told_once_it_is_loaded():
    one = leader()

    assert one.moves == 1


NOT_INITIALIZED = PartitionResult(partition=0, state_epoch=2, start_offset=-1)


def test_a_new_group_begins_where_its_configuration_says():
    one = Leader()
    one.led.offset = 7

    one.loading.complete(NOT_INITIALIZED)

    assert one.partition.state is not None
    assert one.partition.state.start_offset == 7


@pytest.mark.parametrize(
    ("offset", "code"),
    [(None, E.OFFSET_NOT_AVAILABLE), (StorageError("the disk is gone"), E.KAFKA_STORAGE_ERROR)],
)
def test_where_a_new_group_begins_may_be_unknown(offset: LogError | None, code: E):
    one = Leader()
    one.led.offset = offset

    one.loading.complete(NOT_INITIALIZED)

    assert one.partition.failure is not None
    assert one.partition.failure.code is code
    assert one.dropped == [one.partition]


def test_what_is_loaded_after_a_move_is_not_used():
    one = Leader()
    one.led.move()

    one.loading.complete(PartitionResult(state_epoch=2, start_offset=0))

    assert one.partition.state is None


def test_neighbours_that_are_the_same_are_stored_as_one():
    available, archived = RecordState.AVAILABLE, RecordState.ARCHIVED

    assert merged(
        [
            StateBatch(0, 0, 1, available),
            StateBatch(1, 3, 1, available),
            StateBatch(4, 4, 2, available),
            StateBatch(5, 5, 2, archived),
            StateBatch(7, 8, 2, archived),
        ]
    ) == [
        StateBatch(0, 3, 1, available),
        StateBatch(4, 4, 2, available),
        StateBatch(5, 5, 2, archived),
        StateBatch(7, 8, 2, archived),
    ]
