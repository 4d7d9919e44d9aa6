"""Decide which part of a log to compact, and when that is worth it. Pure.

     clean             dirty                        not yet
    ├─────────────────┼────────────────────────────┼─────────────────────────────┤
    log start         compacted up to here         the active segment, what is not
                                                   stable or not on the disk, and
                                                   what is younger than the lag

A pass reads the keys of the dirty part, and rewrites clean and dirty part without the records that
later ones of the same key replace. Only whole segments are compacted. Kafka may compact a part of
the segment in which the first open transaction begins; here it waits.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from pyk.reference_broker.config import LogConfig
from pyk.runtime import slotted

MAX_OFFSET_SPAN = (1 << 31) - 1


class SegmentFacts(NamedTuple):
    """The properties of a segment that compaction uses. The next one begins at ``end_offset``."""

    base_offset: int
    end_offset: int
    size: int
    index_bytes: int
    first_timestamp_ms: int
    largest_timestamp_ms: int


@slotted.frozen
class Cleanable:
    """What a pass over a log would compact: all below ``end_offset``."""

    first_dirty_offset: int
    end_offset: int
    clean_bytes: int
    dirty_bytes: int
    is_overdue: bool
    """Whether something dirty is older than ``max.compaction.lag.ms``."""

    @property
    def dirty_ratio(self) -> float:
        """The part of the bytes that is dirty, 0 of nothing."""
        total = self.clean_bytes + self.dirty_bytes
        return self.dirty_bytes / total if total else 0.0

    def is_worth_a_pass(self, min_dirty_ratio: float) -> bool:
        """Whether to compact now (``min.cleanable.dirty.ratio``)."""
        return self.dirty_bytes > 0 and (self.is_overdue or self.dirty_ratio > min_dirty_ratio)


def find_cleanable(
    segments: Sequence[SegmentFacts],
    config: LogConfig,
    *,
    compacted_to: int,
    log_start_offset: int,
    stable_offset: int,
    now_ms: int,
) -> Cleanable:
    """Return what a pass over these segments, the last of them active, would compact.

    ``stable_offset`` is what no crash, truncation or end of a transaction can change any more.
    """
    finished = [segment for segment in segments[:-1] if segment.end_offset <= stable_offset]
    first_dirty = max(compacted_to, log_start_offset)
    if first_dirty > segments[-1].end_offset:
        first_dirty = log_start_offset  # the log was replaced by a shorter one
    clean = [segment for segment in finished if segment.end_offset <= first_dirty]
    dirty = finished[len(clean) :]
    old_enough = _before_the_lag(dirty, now_ms - config.min_compaction_lag_ms, config)
    end_offset = old_enough[-1].end_offset if old_enough else first_dirty
    begun = [each.first_timestamp_ms for each in old_enough if each.first_timestamp_ms > 0]
    return Cleanable(
        first_dirty,
        end_offset,
        clean_bytes=sum(segment.size for segment in clean),
        dirty_bytes=sum(segment.size for segment in old_enough),
        is_overdue=min(begun, default=now_ms) < now_ms - config.max_compaction_lag_ms,
    )


def _before_the_lag(
    dirty: list[SegmentFacts], until_ms: int, config: LogConfig
) -> list[SegmentFacts]:
    """Return the segments before the first with a record younger than ``min.compaction.lag.ms``."""
    if config.min_compaction_lag_ms > 0:
        for index, segment in enumerate(dirty):
            if segment.largest_timestamp_ms > until_ms:
                return dirty[:index]
    return dirty


def group_segments(segments: Iterable[SegmentFacts], config: LogConfig) -> list[list[SegmentFacts]]:
    """Return the segments in groups, each to become one that is within all limits of a segment."""
    groups: list[list[SegmentFacts]] = []
    size = index_bytes = 0
    for segment in segments:
        size, index_bytes = size + segment.size, index_bytes + segment.index_bytes
        fits = (
            groups
            and size <= config.max_segment_bytes
            and index_bytes <= config.segment_index_bytes
            and segment.end_offset - 1 - groups[-1][0].base_offset <= MAX_OFFSET_SPAN
        )
        if not fits:
            groups.append([])
            size, index_bytes = segment.size, segment.index_bytes
        groups[-1].append(segment)
    return groups
