"""The states of a transactional id, and the moves between them. Pure.

```
             partitions added            commit                markers written
     Empty ──────────────────► Ongoing ────────► PrepareCommit ────────────────► CompleteCommit
       │                        ▲    │                                             │        │
       │                        │    └────────► PrepareAbort ─────► CompleteAbort  │        │
       └────────────────────────┼──────────────────▲  ▲               │  │         │        │
         abort (version 2)      │                  │  └───────────────┘  │         │        │
                                └──────────────────┼─────────────────────┴─────────┘        │
                                                   └────────────────────────────────────────┘
```

A *Prepare* state is the decision: it is in the log before anybody is told, and nothing but its
*Complete* state can follow. From Empty and from the two Complete states InitProducerId leads to
Empty, and expiry to Dead.
"""

from __future__ import annotations

from enum import Enum


class TransactionState(Enum):
    """A state, by the number that it has in the log."""

    EMPTY = 0
    """Without a transaction: the id has just been initialized."""
    ONGOING = 1
    PREPARE_COMMIT = 2
    PREPARE_ABORT = 3
    COMPLETE_COMMIT = 4
    COMPLETE_ABORT = 5
    DEAD = 6
    """Expired. A tombstone stands for it, so no id is ever seen in this state."""
    PREPARE_EPOCH_FENCE = 7
    """About to abort a producer that was replaced or timed out. Kafka writes it neither: the new
    epoch and PrepareAbort are one record. Its name is known to filters of ListTransactions."""

    @property
    def label(self) -> str:
        """The name that clients are shown, such as ``PrepareCommit``."""
        return self.name.title().replace("_", "")

    @property
    def is_prepared(self) -> bool:
        """Whether the outcome is decided, and markers are still to be written."""
        return self in (TransactionState.PREPARE_COMMIT, TransactionState.PREPARE_ABORT)

    @property
    def is_idle(self) -> bool:
        """Whether no transaction is open: the id can be initialized, used, and can expire."""
        return self in _IDLE


_S = TransactionState
_IDLE = frozenset((_S.EMPTY, _S.COMPLETE_COMMIT, _S.COMPLETE_ABORT))

MOVES: dict[TransactionState, frozenset[TransactionState]] = {
    # Transactions of version 2 may be aborted before any partition is known here: the producer
    # cannot know whether its records have arrived (KIP-890).
    _S.EMPTY: frozenset((_S.EMPTY, _S.ONGOING, _S.PREPARE_ABORT, _S.DEAD)),
    _S.ONGOING: frozenset((_S.ONGOING, _S.PREPARE_COMMIT, _S.PREPARE_ABORT)),
    _S.PREPARE_COMMIT: frozenset((_S.COMPLETE_COMMIT,)),
    _S.PREPARE_ABORT: frozenset((_S.COMPLETE_ABORT,)),
    _S.COMPLETE_COMMIT: frozenset((_S.EMPTY, _S.ONGOING, _S.PREPARE_ABORT, _S.DEAD)),
    _S.COMPLETE_ABORT: frozenset((_S.EMPTY, _S.ONGOING, _S.PREPARE_ABORT, _S.DEAD)),
    _S.DEAD: frozenset(),
    _S.PREPARE_EPOCH_FENCE: frozenset(),
}
"""From each state, the states that may follow."""


def check_move(transactional_id: str, before: TransactionState, after: TransactionState) -> None:
    """Raise ``AssertionError`` unless ``after`` may follow ``before``."""
    if after not in MOVES[before]:
        raise AssertionError(
            f"transactional id {transactional_id!r} cannot go from {before.label} to {after.label}"
        )
