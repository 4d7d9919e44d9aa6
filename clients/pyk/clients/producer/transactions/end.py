"""How one transaction ends, for whoever has to follow it. Pure."""

from __future__ import annotations

from collections.abc import Callable

from pyk.clients.errors import PreparedTransactionEndedError
from pyk.clients.offsets import TransactionOutcome
from pyk.clients.producer.transactions.prepared import PreparedTransaction

Listener = Callable[[TransactionOutcome], object]


class TransactionEnd:
    """The end of one transaction, which may come long after the call that asked for it.

    The producer's event loop settles it; any thread may ask and listen. No lock is needed: a
    listener is told by whoever takes it from the list.
    """

    def __init__(self) -> None:
        self.outcome: TransactionOutcome | None = None
        """None as long as the transaction may still be committed, or its end is not known."""
        self.may_be_committed = False
        """Whether somebody was asked to commit it, or may do so without this producer."""
        self.has_offsets = False
        """Whether offsets of a group are part of it."""
        self.is_left = False
        """Whether its block was left before the outcome was known."""
        self.prepared: PreparedTransaction | None = None
        """How any process can end it, once it is prepared."""
        self._listeners: list[Listener] = []

    def has_ended(self, *, is_commit: bool) -> bool:
        """Return whether this producer has ended it so.

        Raises :class:`PreparedTransactionEndedError` if it has ended it otherwise.
        """
        if self.outcome not in (TransactionOutcome.COMMITTED, TransactionOutcome.ABORTED):
            return False
        if (self.outcome is TransactionOutcome.COMMITTED) is is_commit:
            return True
        raise PreparedTransactionEndedError(
            f"the prepared transaction was {self.outcome.name.lower()} by this producer before"
        )

    def settle(self, outcome: TransactionOutcome) -> None:
        """Learn the outcome; the first one counts."""
        if self.outcome is None:
            self.outcome = outcome
        self._tell()

    def give_up(self) -> None:
        """Learn that this producer does nothing more about the transaction."""
        self.settle(
            TransactionOutcome.UNKNOWN if self.may_be_committed else TransactionOutcome.ABORTED
        )

    def when_settled(self, listener: Listener) -> None:
        """Call a function with the outcome, now or on the producer's event loop."""
        self._listeners.append(listener)
        self._tell()

    def _tell(self) -> None:
        while self.outcome is not None:
            try:
                listener = self._listeners.pop(0)
            except IndexError:
                return
            listener(self.outcome)
