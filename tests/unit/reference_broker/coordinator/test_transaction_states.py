"""The allowed moves of a transactional id, as a table."""

from __future__ import annotations

import pytest

from pyk.reference_broker.coordinator.transaction.states import TransactionState, check_move

ALLOWED = {
    "Empty": "Empty Ongoing PrepareAbort Dead",
    "Ongoing": "Ongoing PrepareCommit PrepareAbort",
    "PrepareCommit": "CompleteCommit",
    "PrepareAbort": "CompleteAbort",
    "CompleteCommit": "Empty Ongoing PrepareAbort Dead",
    "CompleteAbort": "Empty Ongoing PrepareAbort Dead",
    "Dead": "",
    "PrepareEpochFence": "",
}


@pytest.mark.parametrize("after", TransactionState)
@pytest.mark.parametrize("before", TransactionState)
def test_only_the_moves_of_the_table_are_allowed(
    before: TransactionState, after: TransactionState
) -> None:
    if after.label in ALLOWED[before.label].split():
        check_move("payments", before, after)
    else:
        with pytest.raises(AssertionError, match=f"from {before.label} to {after.label}"):
            check_move("payments", before, after)
