"""One share partition: a group in a partition, and what is kept of it. Pure."""

from __future__ import annotations

from typing import NamedTuple
from uuid import UUID

from pyk.reference_broker.storage.partition_metadata import decode_id, encode_id
from pyk.runtime import slotted

from .state_batches import UNCHANGED, StateBatch, combine

NOT_INITIALIZED = -1
UNKNOWN_COUNT = -1


class SharePartitionKey(NamedTuple):
    """A partition of a topic, as one group reads it."""

    group_id: str
    topic_id: UUID
    partition: int

    def __str__(self) -> str:
        """Return the text under which FindCoordinator knows it."""
        return f"{self.group_id}:{encode_id(self.topic_id)}:{self.partition}"

    @classmethod
    def parse(cls, text: str) -> SharePartitionKey:
        """Return the key of a text; raise ``ValueError``. The group may have colons in its name."""
        group_id, topic_id, partition = text.rsplit(":", 2)
        if not group_id.strip():
            raise ValueError("the group id must not be empty")
        return cls(group_id, decode_id(topic_id), int(partition))


@slotted.frozen(kw_only=True)
class ShareState:
    """The state of a share partition, as its last snapshot and the updates since then tell it."""

    snapshot_epoch: int
    state_epoch: int
    leader_epoch: int
    start_offset: int
    delivery_complete_count: int
    created_ms: int = 0
    written_ms: int = 0
    batches: tuple[StateBatch, ...] = ()

    def updated(self, update: ShareUpdate) -> ShareState:
        """Return the state after an update."""
        start_offset = _or(update.start_offset, self.start_offset)
        return slotted.evolve(
            self,
            start_offset=start_offset,
            delivery_complete_count=update.delivery_complete_count,
            leader_epoch=_or(update.leader_epoch, self.leader_epoch),
            batches=combine(self.batches, update.batches, start_offset),
        )


@slotted.frozen(kw_only=True)
class ShareUpdate:
    """What has changed since the snapshot, or the update, before."""

    snapshot_epoch: int
    leader_epoch: int
    start_offset: int
    delivery_complete_count: int
    batches: tuple[StateBatch, ...] = ()

    def as_state(self) -> ShareState:
        """Return what is known of a share partition whose snapshot is missing."""
        return ShareState(
            snapshot_epoch=self.snapshot_epoch,
            state_epoch=NOT_INITIALIZED,
            leader_epoch=self.leader_epoch,
            start_offset=self.start_offset,
            delivery_complete_count=self.delivery_complete_count,
            batches=self.batches,
        )


def _or(changed: int, known: int) -> int:
    return known if changed == UNCHANGED else changed
