"""What checks are given, and what they find."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from .history import History, Poll, Send
from .logs import Logs
from .transactions import Transaction, transactions_of


@dataclass(frozen=True, slots=True)
class Anomaly:
    """One violation: its class, and a sentence that names values, places and processes."""

    kind: str
    sentence: str

    def __str__(self) -> str:
        return f"{self.kind}: {self.sentence}"


@dataclass
class Facts:
    """A history with all that several checks derive from it."""

    history: History

    @cached_property
    def transactions(self) -> dict[str, Transaction]:
        return transactions_of(self.history)

    @cached_property
    def logs(self) -> Logs:
        return Logs(self.history)

    @cached_property
    def sends(self) -> list[Send]:
        return self.history.of(Send)

    @cached_property
    def polls(self) -> list[Poll]:
        return self.history.of(Poll)

    @cached_property
    def writers(self) -> dict[str, Send]:
        """The send of each value."""
        return {send.value: send for send in self.sends}

    def transaction(self, send: Send) -> Transaction | None:
        """Return the transaction that a value was sent in, None for none."""
        return None if send.transaction is None else self.transactions[send.transaction]

    def is_to_be_visible(self, send: Send) -> bool:
        """Return whether a value must be in the log for all readers."""
        transaction = self.transaction(send)
        if transaction is None:
            return send.is_ok
        # A commit that succeeds has delivered every record of its transaction before.
        return transaction.is_committed and (
            send.is_ok or (transaction.is_acknowledged and not send.has_failed)
        )

    def may_be_visible(self, send: Send) -> bool:
        """Return whether readers of what is committed may see a value."""
        transaction = self.transaction(send)
        return not send.has_failed and (transaction is None or not transaction.is_aborted)
