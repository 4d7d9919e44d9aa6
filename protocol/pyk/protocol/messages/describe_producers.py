"""DescribeProducers: idempotent and transactional producers with state in a partition (KIP-664)."""

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
class TopicRequest(Struct):
    """A topic with partitions to look at."""

    name: str = string()
    partition_indexes: list[int] = array(int32)


@request(ApiKey.DESCRIBE_PRODUCERS, versions="0", flexible="0+")
class DescribeProducersRequest(Message):
    """Ask leaders for the producers that they keep state of."""

    topics: list[TopicRequest] = array(TopicRequest)


@struct
class ProducerState(Struct):
    """The state of one producer, as its leader knows it."""

    producer_id: int = int64()
    producer_epoch: int = int32()
    last_sequence: int = int32(default=-1)
    last_timestamp: int = int64(default=-1)
    coordinator_epoch: int = int32()
    current_txn_start_offset: int = int64(default=-1)
    """-1 if no transaction is open."""


@struct
class PartitionResponse(Struct):
    """The producers of one partition."""

    partition_index: int = int32()
    error_code: int = int16()
    error_message: str | None = string(nullable="0+", default=None)
    active_producers: list[ProducerState] = array(ProducerState)


@struct
class TopicResponse(Struct):
    """The producers of one topic."""

    name: str = string()
    partitions: list[PartitionResponse] = array(PartitionResponse)


@response(ApiKey.DESCRIBE_PRODUCERS, versions="0", flexible="0+")
class DescribeProducersResponse(Message):
    """List producers with their state."""

    throttle_time_ms: int = int32()
    topics: list[TopicResponse] = array(TopicResponse)
