"""The batches between start and end offset of a share partition, in order of their offsets. Pure.

A batch has one state for all of its records. It is split once a member acknowledges, or acquires,
only some of them: then it has *parts*, each with a state of its own. Neighbours with the same state
are one part, so the work is by what members say, not by how many records they say it of.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from operator import attrgetter, itemgetter

from .delivery import Delivery, RecordState

_FIRST_OFFSET = attrgetter("first_offset")
_FIRST = itemgetter(0)

Part = tuple[int, int, Delivery]
"""First and last offset of records that share a state, and that state."""


class InFlightBatch:
    """Consecutive offsets that were acquired together, or read from the stored state."""

    __slots__ = ("_parts", "first_offset", "is_split", "last_offset")

    def __init__(self, first_offset: int, last_offset: int, delivery: Delivery) -> None:
        self.first_offset = first_offset
        self.last_offset = last_offset
        self.is_split = False
        self._parts: list[Part] = [(first_offset, last_offset, delivery)]

    def __repr__(self) -> str:
        return f"InFlightBatch({self._parts})"

    @property
    def size(self) -> int:
        return self.last_offset - self.first_offset + 1

    @property
    def delivery(self) -> Delivery:
        """The state of the whole batch, which is not split."""
        assert not self.is_split
        return self._parts[0][2]

    def split(self) -> None:
        """Let its records have different states from now on."""
        self.is_split = True

    def parts(self, first_offset: int | None = None, last_offset: int | None = None) -> list[Part]:
        """Return what shares a state, of the offsets from ``first_offset`` to ``last_offset``.

        A batch that is not split is one part, however many of its offsets are meant.
        """
        if not self.is_split or (first_offset is None and last_offset is None):
            return self._parts.copy()
        first = self.first_offset if first_offset is None else first_offset
        last = self.last_offset if last_offset is None else last_offset
        begin, end = max(0, self._after(first) - 1), self._after(last)
        return [
            (max(first, part[0]), min(last, part[1]), part[2])
            for part in self._parts[begin:end]
            if part[1] >= first
        ]

    def cut(self, first_offset: int, last_offset: int) -> list[Part]:
        """Return the parts of these offsets alone, so that their states may change.

        A batch that is not split is one part, and changes as a whole.
        """
        if not self.is_split:
            return self._parts.copy()
        if first_offset > last_offset:
            return []
        self._cut_before(first_offset)
        self._cut_before(last_offset + 1)
        return self._parts[self._after(first_offset - 1) : self._after(last_offset)]

    def join(self, first_offset: int, last_offset: int) -> None:
        """Make one part of neighbours with the same state, in and around these offsets."""
        begin = max(0, self._after(first_offset - 1) - 1)
        end = min(len(self._parts), self._after(last_offset) + 1)
        joined: list[Part] = []
        for part in self._parts[begin:end]:
            if joined and joined[-1][2].is_same_as(part[2]):
                joined[-1] = (joined[-1][0], part[1], part[2])
            else:
                joined.append(part)
        self._parts[begin:end] = joined

    def forget_before(self, offset: int) -> None:
        """Make one part of all that end before ``offset`` and are done, in whatever way."""
        end = 0
        while end < len(self._parts) and self._parts[end][1] < offset:
            if not self._parts[end][2].is_done:
                return
            end += 1
        if end > 1:
            self._parts[:end] = [(self.first_offset, self._parts[end - 1][1], self._parts[0][2])]

    def _cut_before(self, offset: int) -> None:
        index = self._after(offset - 1) - 1
        if index < 0:
            return
        first, last, delivery = self._parts[index]
        if last >= offset:
            ends = [(first, offset - 1, delivery), (offset, last, delivery.copy())]
            self._parts[index : index + 1] = ends

    def _after(self, offset: int) -> int:
        """Return how many parts begin at ``offset`` or before."""
        return bisect_right(self._parts, offset, key=_FIRST)

    def lies_within(self, first_offset: int, last_offset: int) -> bool:
        return first_offset <= self.first_offset and self.last_offset <= last_offset

    def straddles(self, offset: int) -> bool:
        """Return whether it has offsets before ``offset``, and others from there on."""
        return self.first_offset < offset <= self.last_offset


class InFlightBatches:
    """All batches of a share partition; no two have an offset in common."""

    def __init__(self, batches: Iterable[InFlightBatch] = ()) -> None:
        self._batches = sorted(batches, key=_FIRST_OFFSET)

    def __len__(self) -> int:
        return len(self._batches)

    def __iter__(self) -> Iterator[InFlightBatch]:
        return iter(self._batches)

    @property
    def first(self) -> InFlightBatch:
        return self._batches[0]

    @property
    def last(self) -> InFlightBatch:
        return self._batches[-1]

    def floor(self, offset: int) -> InFlightBatch | None:
        """Return the last batch that begins at or before ``offset``."""
        index = self._after(offset)
        return self._batches[index - 1] if index else None

    def beginning_in(self, first_offset: int, last_offset: int) -> list[InFlightBatch]:
        """Return the batches whose first offset is one of these."""
        return self._batches[self._after(first_offset - 1) : self._after(last_offset)]

    def overlapping(self, first_offset: int, last_offset: int) -> list[InFlightBatch]:
        """Return the batches that have some of these offsets."""
        floor = self.floor(first_offset)
        if floor is not None and floor.last_offset >= first_offset:
            first_offset = floor.first_offset
        return self.beginning_in(first_offset, last_offset)

    def add(self, batch: InFlightBatch) -> None:
        self._batches.insert(self._after(batch.first_offset), batch)

    def forget_before(self, offset: int) -> None:
        """Forget the batches that end before ``offset``."""
        kept = 0
        while kept < len(self._batches) and self._batches[kept].last_offset < offset:
            kept += 1
        del self._batches[:kept]
        if self._batches:
            self._batches[0].forget_before(offset)

    def parts(self) -> Iterator[Part]:
        """Yield everything that shares a state, in order."""
        for batch in self._batches:
            yield from batch.parts()

    def count_final(self, start_offset: int) -> int:
        """Return how many records from ``start_offset`` on are acknowledged or archived."""
        return sum(
            last - max(first, start_offset) + 1
            for first, last, delivery in self.parts()
            if last >= start_offset and delivery.state.is_final
        )

    def locks(self) -> Iterator[float]:
        """Yield when each lock is over."""
        for _, _, delivery in self.parts():
            if delivery.locked_until is not None and (
                delivery.state is RecordState.ACQUIRED or delivery.is_pending
            ):
                yield delivery.locked_until

    def _after(self, offset: int) -> int:
        return bisect_right(self._batches, offset, key=_FIRST_OFFSET)
