"""Transactional ids as DescribeTransactions and ListTransactions show them. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages import describe_transactions, list_transactions
from pyk.protocol.patterns import InvalidPatternError, Pattern
from pyk.reference_broker.errors import ApiError
from pyk.runtime import slotted

from .records import by_topic
from .states import TransactionState
from .transaction import Transaction

_STATES = {state.label: state for state in TransactionState}


def describe(
    transactional_id: str, transaction: Transaction | None
) -> describe_transactions.TransactionState:
    """Return a transactional id with its transaction, or that it is unknown."""
    if transaction is None:
        return describe_transactions.TransactionState(
            transactional_id=transactional_id, error_code=ErrorCode.TRANSACTIONAL_ID_NOT_FOUND
        )
    return describe_transactions.TransactionState(
        transactional_id=transactional_id,
        transaction_state=transaction.state.label,
        transaction_timeout_ms=transaction.timeout_ms,
        transaction_start_time_ms=transaction.started_ms,
        producer_id=transaction.producer_id,
        producer_epoch=transaction.producer_epoch,
        topics=[
            describe_transactions.TopicData(topic=topic, partitions=numbers)
            for topic, numbers in by_topic(transaction.partitions).items()
        ],
    )


@slotted.frozen(kw_only=True)
class TransactionFilter:
    """The transactions that a ListTransactions asks for; every filter must match."""

    states: frozenset[str]
    """Names of states; empty means all."""
    producer_ids: frozenset[int]
    """Empty means all."""
    duration_ms: int
    """Only what has been open for longer (KIP-994); -1 means all."""
    pattern: Pattern | None
    """Only ids that match as a whole (KIP-1152)."""

    @classmethod
    def of(cls, request: list_transactions.ListTransactionsRequest) -> TransactionFilter:
        """Return the filter of a request; raise ``ApiError`` for an invalid pattern."""
        return cls(
            states=frozenset(request.state_filters),
            producer_ids=frozenset(request.producer_id_filters),
            duration_ms=request.duration_filter,
            pattern=_parsed(request.transactional_id_pattern),
        )

    @property
    def unknown_states(self) -> list[str]:
        """The names that are no states."""
        return sorted(self.states - _STATES.keys())

    def matches(self, transaction: Transaction, time_ms: int) -> bool:
        """Return whether a transactional id is to be listed."""
        if self.states and transaction.state.label not in self.states:
            return False
        if self.producer_ids and transaction.producer_id not in self.producer_ids:
            return False
        if self.duration_ms >= 0 and time_ms - transaction.started_ms <= self.duration_ms:
            return False
        return self.pattern is None or self.pattern.matches(transaction.transactional_id)


def _parsed(pattern: str | None) -> Pattern | None:
    if not pattern:
        return None
    try:
        return Pattern(pattern)
    except InvalidPatternError as error:
        raise ApiError(
            ErrorCode.INVALID_REGULAR_EXPRESSION,
            f"{pattern!r} cannot be used as a pattern: {error}",
        ) from None


def listed(
    transactions: Iterable[Transaction], wanted: TransactionFilter, time_ms: int
) -> list[list_transactions.TransactionState]:
    """Return the transactional ids that a filter lets through."""
    return [
        list_transactions.TransactionState(
            transactional_id=each.transactional_id,
            producer_id=each.producer_id,
            transaction_state=each.state.label,
        )
        for each in transactions
        if wanted.matches(each, time_ms)
    ]
