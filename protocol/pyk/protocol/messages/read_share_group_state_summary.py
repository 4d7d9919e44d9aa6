"""ReadShareGroupStateSummary: where share groups stand, without each record's state (KIP-932)."""

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
    """A partition that is asked about."""

    partition: int = int32()
    leader_epoch: int = int32()


@struct
class ReadStateSummaryData(Struct):
    """Partitions of one topic."""

    topic_id: UUID = uuid()
    partitions: list[PartitionData] = array(PartitionData)


@request(ApiKey.READ_SHARE_GROUP_STATE_SUMMARY, versions="0-1", flexible="0+")
class ReadShareGroupStateSummaryRequest(Message):
    """Ask for the start offsets of a share group.

    The group coordinator sends it to the share coordinator to answer DescribeShareGroupOffsets.
    """

    group_id: str = string()
    topics: list[ReadStateSummaryData] = array(ReadStateSummaryData)


@struct
class PartitionResult(Struct):
    """The progress of the group in one partition."""

    partition: int = int32()
    error_code: int = int16()
    error_message: str | None = string(nullable="0+", default=None)
    state_epoch: int = int32()
    leader_epoch: int = int32()
    start_offset: int = int64()
    """All records before it are finished; -1 if that has not been decided."""
    delivery_complete_count: int = int32(versions="1+", default=-1, ignorable=True)
    """How many records at or after ``start_offset`` need no more delivery, from which lag is
    told (KIP-1226); -1 unknown."""


@struct
class ReadStateSummaryResult(Struct):
    """The progress of the group in one topic."""

    topic_id: UUID = uuid()
    partitions: list[PartitionResult] = array(PartitionResult)


@response(ApiKey.READ_SHARE_GROUP_STATE_SUMMARY, versions="0-1", flexible="0+")
class ReadShareGroupStateSummaryResponse(Message):
    """Give start offsets."""

    results: list[ReadStateSummaryResult] = array(ReadStateSummaryResult)
