"""OffsetForLeaderEpoch: where the log of a leader epoch ends, to notice truncation (KIP-320)."""

from __future__ import annotations

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
)


@struct
class OffsetForLeaderPartition(Struct):
    """A partition and the epoch whose end is asked for."""

    partition: int = int32()
    current_leader_epoch: int = int32(versions="2+", default=-1, ignorable=True)
    leader_epoch: int = int32()


@struct
class OffsetForLeaderTopic(Struct):
    """A topic with partitions to look at."""

    topic: str = string()
    partitions: list[OffsetForLeaderPartition] = array(OffsetForLeaderPartition)


@request(ApiKey.OFFSET_FOR_LEADER_EPOCH, versions="0-4", flexible="4+")
class OffsetForLeaderEpochRequest(Message):
    """Ask leaders where the records of an epoch end, to detect that a position was truncated."""

    replica_id: int = int32(versions="3+", default=-2, ignorable=True)
    """The broker id of a follower; -1 for a consumer, -2 for a debugging consumer."""
    topics: list[OffsetForLeaderTopic] = array(OffsetForLeaderTopic)


@struct
class EpochEndOffset(Struct):
    """The end of an epoch in the leader's log."""

    error_code: int = int16()
    partition: int = int32()
    leader_epoch: int = int32(versions="1+", default=-1, ignorable=True)
    """The largest epoch in the log that is not above the one asked for."""
    end_offset: int = int64(default=-1)
    """One beyond the last record of that epoch; -1 if it is not known."""


@struct
class OffsetForLeaderTopicResult(Struct):
    """The ends of epochs in one topic."""

    topic: str = string()
    partitions: list[EpochEndOffset] = array(EpochEndOffset)


@response(ApiKey.OFFSET_FOR_LEADER_EPOCH, versions="0-4", flexible="4+")
class OffsetForLeaderEpochResponse(Message):
    """Give the ends of epochs."""

    throttle_time_ms: int = int32(versions="2+", ignorable=True)
    topics: list[OffsetForLeaderTopicResult] = array(OffsetForLeaderTopicResult)
