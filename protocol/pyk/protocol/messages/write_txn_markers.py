"""WriteTxnMarkers: end transactions in the partitions they wrote to (KIP-98)."""

from __future__ import annotations

from pyk.protocol.schema import (
    ApiKey,
    Message,
    Struct,
    array,
    boolean,
    int8,
    int16,
    int32,
    int64,
    request,
    response,
    string,
    struct,
)


@struct
class WritableTxnMarkerTopic(Struct):
    """Partitions of one topic."""

    name: str = string()
    partition_indexes: list[int] = array(int32)


@struct
class WritableTxnMarker(Struct):
    """The end of one transaction, for partitions that the broker leads."""

    producer_id: int = int64()
    producer_epoch: int = int16()
    """Of a transaction of version 2, one higher than the epoch of its records (KIP-890)."""
    transaction_result: bool = boolean()
    """True for commit, False for abort."""
    topics: list[WritableTxnMarkerTopic] = array(WritableTxnMarkerTopic)
    coordinator_epoch: int = int32()
    """Leaders refuse markers of a coordinator that has been replaced."""
    transaction_version: int = int8(versions="2+", ignorable=True)
    """With 2 the leader insists on the higher epoch (KIP-1228)."""


@request(ApiKey.WRITE_TXN_MARKERS, versions="0-2", flexible="1+")
class WriteTxnMarkersRequest(Message):
    """Tell partition leaders how transactions have ended.

    The transaction coordinator sends it when an outcome is decided; an administrator may, to abort
    a transaction that hangs in one partition (KIP-664).
    """

    markers: list[WritableTxnMarker] = array(WritableTxnMarker)


@struct
class WritableTxnMarkerPartitionResult(Struct):
    """Whether the marker is in one partition."""

    partition_index: int = int32()
    error_code: int = int16()


@struct
class WritableTxnMarkerTopicResult(Struct):
    """Whether the marker is in partitions of one topic."""

    name: str = string()
    partitions: list[WritableTxnMarkerPartitionResult] = array(WritableTxnMarkerPartitionResult)


@struct
class WritableTxnMarkerResult(Struct):
    """The outcome of one producer's marker."""

    producer_id: int = int64()
    topics: list[WritableTxnMarkerTopicResult] = array(WritableTxnMarkerTopicResult)


@response(ApiKey.WRITE_TXN_MARKERS, versions="0-2", flexible="1+")
class WriteTxnMarkersResponse(Message):
    """Say which markers are written."""

    markers: list[WritableTxnMarkerResult] = array(WritableTxnMarkerResult)
