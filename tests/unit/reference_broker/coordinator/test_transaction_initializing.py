"""What InitProducerId decides: epochs, fencing, retries (KIP-360), new ids."""

from __future__ import annotations

import pytest

from pyk.protocol.errors import ErrorCode
from pyk.reference_broker.coordinator.transaction.initializing import (
    Initialization,
    ProducerIdNeededError,
    initialize,
)
from pyk.reference_broker.coordinator.transaction.states import TransactionState
from pyk.reference_broker.coordinator.transaction.transaction import (
    LAST_EPOCH,
    NO_TIMEOUT_MS,
    Transaction,
)
from pyk.reference_broker.errors import ApiError
from support.shard_time import START_MS
from support.transactions import ID, transaction

IDLE = [TransactionState.EMPTY, TransactionState.COMPLETE_COMMIT, TransactionState.COMPLETE_ABORT]
FENCED = ErrorCode.PRODUCER_FENCED


def outcome(
    before: Transaction | None,
    expected: tuple[int, int] | None = None,
    new_id: int | None = None,
    **more: bool,
) -> Transaction | ErrorCode:
    asked = Initialization(transactional_id=ID, timeout_ms=1000, expected=expected, **more)
    try:
        return initialize(
            before, asked, new_producer_id=new_id, server_version=2, time_ms=START_MS + 1
        )
    except ApiError as error:
        return error.code


def identity(after: Transaction | ErrorCode) -> tuple[int, int] | ErrorCode:
    return after if isinstance(after, ErrorCode) else (after.producer_id, after.producer_epoch)


@pytest.mark.parametrize("expected", [None, (3, 4)])
def test_an_unknown_transactional_id_gets_a_new_producer_id(
    expected: tuple[int, int] | None,
) -> None:
    with pytest.raises(ProducerIdNeededError):
        outcome(None, expected)

    assert identity(outcome(None, expected, new_id=9)) == (9, 0)


@pytest.mark.parametrize("state", IDLE)
@pytest.mark.parametrize(
    ("expected", "result"),
    [
        (None, (7, 4)),
        ((7, 3), (7, 4)),
        ((7, 2), FENCED),
        ((7, 4), FENCED),
        ((6, 3), FENCED),
    ],
)
def test_a_producer_without_transaction(
    state: TransactionState, expected: tuple[int, int] | None, result: object
) -> None:
    after = outcome(transaction(state), expected)

    assert identity(after) == result
    if isinstance(after, Transaction):
        assert after.state is TransactionState.EMPTY
        assert (after.timeout_ms, after.started_ms) == (1000, -1)


def test_a_retry_gets_the_same_epoch_until_another_producer_takes_over() -> None:
    first = outcome(transaction(), (7, 3))
    assert isinstance(first, Transaction)

    retried = outcome(first, (7, 3))
    assert identity(retried) == (7, 4)

    taken_over = outcome(first)
    assert isinstance(taken_over, Transaction)
    assert identity(outcome(taken_over, (7, 4))) is FENCED


@pytest.mark.parametrize("expected", [None, (7, 3)])
@pytest.mark.parametrize("state", [TransactionState.PREPARE_COMMIT, TransactionState.PREPARE_ABORT])
def test_a_decided_transaction_must_complete_first(
    state: TransactionState, expected: tuple[int, int] | None
) -> None:
    assert outcome(transaction(state), expected) is ErrorCode.CONCURRENT_TRANSACTIONS


def test_an_open_transaction_is_aborted_and_its_producer_fenced() -> None:
    after = outcome(transaction(TransactionState.ONGOING))

    assert isinstance(after, Transaction)
    assert after.state is TransactionState.PREPARE_ABORT
    assert after.producer_epoch > 3


def test_another_producer_cannot_abort_by_an_old_identity() -> None:
    assert outcome(transaction(TransactionState.ONGOING), (6, 3)) is FENCED


@pytest.mark.parametrize("expected", [None, (7, LAST_EPOCH - 1)])
def test_an_exhausted_epoch_gives_a_new_producer_id(expected: tuple[int, int] | None) -> None:
    exhausted = transaction(producer_epoch=LAST_EPOCH - 1)

    with pytest.raises(ProducerIdNeededError):
        outcome(exhausted, expected)
    rotated = outcome(exhausted, expected, new_id=9)

    assert isinstance(rotated, Transaction)
    assert identity(rotated) == (9, 0)
    # The response was lost: the producer still has the old identity.
    again = outcome(rotated, (7, LAST_EPOCH - 1))
    assert identity(again) == ((9, 0) if expected else FENCED)
    assert outcome(rotated, (6, LAST_EPOCH - 1)) is FENCED
    assert outcome(rotated, (7, LAST_EPOCH - 2)) is FENCED


def test_the_former_producer_id_is_taken_for_the_new_one_at_its_last_epoch_only() -> None:
    used = transaction(producer_id=9, producer_epoch=5, previous_producer_id=7)

    assert outcome(used, (7, 5)) is FENCED
    assert outcome(used, (7, 4)) is FENCED


def test_a_retry_gets_the_last_epoch_that_producers_have_and_no_new_id() -> None:
    before = transaction(producer_epoch=LAST_EPOCH - 2)
    raised = outcome(before, (7, LAST_EPOCH - 2))
    assert isinstance(raised, Transaction)

    again = outcome(raised, (7, LAST_EPOCH - 2), new_id=9)

    assert identity(again) == (7, LAST_EPOCH - 1)


def test_a_producer_that_has_kept_a_transaction_under_a_new_id_can_go_on() -> None:
    kept = transaction(
        TransactionState.ONGOING,
        producer_epoch=LAST_EPOCH - 2,
        next_producer_id=8,
        next_producer_epoch=0,
    )

    after = outcome(kept, (8, 0))

    assert isinstance(after, Transaction)
    assert after.state is TransactionState.PREPARE_ABORT
    assert identity(outcome(kept, (6, 0))) is FENCED


@pytest.mark.parametrize(
    ("server_version", "expected", "result"),
    [
        (1, None, (9, 0)),
        (2, None, (9, 0)),
        (1, (7, LAST_EPOCH - 1), FENCED),
        (2, (7, LAST_EPOCH - 1), (9, 0)),
        (2, (7, LAST_EPOCH - 2), FENCED),
    ],
)
def test_the_last_epoch_is_taken_by_a_timeout_and_given_to_nobody(
    server_version: int, expected: tuple[int, int] | None, result: object
) -> None:
    aborted = (
        transaction(TransactionState.ONGOING, producer_epoch=LAST_EPOCH - 1)
        .fenced(server_version, START_MS)
        .completed(START_MS)
    )

    assert identity(outcome(aborted, expected, new_id=9)) == result


def test_a_two_phase_commit_has_no_timeout() -> None:
    after = outcome(None, new_id=9, is_two_phase=True)

    assert isinstance(after, Transaction)
    assert after.timeout_ms == NO_TIMEOUT_MS
    assert not after.has_timeout
