"""DescribeTransactions: the state of transactions (KIP-664)."""

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


@request(ApiKey.DESCRIBE_TRANSACTIONS, versions="0", flexible="0+")
class DescribeTransactionsRequest(Message):
    """Ask the coordinator of these transactional ids for the state of their transactions."""

    transactional_ids: list[str] = array(string)


@struct
class TopicData(Struct):
    """Partitions of one topic that are in the transaction."""

    topic: str = string()
    partitions: list[int] = array(int32)


@struct
class TransactionState(Struct):
    """A transactional id with its transaction."""

    error_code: int = int16()
    transactional_id: str = string()
    transaction_state: str = string()
    """``Empty``, ``Ongoing``, ``PrepareCommit``, ``PrepareAbort``, ``CompleteCommit``,
    ``CompleteAbort``, ``PrepareEpochFence`` or ``Dead``."""
    transaction_timeout_ms: int = int32()
    transaction_start_time_ms: int = int64()
    """-1 if none has begun."""
    producer_id: int = int64()
    producer_epoch: int = int16()
    topics: list[TopicData] = array(TopicData)
    """Without those that the caller may not describe."""


@response(ApiKey.DESCRIBE_TRANSACTIONS, versions="0", flexible="0+")
class DescribeTransactionsResponse(Message):
    """Describe transactions."""

    throttle_time_ms: int = int32()
    transaction_states: list[TransactionState] = array(TransactionState)
