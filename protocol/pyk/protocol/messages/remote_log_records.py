"""Records of ``__remote_log_metadata``: which segments lie in remote storage (KIP-405).

They are framed like records of the cluster metadata, with type numbers of their own.
"""

from __future__ import annotations

from uuid import UUID

from pyk.protocol.schema import (
    Message,
    Struct,
    array,
    binary,
    boolean,
    int8,
    int32,
    int64,
    metadata_record,
    nested,
    string,
    struct,
    uuid,
)


@struct
class TopicIdPartitionEntry(Struct):
    """A partition, by name and by topic id."""

    name: str = string()
    id: UUID = uuid()
    partition: int = int32()


@struct
class RemoteLogSegmentIdEntry(Struct):
    """A copied segment; its id is new with every attempt to copy it."""

    topic_id_partition: TopicIdPartitionEntry = nested(TopicIdPartitionEntry)
    id: UUID = uuid()


@struct
class SegmentLeaderEpochEntry(Struct):
    """The first offset of a leader epoch in the segment."""

    leader_epoch: int = int32()
    offset: int = int64()


@metadata_record(0, versions="0", flexible="0+")
class RemoteLogSegmentMetadataRecord(Message):
    """A leader has begun to copy a segment."""

    remote_log_segment_id: RemoteLogSegmentIdEntry = nested(RemoteLogSegmentIdEntry)
    start_offset: int = int64()
    end_offset: int = int64()
    """Of the last record in the segment."""
    broker_id: int = int32()
    """The leader that copies."""
    max_timestamp_ms: int = int64()
    """The largest timestamp of a record in the segment."""
    event_timestamp_ms: int = int64()
    """When the broker wrote this."""
    segment_leader_epochs: list[SegmentLeaderEpochEntry] = array(SegmentLeaderEpochEntry)
    segment_size_in_bytes: int = int32()
    custom_metadata: bytes | None = binary(nullable="0+", default=None)
    """What the storage plugin wants to remember (KIP-917)."""
    remote_log_segment_state: int = int8()
    """0 copying, 1 copied, 2 deleting, 3 deleted."""
    txn_index_empty: bool = boolean(tag=0)
    """No transaction was aborted in the segment, so there is no index to fetch (KIP-1058)."""


@metadata_record(1, versions="0", flexible="0+")
class RemoteLogSegmentMetadataUpdateRecord(Message):
    """A segment has been copied, is being deleted or has been deleted."""

    remote_log_segment_id: RemoteLogSegmentIdEntry = nested(RemoteLogSegmentIdEntry)
    broker_id: int = int32()
    event_timestamp_ms: int = int64()
    """When the broker wrote this."""
    custom_metadata: bytes | None = binary(nullable="0+", default=None)
    """What the storage plugin wants to remember (KIP-917)."""
    remote_log_segment_state: int = int8()
    """0 copying, 1 copied, 2 deleting, 3 deleted."""


@metadata_record(2, versions="0", flexible="0+")
class RemotePartitionDeleteMetadataRecord(Message):
    """A partition is gone, and with it its segments in remote storage."""

    topic_id_partition: TopicIdPartitionEntry = nested(TopicIdPartitionEntry)
    broker_id: int = int32()
    event_timestamp_ms: int = int64()
    """When the broker wrote this."""
    remote_partition_delete_state: int = int8()
    """0 to be deleted, 1 deleting, 2 deleted."""


@metadata_record(3, versions="0", flexible="0+")
class RemoteLogSegmentMetadataSnapshotRecord(Message):
    """A segment in a broker's snapshot of what the topic says about one partition.

    Fields are those of RemoteLogSegmentMetadataRecord.
    """

    segment_id: UUID = uuid()
    start_offset: int = int64()
    end_offset: int = int64()
    broker_id: int = int32()
    max_timestamp_ms: int = int64()
    event_timestamp_ms: int = int64()
    segment_leader_epochs: list[SegmentLeaderEpochEntry] = array(SegmentLeaderEpochEntry)
    segment_size_in_bytes: int = int32()
    custom_metadata: bytes | None = binary(nullable="0+", default=None)
    remote_log_segment_state: int = int8()
    txn_index_empty: bool = boolean(tag=0)
