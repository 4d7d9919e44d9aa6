"""The states of a transactional producer: which calls are allowed, and what answers do to them."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from pyk.clients.errors import (
    InvalidRecordError,
    KafkaError,
    ProducerFencedError,
    StateError,
    TransactionAbortableError,
)
from pyk.clients.producer.sending.sequences import ProducerIdentity
from pyk.clients.producer.transactions.meanings import Meaning
from pyk.clients.producer.transactions.state import State, TransactionState

FIRST, NEXT = ProducerIdentity(7, 0), ProducerIdentity(7, 1)
FENCED = ProducerFencedError("another one")


def make_state(target: State, version: int = 2) -> TransactionState:
    """Return a state that was moved there by calls and answers."""
    state = TransactionState("billing")
    steps: dict[State, list[Callable[[], object]]] = {
        State.UNINITIALIZED: [],
        State.INITIALIZING: [state.begin_initialization],
    }
    ready = [state.begin_initialization, lambda: state.initialized(FIRST)]
    steps[State.READY] = ready
    steps[State.IN_TRANSACTION] = [*ready, state.begin]
    writing = [*ready, state.begin, state.begin_writing]
    steps[State.WRITING] = writing
    steps[State.PREPARED] = [*writing, state.prepare]
    steps[State.COMMITTING] = [*writing, lambda: state.begin_end(is_commit=True)]
    steps[State.ABORTING] = [*ready, state.begin, lambda: state.begin_end(is_commit=False)]
    fails = lambda: state.failed(InvalidRecordError("bad"), Meaning.ABORT)  # noqa: E731
    steps[State.MUST_ABORT] = [*ready, state.begin, fails]
    steps[State.FAILED] = [*ready, lambda: state.failed(FENCED, Meaning.FAIL)]
    state.epochs.use(version)
    for step in steps[target]:
        step()
    assert state.state is target
    return state


CALLS: dict[str, tuple[Callable[[TransactionState], object], set[State], State]] = {
    "begin_initialization": (
        lambda state: state.begin_initialization(),
        {State.UNINITIALIZED, State.READY},
        State.INITIALIZING,
    ),
    "kept": (lambda state: state.kept(FIRST), {State.INITIALIZING}, State.PREPARED),
    "begin": (lambda state: state.begin(), {State.READY}, State.IN_TRANSACTION),
    "begin_writing": (
        lambda state: state.begin_writing(),
        {State.IN_TRANSACTION},
        State.WRITING,
    ),
    "prepare": (lambda state: state.prepare(), {State.WRITING}, State.PREPARED),
    "begin_commit": (
        lambda state: state.begin_end(is_commit=True),
        {State.WRITING, State.PREPARED},
        State.COMMITTING,
    ),
    "begin_abort": (
        lambda state: state.begin_end(is_commit=False),
        {State.IN_TRANSACTION, State.WRITING, State.PREPARED, State.MUST_ABORT},
        State.ABORTING,
    ),
    "ended": (lambda state: state.ended(), {State.COMMITTING, State.ABORTING}, State.READY),
}


@pytest.mark.parametrize("start", State, ids=lambda state: state.name)
@pytest.mark.parametrize("name", CALLS)
def test_each_call_is_allowed_in_its_states_only(name: str, start: State) -> None:
    call, allowed, target = CALLS[name]
    state = make_state(start)

    if start in allowed:
        call(state)
        assert state.state is target
        return
    expected = {
        State.MUST_ABORT: TransactionAbortableError,
        State.FAILED: ProducerFencedError,
    }.get(start, StateError)
    with pytest.raises(expected):
        call(state)
    assert state.state is start


@pytest.mark.parametrize("start", State, ids=lambda state: state.name)
def test_a_fatal_error_ends_the_producer_in_every_state(start: State) -> None:
    state = make_state(start)

    error = state.failed(FENCED, Meaning.FAIL)

    assert state.state is State.FAILED
    assert error.fatal
    assert not error.retriable
    assert not error.txn_requires_abort


@pytest.mark.parametrize(
    "start", [State.IN_TRANSACTION, State.WRITING, State.COMMITTING, State.MUST_ABORT]
)
def test_an_error_of_a_transaction_asks_for_an_abort_and_names_the_first_cause(
    start: State,
) -> None:
    told: list[KafkaError] = []
    state = make_state(start)
    state.on_error = told.append

    error = state.failed(InvalidRecordError("worse"), Meaning.ABORT)

    assert state.state is State.MUST_ABORT
    assert error.txn_requires_abort
    assert isinstance(error.__cause__, InvalidRecordError)
    assert str(error.__cause__) == ("bad" if start is State.MUST_ABORT else "worse")
    assert len(told) == (0 if start is State.MUST_ABORT else 1)


def test_an_abort_that_the_coordinator_refuses_ends_the_producer() -> None:
    state = make_state(State.ABORTING)

    assert state.failed(InvalidRecordError("bad"), Meaning.ABORT).fatal
    assert state.state is State.FAILED


def test_a_batch_that_fails_while_it_is_dropped_changes_nothing() -> None:
    state = make_state(State.ABORTING)

    state.batch_failed(InvalidRecordError("dropped"), Meaning.ABORT, has_numbers=False)

    assert state.state is State.ABORTING


def test_the_first_initialization_may_be_repeated_and_a_later_one_may_not() -> None:
    first = make_state(State.INITIALIZING)
    later = make_state(State.READY)
    later.begin_initialization()

    first.not_initialized(InvalidRecordError("refused"))
    later.not_initialized(InvalidRecordError("refused"))

    assert (first.state, later.state) == (State.UNINITIALIZED, State.FAILED)


# -- what the coordinator has to be told -----------------------------------------------------------


def test_an_abort_ends_what_may_have_been_added_and_a_commit_what_was() -> None:
    state = make_state(State.IN_TRANSACTION, version=1)
    state.contents.request_sent()
    assert not state.has_to_end

    state.begin_end(is_commit=False)

    assert state.has_to_end


# -- epochs ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("version", "needs_epoch"), [(1, True), (2, False)])
def test_a_lost_answer_asks_for_another_epoch_in_version_1(version: int, needs_epoch: bool) -> None:
    state = make_state(State.COMMITTING, version)

    state.epochs.in_doubt()
    state.ended()

    assert state.epochs.must_initialize is needs_epoch


@pytest.mark.parametrize(("version", "needs_epoch"), [(1, True), (2, False)])
def test_an_abort_after_an_error_asks_for_another_epoch_in_version_1(
    version: int, needs_epoch: bool
) -> None:
    state = make_state(State.MUST_ABORT, version)
    state.begin_end(is_commit=False)

    state.ended(NEXT if version == 2 else None)

    assert state.epochs.must_initialize is needs_epoch
    assert state.identity == (NEXT if version == 2 else FIRST)


@pytest.mark.parametrize(("before", "after"), [(1, 2), (2, 1)])
def test_another_version_asks_for_another_epoch(before: int, after: int) -> None:
    state = make_state(State.READY, before)
    assert not state.epochs.must_initialize

    state.epochs.use(after)

    assert state.epochs.must_initialize


@pytest.mark.parametrize("start", [State.IN_TRANSACTION, State.ABORTING])
@pytest.mark.parametrize(("has_numbers", "needs_epoch"), [(True, True), (False, False)])
def test_a_batch_that_has_numbers_and_is_given_up_costs_the_epoch_of_version_1(
    start: State, has_numbers: bool, needs_epoch: bool
) -> None:
    """Such as a half of a batch that was too large: it was never sent, and later ones count on."""
    state = make_state(start, version=1)

    state.batch_failed(InvalidRecordError("bad"), Meaning.ABORT, has_numbers=has_numbers)

    assert state.epochs.must_initialize is (needs_epoch or start is State.IN_TRANSACTION)


def test_each_transaction_has_contents_of_its_own() -> None:
    state = make_state(State.COMMITTING)
    before = state.contents
    state.ended()

    state.begin()

    assert state.contents is not before


def test_a_new_producer_has_no_identity_and_an_empty_transaction() -> None:
    state = TransactionState("billing")

    assert (state.transactional_id, state.identity, state.version) == ("billing", None, 1)
    assert not state.contents.has_started


@pytest.mark.parametrize("start", State, ids=lambda state: state.name)
def test_records_are_taken_in_a_transaction_and_sent_until_it_is_written(start: State) -> None:
    state = make_state(start)

    assert state.is_open is (start is State.IN_TRANSACTION)
    assert state.is_sending is (start in (State.IN_TRANSACTION, State.WRITING))


@pytest.mark.parametrize("version", [1, 2])
def test_a_kept_transaction_is_ended_with_the_new_identity(version: int) -> None:
    state = make_state(State.INITIALIZING, version)

    state.kept(NEXT)

    assert state.identity == NEXT
    state.begin_end(is_commit=True)
    assert state.has_to_end
    state.ended()
    assert state.epochs.must_initialize is (version == 1)


def test_a_refused_initialization_returns_the_error_to_raise() -> None:
    first, later = make_state(State.INITIALIZING), make_state(State.READY)
    later.begin_initialization()

    assert first.not_initialized(FENCED) is FENCED
    assert isinstance(later.not_initialized(FENCED), ProducerFencedError)
    assert later.state is State.FAILED


def test_calls_name_the_state_that_does_not_allow_them() -> None:
    with pytest.raises(StateError, match=r"init_transactions\(\) first"):
        make_state(State.UNINITIALIZED).begin()
    with pytest.raises(StateError, match="has a prepared transaction"):
        make_state(State.PREPARED).begin()


@pytest.mark.parametrize("start", [State.COMMITTING, State.ABORTING])
def test_a_transaction_without_anything_in_it_ends_without_a_request(start: State) -> None:
    assert not make_state(start).has_to_end
