"""From offsets to positions in a segment, sparsely: Kafka's ``.index`` files.

An entry is two int32: the last offset of a batch, relative to the segment's base offset, and the
position where that batch begins. There is one about every ``index.interval.bytes``.
"""

from __future__ import annotations

from pyk.protocol.records.index_layout import OFFSET_INDEX_ENTRY
from pyk.reference_broker.storage.segment_index import SegmentIndex

MAX_RELATIVE_OFFSET = (1 << 31) - 1


class OffsetIndex(SegmentIndex):
    """The offset index of one segment."""

    __slots__ = ()
    entry = OFFSET_INDEX_ENTRY

    def last_entry(self) -> tuple[int, int]:
        """Return the last (offset, position); the segment's beginning when there is none."""
        if self._last is None:
            count = len(self.entries)
            relative, position = self.entries[count - 1] if count else (0, 0)
            self._last = (self._base_offset + relative, position)
        return self._last

    def append(self, offset: int, position: int) -> None:
        """Add an entry; offsets and positions only rise."""
        self.entries.append(offset - self._base_offset, position)
        self._last = (offset, position)

    def position_at_or_before(self, offset: int) -> int:
        """Return the position of a batch from which on to look for ``offset``."""
        last_offset, last_position = self.last_entry()
        if offset >= last_offset:
            return last_position
        index = self._count_up_to(offset) - 1
        return self.entries[index][1] if index >= 0 else 0

    def offset_at_or_after(self, position: int) -> int | None:
        """Return an offset above all that lie before ``position``, None if no entry tells one."""
        index = self.entries.count_up_to(position - 1, field=1)
        return self._base_offset + self.entries[index][0] if index < len(self.entries) else None

    def truncate_to(self, offset: int) -> None:
        """Keep the entries below ``offset``."""
        self._keep(self._count_up_to(offset - 1))

    def is_sound(self, log_size: int) -> bool:
        """Whether the file can be the index of a segment of ``log_size`` bytes."""
        if not self.entries.was_whole:
            return False
        offset, position = self.last_entry()
        return offset >= self._base_offset and 0 <= position <= log_size and self._begins_rising()

    def _begins_rising(self) -> bool:
        """Whether the first and last entry rise: an index Kafka did not trim ends with zeros."""
        count = len(self.entries)
        return count < 2 or self.entries[0] < self.entries[count - 1]

    def _count_up_to(self, offset: int) -> int:
        relative = offset - self._base_offset
        return self.entries.count_up_to(relative, field=0)
