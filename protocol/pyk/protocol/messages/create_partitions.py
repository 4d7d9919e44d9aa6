"""CreatePartitions: grow topics."""

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
class CreatePartitionsAssignment(Struct):
    """The brokers that are to hold one new partition, the preferred leader first."""

    broker_ids: list[int] = array(int32)


@struct
class CreatePartitionsTopic(Struct):
    """A topic and how many partitions it is to have."""

    name: str = string()
    count: int = int32()
    """All partitions, not only the new ones."""
    assignments: list[CreatePartitionsAssignment] | None = array(
        CreatePartitionsAssignment, nullable="0+"
    )
    """None lets the controller choose."""


@request(ApiKey.CREATE_PARTITIONS, versions="0-3", flexible="2+")
class CreatePartitionsRequest(Message):
    """Add partitions to topics; keys then map to other partitions than before."""

    topics: list[CreatePartitionsTopic] = array(CreatePartitionsTopic)
    timeout_ms: int = int32()
    validate_only: bool = boolean()


@struct
class CreatePartitionsTopicResult(Struct):
    """Whether one topic has grown."""

    name: str = string()
    error_code: int = int16()
    error_message: str | None = string(nullable="0+", default=None)


@response(ApiKey.CREATE_PARTITIONS, versions="0-3", flexible="2+")
class CreatePartitionsResponse(Message):
    """Say which topics have grown."""

    throttle_time_ms: int = int32()
    results: list[CreatePartitionsTopicResult] = array(CreatePartitionsTopicResult)
