"""Produce: append record batches to partitions."""

from __future__ import annotations

from uuid import UUID

from pyk.protocol.schema import (
    ApiKey,
    Message,
    RecordData,
    Struct,
    array,
    int16,
    int32,
    int64,
    nested,
    records,
    request,
    response,
    string,
    struct,
    uuid,
)


@struct
class PartitionProduceData(Struct):
    """The batches for one partition."""

    index: int = int32()
    records: RecordData = records(nullable="0+")
    """One batch from version 3 on."""


@struct
class TopicProduceData(Struct):
    """The batches for the partitions of one topic."""

    name: str = string(versions="0-12", ignorable=True)
    topic_id: UUID = uuid(versions="13+", ignorable=True)
    partition_data: list[PartitionProduceData] = array(PartitionProduceData)


@request(ApiKey.PRODUCE, versions="0-13", flexible="9+")
class ProduceRequest(Message):
    """Append batches to partitions that this broker leads."""

    transactional_id: str | None = string(versions="3+", nullable="3+", default=None)
    """Set if the batches belong to a transaction."""
    acks: int = int16()
    """0: no response; 1: the leader has it; -1: all in-sync replicas have it."""
    timeout_ms: int = int32()
    """How long the leader waits for in-sync replicas."""
    topic_data: list[TopicProduceData] = array(TopicProduceData)


@struct
class BatchIndexAndErrorMessage(Struct):
    """A record that made the broker refuse its batch."""

    batch_index: int = int32()
    batch_index_error_message: str | None = string(nullable="8+", default=None)


@struct
class LeaderIdAndEpoch(Struct):
    """The leader that the broker knows of, for a client that asked the wrong one (KIP-951)."""

    leader_id: int = int32(default=-1)
    leader_epoch: int = int32(default=-1)


@struct
class PartitionProduceResponse(Struct):
    """The outcome of the batches for one partition."""

    index: int = int32()
    error_code: int = int16()
    base_offset: int = int64()
    """Offset of the first record; -1 for a duplicate that is too old to be known."""
    log_append_time_ms: int = int64(versions="2+", default=-1, ignorable=True)
    """-1 if the topic keeps the producer's timestamps."""
    log_start_offset: int = int64(versions="5+", default=-1, ignorable=True)
    """The first offset that the partition still has."""
    record_errors: list[BatchIndexAndErrorMessage] = array(
        BatchIndexAndErrorMessage, versions="8+", ignorable=True
    )
    error_message: str | None = string(versions="8+", nullable="8+", default=None, ignorable=True)
    current_leader: LeaderIdAndEpoch = nested(LeaderIdAndEpoch, versions="10+", tag=0)


@struct
class TopicProduceResponse(Struct):
    """The outcome of the batches for one topic."""

    name: str = string(versions="0-12", ignorable=True)
    topic_id: UUID = uuid(versions="13+", ignorable=True)
    partition_responses: list[PartitionProduceResponse] = array(PartitionProduceResponse)


@struct
class NodeEndpoint(Struct):
    """The address of a leader named in this response."""

    node_id: int = int32()
    host: str = string()
    port: int = int32()
    rack: str | None = string(nullable="10+", default=None)


@response(ApiKey.PRODUCE, versions="0-13", flexible="9+")
class ProduceResponse(Message):
    """Say where each batch was stored, or why not. There is no response at all to acks 0."""

    responses: list[TopicProduceResponse] = array(TopicProduceResponse)
    throttle_time_ms: int = int32(versions="1+", ignorable=True)
    node_endpoints: list[NodeEndpoint] = array(NodeEndpoint, versions="10+", tag=0)
