"""ShareFetch: acquire records for a member of a share group (KIP-932)."""

from __future__ import annotations

from uuid import UUID

from pyk.protocol.schema import (
    ApiKey,
    Message,
    RecordData,
    Struct,
    array,
    boolean,
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
class AcknowledgementBatch(Struct):
    """Acquired records that the consumer is done with, or wants to keep for longer."""

    first_offset: int = int64()
    last_offset: int = int64()
    """Included."""
    acknowledge_types: list[int] = array(int8)
    """One for the whole batch or one for each offset: 0 gap (there is no such record), 1
    accept, 2 release for another delivery, 3 reject for good, 4 renew the lock (from version 2
    on)."""


@struct
class FetchPartition(Struct):
    """A partition to acquire records from, and what to acknowledge in it."""

    partition_index: int = int32()
    partition_max_bytes: int = int32(versions="0")
    """Never sent: only version 0 had it, which no release kept."""
    acknowledgement_batches: list[AcknowledgementBatch] = array(AcknowledgementBatch)


@struct
class FetchTopic(Struct):
    """A topic to acquire records from."""

    topic_id: UUID = uuid()
    partitions: list[FetchPartition] = array(FetchPartition)


@struct
class ForgottenTopic(Struct):
    """Partitions to drop from the share session."""

    topic_id: UUID = uuid()
    partitions: list[int] = array(int32)


@request(ApiKey.SHARE_FETCH, versions="1-2", flexible="0+")
class ShareFetchRequest(Message):
    """Acquire records that no other member has, and acknowledge those of earlier fetches.

    A member sends it to the leader of its partitions. The broker remembers them in a share session;
    a request then names only what changed.
    """

    group_id: str | None = string(nullable="0+", default=None)
    """Must be set, as must ``member_id``."""
    member_id: str | None = string(nullable="0+")
    share_session_epoch: int = int32()
    """0 opens a session, -1 closes it and releases what it acquired; otherwise it counts the
    requests of the session."""
    max_wait_ms: int = int32()
    """How long the broker waits for ``min_bytes``."""
    min_bytes: int = int32()
    max_bytes: int = int32(default=0x7FFFFFFF)
    max_records: int = int32()
    """The broker may acquire more to end at the boundary of a batch, unless
    ``share_acquire_mode`` forbids it."""
    batch_size: int = int32()
    """How many records should be in one of ``acquired_records``."""
    share_acquire_mode: int = int8(versions="2+", ignorable=True)
    """0 acquires whole batches, 1 never more than ``max_records`` (KIP-1206)."""
    is_renew_ack: bool = boolean(versions="2+")
    """Some acknowledgements renew locks (KIP-1222); the request then fetches nothing and has 0
    for every limit."""
    topics: list[FetchTopic] = array(FetchTopic)
    forgotten_topics_data: list[ForgottenTopic] = array(ForgottenTopic)


@struct
class LeaderIdAndEpoch(Struct):
    """The leader that the broker knows of, for a client that asked the wrong one."""

    leader_id: int = int32()
    leader_epoch: int = int32()


@struct
class AcquiredRecords(Struct):
    """Records that are this member's until it acknowledges them or the lock runs out."""

    first_offset: int = int64()
    last_offset: int = int64()
    """Included."""
    delivery_count: int = int16()
    """How often they have been delivered, this time included."""


@struct
class PartitionData(Struct):
    """The records of one partition."""

    partition_index: int = int32()
    error_code: int = int16()
    error_message: str | None = string(nullable="0+", default=None)
    acknowledge_error_code: int = int16()
    """Of the acknowledgements in the request."""
    acknowledge_error_message: str | None = string(nullable="0+", default=None)
    current_leader: LeaderIdAndEpoch = nested(LeaderIdAndEpoch)
    records: RecordData = records()
    """Whole batches; records that were not acquired may be among them."""
    acquired_records: list[AcquiredRecords] = array(AcquiredRecords)
    """Which of the records the member may process."""


@struct
class ShareFetchableTopicResponse(Struct):
    """The records of the partitions of one topic."""

    topic_id: UUID = uuid()
    partitions: list[PartitionData] = array(PartitionData)


@struct
class NodeEndpoint(Struct):
    """The address of a leader named in this response."""

    node_id: int = int32()
    host: str = string()
    port: int = int32()
    rack: str | None = string(nullable="0+", default=None)


@response(ApiKey.SHARE_FETCH, versions="1-2", flexible="0+")
class ShareFetchResponse(Message):
    """Carry acquired records, and say whether the acknowledgements were accepted."""

    throttle_time_ms: int = int32()
    error_code: int = int16()
    error_message: str | None = string(nullable="0+", default=None)
    acquisition_lock_timeout_ms: int = int32()
    """How long acquired records stay with the member."""
    responses: list[ShareFetchableTopicResponse] = array(ShareFetchableTopicResponse)
    node_endpoints: list[NodeEndpoint] = array(NodeEndpoint)
