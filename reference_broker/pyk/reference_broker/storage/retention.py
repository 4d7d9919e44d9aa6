"""Decide which segments of a log to delete: the oldest ones, as long as a rule applies."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain, pairwise
from typing import NamedTuple

from pyk.reference_broker.config import LogConfig


class SegmentFacts(NamedTuple):
    """The properties of a segment that retention uses. The next one begins at ``end_offset``."""

    size: int
    end_offset: int
    largest_timestamp_ms: int


def count_deletable(
    segments: Iterable[SegmentFacts],
    config: LogConfig,
    *,
    log_size: int,
    log_start_offset: int,
    high_watermark: int,
    now_ms: int,
) -> int:
    """Return how many of the oldest segments go.

    1. All records lie before the log start offset (DeleteRecords).
    2. The log is larger than ``retention.bytes`` even without it.
    3. Its newest record is older than ``retention.ms``.

    What is not below the high watermark stays, and so does the last segment if it is empty. Others
    may be empty where Kafka has compacted them.
    """
    excess = log_size - config.retention_bytes
    count = 0
    for segment, following in pairwise(chain(segments, [None])):
        assert segment is not None
        is_empty_end = segment.size == 0 and following is None
        if is_empty_end or segment.end_offset > high_watermark:
            break
        age_ms = now_ms - segment.largest_timestamp_ms
        is_out = segment.end_offset <= log_start_offset
        if config.deletes_old_segments:
            is_out |= config.retention_bytes >= 0 and excess >= segment.size
            is_out |= config.retention_ms >= 0 and age_ms > config.retention_ms
        if not is_out:
            break
        excess -= segment.size
        count += 1
    return count
