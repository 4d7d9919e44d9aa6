"""WriteShareGroupState: store the delivery state of share-partitions (KIP-932)."""

from __future__ import annotations

from uuid import UUID

from pyk.protocol.schema import (
    ApiKey,
    Message,
    Struct,
    array,
    int8,
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
class StateBatch(Struct):
    """Records at or after the start offset that have the same delivery state."""

    first_offset: int = int64()
    last_offset: int = int64()
    """Included."""
    delivery_state: int = int8()
    """0 available, 2 acknowledged, 4 archived; that a record is acquired is not kept."""
    delivery_count: int = int16()
    """How often the records have been delivered."""


@struct
class PartitionData(Struct):
    """The changes in one partition."""

    partition: int = int32()
    state_epoch: int = int32()
    """As the leader has read it; FENCED_STATE_EPOCH if the state was initialized again since."""
    leader_epoch: int = int32()
    """Of the leader that writes; FENCED_LEADER_EPOCH if a later one has shown up."""
    start_offset: int = int64()
    """-1: unchanged."""
    delivery_complete_count: int = int32(versions="1+", default=-1, ignorable=True)
    """How many records at or after ``start_offset`` need no more delivery, from which lag is
    told (KIP-1226); -1 unknown."""
    state_batches: list[StateBatch] = array(StateBatch)
    """Only those that have changed."""


@struct
class WriteStateData(Struct):
    """Partitions of one topic."""

    topic_id: UUID = uuid()
    partitions: list[PartitionData] = array(PartitionData)


@request(ApiKey.WRITE_SHARE_GROUP_STATE, versions="0-1", flexible="0+")
class WriteShareGroupStateRequest(Message):
    """Keep changes in the delivery state of records.

    The leader of a partition sends it to the share coordinator when records have been acknowledged,
    before it answers the member.
    """

    group_id: str = string()
    topics: list[WriteStateData] = array(WriteStateData)


@struct
class PartitionResult(Struct):
    """Whether the changes of one partition are kept."""

    partition: int = int32()
    error_code: int = int16()
    error_message: str | None = string(nullable="0+", default=None)


@struct
class WriteStateResult(Struct):
    """Whether the changes of one topic are kept."""

    topic_id: UUID = uuid()
    partitions: list[PartitionResult] = array(PartitionResult)


@response(ApiKey.WRITE_SHARE_GROUP_STATE, versions="0-1", flexible="0+")
class WriteShareGroupStateResponse(Message):
    """Say which changes are kept."""

    results: list[WriteStateResult] = array(WriteStateResult)
