"""Records of ``__transaction_state``: what coordinators know of transactional ids."""

from __future__ import annotations

from pyk.protocol.schema import (
    Message,
    Struct,
    array,
    coordinator_key,
    coordinator_value,
    int8,
    int16,
    int32,
    int64,
    string,
    struct,
)


@coordinator_key(0)
class TransactionLogKey(Message):
    """Key of the state of a transactional id."""

    transactional_id: str = string()


@struct
class PartitionsSchema(Struct):
    """Partitions of one topic that are in the transaction."""

    topic: str = string()
    partition_ids: list[int] = array(int32)


@coordinator_value(0, versions="0-1", flexible="1+")
class TransactionLogValue(Message):
    """A transactional id with its producer and transaction, written at every change of state.

    A record without value forgets an id that has long been unused.
    """

    producer_id: int = int64()
    previous_producer_id: int = int64(versions="1+", tag=0, default=-1)
    """The id before this one, by which an EndTxn that is sent again is known (KIP-890)."""
    next_producer_id: int = int64(versions="1+", tag=1, default=-1)
    """The id that replaces this one when the transaction ends, because its epochs are used up
    (KIP-890)."""
    producer_epoch: int = int16()
    next_producer_epoch: int = int16(versions="1+", tag=3, default=-1)
    """Goes with ``next_producer_id`` while a prepared transaction is kept (KIP-939)."""
    transaction_timeout_ms: int = int32()
    transaction_status: int = int8()
    """0 empty, 1 ongoing, 2 prepare commit, 3 prepare abort, 4 complete commit, 5 complete abort, 6
    dead, 7 prepare epoch fence."""
    transaction_partitions: list[PartitionsSchema] | None = array(PartitionsSchema, nullable="0+")
    """None in the empty state."""
    transaction_last_update_timestamp_ms: int = int64()
    transaction_start_timestamp_ms: int = int64()
    client_transaction_version: int = int16(versions="1+", tag=2)
    """2 if the producer gets a new epoch with each transaction (KIP-890)."""
