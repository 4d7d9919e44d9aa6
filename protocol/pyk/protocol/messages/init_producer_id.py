"""InitProducerId: give a producer the identity that makes its batches idempotent."""

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


@request(ApiKey.INIT_PRODUCER_ID, versions="0-6", flexible="2+")
class InitProducerIdRequest(Message):
    """Ask for a producer id and epoch.

    With a transactional id this fences every earlier producer of that id and ends the transaction
    that it left open.
    """

    transactional_id: str | None = string(nullable="0+")
    """None for a producer that is idempotent only."""
    transaction_timeout_ms: int = int32()
    producer_id: int = int64(versions="3+", default=-1)
    """The id the producer has, to get the next epoch of it (KIP-360); -1 for a new one."""
    producer_epoch: int = int16(versions="3+", default=-1)
    enable2_pc: bool = boolean(versions="6+")
    """An outside coordinator decides on the transaction (KIP-939)."""
    keep_prepared_txn: bool = boolean(versions="6+")
    """Leave the open transaction as it is (KIP-939)."""


@response(ApiKey.INIT_PRODUCER_ID, versions="0-6", flexible="2+")
class InitProducerIdResponse(Message):
    """Give a producer its id and epoch."""

    throttle_time_ms: int = int32(ignorable=True)
    error_code: int = int16()
    producer_id: int = int64(default=-1)
    producer_epoch: int = int16()
    ongoing_txn_producer_id: int = int64(versions="6+", default=-1)
    ongoing_txn_producer_epoch: int = int16(versions="6+", default=-1)
