"""ReadShareGroupState: load the state of share-partitions (KIP-932)."""

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
class PartitionData(Struct):
    """A partition to load."""

    partition: int = int32()
    leader_epoch: int = int32()
    """Of the leader that asks; writes of an earlier one are refused from now on."""


@struct
class ReadStateData(Struct):
    """Partitions of one topic."""

    topic_id: UUID = uuid()
    partitions: list[PartitionData] = array(PartitionData)


@request(ApiKey.READ_SHARE_GROUP_STATE, versions="0", flexible="0+")
class ReadShareGroupStateRequest(Message):
    """Load the delivery state of a share group.

    The leader of a partition sends it to the share coordinator before it serves the group.
    """

    group_id: str = string()
    topics: list[ReadStateData] = array(ReadStateData)


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
class PartitionResult(Struct):
    """The state of one partition."""

    partition: int = int32()
    error_code: int = int16()
    error_message: str | None = string(nullable="0+", default=None)
    state_epoch: int = int32()
    """The group epoch in which the state was begun, to be named in writes."""
    start_offset: int = int64()
    """All records before it are finished; -1 if that has not been decided."""
    state_batches: list[StateBatch] = array(StateBatch)


@struct
class ReadStateResult(Struct):
    """The state of partitions of one topic."""

    topic_id: UUID = uuid()
    partitions: list[PartitionResult] = array(PartitionResult)


@response(ApiKey.READ_SHARE_GROUP_STATE, versions="0", flexible="0+")
class ReadShareGroupStateResponse(Message):
    """Give the state of share-partitions."""

    results: list[ReadStateResult] = array(ReadStateResult)
