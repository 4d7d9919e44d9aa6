"""The states of share partitions as the log tells them, and what of the log is still needed. Pure.

A snapshot makes all earlier records of its share partition obsolete. So the log is needed from the
oldest of the latest snapshots on.
"""

from __future__ import annotations

from collections.abc import ItemsView

from .records import ShareStateRecord
from .share_partition import NOT_INITIALIZED, SharePartitionKey, ShareState, ShareUpdate


class KeptStates:
    """What replaying the records of one partition of ``__share_group_state`` gives."""

    def __init__(self, updates_per_snapshot: int) -> None:
        self._updates_per_snapshot = updates_per_snapshot
        self._states: dict[SharePartitionKey, ShareState] = {}
        self._leader_epochs: dict[SharePartitionKey, int] = {}
        self._state_epochs: dict[SharePartitionKey, int] = {}
        self._update_counts: dict[SharePartitionKey, int] = {}
        self._snapshot_offsets: dict[SharePartitionKey, int] = {}
        self._last_offset = 0

    def items(self) -> ItemsView[SharePartitionKey, ShareState]:
        return self._states.items()

    def get(self, key: SharePartitionKey) -> ShareState | None:
        return self._states.get(key)

    def leader_epoch(self, key: SharePartitionKey) -> int:
        """Return the highest epoch in which a leader has read or written."""
        return self._leader_epochs.get(key, NOT_INITIALIZED)

    def state_epoch(self, key: SharePartitionKey) -> int:
        """Return the highest epoch in which the state was initialized."""
        return self._state_epochs.get(key, NOT_INITIALIZED)

    def needs_snapshot(self, key: SharePartitionKey) -> bool:
        """Return whether there were so many updates that a snapshot follows."""
        return self._update_counts.get(key, 0) >= self._updates_per_snapshot

    @property
    def first_needed_offset(self) -> int:
        """Return where the records begin that are still needed."""
        return min(self._snapshot_offsets.values(), default=self._last_offset)

    def replay(self, record: ShareStateRecord, offset: int) -> None:
        """Apply one record, which lies at ``offset``."""
        key, value = record.key, record.value
        if isinstance(value, ShareUpdate):
            self._update(key, value)
            return
        self._last_offset = offset
        if value is None:
            self._forget(key)
        else:
            self._put(key, value)
            self._snapshot_offsets[key] = offset

    def _put(self, key: SharePartitionKey, state: ShareState) -> None:
        self._note_leader(key, state.leader_epoch)
        self._state_epochs[key] = max(self.state_epoch(key), state.state_epoch)
        self._states[key] = state
        if self.needs_snapshot(key):
            self._update_counts[key] = 0

    def _update(self, key: SharePartitionKey, update: ShareUpdate) -> None:
        self._note_leader(key, update.leader_epoch)
        known = self._states.get(key)
        self._states[key] = update.as_state() if known is None else known.updated(update)
        self._update_counts[key] = self._update_counts.get(key, 0) + 1

    def _forget(self, key: SharePartitionKey) -> None:
        for table in (
            self._states,
            self._leader_epochs,
            self._state_epochs,
            self._update_counts,
            self._snapshot_offsets,
        ):
            table.pop(key, None)

    def _note_leader(self, key: SharePartitionKey, leader_epoch: int) -> None:
        self._leader_epochs[key] = max(self.leader_epoch(key), leader_epoch)
