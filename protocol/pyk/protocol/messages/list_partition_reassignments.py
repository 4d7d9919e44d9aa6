"""ListPartitionReassignments: partitions on the move (KIP-455)."""

from __future__ import annotations

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
)


@struct
class ListPartitionReassignmentsTopics(Struct):
    """Partitions of one topic to look at."""

    name: str = string()
    partition_indexes: list[int] = array(int32)


@request(ApiKey.LIST_PARTITION_REASSIGNMENTS, versions="0", flexible="0+")
class ListPartitionReassignmentsRequest(Message):
    """Ask the controller which partitions are being moved."""

    timeout_ms: int = int32(default=60000)
    topics: list[ListPartitionReassignmentsTopics] | None = array(
        ListPartitionReassignmentsTopics, nullable="0+", default=None
    )
    """None for all topics."""


@struct
class OngoingPartitionReassignment(Struct):
    """A partition on the move."""

    partition_index: int = int32()
    replicas: list[int] = array(int32)
    """All brokers that hold it or are about to, with those of the next two lists."""
    adding_replicas: list[int] = array(int32)
    removing_replicas: list[int] = array(int32)


@struct
class OngoingTopicReassignment(Struct):
    """Partitions of one topic on the move."""

    name: str = string()
    partitions: list[OngoingPartitionReassignment] = array(OngoingPartitionReassignment)


@response(ApiKey.LIST_PARTITION_REASSIGNMENTS, versions="0", flexible="0+")
class ListPartitionReassignmentsResponse(Message):
    """List partitions on the move; they stay here until the new replicas are in sync."""

    throttle_time_ms: int = int32()
    error_code: int = int16()
    error_message: str | None = string(nullable="0+")
    topics: list[OngoingTopicReassignment] = array(OngoingTopicReassignment)
