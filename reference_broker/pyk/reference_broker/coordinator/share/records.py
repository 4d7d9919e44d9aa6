"""The records of ``__share_group_state``, in Kafka's own format."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pyk.protocol.errors import MalformedMessageError
from pyk.protocol.messages.share_state_records import (
    ShareSnapshotKey,
    ShareSnapshotValue,
    ShareUpdateKey,
    ShareUpdateValue,
)
from pyk.protocol.messages.share_state_records import StateBatch as StateBatchMessage
from pyk.protocol.persisted import (
    decode_coordinator_key,
    decode_versioned,
    encode_coordinator_key,
    encode_versioned,
)
from pyk.reference_broker.controller.names import SHARE_GROUP_STATE_TOPIC
from pyk.runtime import slotted

from .share_partition import SharePartitionKey, ShareState, ShareUpdate
from .state_batches import StateBatch


@slotted.frozen
class ShareStateRecord:
    """A snapshot of a share partition, an update, or with None its end."""

    key: SharePartitionKey
    value: ShareState | ShareUpdate | None = None

    def encode(self) -> tuple[bytes | None, bytes | None]:
        """Return the record's key and value as they stand in the log."""
        is_update = isinstance(self.value, ShareUpdate)
        key_class = ShareUpdateKey if is_update else ShareSnapshotKey
        key = encode_coordinator_key(
            key_class(
                group_id=self.key.group_id,
                topic_id=self.key.topic_id,
                partition=self.key.partition,
            )
        )
        if self.value is None:
            return key, None
        return key, encode_versioned(_message_of(self.value), 0)

    @classmethod
    def decode(cls, key: bytes, value: bytes | None) -> ShareStateRecord:
        """Return the record in a key and a value; raise ``ProtocolError`` if they are invalid."""
        decoded: Any = decode_coordinator_key(key, SHARE_GROUP_STATE_TOPIC)
        name = SharePartitionKey(decoded.group_id, decoded.topic_id, decoded.partition)
        if isinstance(decoded, ShareSnapshotKey):
            return cls(name, None if value is None else _state_of(value))
        if value is None:
            raise MalformedMessageError(f"an update of share partition {name} has no value")
        return cls(name, _update_of(value))


def batches_of(batches: Iterable[Any]) -> tuple[StateBatch, ...]:
    """Return the ranges in a record or a request."""
    return tuple(
        StateBatch(each.first_offset, each.last_offset, each.delivery_count, each.delivery_state)
        for each in batches
    )


def _message_of(value: ShareState | ShareUpdate) -> ShareSnapshotValue | ShareUpdateValue:
    batches = [
        StateBatchMessage(
            first_offset=each.first_offset,
            last_offset=each.last_offset,
            delivery_count=each.delivery_count,
            delivery_state=each.delivery_state,
        )
        for each in value.batches
    ]
    if isinstance(value, ShareUpdate):
        return ShareUpdateValue(
            snapshot_epoch=value.snapshot_epoch,
            leader_epoch=value.leader_epoch,
            start_offset=value.start_offset,
            delivery_complete_count=value.delivery_complete_count,
            state_batches=batches,
        )
    return ShareSnapshotValue(
        snapshot_epoch=value.snapshot_epoch,
        state_epoch=value.state_epoch,
        leader_epoch=value.leader_epoch,
        start_offset=value.start_offset,
        delivery_complete_count=value.delivery_complete_count,
        create_timestamp=value.created_ms,
        write_timestamp=value.written_ms,
        state_batches=batches,
    )


def _state_of(value: bytes) -> ShareState:
    message = decode_versioned(ShareSnapshotValue, value)
    return ShareState(
        snapshot_epoch=message.snapshot_epoch,
        state_epoch=message.state_epoch,
        leader_epoch=message.leader_epoch,
        start_offset=message.start_offset,
        delivery_complete_count=message.delivery_complete_count,
        created_ms=message.create_timestamp,
        written_ms=message.write_timestamp,
        batches=batches_of(message.state_batches),
    )


def _update_of(value: bytes) -> ShareUpdate:
    message = decode_versioned(ShareUpdateValue, value)
    return ShareUpdate(
        snapshot_epoch=message.snapshot_epoch,
        leader_epoch=message.leader_epoch,
        start_offset=message.start_offset,
        delivery_complete_count=message.delivery_complete_count,
        batches=batches_of(message.state_batches),
    )
