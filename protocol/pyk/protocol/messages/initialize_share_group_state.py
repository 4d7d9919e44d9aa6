"""InitializeShareGroupState: begin to keep the state of share-partitions (KIP-932)."""

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
class PartitionData(Struct):
    """A partition, and where the group begins in it."""

    partition: int = int32()
    state_epoch: int = int32()
    """The group epoch as of now: state of a lower one counts no more."""
    start_offset: int = int64()
    """-1 leaves it to the group's ``share.auto.offset.reset``."""


@struct
class InitializeStateData(Struct):
    """Partitions of one topic."""

    topic_id: UUID = uuid()
    partitions: list[PartitionData] = array(PartitionData)


@request(ApiKey.INITIALIZE_SHARE_GROUP_STATE, versions="0", flexible="0+")
class InitializeShareGroupStateRequest(Message):
    """Begin, or begin again, the state of partitions that a share group reads.

    The group coordinator sends it to the share coordinator when a group gets new partitions and
    when an admin client alters its offsets.
    """

    group_id: str = string()
    topics: list[InitializeStateData] = array(InitializeStateData)


@struct
class PartitionResult(Struct):
    """Whether one partition has a state now."""

    partition: int = int32()
    error_code: int = int16()
    error_message: str | None = string(nullable="0+", default=None)


@struct
class InitializeStateResult(Struct):
    """Whether partitions of one topic have a state now."""

    topic_id: UUID = uuid()
    partitions: list[PartitionResult] = array(PartitionResult)


@response(ApiKey.INITIALIZE_SHARE_GROUP_STATE, versions="0", flexible="0+")
class InitializeShareGroupStateResponse(Message):
    """Say which partitions have a state now."""

    results: list[InitializeStateResult] = array(InitializeStateResult)
