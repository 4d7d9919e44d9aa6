"""The segments of a log, in the order of their base offsets."""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Iterator
from operator import attrgetter

from pyk.reference_broker.storage.segment import LogSegment

_base_offset = attrgetter("base_offset")


class LogSegments:
    """Segments by base offset. The last is the active one, the only one that is appended to."""

    def __init__(self) -> None:
        self._segments: list[LogSegment] = []

    def __len__(self) -> int:
        return len(self._segments)

    def __iter__(self) -> Iterator[LogSegment]:
        return iter(tuple(self._segments))

    @property
    def first(self) -> LogSegment:
        return self._segments[0]

    @property
    def active(self) -> LogSegment:
        return self._segments[-1]

    @property
    def size(self) -> int:
        """The bytes of all ``.log`` files."""
        return sum(segment.size for segment in self._segments)

    def add(self, segment: LogSegment) -> None:
        insort(self._segments, segment, key=_base_offset)

    def remove(self, segment: LogSegment) -> None:
        self._segments.remove(segment)

    def from_offset(self, offset: int) -> list[LogSegment]:
        """Return the segment that may hold ``offset``, and all behind it."""
        index = bisect_right(self._segments, offset, key=_base_offset) - 1
        return self._segments[max(index, 0) :]

    def above(self, offset: int) -> list[LogSegment]:
        """Return the segments that begin behind ``offset``."""
        return self._segments[bisect_right(self._segments, offset, key=_base_offset) :]
