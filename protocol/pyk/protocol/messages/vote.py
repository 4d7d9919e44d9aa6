"""Vote: elect a leader of the metadata quorum (KIP-595)."""

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
    """The vote that a candidate asks for, and the end of its log."""

    partition_index: int = int32()
    replica_epoch: int = int32()
    """The epoch that the candidate wants to lead; with ``pre_vote`` the one it is in."""
    replica_id: int = int32()
    """The candidate."""
    replica_directory_id: UUID = uuid(versions="1+", ignorable=True)
    voter_directory_id: UUID = uuid(versions="1+", ignorable=True)
    """Directory of the voter that is asked: the same node with another disk is another voter."""
    last_offset_epoch: int = int32()
    """Epoch of the candidate's last record; a voter whose log is ahead of it refuses."""
    last_offset: int = int64()
    """Where the candidate's log ends."""
    pre_vote: bool = boolean(versions="2+")
    """Only find out who would vote so: no epoch grows (KIP-996)."""


@struct
class RequestTopicData(Struct):
    """The topic of the quorum: ``__cluster_metadata``."""

    topic_name: str = string()
    partitions: list[RequestPartitionData] = array(RequestPartitionData)


@request(ApiKey.VOTE, versions="0-2", flexible="0+")
class VoteRequest(Message):
    """Ask a voter for its vote, when no leader has been seen for too long."""

    cluster_id: str | None = string(nullable="0+", default=None)
    voter_id: int = int32(versions="1+", default=-1, ignorable=True)
    """The voter that is asked; another node refuses."""
    topics: list[RequestTopicData] = array(RequestTopicData)


@struct
class ResponsePartitionData(Struct):
    """The decision of the voter."""

    partition_index: int = int32()
    error_code: int = int16()
    leader_id: int = int32()
    """The leader that the voter knows of, -1 for none."""
    leader_epoch: int = int32()
    """The epoch of the voter; a candidate of an older one gives up."""
    vote_granted: bool = boolean()


@struct
class ResponseTopicData(Struct):
    """The decision of the voter, for the topic of the quorum."""

    topic_name: str = string()
    partitions: list[ResponsePartitionData] = array(ResponsePartitionData)


@struct
class NodeEndpoint(Struct):
    """The address of a node named in this response."""

    node_id: int = int32()
    host: str = string()
    port: int = uint16()


@response(ApiKey.VOTE, versions="0-2", flexible="0+")
class VoteResponse(Message):
    """Give the vote or refuse it; a voter gives one in an epoch."""

    error_code: int = int16()
    topics: list[ResponseTopicData] = array(ResponseTopicData)
    node_endpoints: list[NodeEndpoint] = array(NodeEndpoint, versions="1+", tag=0)
