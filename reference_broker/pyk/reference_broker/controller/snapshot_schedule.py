"""When to write a metadata snapshot, and how many of them to keep. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pyk.reference_broker.config import BrokerConfig
from pyk.runtime import slotted

from .snapshot_format import SnapshotId


@slotted.define(kw_only=True)
class SnapshotSchedule:
    """When the next snapshot is due: after so many bytes, or after some time with a change."""

    max_bytes: int
    max_interval: float
    """In seconds; 0 is never."""
    began_at: float
    """When the last snapshot was begun."""
    bytes_since: int = 0
    offset: int = 0
    """The first offset that the last snapshot does not stand for."""

    def is_due(self, end_offset: int, now: float) -> bool:
        """Return whether to write a snapshot of the records before ``end_offset`` now."""
        if end_offset <= self.offset:
            return False
        has_waited = self.max_interval > 0 and now >= self.began_at + self.max_interval
        return has_waited or self.bytes_since >= self.max_bytes

    def began(self, offset: int, now: float) -> None:
        """Count from the snapshot of the records before ``offset``, which is begun now."""
        self.bytes_since, self.offset, self.began_at = 0, offset, now


@slotted.frozen
class SnapshotFacts:
    """The properties of a snapshot that retention uses."""

    size: int
    last_contained_time_ms: int


def count_old(
    snapshots: Sequence[SnapshotId],
    facts: Mapping[SnapshotId, SnapshotFacts],
    config: BrokerConfig,
    log_size: int,
    now_ms: int,
) -> int:
    """Return how many of the oldest snapshots go, with the log before the one after them.

    A snapshot goes if the log and all snapshots are larger than ``metadata.max.retention.bytes``,
    or if it is older than ``metadata.max.retention.ms``. The newest one stays.
    """
    total = log_size + sum(facts[each].size for each in snapshots)
    max_bytes, max_ms = config.metadata_max_retention_bytes, config.metadata_max_retention_ms
    count = 0
    for snapshot in snapshots[:-1]:
        is_too_much = 0 <= max_bytes < total
        is_too_old = 0 <= max_ms < now_ms - facts[snapshot].last_contained_time_ms
        if not is_too_much and not is_too_old:
            break
        total -= facts[snapshot].size
        count += 1
    return count
