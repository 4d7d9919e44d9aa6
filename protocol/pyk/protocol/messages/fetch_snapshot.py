"""FetchSnapshot: copy a snapshot of the metadata log from the leader (KIP-630)."""

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
    uint16,
    uuid,
)


@struct
class SnapshotId(Struct):
    """A snapshot stands for all of the log below its end offset, ``epoch`` being the last."""

    end_offset: int = int64()
    epoch: int = int32()


@struct
class RequestPartitionSnapshot(Struct):
    """A snapshot, and the byte of it to go on from."""

    partition: int = int32()
    current_leader_epoch: int = int32()
    """As the replica knows it; -1 if it does not."""
    snapshot_id: SnapshotId = nested(SnapshotId)
    position: int = int64()
    replica_directory_id: UUID = uuid(versions="1+", tag=0, ignorable=True)


@struct
class RequestTopicSnapshot(Struct):
    """The topic whose snapshots are wanted: ``__cluster_metadata``."""

    name: str = string()
    partitions: list[RequestPartitionSnapshot] = array(RequestPartitionSnapshot)


@request(ApiKey.FETCH_SNAPSHOT, versions="0-1", flexible="0+")
class FetchSnapshotRequest(Message):
    """Ask the leader for the next piece of a snapshot, after a fetch was answered with its id."""

    cluster_id: str | None = string(nullable="0+", tag=0, default=None)
    replica_id: int = int32(default=-1)
    """The replica that asks: a controller or a broker."""
    max_bytes: int = int32(default=0x7FFFFFFF)
    topics: list[RequestTopicSnapshot] = array(RequestTopicSnapshot)


@struct
class LeaderIdAndEpoch(Struct):
    """The leader that the node knows of, for a replica that asked the wrong one."""

    leader_id: int = int32()
    leader_epoch: int = int32()


@struct
class ResponsePartitionSnapshot(Struct):
    """A piece of a snapshot."""

    index: int = int32()
    error_code: int = int16()
    snapshot_id: SnapshotId = nested(SnapshotId)
    current_leader: LeaderIdAndEpoch = nested(LeaderIdAndEpoch, tag=0)
    size: int = int64()
    """Bytes of the whole snapshot."""
    position: int = int64()
    """The byte of the snapshot at which ``unaligned_records`` begins."""
    unaligned_records: RecordData = records()
    """Batches, cut at any byte at both ends."""


@struct
class ResponseTopicSnapshot(Struct):
    """Pieces of the snapshots of one topic."""

    name: str = string()
    partitions: list[ResponsePartitionSnapshot] = array(ResponsePartitionSnapshot)


@struct
class NodeEndpoint(Struct):
    """The address of a node named in this response."""

    node_id: int = int32()
    host: str = string()
    port: int = uint16()


@response(ApiKey.FETCH_SNAPSHOT, versions="0-1", flexible="0+")
class FetchSnapshotResponse(Message):
    """Carry a piece of a snapshot; SNAPSHOT_NOT_FOUND if it has been deleted meanwhile."""

    throttle_time_ms: int = int32(ignorable=True)
    error_code: int = int16()
    topics: list[ResponseTopicSnapshot] = array(ResponseTopicSnapshot)
    node_endpoints: list[NodeEndpoint] = array(NodeEndpoint, versions="1+", tag=0)
