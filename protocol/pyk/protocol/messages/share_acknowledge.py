"""ShareAcknowledge: acknowledge records of a share group without fetching more (KIP-932)."""

from __future__ import annotations

from uuid import UUID

from pyk.protocol.schema import (
    ApiKey,
    Message,
    Struct,
    array,
    boolean,
    int8,
    int16,
    int32,
    int64,
    nested,
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
class AcknowledgePartition(Struct):
    """The records to acknowledge in one partition."""

    partition_index: int = int32()
    acknowledgement_batches: list[AcknowledgementBatch] = array(AcknowledgementBatch)


@struct
class AcknowledgeTopic(Struct):
    """The records to acknowledge in one topic."""

    topic_id: UUID = uuid()
    partitions: list[AcknowledgePartition] = array(AcknowledgePartition)


@request(ApiKey.SHARE_ACKNOWLEDGE, versions="1-2", flexible="0+")
class ShareAcknowledgeRequest(Message):
    """Acknowledge records that a ShareFetch has acquired.

    A member sends it to the leader of the partitions, within the share session of its fetches, when
    it has nothing to fetch or wants to close the session.
    """

    group_id: str | None = string(nullable="0+", default=None)
    """Must be set, as must ``member_id``."""
    member_id: str | None = string(nullable="0+")
    share_session_epoch: int = int32()
    """Counts the requests of the session, ShareFetch included; -1 closes it and releases what
    it still has."""
    is_renew_ack: bool = boolean(versions="2+")
    """Some acknowledgements renew locks (KIP-1222)."""
    topics: list[AcknowledgeTopic] = array(AcknowledgeTopic)


@struct
class LeaderIdAndEpoch(Struct):
    """The leader that the broker knows of, for a client that asked the wrong one."""

    leader_id: int = int32()
    leader_epoch: int = int32()


@struct
class PartitionData(Struct):
    """Whether the acknowledgements in one partition were accepted."""

    partition_index: int = int32()
    error_code: int = int16()
    error_message: str | None = string(nullable="0+", default=None)
    current_leader: LeaderIdAndEpoch = nested(LeaderIdAndEpoch)


@struct
class ShareAcknowledgeTopicResponse(Struct):
    """Whether the acknowledgements in one topic were accepted."""

    topic_id: UUID = uuid()
    partitions: list[PartitionData] = array(PartitionData)


@struct
class NodeEndpoint(Struct):
    """The address of a leader named in this response."""

    node_id: int = int32()
    host: str = string()
    port: int = int32()
    rack: str | None = string(nullable="0+", default=None)


@response(ApiKey.SHARE_ACKNOWLEDGE, versions="1-2", flexible="0+")
class ShareAcknowledgeResponse(Message):
    """Say which acknowledgements were accepted."""

    throttle_time_ms: int = int32()
    error_code: int = int16()
    error_message: str | None = string(nullable="0+", default=None)
    acquisition_lock_timeout_ms: int = int32(versions="2+", ignorable=True)
    """How long a renewed lock holds."""
    responses: list[ShareAcknowledgeTopicResponse] = array(ShareAcknowledgeTopicResponse)
    node_endpoints: list[NodeEndpoint] = array(NodeEndpoint)
