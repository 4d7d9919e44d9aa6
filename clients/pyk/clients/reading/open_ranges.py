"""The ranges that a bounded read has not finished yet. Pure.

A range ends when the *position* reaches its end, not when a record does: the last offsets of a
range may be a control batch, an aborted record, or removed by compaction, and no record comes for
them.
"""

from __future__ import annotations

from collections.abc import Mapping

from pyk.clients.topic_partition import TopicPartition


class OpenRanges:
    """The end of each range that is not finished, and the position in it."""

    def __init__(self, ranges: Mapping[TopicPartition, tuple[int, int]]) -> None:
        """Open the ranges (from, to); the ends are exclusive."""
        self.starts = {partition: start for partition, (start, _) in ranges.items()}
        self.ends = {partition: end for partition, (_, end) in ranges.items()}
        self.positions = dict(self.starts)

    def __bool__(self) -> bool:
        return bool(self.ends)

    def has_begun(self, partition: TopicPartition) -> bool:
        """Return whether the position has left the start of the range."""
        return self.positions[partition] > self.starts[partition]

    def advance(self, positions: Mapping[TopicPartition, int]) -> bool:
        """Take over the positions of open ranges; return whether any of them moved."""
        moved = {
            partition: position
            for partition, position in positions.items()
            if partition in self.ends and position > self.positions[partition]
        }
        self.positions.update(moved)
        return bool(moved)

    def skip(self, partition: TopicPartition, offset: int) -> None:
        """Begin a range that has not begun at a later offset."""
        self.starts[partition] = self.positions[partition] = offset

    def finish(self) -> list[TopicPartition]:
        """Close the ranges whose end is reached, and return them."""
        done = [one for one, end in self.ends.items() if self.positions[one] >= end]
        for partition in done:
            del self.ends[partition]
        return done
