"""The moves of one transactional id: which fields each of them changes."""

from __future__ import annotations

import pytest

from pyk.reference_broker.coordinator.transaction.states import TransactionState
from pyk.reference_broker.coordinator.transaction.transaction import (
    LAST_EPOCH,
    NO_TIMEOUT_MS,
)
from support.transactions import BILLS, ORDERS, transaction

ONGOING = TransactionState.ONGOING
IDLE = [
    TransactionState.EMPTY,
    TransactionState.COMPLETE_COMMIT,
    TransactionState.COMPLETE_ABORT,
]


@pytest.mark.parametrize(
    ("state", "timeout_ms", "now_ms", "is_overdue"),
    [
        (ONGOING, 100, 1100, False),
        (ONGOING, 100, 1101, True),
        (ONGOING, NO_TIMEOUT_MS, 1 << 60, False),
        (TransactionState.PREPARE_COMMIT, 100, 1101, False),
        (TransactionState.EMPTY, 100, 1101, False),
    ],
)
def test_only_an_open_transaction_with_a_timeout_is_overdue(state, timeout_ms, now_ms, is_overdue):
    begun = transaction(state, started_ms=1000, timeout_ms=timeout_ms)

    assert begun.is_overdue(now_ms) is is_overdue


@pytest.mark.parametrize("state", IDLE)
def test_the_first_partitions_begin_the_transaction(state):
    begun = transaction(state, started_ms=5, partitions=frozenset()).with_partitions(
        [ORDERS], 2, 2000
    )

    assert (begun.state, begun.started_ms, begun.partitions) == (ONGOING, 2000, {ORDERS})
    assert begun.client_version == 2


def test_more_partitions_leave_the_begin_as_it_was():
    begun = transaction(ONGOING, started_ms=1000, partitions=frozenset([ORDERS]))

    added = begun.with_partitions([BILLS], 2, 2000)

    assert (added.started_ms, added.partitions) == (1000, {ORDERS, BILLS})


@pytest.mark.parametrize("state", IDLE)
def test_an_end_without_records_begins_when_it_ends(state):
    ended = transaction(state, started_ms=-1).prepared(commit=False, client_version=2, time_ms=3000)

    assert ended.started_ms == 3000


def test_an_end_of_an_open_transaction_leaves_its_begin():
    ended = transaction(ONGOING, started_ms=1000).prepared(
        commit=True, client_version=2, time_ms=3000
    )

    assert ended.started_ms == 1000


@pytest.mark.parametrize(
    ("epoch", "next_epoch", "expected"),
    [(3, 8, (4, 9)), (LAST_EPOCH, LAST_EPOCH, (LAST_EPOCH, LAST_EPOCH))],
)
def test_the_end_of_a_kept_transaction_raises_both_epochs(epoch, next_epoch, expected):
    kept = transaction(
        ONGOING, producer_epoch=epoch, next_producer_id=77, next_producer_epoch=next_epoch
    )

    ended = kept.prepared(commit=True, client_version=2, time_ms=1)

    assert (ended.producer_epoch, ended.next_producer_epoch) == expected


def test_the_end_of_a_transaction_that_nobody_kept_raises_its_epoch_only():
    plain = transaction(ONGOING, producer_epoch=3)

    ended = plain.prepared(commit=True, client_version=2, time_ms=1)

    assert (ended.producer_epoch, ended.next_producer_epoch) == (4, plain.next_producer_epoch)


@pytest.mark.parametrize("version", [1, 2])
def test_fencing_raises_the_epoch_in_both_versions(version):
    fenced = transaction(ONGOING, producer_epoch=3).fenced(version, 1)

    assert (fenced.state, fenced.producer_epoch) == (TransactionState.PREPARE_ABORT, 4)
    assert fenced.client_version == (2 if version == 2 else 0)


def test_a_move_that_is_not_allowed_is_a_bug():
    with pytest.raises(AssertionError, match="from PrepareCommit to Ongoing"):
        transaction(TransactionState.PREPARE_COMMIT).with_partitions([ORDERS], 2, 1)
