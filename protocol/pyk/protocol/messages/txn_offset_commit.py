"""TxnOffsetCommit: commit offsets of a group as part of a transaction (KIP-98)."""

from __future__ import annotations

from uuid import UUID

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
    uuid,
)


@struct
class TxnOffsetCommitRequestPartition(Struct):
    """The offset to commit for one partition."""

    partition_index: int = int32()
    committed_offset: int = int64()
    """The next offset to read."""
    committed_leader_epoch: int = int32(versions="2+", default=-1, ignorable=True)
    """Epoch of the last record read, to notice truncation later; -1 unknown."""
    committed_metadata: str | None = string(nullable="0+")
    """Whatever the consumer wants to read back with the offset."""


@struct
class TxnOffsetCommitRequestTopic(Struct):
    """The offsets to commit for one topic."""

    name: str = string(versions="0-5", ignorable=True)
    topic_id: UUID = uuid(versions="6+", ignorable=True)
    partitions: list[TxnOffsetCommitRequestPartition] = array(TxnOffsetCommitRequestPartition)


@request(ApiKey.TXN_OFFSET_COMMIT, versions="0-6", flexible="3+")
class TxnOffsetCommitRequest(Message):
    """Give the group coordinator offsets that count from the moment the transaction commits.

    A producer sends it for records it made from what a consumer of the group has read. Versions 5
    and later also make the group's offsets part of the transaction (KIP-890).
    """

    transactional_id: str = string()
    group_id: str = string()
    producer_id: int = int64()
    producer_epoch: int = int16()
    generation_id_or_member_epoch: int = int32(versions="3+", default=-1)
    """With the two ids below it lets the coordinator refuse a member that has lost its partitions
    (KIP-447); -1 outside of a group."""
    member_id: str = string(versions="3+")
    group_instance_id: str | None = string(versions="3+", nullable="3+", default=None)
    topics: list[TxnOffsetCommitRequestTopic] = array(TxnOffsetCommitRequestTopic)


@struct
class TxnOffsetCommitResponsePartition(Struct):
    """Whether the offset of one partition is stored."""

    partition_index: int = int32()
    error_code: int = int16()


@struct
class TxnOffsetCommitResponseTopic(Struct):
    """Whether the offsets of one topic are stored."""

    name: str = string(versions="0-5", ignorable=True)
    topic_id: UUID = uuid(versions="6+", ignorable=True)
    partitions: list[TxnOffsetCommitResponsePartition] = array(TxnOffsetCommitResponsePartition)


@response(ApiKey.TXN_OFFSET_COMMIT, versions="0-6", flexible="3+")
class TxnOffsetCommitResponse(Message):
    """Say which offsets are stored, to count once the transaction commits."""

    throttle_time_ms: int = int32()
    topics: list[TxnOffsetCommitResponseTopic] = array(TxnOffsetCommitResponseTopic)
