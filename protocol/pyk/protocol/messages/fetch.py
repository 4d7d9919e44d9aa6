"""Fetch: read record batches from partitions, by consumers and by replicas."""

from __future__ import annotations

from uuid import UUID

from pyk.protocol.schema import (
    ApiKey,
    Message,
    RecordData,
    Struct,
    array,
    int8,
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
class ReplicaState(Struct):
    """The replica that fetches; consumers leave it alone."""

    replica_id: int = int32(default=-1)
    replica_epoch: int = int64(default=-1)


@struct
class FetchPartition(Struct):
    """A partition to read, and from where."""

    partition: int = int32()
    current_leader_epoch: int = int32(versions="9+", default=-1, ignorable=True)
    """What the client takes for the leader's epoch; the broker refuses if it knows better."""
    fetch_offset: int = int64()
    last_fetched_epoch: int = int32(versions="12+", default=-1)
    """Epoch of the last record that was read, so that the broker notices diverging logs."""
    log_start_offset: int = int64(versions="5+", default=-1, ignorable=True)
    """The follower's first offset; -1 for a consumer."""
    partition_max_bytes: int = int32()
    replica_directory_id: UUID = uuid(versions="17+", tag=0, ignorable=True)
    high_watermark: int = int64(versions="18+", tag=1, default=9223372036854775807, ignorable=True)
    """What the follower believes it to be; the leader answers at once if it is higher."""


@struct
class FetchTopic(Struct):
    """A topic to read."""

    topic: str = string(versions="0-12", ignorable=True)
    topic_id: UUID = uuid(versions="13+", ignorable=True)
    partitions: list[FetchPartition] = array(FetchPartition)


@struct
class ForgottenTopic(Struct):
    """Partitions to drop from the fetch session."""

    topic: str = string(versions="7-12", ignorable=True)
    topic_id: UUID = uuid(versions="13+", ignorable=True)
    partitions: list[int] = array(int32)


@request(ApiKey.FETCH, versions="0-18", flexible="12+")
class FetchRequest(Message):
    """Read from partitions, waiting until there is enough to send.

    In a fetch session (KIP-227) the broker remembers the partitions; a request then names only
    what changed.
    """

    cluster_id: str | None = string(
        versions="12+", nullable="12+", tag=0, default=None, ignorable=True
    )
    replica_id: int = int32(versions="0-14", default=-1)
    """The broker id of a follower; -1 for a consumer."""
    replica_state: ReplicaState = nested(ReplicaState, versions="15+", tag=1)
    max_wait_ms: int = int32()
    """How long the broker waits for ``min_bytes``."""
    min_bytes: int = int32()
    max_bytes: int = int32(versions="3+", default=0x7FFFFFFF, ignorable=True)
    """Of the whole response; exceeded if the first batch alone is larger."""
    isolation_level: int = int8(versions="4+", ignorable=True)
    """0 reads everything, 1 only what is committed."""
    session_id: int = int32(versions="7+", ignorable=True)
    """0 to open a session or to do without one."""
    session_epoch: int = int32(versions="7+", default=-1, ignorable=True)
    """0 opens a session, -1 closes it or does without; otherwise it counts the requests of the
    session."""
    topics: list[FetchTopic] = array(FetchTopic)
    forgotten_topics_data: list[ForgottenTopic] = array(ForgottenTopic, versions="7+")
    rack_id: str = string(versions="11+", ignorable=True)
    """Where the consumer is, so that the broker can name a nearer replica."""


@struct
class EpochEndOffset(Struct):
    """The largest epoch up to which the two logs agree, and its end offset in the leader's log."""

    epoch: int = int32(default=-1)
    end_offset: int = int64(default=-1)


@struct
class LeaderIdAndEpoch(Struct):
    """The leader that the broker knows of, for a client that asked the wrong one."""

    leader_id: int = int32(default=-1)
    leader_epoch: int = int32(default=-1)


@struct
class SnapshotId(Struct):
    """The snapshot to load first: the log no longer reaches back to the offset asked for."""

    end_offset: int = int64(default=-1)
    epoch: int = int32(default=-1)


@struct
class AbortedTransaction(Struct):
    """A transaction whose records a reader of committed data drops, up to its abort marker."""

    producer_id: int = int64()
    first_offset: int = int64()


@struct
class PartitionData(Struct):
    """The records of one partition."""

    partition_index: int = int32()
    error_code: int = int16()
    high_watermark: int = int64()
    last_stable_offset: int = int64(versions="4+", default=-1, ignorable=True)
    """Below it every transaction has ended."""
    log_start_offset: int = int64(versions="5+", default=-1, ignorable=True)
    diverging_epoch: EpochEndOffset = nested(EpochEndOffset, versions="12+", tag=0)
    """Set if the client's log has an end that the leader's does not: it must truncate."""
    current_leader: LeaderIdAndEpoch = nested(LeaderIdAndEpoch, versions="12+", tag=1)
    snapshot_id: SnapshotId = nested(SnapshotId, versions="12+", tag=2)
    aborted_transactions: list[AbortedTransaction] | None = array(
        AbortedTransaction, versions="4+", nullable="4+", ignorable=True
    )
    """None unless committed data was asked for."""
    preferred_read_replica: int = int32(versions="11+", default=-1)
    """The replica to ask from now on; -1: this one."""
    records: RecordData = records(nullable="0+")


@struct
class FetchableTopicResponse(Struct):
    """The records of the partitions of one topic."""

    topic: str = string(versions="0-12", ignorable=True)
    topic_id: UUID = uuid(versions="13+", ignorable=True)
    partitions: list[PartitionData] = array(PartitionData)


@struct
class NodeEndpoint(Struct):
    """The address of a leader named in this response."""

    node_id: int = int32()
    host: str = string()
    port: int = int32()
    rack: str | None = string(nullable="16+", default=None)


@response(ApiKey.FETCH, versions="0-18", flexible="12+")
class FetchResponse(Message):
    """Carry batches as they lie in the log.

    The first may begin below the offset asked for, the last may be cut short.
    """

    throttle_time_ms: int = int32(versions="1+", ignorable=True)
    error_code: int = int16(versions="7+", ignorable=True)
    session_id: int = int32(versions="7+")
    """0 if the broker keeps no session."""
    responses: list[FetchableTopicResponse] = array(FetchableTopicResponse)
    node_endpoints: list[NodeEndpoint] = array(NodeEndpoint, versions="16+", tag=0)
