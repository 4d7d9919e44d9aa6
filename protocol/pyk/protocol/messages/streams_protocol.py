"""Formats in which members of a Kafka Streams application talk in a classic group."""

from __future__ import annotations

from uuid import UUID

from pyk.protocol.schema import (
    Message,
    Struct,
    array,
    binary,
    data,
    int8,
    int32,
    int64,
    string,
    struct,
    uuid,
)


@struct
class TaskId(Struct):
    """A task: one partition of one part of the topology."""

    topic_group_id: int = int32()
    partition: int = int32()


@struct
class PartitionToOffsetSum(Struct):
    """The progress of the state of one task."""

    partition: int = int32()
    offset_sum: int = int64()
    """Sum of the changelog offsets that have been restored; -2: the task is running."""


@struct
class TaskOffsetSum(Struct):
    """The progress of the state of a task; up to version 9, of all tasks of a subtopology."""

    topic_group_id: int = int32()
    partition: int = int32(versions="10+")
    offset_sum: int = int64(versions="10+")
    """Sum of the changelog offsets that have been restored; -2: the task is running."""
    named_topology: str | None = string(versions="10+", nullable="10+", ignorable=True)
    partition_to_offset_sum: list[PartitionToOffsetSum] = array(
        PartitionToOffsetSum, versions="7-9"
    )


@struct
class ClientTag(Struct):
    """A property of the client's place, such as its zone; names and values are UTF-8."""

    key: bytes = binary()
    value: bytes = binary()


@data(versions="1-11")
class SubscriptionInfoData(Message):
    """The tasks that a stream thread has and wants: ``user_data`` of its subscription.

    The version in which it is written is its first field.
    """

    version: int = int32()
    latest_supported_version: int = int32(versions="3+", default=-1)
    """What the member could read: the group's leader chooses a version for all (KIP-268)."""
    process_id: UUID = uuid()
    """The same for all threads of a process, which share their state."""
    prev_tasks: list[TaskId] = array(TaskId, versions="1-6")
    """Tasks that the member ran."""
    standby_tasks: list[TaskId] = array(TaskId, versions="1-6")
    """Tasks of which the member holds state."""
    user_end_point: bytes = binary(versions="2+")
    """``host:port`` in UTF-8 where the application answers queries of its state (KIP-67); empty if
    nowhere."""
    task_offset_sums: list[TaskOffsetSum] = array(TaskOffsetSum, versions="7+")
    """Tasks of which the process holds state, so that a task moves only to where it can go on soon
    (KIP-441)."""
    unique_field: int = int8(versions="8+")
    """Changed to make this differ from before: joining again then rebalances the group."""
    error_code: int = int32(versions="9+")
    """4 asks all members to shut down (KIP-671)."""
    client_tags: list[ClientTag] = array(ClientTag, versions="11+")
    """Standby tasks are spread over clients with different tags (KIP-708)."""
