"""BeginQuorumEpoch: a new leader of the metadata quorum makes itself known (KIP-595)."""

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
class RequestPartitionData(Struct):
    """The leader and its epoch."""

    partition_index: int = int32()
    voter_directory_id: UUID = uuid(versions="1+", ignorable=True)
    """Directory of the voter that is told."""
    leader_id: int = int32()
    leader_epoch: int = int32()


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


@request(ApiKey.BEGIN_QUORUM_EPOCH, versions="0-1", flexible="1+")
class BeginQuorumEpochRequest(Message):
    """Tell a voter that an election has been won, until it has acknowledged that.

    Voters fetch from the leader from then on; observers find it by themselves.
    """

    cluster_id: str | None = string(nullable="0+", default=None)
    voter_id: int = int32(versions="1+", default=-1, ignorable=True)
    """The voter that is told; another node refuses."""
    topics: list[RequestTopicData] = array(RequestTopicData)
    leader_endpoints: list[LeaderEndpoint] = array(LeaderEndpoint, versions="1+", ignorable=True)
    """Where the leader can be reached, which may differ from what the voter knows (KIP-853)."""


@struct
class ResponsePartitionData(Struct):
    """The leader that the voter follows now."""

    partition_index: int = int32()
    error_code: int = int16()
    leader_id: int = int32()
    """The leader that the voter knows of, -1 for none."""
    leader_epoch: int = int32()


@struct
class ResponseTopicData(Struct):
    """The leader that the voter follows now, for the topic of the quorum."""

    topic_name: str = string()
    partitions: list[ResponsePartitionData] = array(ResponsePartitionData)


@struct
class NodeEndpoint(Struct):
    """The address of a node named in this response."""

    node_id: int = int32()
    host: str = string()
    port: int = uint16()


@response(ApiKey.BEGIN_QUORUM_EPOCH, versions="0-1", flexible="1+")
class BeginQuorumEpochResponse(Message):
    """Acknowledge the leader, or refuse it in favour of a newer epoch."""

    error_code: int = int16()
    topics: list[ResponseTopicData] = array(ResponseTopicData)
    node_endpoints: list[NodeEndpoint] = array(NodeEndpoint, versions="1+", tag=0)
