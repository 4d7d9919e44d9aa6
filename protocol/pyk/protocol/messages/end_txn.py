"""EndTxn: commit or abort a transaction (KIP-98)."""

from __future__ import annotations

from pyk.protocol.schema import (
    ApiKey,
    Message,
    boolean,
    int16,
    int32,
    int64,
    request,
    response,
    string,
)


@request(ApiKey.END_TXN, versions="0-5", flexible="3+")
class EndTxnRequest(Message):
    """Tell the transaction coordinator to commit or to abort what the producer has written."""

    transactional_id: str = string()
    producer_id: int = int64()
    producer_epoch: int = int16()
    committed: bool = boolean()
    """False aborts."""


@response(ApiKey.END_TXN, versions="0-5", flexible="3+")
class EndTxnResponse(Message):
    """Say that the outcome is decided; the markers in the partitions follow on their own."""

    throttle_time_ms: int = int32()
    error_code: int = int16()
    producer_id: int = int64(versions="5+", default=-1, ignorable=True)
    """With the epoch, the identity to use for the next transaction (KIP-890): the same id, or a new
    one when its epochs are used up; -1 to keep both."""
    producer_epoch: int = int16(versions="5+", default=-1, ignorable=True)
