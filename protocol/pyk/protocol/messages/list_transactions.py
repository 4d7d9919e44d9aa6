"""ListTransactions: the transactional ids that a broker coordinates (KIP-664)."""

from __future__ import annotations

from pyk.protocol.schema import (
    ApiKey,
    Message,
    Struct,
    array,
    int16,
    int32,
    int64,
    request,
    response,
    string,
    struct,
)


@request(ApiKey.LIST_TRANSACTIONS, versions="0-2", flexible="0+")
class ListTransactionsRequest(Message):
    """Ask one broker for the transactional ids it coordinates.

    All brokers must be asked to know them all.
    """

    state_filters: list[str] = array(string)
    """Empty means all states."""
    producer_id_filters: list[int] = array(int64)
    """Empty means all producers."""
    duration_filter: int = int64(versions="1+", default=-1)
    """Only transactions that have been open for longer, in milliseconds (KIP-994); -1 means all."""
    transactional_id_pattern: str | None = string(versions="2+", nullable="2+", default=None)
    """A regular expression (RE2) that the whole id must match (KIP-1152)."""


@struct
class TransactionState(Struct):
    """A transactional id, with its producer and state."""

    transactional_id: str = string()
    producer_id: int = int64()
    transaction_state: str = string()


@response(ApiKey.LIST_TRANSACTIONS, versions="0-2", flexible="0+")
class ListTransactionsResponse(Message):
    """List transactional ids."""

    throttle_time_ms: int = int32()
    error_code: int = int16()
    unknown_state_filters: list[str] = array(string)
    """Filters that name a state unknown to the broker."""
    transaction_states: list[TransactionState] = array(TransactionState)
