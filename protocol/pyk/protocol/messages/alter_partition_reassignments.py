"""AlterPartitionReassignments: move partitions to other brokers (KIP-455)."""

from __future__ import annotations

from pyk.protocol.schema import (
    ApiKey,
    Message,
    Struct,
    array,
    boolean,
    int16,
    int32,
    request,
    response,
    string,
    struct,
)


@struct
class ReassignablePartition(Struct):
    """A partition to move."""

    partition_index: int = int32()
    replicas: list[int] | None = array(int32, nullable="0+", default=None)
    """The brokers that are to hold it, the preferred leader first; None calls off the move under
    way."""


@struct
class ReassignableTopic(Struct):
    """Partitions of one topic to move."""

    name: str = string()
    partitions: list[ReassignablePartition] = array(ReassignablePartition)


@request(ApiKey.ALTER_PARTITION_REASSIGNMENTS, versions="0-1", flexible="0+")
class AlterPartitionReassignmentsRequest(Message):
    """Ask the controller to begin moves or to call them off."""

    timeout_ms: int = int32(default=60000)
    allow_replication_factor_change: bool = boolean(versions="1+", default=True)
    """False refuses moves that would change the number of replicas (KIP-860)."""
    topics: list[ReassignableTopic] = array(ReassignableTopic)


@struct
class ReassignablePartitionResponse(Struct):
    """Whether the move of one partition has begun."""

    partition_index: int = int32()
    error_code: int = int16()
    error_message: str | None = string(nullable="0+")


@struct
class ReassignableTopicResponse(Struct):
    """Whether the moves in one topic have begun."""

    name: str = string()
    partitions: list[ReassignablePartitionResponse] = array(ReassignablePartitionResponse)


@response(ApiKey.ALTER_PARTITION_REASSIGNMENTS, versions="0-1", flexible="0+")
class AlterPartitionReassignmentsResponse(Message):
    """Say which moves have begun; ListPartitionReassignments tells how long they last."""

    throttle_time_ms: int = int32()
    allow_replication_factor_change: bool = boolean(versions="1+", default=True, ignorable=True)
    """As the request has it."""
    error_code: int = int16()
    error_message: str | None = string(nullable="0+")
    responses: list[ReassignableTopicResponse] = array(ReassignableTopicResponse)
