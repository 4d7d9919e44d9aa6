"""From timestamps to offsets in a segment, sparsely: Kafka's ``.timeindex`` files.

An entry is an int64 timestamp and an int32 relative offset: up to that offset no record is newer.
Both rise. When the segment is finished, the last entry holds its largest timestamp.
"""

from __future__ import annotations

from pyk.protocol.records.index_layout import TIME_INDEX_ENTRY
from pyk.reference_broker.storage.segment_index import SegmentIndex

NO_TIMESTAMP = -1


class TimeIndex(SegmentIndex):
    """The time index of one segment."""

    __slots__ = ()
    entry = TIME_INDEX_ENTRY

    def last_entry(self) -> tuple[int, int]:
        """Return the last (timestamp, offset); (-1, base offset) when there is none."""
        if self._last is None:
            count = len(self.entries)
            timestamp, relative = self.entries[count - 1] if count else (NO_TIMESTAMP, 0)
            self._last = (timestamp, self._base_offset + relative)
        return self._last

    def append_if_newer(self, timestamp: int, offset: int) -> None:
        """Add an entry, unless the last one is as new."""
        if timestamp > self.last_entry()[0]:
            self.entries.append(timestamp, offset - self._base_offset)
            self._last = (timestamp, offset)

    def offset_before(self, timestamp: int) -> int:
        """Return an offset from which on to look for the first record of at least ``timestamp``."""
        entries = self.entries
        count = entries.count_up_to(timestamp - 1, field=0)
        return self._base_offset + (entries[count - 1][1] if count else 0)

    def truncate_to(self, offset: int) -> None:
        """Keep the entries below ``offset``."""
        relative = offset - 1 - self._base_offset
        self._keep(self.entries.count_up_to(relative, field=1))

    def is_sound(self) -> bool:
        """Whether the file can be a time index of this segment."""
        if not self.entries.was_whole:
            return False
        timestamp, offset = self.last_entry()
        if len(self.entries) < 2:
            return offset >= self._base_offset
        first_timestamp, first_offset = self.entries[0]
        relative = offset - self._base_offset
        return bool(timestamp >= first_timestamp and relative >= first_offset >= 0)
