"""AddOffsetsToTxn: announce that a transaction will hold offsets of a group (KIP-98)."""

from __future__ import annotations

from pyk.protocol.schema import ApiKey, Message, int16, int32, int64, request, response, string


@request(ApiKey.ADD_OFFSETS_TO_TXN, versions="0-4", flexible="3+")
class AddOffsetsToTxnRequest(Message):
    """Tell the transaction coordinator that the producer will commit offsets of a group.

    The partition of ``__consumer_offsets`` that holds the group becomes part of the transaction. A
    producer whose TxnOffsetCommit has version 5 or later does without (KIP-890).
    """

    transactional_id: str = string()
    producer_id: int = int64()
    producer_epoch: int = int16()
    group_id: str = string()


@response(ApiKey.ADD_OFFSETS_TO_TXN, versions="0-4", flexible="3+")
class AddOffsetsToTxnResponse(Message):
    """Return whether the producer may go on to TxnOffsetCommit."""

    throttle_time_ms: int = int32()
    error_code: int = int16()
