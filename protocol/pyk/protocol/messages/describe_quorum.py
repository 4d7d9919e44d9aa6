"""DescribeQuorum: how far the replicas of the metadata log are (KIP-595)."""

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
    uint16,
    uuid,
)


@struct
class RequestPartitionData(Struct):
    """A partition to describe: 0, there is no other."""

    partition_index: int = int32()


@struct
class RequestTopicData(Struct):
    """A topic to describe: ``__cluster_metadata``, no other has a quorum."""

    topic_name: str = string()
    partitions: list[RequestPartitionData] = array(RequestPartitionData)


@request(ApiKey.DESCRIBE_QUORUM, versions="0-2", flexible="0+")
class DescribeQuorumRequest(Message):
    """Ask the leader of the metadata quorum, directly or through a broker, about its replicas."""

    topics: list[RequestTopicData] = array(RequestTopicData)


@struct
class ReplicaState(Struct):
    """A replica as the leader knows it."""

    replica_id: int = int32()
    replica_directory_id: UUID = uuid(versions="2+")
    """Tells a voter from an earlier one whose disk was lost (KIP-853)."""
    log_end_offset: int = int64()
    """-1 unknown."""
    last_fetch_timestamp: int = int64(versions="1+", default=-1, ignorable=True)
    """When it last fetched (KIP-836), by the leader's clock as the next field; -1 unknown."""
    last_caught_up_timestamp: int = int64(versions="1+", default=-1, ignorable=True)
    """When it last had all that the leader had; -1 unknown."""


@struct
class ResponsePartitionData(Struct):
    """The quorum: its leader, its voters, and who else reads the log."""

    partition_index: int = int32()
    error_code: int = int16()
    error_message: str | None = string(versions="2+", nullable="2+", ignorable=True)
    leader_id: int = int32()
    """-1 unknown."""
    leader_epoch: int = int32()
    high_watermark: int = int64()
    current_voters: list[ReplicaState] = array(ReplicaState)
    observers: list[ReplicaState] = array(ReplicaState)
    """Replicas without a vote, brokers for the most part."""


@struct
class ResponseTopicData(Struct):
    """The quorum's topic."""

    topic_name: str = string()
    partitions: list[ResponsePartitionData] = array(ResponsePartitionData)


@struct
class Listener(Struct):
    """An address of a voter."""

    name: str = string()
    host: str = string()
    port: int = uint16()


@struct
class Node(Struct):
    """A voter's addresses, for clients that talk to controllers."""

    node_id: int = int32()
    listeners: list[Listener] = array(Listener)


@response(ApiKey.DESCRIBE_QUORUM, versions="0-2", flexible="0+")
class DescribeQuorumResponse(Message):
    """Describe the quorum."""

    error_code: int = int16()
    error_message: str | None = string(versions="2+", nullable="2+", ignorable=True)
    topics: list[ResponseTopicData] = array(ResponseTopicData)
    nodes: list[Node] = array(Node, versions="2+")
