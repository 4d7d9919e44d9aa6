"""Transactional ids over a log: what is appended, answered and remembered, and what time does."""

from __future__ import annotations

import pytest

from pyk.protocol.errors import ErrorCode
from pyk.reference_broker.coordinator.transaction.transaction import LAST_EPOCH
from pyk.runtime import slotted
from support.transactions import BILLS, ID, ORDERS, TIMEOUT_MS, Transactions, transaction

OK = ErrorCode.NONE
CONCURRENT = ErrorCode.CONCURRENT_TRANSACTIONS
FENCED = ErrorCode.PRODUCER_FENCED
VERSIONS = [1, 2]


def open_transaction(**more: int) -> tuple[Transactions, tuple[int, int]]:
    transactions = Transactions(**more)
    producer = transactions.init()
    assert isinstance(producer, tuple)
    assert transactions.add(producer) is OK
    return transactions, producer


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("commit", [True, False])
def test_a_transaction_from_begin_to_marker(version: int, commit: bool) -> None:
    transactions, producer = open_transaction(version=version)
    assert transactions.add(producer, [BILLS]) is OK

    following = transactions.end(producer, commit=commit)

    outcome = "Commit" if commit else "Abort"
    assert transactions.state() == f"Prepare{outcome}"
    ((markers, _),) = transactions.markers
    assert (markers.commit, markers.partitions) == (commit, {ORDERS, BILLS})
    transactions.leaders_answer()
    assert transactions.state() == f"Complete{outcome}"
    assert following == (producer if version == 1 else (producer[0], producer[1] + 1))
    assert transactions.add(following) is OK


def test_markers_carry_the_raised_epoch_of_version_2() -> None:
    transactions, (producer_id, epoch) = open_transaction(version=2)

    transactions.end((producer_id, epoch))

    ((markers, _),) = transactions.markers
    assert (markers.producer_id, markers.producer_epoch) == (producer_id, epoch + 1)
    assert (markers.coordinator_epoch, markers.transaction_version) == (5, 2)


@pytest.mark.parametrize("version", VERSIONS)
def test_nothing_happens_while_markers_are_written(version: int) -> None:
    transactions, producer = open_transaction(version=version)
    following = transactions.end(producer)
    assert isinstance(following, tuple)

    assert transactions.init() is CONCURRENT
    assert transactions.add(following) is CONCURRENT
    assert transactions.end(producer) is CONCURRENT
    assert transactions.end(producer, commit=False) is CONCURRENT
    assert transactions.end(following, commit=False) is CONCURRENT


@pytest.mark.parametrize("version", VERSIONS)
def test_a_repeated_end_is_answered_as_the_first(version: int) -> None:
    transactions, producer = open_transaction(version=version)
    first = transactions.end(producer)
    transactions.leaders_answer()
    length = len(transactions.log)

    assert transactions.end(producer) == first
    assert len(transactions.log) == length


def test_a_new_producer_aborts_the_open_transaction_of_the_old_one() -> None:
    transactions, producer = open_transaction()

    assert transactions.init() is CONCURRENT
    assert transactions.state() == "PrepareAbort"
    transactions.leaders_answer()
    taken_over = transactions.init()

    assert isinstance(taken_over, tuple)
    assert taken_over[0] == producer[0]
    assert taken_over[1] > producer[1]
    assert transactions.add(producer) is FENCED
    assert transactions.end(producer, version=0) is FENCED


def test_a_producer_goes_on_with_its_identity() -> None:
    transactions, (producer_id, epoch) = open_transaction()
    transactions.end((producer_id, epoch), commit=False)
    transactions.leaders_answer()

    bumped = transactions.init(expected=(producer_id, epoch + 1))

    assert bumped == (producer_id, epoch + 2)
    assert transactions.init(expected=(producer_id, epoch + 1)) == bumped
    assert transactions.init(expected=(producer_id, epoch)) is FENCED


@pytest.mark.parametrize("timeout_ms", [0, -1, 900_001, 2**31 - 1])
def test_a_timeout_out_of_range_is_refused(timeout_ms: int) -> None:
    refused = Transactions().init(timeout_ms=timeout_ms)

    assert refused is ErrorCode.INVALID_TRANSACTION_TIMEOUT


def test_the_partitions_of_a_transaction_can_be_verified() -> None:
    transactions, producer = open_transaction()

    found = transactions.shard.verify_partitions(ID, producer, [ORDERS, BILLS])

    assert found == {ORDERS: OK, BILLS: ErrorCode.TRANSACTION_ABORTABLE}


def test_partitions_that_are_known_append_nothing() -> None:
    transactions, producer = open_transaction()
    length = len(transactions.log)

    assert transactions.add(producer) is OK
    assert len(transactions.log) == length


@pytest.mark.parametrize(
    ("producer", "expected"),
    [((99, 0), ErrorCode.INVALID_PRODUCER_ID_MAPPING), ((100, 1), FENCED)],
)
def test_another_producer_cannot_add(producer: tuple[int, int], expected: ErrorCode) -> None:
    transactions, _ = open_transaction()

    assert transactions.add(producer) is expected
    assert transactions.add(producer, transactional_id="unknown") is (
        ErrorCode.INVALID_PRODUCER_ID_MAPPING
    )


def test_an_exhausted_epoch_ends_with_a_new_producer_id() -> None:
    transactions, (producer_id, _) = open_transaction()
    exhausted = (producer_id, LAST_EPOCH - 1)
    transactions.shard.transactions[ID] = transaction(
        transactions.shard.transactions[ID].state,
        producer_id=producer_id,
        producer_epoch=LAST_EPOCH - 1,
    )

    following = transactions.end(exhausted)

    assert following == (producer_id + 1, 0)
    assert transactions.markers[0][0].producer_epoch == LAST_EPOCH
    assert transactions.add(following) is CONCURRENT
    transactions.leaders_answer()
    assert transactions.end(exhausted) == following
    assert transactions.add(following) is OK


# -- what is not safe yet --------------------------------------------------------------------------


def test_the_answer_and_the_markers_wait_for_the_commit_of_the_decision() -> None:
    transactions, producer = open_transaction()
    transactions.log.hold()

    ending = transactions.ending(producer)

    assert not ending.is_answered
    assert not transactions.markers
    transactions.log.is_held = False
    transactions.runtime.high_watermark_moved()
    assert ending.is_answered
    assert transactions.markers


def test_a_decision_that_cannot_be_written_changes_nothing() -> None:
    transactions, producer = open_transaction()
    transactions.log.fails_with = ErrorCode.NOT_ENOUGH_REPLICAS

    refused = transactions.end(producer)

    assert refused is ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert transactions.state() == "Ongoing"
    assert not transactions.markers
    transactions.log.fails_with = None
    assert isinstance(transactions.end(producer), tuple)


def test_a_completion_that_cannot_be_written_is_tried_again() -> None:
    transactions, producer = open_transaction()
    transactions.end(producer)
    transactions.log.fails_with = ErrorCode.NOT_ENOUGH_REPLICAS
    transactions.leaders_answer()
    transactions.advance(1)
    assert transactions.state() == "PrepareCommit"

    transactions.log.fails_with = None
    transactions.advance(1)

    assert transactions.state() == "CompleteCommit"


def test_a_fenced_coordinator_leaves_the_transaction_to_its_successor() -> None:
    transactions, producer = open_transaction()
    transactions.end(producer)

    transactions.leaders_answer(ErrorCode.TRANSACTION_COORDINATOR_FENCED)

    assert transactions.state() == "PrepareCommit"
    transactions.restart()
    transactions.leaders_answer()
    assert transactions.state() == "CompleteCommit"


# -- time ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", VERSIONS)
def test_a_transaction_that_takes_too_long_is_aborted(version: int) -> None:
    transactions, producer = open_transaction(version=version)

    transactions.advance(TIMEOUT_MS / 1000)
    assert transactions.state() == "Ongoing"
    transactions.advance(10.1)

    assert transactions.state() == "PrepareAbort"
    transactions.leaders_answer()
    assert transactions.shard.transactions[ID].producer_epoch == producer[1] + 1
    assert transactions.add(producer) is FENCED
    assert transactions.end(producer, version=0) is FENCED
    assert transactions.init() == (producer[0], producer[1] + 2)


def test_a_producer_of_version_2_goes_on_after_the_abort_of_a_timeout() -> None:
    transactions, producer = open_transaction()
    transactions.advance(TIMEOUT_MS / 1000 + 10.1)
    transactions.leaders_answer()
    following = (producer[0], producer[1] + 1)

    assert transactions.end(producer) is ErrorCode.INVALID_TXN_STATE
    assert transactions.end(producer, commit=False) == following
    assert transactions.init(expected=producer) == following
    assert transactions.init(expected=following) == (producer[0], producer[1] + 2)


def test_a_producer_of_version_1_is_fenced_by_the_abort_of_a_timeout() -> None:
    transactions, producer = open_transaction(version=1)
    transactions.advance(TIMEOUT_MS / 1000 + 10.1)
    transactions.leaders_answer()

    assert transactions.end(producer) is FENCED
    assert transactions.end(producer, commit=False) is FENCED
    assert transactions.init(expected=producer) is FENCED


@pytest.mark.parametrize("version", VERSIONS)
def test_a_timeout_in_the_last_epoch_but_one_leads_to_a_new_producer_id(version: int) -> None:
    transactions, (producer_id, _) = open_transaction(version=version)
    ongoing = transactions.shard.transactions[ID]
    exhausted = (producer_id, LAST_EPOCH - 1)
    transactions.shard.transactions[ID] = slotted.evolve(ongoing, producer_epoch=LAST_EPOCH - 1)

    transactions.advance(TIMEOUT_MS / 1000 + 10.1)
    transactions.leaders_answer()

    assert transactions.end(exhausted, commit=False, version=2) == (producer_id + 1, 0)
    transactions.leaders_answer()
    assert transactions.end(exhausted, commit=False, version=2) == (producer_id + 1, 0)
    assert transactions.init() == (producer_id + 1, 1)


def test_all_overdue_transactions_are_aborted_each_by_itself() -> None:
    transactions = Transactions()
    ids = ["a", "b", "c"]
    for each in ids:
        producer = transactions.init(each)
        assert isinstance(producer, tuple)
        transactions.add(producer, transactional_id=each)

    transactions.advance(TIMEOUT_MS / 1000 + 10.1)

    assert [transactions.state(each) for each in ids] == ["PrepareAbort"] * 3
    assert len(transactions.markers) == 3


def test_an_abort_by_timeout_that_cannot_be_written_is_tried_at_the_next_check() -> None:
    transactions, _ = open_transaction()
    transactions.log.fails_with = ErrorCode.NOT_ENOUGH_REPLICAS
    transactions.advance(TIMEOUT_MS / 1000 + 10.1)
    assert transactions.state() == "Ongoing"

    transactions.log.fails_with = None
    transactions.advance(10.1)

    assert transactions.state() == "PrepareAbort"


def test_an_id_that_is_not_used_is_forgotten() -> None:
    transactions = Transactions(expiration_ms=3_600_000, expiration_check_interval_ms=60_000)
    transactions.init()

    transactions.advance(3_500)
    assert ID in transactions.shard.transactions
    transactions.advance(200)

    assert ID not in transactions.shard.transactions
    transactions.restart()
    assert ID not in transactions.shard.transactions
    assert transactions.init(expected=(100, 0)) == (101, 0)


def test_an_id_with_an_undecided_marker_is_not_forgotten() -> None:
    transactions, producer = open_transaction(
        expiration_ms=1_000, expiration_check_interval_ms=60_000
    )
    transactions.end(producer)

    transactions.advance(120)

    assert transactions.state() == "PrepareCommit"
    transactions.leaders_answer()
    transactions.advance(120)
    assert ID not in transactions.shard.transactions


# -- recovery --------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("commit", [True, False])
def test_a_decided_transaction_completes_after_a_crash(version: int, commit: bool) -> None:
    transactions, producer = open_transaction(version=version)
    following = transactions.end(producer, commit=commit)

    transactions.restart()

    ((markers, _),) = transactions.markers
    assert markers.commit is commit
    transactions.leaders_answer()
    assert transactions.end(producer, commit=commit) == following


def test_a_coordinator_that_moves_gives_up_its_markers() -> None:
    transactions, producer = open_transaction()
    transactions.end(producer)
    ((_, written),) = transactions.markers

    transactions.runtime.unload()

    assert written.is_done


def test_an_open_transaction_goes_on_after_a_crash() -> None:
    transactions, producer = open_transaction()

    transactions.restart()

    assert not transactions.markers
    assert transactions.add(producer, [BILLS]) is OK
    assert transactions.shard.transactions[ID].partitions == {ORDERS, BILLS}


def test_an_open_transaction_times_out_after_a_crash() -> None:
    transactions, _ = open_transaction()
    transactions.advance(30)

    transactions.restart()
    transactions.advance(41)

    assert transactions.state() == "PrepareAbort"


def test_known_partitions_begin_a_transaction_that_is_not_open() -> None:
    transactions, producer = open_transaction(version=1)
    transactions.end(producer)
    transactions.leaders_answer()

    assert transactions.add(producer) is OK

    assert transactions.state() == "Ongoing"


@pytest.mark.parametrize("timeout_ms", [1, 900_000])
def test_a_timeout_within_the_limits_is_taken(timeout_ms: int) -> None:
    assert isinstance(Transactions().init(timeout_ms=timeout_ms), tuple)
