"""What EndTxn decides in each state: the tables of Kafka's coordinator."""

from __future__ import annotations

import pytest

from pyk.protocol.errors import ErrorCode
from pyk.reference_broker.coordinator.transaction.ending import End, check_writer, end
from pyk.reference_broker.coordinator.transaction.initializing import ProducerIdNeededError
from pyk.reference_broker.coordinator.transaction.states import TransactionState
from pyk.reference_broker.coordinator.transaction.transaction import LAST_EPOCH, Transaction
from pyk.reference_broker.errors import ApiError
from support.shard_time import START_MS
from support.transactions import ID, transaction

FENCED, INVALID = ErrorCode.PRODUCER_FENCED, ErrorCode.INVALID_TXN_STATE
CONCURRENT, MAPPING = ErrorCode.CONCURRENT_TRANSACTIONS, ErrorCode.INVALID_PRODUCER_ID_MAPPING
DONE, COMMIT, ABORT = ErrorCode.NONE, "PrepareCommit", "PrepareAbort"

VERSION_1 = [
    ("Ongoing", True, COMMIT),
    ("Ongoing", False, ABORT),
    ("PrepareCommit", True, CONCURRENT),
    ("PrepareCommit", False, CONCURRENT),
    ("PrepareAbort", True, CONCURRENT),
    ("PrepareAbort", False, CONCURRENT),
    ("CompleteCommit", True, DONE),
    ("CompleteCommit", False, INVALID),
    ("CompleteAbort", True, INVALID),
    ("CompleteAbort", False, DONE),
    ("Empty", True, INVALID),
    ("Empty", False, INVALID),
]

VERSION_2 = [  # state, commit, with the epoch before, with the current epoch
    ("Ongoing", True, FENCED, COMMIT),
    ("Ongoing", False, FENCED, ABORT),
    ("PrepareCommit", True, CONCURRENT, CONCURRENT),
    ("PrepareCommit", False, CONCURRENT, CONCURRENT),
    ("PrepareAbort", True, CONCURRENT, CONCURRENT),
    ("PrepareAbort", False, CONCURRENT, CONCURRENT),
    ("CompleteCommit", True, DONE, INVALID),
    ("CompleteCommit", False, INVALID, ABORT),
    ("CompleteAbort", True, INVALID, INVALID),
    ("CompleteAbort", False, DONE, ABORT),
    ("Empty", True, FENCED, INVALID),
    ("Empty", False, FENCED, ABORT),
]


def state_of(label: str) -> TransactionState:
    return next(state for state in TransactionState if state.label == label)


def outcome(
    before: Transaction | None,
    *,
    commit: bool,
    version: int,
    producer_id: int = 7,
    epoch: int = 3,
    new_id: int | None = None,
) -> Transaction | ErrorCode:
    asked = End(
        transactional_id=ID,
        producer_id=producer_id,
        producer_epoch=epoch,
        commit=commit,
        client_version=version,
    )
    try:
        return end(before, asked, new_producer_id=new_id, time_ms=START_MS + 1)
    except ApiError as error:
        return error.code


def named(before: Transaction, after: Transaction | ErrorCode) -> ErrorCode | str:
    """Return the error, DONE if nothing changed, or the name of the new state."""
    if isinstance(after, ErrorCode):
        return after
    return DONE if after is before else after.state.label


@pytest.mark.parametrize(("label", "commit", "expected"), VERSION_1)
def test_version_1(label: str, commit: bool, expected: object) -> None:
    before = transaction(state_of(label))

    after = outcome(before, commit=commit, version=0)

    assert named(before, after) == expected
    if isinstance(after, Transaction):
        assert (after.producer_epoch, after.client_version) == (3, 0)


@pytest.mark.parametrize("label", [row[0] for row in VERSION_1[::2]])
@pytest.mark.parametrize("epoch", [2, 4])
def test_version_1_fences_every_other_epoch(label: str, epoch: int) -> None:
    assert outcome(transaction(state_of(label)), commit=True, version=0, epoch=epoch) is FENCED


@pytest.mark.parametrize(("label", "commit", "retry", "new"), VERSION_2)
def test_version_2(label: str, commit: bool, retry: object, new: object) -> None:
    before = transaction(state_of(label), client_version=2)

    assert named(before, outcome(before, commit=commit, version=2, epoch=2)) == retry
    assert named(before, outcome(before, commit=commit, version=2, epoch=3)) == new


@pytest.mark.parametrize("version", [0, 2])
def test_an_unknown_id_and_another_producer_id_are_refused(version: int) -> None:
    ongoing = transaction(TransactionState.ONGOING)

    assert outcome(None, commit=True, version=version) is MAPPING
    assert outcome(ongoing, commit=True, version=version, producer_id=8) is MAPPING


def test_version_2_raises_the_epoch() -> None:
    after = outcome(transaction(TransactionState.ONGOING), commit=True, version=2)

    assert isinstance(after, Transaction)
    assert (after.producer_epoch, after.last_producer_epoch) == (4, 3)
    completed = after.completed(START_MS + 2)
    assert (completed.producer_id, completed.producer_epoch) == (7, 4)
    assert completed.partitions == frozenset()


def test_an_abort_before_any_partition_begins_at_its_own_time() -> None:
    after = outcome(transaction(), commit=False, version=2)

    assert isinstance(after, Transaction)
    assert after.started_ms == START_MS + 1


def test_an_exhausted_epoch_gives_a_new_producer_id_when_the_transaction_is_complete() -> None:
    exhausted = transaction(TransactionState.ONGOING, producer_epoch=LAST_EPOCH - 1)

    with pytest.raises(ProducerIdNeededError):
        outcome(exhausted, commit=True, version=2, epoch=LAST_EPOCH - 1)
    prepared = outcome(exhausted, commit=True, version=2, epoch=LAST_EPOCH - 1, new_id=8)

    assert isinstance(prepared, Transaction)
    assert (prepared.producer_id, prepared.producer_epoch) == (7, LAST_EPOCH)
    completed = prepared.completed(START_MS + 2)
    assert (completed.producer_id, completed.producer_epoch) == (8, 0)
    repeated = outcome(completed, commit=True, version=2, epoch=LAST_EPOCH - 1)
    assert repeated is completed
    early = outcome(completed, commit=True, version=2, epoch=LAST_EPOCH - 2)
    assert early is MAPPING


def test_an_end_with_the_former_producer_id_is_no_repetition_once_the_new_one_was_used() -> None:
    used = transaction(
        TransactionState.COMPLETE_COMMIT,
        producer_id=8,
        producer_epoch=1,
        previous_producer_id=7,
    )

    assert outcome(used, commit=True, version=2, epoch=LAST_EPOCH - 1) is MAPPING


def test_an_end_with_any_other_producer_id_is_no_repetition() -> None:
    rotated = transaction(
        TransactionState.COMPLETE_COMMIT,
        producer_id=8,
        producer_epoch=0,
        previous_producer_id=7,
    )
    epoch = LAST_EPOCH - 1

    assert outcome(rotated, commit=True, version=2, epoch=epoch) is rotated
    assert outcome(rotated, commit=True, version=2, epoch=epoch, producer_id=6) is MAPPING


@pytest.mark.parametrize("version", [0, 2])
def test_the_writer_of_a_transaction_that_another_id_has_kept_is_fenced(version: int) -> None:
    kept = transaction(
        TransactionState.ONGOING,
        producer_epoch=LAST_EPOCH - 2,
        next_producer_id=8,
        next_producer_epoch=0,
    )

    assert outcome(kept, commit=True, version=version, epoch=LAST_EPOCH - 2) is FENCED
    assert outcome(kept, commit=True, version=version, epoch=0, producer_id=6) is MAPPING


@pytest.mark.parametrize(("version", "last_epoch"), [(1, -1), (2, 3)])
def test_fencing_aborts_in_the_next_epoch(version: int, last_epoch: int) -> None:
    fenced = transaction(TransactionState.ONGOING).fenced(version, START_MS + 1)

    assert fenced.state is TransactionState.PREPARE_ABORT
    assert (fenced.producer_epoch, fenced.last_producer_epoch) == (4, last_epoch)


@pytest.mark.parametrize("epoch", [LAST_EPOCH - 1, LAST_EPOCH])
def test_fencing_at_the_last_epoch_does_not_overflow(epoch: int) -> None:
    ongoing = transaction(TransactionState.ONGOING, producer_epoch=epoch)

    fenced = ongoing.fenced(2, START_MS + 1)

    assert fenced.producer_epoch == LAST_EPOCH
    assert fenced.completed(START_MS + 2).is_epoch_exhausted


@pytest.mark.parametrize("server_version", [1, 2])
def test_a_late_abort_is_not_given_the_last_epoch(server_version: int) -> None:
    aborted = (
        transaction(TransactionState.ONGOING, producer_epoch=LAST_EPOCH - 1)
        .fenced(server_version, START_MS + 1)
        .completed(START_MS + 2)
    )

    with pytest.raises(ProducerIdNeededError):
        outcome(aborted, commit=False, version=2, epoch=LAST_EPOCH - 1)
    prepared = outcome(aborted, commit=False, version=2, epoch=LAST_EPOCH - 1, new_id=8)

    assert isinstance(prepared, Transaction)
    completed = prepared.completed(START_MS + 3)
    assert (completed.producer_id, completed.producer_epoch) == (8, 0)
    retried = outcome(completed, commit=False, version=2, epoch=LAST_EPOCH - 1)
    assert retried is completed


@pytest.mark.parametrize("version", [0, 2])
@pytest.mark.parametrize("commit", [True, False])
def test_nobody_ends_a_transaction_with_the_last_epoch(version: int, commit: bool) -> None:
    ongoing = transaction(TransactionState.ONGOING, producer_epoch=LAST_EPOCH)

    refused = outcome(ongoing, commit=commit, version=version, epoch=LAST_EPOCH, new_id=8)

    assert refused is ErrorCode.PRODUCER_FENCED


def test_nobody_adds_to_a_transaction_with_the_last_epoch() -> None:
    fenced = transaction(TransactionState.ONGOING, producer_epoch=LAST_EPOCH)

    with pytest.raises(ApiError) as refused:
        check_writer(fenced, 7, LAST_EPOCH)

    assert refused.value.code is FENCED
