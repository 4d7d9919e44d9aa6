"""DescribeTopicPartitions: topics page by page, for large clusters (KIP-966)."""

from __future__ import annotations

from uuid import UUID

from pyk.protocol.schema import (
    ApiKey,
    Message,
    Struct,
    array,
    boolean,
    int16,
    int32,
    nested,
    request,
    response,
    string,
    struct,
    uuid,
)


@struct
class TopicRequest(Struct):
    """A topic to describe."""

    name: str = string()


@struct
class Cursor(Struct):
    """The place from which the next page goes on."""

    topic_name: str = string()
    partition_index: int = int32()


@request(ApiKey.DESCRIBE_TOPIC_PARTITIONS, versions="0", flexible="0+")
class DescribeTopicPartitionsRequest(Message):
    """Ask for one page of topics and partitions, in the order of names."""

    topics: list[TopicRequest] = array(TopicRequest)
    response_partition_limit: int = int32(default=2000)
    cursor: Cursor | None = nested(Cursor, nullable="0+", default=None)
    """Where to go on; None begins with the first topic."""


@struct
class DescribeTopicPartitionsResponsePartition(Struct):
    """The leader and replicas of a partition, and those that could lead if none is in sync."""

    error_code: int = int16()
    partition_index: int = int32()
    leader_id: int = int32()
    leader_epoch: int = int32(default=-1, ignorable=True)
    replica_nodes: list[int] = array(int32)
    isr_nodes: list[int] = array(int32)
    eligible_leader_replicas: list[int] | None = array(int32, nullable="0+", default=None)
    """Replicas out of sync that yet have everything committed."""
    last_known_elr: list[int] | None = array(int32, nullable="0+", default=None)
    """The last such replicas, kept when an unclean shutdown took them off the list."""
    offline_replicas: list[int] = array(int32, ignorable=True)


@struct
class DescribeTopicPartitionsResponseTopic(Struct):
    """A topic and those of its partitions that are on this page."""

    error_code: int = int16()
    name: str | None = string(nullable="0+")
    topic_id: UUID = uuid(ignorable=True)
    is_internal: bool = boolean(ignorable=True)
    partitions: list[DescribeTopicPartitionsResponsePartition] = array(
        DescribeTopicPartitionsResponsePartition
    )
    topic_authorized_operations: int = int32(default=-2147483648)


@response(ApiKey.DESCRIBE_TOPIC_PARTITIONS, versions="0", flexible="0+")
class DescribeTopicPartitionsResponse(Message):
    """Give one page of topics."""

    throttle_time_ms: int = int32(ignorable=True)
    topics: list[DescribeTopicPartitionsResponseTopic] = array(DescribeTopicPartitionsResponseTopic)
    next_cursor: Cursor | None = nested(Cursor, nullable="0+", default=None)
    """None on the last page."""
