"""Find records by their timestamps."""

from __future__ import annotations

from typing import NamedTuple

from pyk.reference_broker.storage.segment import LogSegment
from pyk.reference_broker.storage.segments import LogSegments
from pyk.reference_broker.storage.stored_batches import StoredBatch, read_batch


class OffsetAndTimestamp(NamedTuple):
    """A record that was found: its offset, its timestamp, and the epoch of its leader."""

    offset: int
    timestamp: int
    leader_epoch: int


def find_timestamp(
    segments: LogSegments, timestamp_ms: int, log_start_offset: int
) -> OffsetAndTimestamp | None:
    """Return the first record from ``log_start_offset`` on that is not older, None if all are."""
    for segment in segments:
        if segment.indexes.newest[0] < timestamp_ms:
            continue
        start = max(segment.indexes.times.offset_before(timestamp_ms), log_start_offset)
        for stored in segment.batches(start):
            if stored.max_timestamp >= timestamp_ms and stored.last_offset >= log_start_offset:
                found = _first_not_older(segment, stored, timestamp_ms, log_start_offset)
                if found is not None:
                    return found
    return None


def find_newest_record(segments: LogSegments, log_start_offset: int) -> OffsetAndTimestamp | None:
    """Return the first record with the largest timestamp of all, None if there is no record."""
    newest = max(segments, key=lambda segment: segment.indexes.newest[0])
    timestamp, last_offset = newest.indexes.newest
    stored = newest.locate(last_offset) if timestamp >= 0 else None
    if stored is None:
        return None
    return _first_not_older(newest, stored, timestamp, log_start_offset)


def _first_not_older(
    segment: LogSegment, stored: StoredBatch, timestamp_ms: int, log_start_offset: int
) -> OffsetAndTimestamp | None:
    for record in read_batch(segment.file, stored):
        if record.timestamp >= timestamp_ms and record.offset >= log_start_offset:
            return OffsetAndTimestamp(record.offset, record.timestamp, stored.leader_epoch)
    return None
