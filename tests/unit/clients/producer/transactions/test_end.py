"""The end of a transaction: its outcome, and who is told."""

from __future__ import annotations

import pytest

from pyk.clients.errors import PreparedTransactionEndedError
from pyk.clients.offsets import TransactionOutcome
from pyk.clients.producer.transactions.end import TransactionEnd

COMMITTED, ABORTED, UNKNOWN = TransactionOutcome


def test_listeners_are_told_once_whenever_they_came() -> None:
    end, told = TransactionEnd(), list[tuple[str, TransactionOutcome]]()
    end.when_settled(lambda outcome: told.append(("before", outcome)))

    end.settle(COMMITTED)
    end.when_settled(lambda outcome: told.append(("after", outcome)))
    end.settle(COMMITTED)

    assert told == [("before", COMMITTED), ("after", COMMITTED)]


def test_nobody_is_told_of_an_end_that_is_not_settled() -> None:
    end, told = TransactionEnd(), list[TransactionOutcome]()

    end.when_settled(told.append)

    assert told == []
    assert end.outcome is None


def test_the_first_outcome_counts() -> None:
    end = TransactionEnd()

    end.settle(ABORTED)
    end.settle(COMMITTED)

    assert end.outcome is ABORTED


@pytest.mark.parametrize(
    ("may_be_committed", "outcome"), [(False, ABORTED), (True, UNKNOWN)], ids=str
)
def test_a_transaction_that_is_given_up_is_aborted_unless_a_commit_was_asked_for(
    may_be_committed: bool, outcome: TransactionOutcome
) -> None:
    end = TransactionEnd()
    end.may_be_committed = may_be_committed

    end.give_up()

    assert end.outcome is outcome


@pytest.mark.parametrize("outcome", [None, UNKNOWN])
@pytest.mark.parametrize("is_commit", [True, False])
def test_an_end_that_is_not_known_is_not_this_producers(
    outcome: TransactionOutcome | None, is_commit: bool
) -> None:
    end = TransactionEnd()
    if outcome is not None:
        end.settle(outcome)

    assert end.has_ended(is_commit=is_commit) is False


@pytest.mark.parametrize(("outcome", "is_commit"), [(COMMITTED, True), (ABORTED, False)])
def test_an_end_may_be_asked_for_again_in_the_same_way_only(
    outcome: TransactionOutcome, is_commit: bool
) -> None:
    end = TransactionEnd()
    end.settle(outcome)

    assert end.has_ended(is_commit=is_commit) is True
    with pytest.raises(PreparedTransactionEndedError, match=outcome.name.lower()):
        end.has_ended(is_commit=not is_commit)


def test_a_new_transaction_was_not_left_and_has_nothing_in_it() -> None:
    end = TransactionEnd()

    assert not end.may_be_committed
    assert not end.has_offsets
    assert not end.is_left
    assert end.prepared is None
