"""Records of ``__share_group_state``: the delivery state of share groups (KIP-932)."""

from __future__ import annotations

from uuid import UUID

from pyk.protocol.schema import (
    Message,
    Struct,
    array,
    coordinator_key,
    coordinator_value,
    int8,
    int16,
    int32,
    int64,
    string,
    struct,
    uuid,
)


@coordinator_key(0)
class ShareSnapshotKey(Message):
    """Key of the whole state of one partition in one group."""

    group_id: str = string()
    topic_id: UUID = uuid()
    partition: int = int32()


@struct
class StateBatch(Struct):
    """Records at or after the start offset that have the same delivery state."""

    first_offset: int = int64()
    last_offset: int = int64()
    """Included."""
    delivery_state: int = int8()
    """0 available, 2 acknowledged, 4 archived; that a record is acquired is not kept."""
    delivery_count: int = int16()
    """How often the records have been delivered."""


@coordinator_value(0, versions="0", flexible="0+")
class ShareSnapshotValue(Message):
    """The whole state of a share-partition.

    Written when it begins, after so many updates, and now and then for one at rest, so that older
    records can go. A record without value deletes the state.
    """

    snapshot_epoch: int = int32()
    """Counts the snapshots of this share-partition."""
    state_epoch: int = int32()
    """The group epoch in which the state was begun."""
    leader_epoch: int = int32()
    """Of the partition's leader that wrote last; -1 if none has."""
    start_offset: int = int64()
    """All records before it are finished; -1 if that has not been decided."""
    delivery_complete_count: int = int32(tag=0, default=-1)
    """How many records at or after ``start_offset`` need no more delivery, from which lag is
    told (KIP-1226); -1 unknown."""
    create_timestamp: int = int64()
    """When a request last made it necessary to write a snapshot."""
    write_timestamp: int = int64()
    """When this one was written; later than ``create_timestamp`` for a share-partition at rest."""
    state_batches: list[StateBatch] = array(StateBatch)


@coordinator_key(1)
class ShareUpdateKey(Message):
    """Key of changes in one partition in one group."""

    group_id: str = string()
    topic_id: UUID = uuid()
    partition: int = int32()


@coordinator_value(1, versions="0", flexible="0+")
class ShareUpdateValue(Message):
    """The changes since the snapshot or the update before."""

    snapshot_epoch: int = int32()
    """Of the snapshot that the update belongs to."""
    leader_epoch: int = int32()
    start_offset: int = int64()
    """-1: unchanged."""
    delivery_complete_count: int = int32(tag=0, default=-1)
    """How many records at or after ``start_offset`` need no more delivery, from which lag is
    told (KIP-1226); -1 unknown."""
    state_batches: list[StateBatch] = array(StateBatch)
    """Only those that have changed."""
