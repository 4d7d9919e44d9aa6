"""Tell from the operations of a transaction whether it committed, and from when on.

1. A commit that is acknowledged: committed.
2. An abort that is acknowledged: aborted, whatever became of a commit before it.
3. A commit whose outcome is unknown: unknown. If a ``read_committed`` reader saw one of its values,
   it has committed.
4. Nobody asked for a commit, or it was refused: aborted. A transaction commits only if its producer
   says so. Where the producer crashed before that, the coordinator aborts it, sooner or later.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from dataclasses import dataclass, field
from enum import Enum
from itertools import accumulate

from .history import (
    NEVER,
    Abort,
    Begin,
    Commit,
    CommitOffsets,
    History,
    HistoryError,
    Init,
    Outcome,
    Poll,
    Send,
)


class Status(Enum):
    """What became of a transaction."""

    COMMITTED = "committed"
    ABORTED = "aborted"
    UNKNOWN = "unknown"


@dataclass(slots=True)
class Transaction:
    """A transaction with its operations, each list in the order of invocation."""

    begin: Begin
    sends: list[Send] = field(default_factory=list)
    polls: list[Poll] = field(default_factory=list)
    offset_commits: list[CommitOffsets] = field(default_factory=list)
    commits: list[Commit] = field(default_factory=list)
    aborts: list[Abort] = field(default_factory=list)
    status: Status = Status.UNKNOWN
    is_acknowledged: bool = False
    """Whether a commit was answered: its values must be there, and not only may be."""
    undecided_until: float = NEVER
    """The moment until which it was certainly neither committed nor aborted."""

    @property
    def name(self) -> str:
        return self.begin.transaction

    @property
    def is_committed(self) -> bool:
        return self.status is Status.COMMITTED

    @property
    def is_aborted(self) -> bool:
        return self.status is Status.ABORTED

    @property
    def started(self) -> float:
        """When it began, or read the first of what it is made from."""
        return min([self.begin.invoked, *(poll.invoked for poll in self.polls[:1])])

    @property
    def commit_asked(self) -> float:
        """When somebody first asked to commit it."""
        return min((commit.invoked for commit in self.commits), default=NEVER)

    @property
    def commit_answered(self) -> float:
        """When a commit of it was first acknowledged."""
        return min((commit.completed for commit in self.commits if commit.is_ok), default=NEVER)


def transactions_of(history: History) -> dict[str, Transaction]:
    """Return the transactions of a history by their names, in the order of their begins."""
    transactions = {begin.transaction: Transaction(begin) for begin in history.of(Begin)}
    for operation in history.operations:
        name = getattr(operation, "transaction", None)
        if name is None:
            continue
        transaction = transactions.get(name)
        if transaction is None:
            if isinstance(operation, Poll):
                continue  # its process ended before it began the transaction
            raise HistoryError(f"operation of transaction {name!r}, which never began: {operation}")
        if isinstance(operation, Send):
            transaction.sends.append(operation)
        elif isinstance(operation, Poll):
            transaction.polls.append(operation)
        elif isinstance(operation, CommitOffsets):
            transaction.offset_commits.append(operation)
        elif isinstance(operation, Commit):
            transaction.commits.append(operation)
        elif isinstance(operation, Abort):
            transaction.aborts.append(operation)
    take_overs = _TakeOvers(history)
    for transaction in transactions.values():
        _judge(transaction, take_overs.first_after(transaction.begin))
    _believe_readers(history, transactions)
    return transactions


def _judge(transaction: Transaction, taken_over: float) -> None:
    transaction.is_acknowledged = any(commit.is_ok for commit in transaction.commits)
    if transaction.is_acknowledged:
        transaction.status = Status.COMMITTED
    elif any(abort.is_ok for abort in transaction.aborts):
        transaction.status = Status.ABORTED
    elif any(commit.outcome is Outcome.UNKNOWN for commit in transaction.commits):
        transaction.status = Status.UNKNOWN
    else:
        transaction.status = Status.ABORTED
    ends = [end.invoked for end in (*transaction.commits, *transaction.aborts)]
    begin = transaction.begin
    # After its timeout the coordinator aborts it.
    ends += [begin.invoked + begin.timeout, taken_over]
    transaction.undecided_until = min(ends)


class _TakeOvers:
    """The times at which transactional ids are taken over, which aborts what is open."""

    def __init__(self, history: History) -> None:
        inits: dict[str, list[Init]] = defaultdict(list)
        for init in history.of(Init):
            inits[init.transactional_id].append(init)
        self._invoked: dict[str, list[float]] = {}
        self._completed: dict[str, list[float]] = {}
        """For each init when it and all before it were completed."""
        for name, each in inits.items():
            each.sort(key=lambda init: init.invoked)
            self._invoked[name] = [init.invoked for init in each]
            self._completed[name] = list(accumulate((init.completed for init in each), max))

    def first_after(self, begin: Begin) -> float:
        """Return when a transaction may first have been aborted by another instance."""
        invoked = self._invoked.get(begin.transactional_id, [])
        later = bisect_right(invoked, begin.invoked)
        if later and self._completed[begin.transactional_id][later - 1] > begin.invoked:
            return begin.invoked
        return invoked[later] if later < len(invoked) else NEVER


def _believe_readers(history: History, transactions: dict[str, Transaction]) -> None:
    """Take for committed what a reader saw of a transaction whose outcome its producer missed."""
    unknown = {
        send.value: transaction
        for transaction in transactions.values()
        if transaction.status is Status.UNKNOWN
        for send in transaction.sends
    }
    if not unknown:
        return
    for poll in history.of(Poll):
        if poll.is_read_committed:
            for _, _, value in poll.records:
                if value in unknown:
                    unknown[value].status = Status.COMMITTED
