"""AddPartitionsToTxn: make partitions part of a transaction before it writes there (KIP-98)."""

from __future__ import annotations

from pyk.protocol.schema import (
    ApiKey,
    Message,
    Struct,
    array,
    boolean,
    int16,
    int32,
    int64,
    request,
    response,
    string,
    struct,
)


@struct
class AddPartitionsToTxnTopic(Struct):
    """Partitions of one topic."""

    name: str = string()
    partitions: list[int] = array(int32)


@struct
class AddPartitionsToTxnTransaction(Struct):
    """A transaction, and the partitions to add to it or to look for in it."""

    transactional_id: str = string()
    producer_id: int = int64()
    producer_epoch: int = int16()
    verify_only: bool = boolean()
    """Add nothing, only say which of the partitions are in the transaction."""
    topics: list[AddPartitionsToTxnTopic] = array(AddPartitionsToTxnTopic)


@request(ApiKey.ADD_PARTITIONS_TO_TXN, versions="0-5", flexible="3+")
class AddPartitionsToTxnRequest(Message):
    """Tell the transaction coordinator which partitions a transaction writes to.

    A producer sends versions up to 3, for its own transaction. Later ones come from a partition's
    leader, for many transactions at once, before it accepts their records (KIP-890).
    """

    transactions: list[AddPartitionsToTxnTransaction] = array(
        AddPartitionsToTxnTransaction, versions="4+"
    )
    v3_and_below_transactional_id: str = string(versions="0-3")
    """This and the next three fields are the one transaction of versions up to 3."""
    v3_and_below_producer_id: int = int64(versions="0-3")
    v3_and_below_producer_epoch: int = int16(versions="0-3")
    v3_and_below_topics: list[AddPartitionsToTxnTopic] = array(
        AddPartitionsToTxnTopic, versions="0-3"
    )


@struct
class AddPartitionsToTxnPartitionResult(Struct):
    """Whether one partition is in the transaction."""

    partition_index: int = int32()
    partition_error_code: int = int16()
    """OPERATION_NOT_ATTEMPTED if only another partition was at fault: they are added together."""


@struct
class AddPartitionsToTxnTopicResult(Struct):
    """Whether partitions of one topic are in the transaction."""

    name: str = string()
    results_by_partition: list[AddPartitionsToTxnPartitionResult] = array(
        AddPartitionsToTxnPartitionResult
    )


@struct
class AddPartitionsToTxnResult(Struct):
    """The outcome for the partitions of one transaction."""

    transactional_id: str = string()
    topic_results: list[AddPartitionsToTxnTopicResult] = array(AddPartitionsToTxnTopicResult)


@response(ApiKey.ADD_PARTITIONS_TO_TXN, versions="0-5", flexible="3+")
class AddPartitionsToTxnResponse(Message):
    """Say which partitions are in the transaction."""

    throttle_time_ms: int = int32()
    error_code: int = int16(versions="4+", ignorable=True)
    results_by_transaction: list[AddPartitionsToTxnResult] = array(
        AddPartitionsToTxnResult, versions="4+"
    )
    results_by_topic_v3_and_below: list[AddPartitionsToTxnTopicResult] = array(
        AddPartitionsToTxnTopicResult, versions="0-3"
    )
    """For the one transaction of versions up to 3."""
