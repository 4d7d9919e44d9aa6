"""When a log begins a new segment."""

from __future__ import annotations

from pyk.reference_broker.config import LogConfig
from pyk.reference_broker.storage.segment import BatchExtent, LogSegment


def must_roll(
    active: LogSegment,
    size: int,
    last: BatchExtent,
    config: LogConfig,
    *,
    now_ms: int,
    jitter_ms: int,
) -> bool:
    """Whether ``size`` bytes of batches, of which ``last`` is the last, go into a new segment.

    1. They do not fit into ``segment.bytes``.
    2. An index is full, or cannot express their offsets.
    3. The segment has become as old as ``segment.ms``, or in a compacted log as
       ``max.compaction.lag.ms``, less ``jitter_ms``. An empty one has no age.
    """
    if active.size + size > config.max_segment_bytes:
        return True
    if not active.indexes.has_room_for(last.last_offset, config.segment_index_bytes):
        return True
    first_timestamp = active.first_timestamp
    if first_timestamp is None:
        return False
    # KIP-33: by the records' clock, so that a restored log is cut as the original was.
    has_timestamps = first_timestamp >= 0 and last.max_timestamp >= 0
    end_ms = last.max_timestamp if has_timestamps else now_ms
    begin_ms = first_timestamp if has_timestamps else active.created_ms
    longest_ms = config.segment_ms
    if config.is_compacted:
        longest_ms = min(longest_ms, config.max_compaction_lag_ms)
    return end_ms - begin_ms > longest_ms - jitter_ms
