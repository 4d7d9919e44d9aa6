"""EndQuorumEpoch: the leader of the metadata quorum steps down (KIP-595)."""

from __future__ import annotations

from uuid import UUID

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
    uint16,
    uuid,
)


@struct
class ReplicaInfo(Struct):
    """A voter that could lead next."""

    candidate_id: int = int32()
    candidate_directory_id: UUID = uuid()


@struct
class RequestPartitionData(Struct):
    """The leader that goes, and who may follow it."""

    partition_index: int = int32()
    leader_id: int = int32()
    leader_epoch: int = int32()
    preferred_successors: list[int] = array(int32, versions="0", ignorable=True)
    """Voters, the longest log first; the earlier one is named, the sooner it asks for votes."""
    preferred_candidates: list[ReplicaInfo] = array(ReplicaInfo, versions="1+", ignorable=True)
    """The same with directories."""


@struct
class RequestTopicData(Struct):
    """The topic of the quorum: ``__cluster_metadata``."""

    topic_name: str = string()
    partitions: list[RequestPartitionData] = array(RequestPartitionData)


@struct
class LeaderEndpoint(Struct):
    """A listener of the leader."""

    name: str = string()
    host: str = string()
    port: int = uint16()


@request(ApiKey.END_QUORUM_EPOCH, versions="0-1", flexible="1+")
class EndQuorumEpochRequest(Message):
    """Tell voters to elect another leader at once, without waiting for a timeout.

    Sent by a leader that shuts down or that was removed from the voters.
    """

    cluster_id: str | None = string(nullable="0+", default=None)
    topics: list[RequestTopicData] = array(RequestTopicData)
    leader_endpoints: list[LeaderEndpoint] = array(LeaderEndpoint, versions="1+", ignorable=True)


@struct
class ResponsePartitionData(Struct):
    """The leader that the voter knows."""

    partition_index: int = int32()
    error_code: int = int16()
    leader_id: int = int32()
    """The leader that the voter knows of, -1 for none."""
    leader_epoch: int = int32()


@struct
class ResponseTopicData(Struct):
    """The leader that the voter knows, for the topic of the quorum."""

    topic_name: str = string()
    partitions: list[ResponsePartitionData] = array(ResponsePartitionData)


@struct
class NodeEndpoint(Struct):
    """The address of a node named in this response."""

    node_id: int = int32()
    host: str = string()
    port: int = uint16()


@response(ApiKey.END_QUORUM_EPOCH, versions="0-1", flexible="1+")
class EndQuorumEpochResponse(Message):
    """Acknowledge that the epoch ends, or refuse because there is a newer one."""

    error_code: int = int16()
    topics: list[ResponseTopicData] = array(ResponseTopicData)
    node_endpoints: list[NodeEndpoint] = array(NodeEndpoint, versions="1+", tag=0)
