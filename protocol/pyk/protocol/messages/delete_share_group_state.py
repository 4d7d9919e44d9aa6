"""DeleteShareGroupState: forget the state of share-partitions (KIP-932)."""

from __future__ import annotations

from uuid import UUID

from pyk.protocol.schema import (
    ApiKey,
    Message,
    Struct,
    array,
    int16,
    int32,
    request,
    response,
    string,
    struct,
    uuid,
)


@struct
class PartitionData(Struct):
    """A partition to forget."""

    partition: int = int32()


@struct
class DeleteStateData(Struct):
    """Partitions of one topic."""

    topic_id: UUID = uuid()
    partitions: list[PartitionData] = array(PartitionData)


@request(ApiKey.DELETE_SHARE_GROUP_STATE, versions="0", flexible="0+")
class DeleteShareGroupStateRequest(Message):
    """Delete the delivery state of a share group.

    The group coordinator sends it to the share coordinator when the group, or its offsets of a
    topic, are deleted.
    """

    group_id: str = string()
    topics: list[DeleteStateData] = array(DeleteStateData)


@struct
class PartitionResult(Struct):
    """Whether one partition is forgotten."""

    partition: int = int32()
    error_code: int = int16()
    error_message: str | None = string(nullable="0+", default=None)


@struct
class DeleteStateResult(Struct):
    """Whether partitions of one topic are forgotten."""

    topic_id: UUID = uuid()
    partitions: list[PartitionResult] = array(PartitionResult)


@response(ApiKey.DELETE_SHARE_GROUP_STATE, versions="0", flexible="0+")
class DeleteShareGroupStateResponse(Message):
    """Say which partitions are forgotten."""

    results: list[DeleteStateResult] = array(DeleteStateResult)
