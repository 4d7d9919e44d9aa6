"""Offsets of one partition and how each is acknowledged, as ranges. Pure.

The ranges are canonical: in order, disjoint, and neighbours of the same kind are one. So the same
acknowledgements always make the same request, however they came about.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from pyk.clients.share.acknowledge_type import AcknowledgeType

Run = tuple[int, int, int]
"""First offset, last offset (included), kind."""

GAP = 0
"""Kafka's number for an offset that has no record."""
UNDECIDED = -1
"""The application has the record and has not said what becomes of it."""
EXPIRED = -2
"""The record was not handed out, because its lock was over. No leader hears of it."""
RENEW = int(AcknowledgeType.RENEW)


class Stretch:
    """Consecutive offsets of one kind, which only their :class:`Acknowledgements` changes."""

    def __init__(self, first: int, last: int, kind: int) -> None:
        self.first = first
        self.last = last
        """Included."""
        self.kind = kind


class Acknowledgements:
    """Maps offsets to kinds of acknowledgement; a kind is a number of Kafka's, or UNDECIDED."""

    def __init__(self, runs: Iterable[Run] = ()) -> None:
        self._stretches: list[Stretch] = []
        self._last_decided = 0
        """The index of the stretch that grew last; the next offset is probably next to it."""
        for first, last, kind in runs:
            self.add(first, last, kind)

    def __bool__(self) -> bool:
        return bool(self._stretches)

    def __iter__(self) -> Iterator[Run]:
        return iter([(one.first, one.last, one.kind) for one in self._stretches])

    def __repr__(self) -> str:
        return f"Acknowledgements({list(self)})"

    @property
    def count(self) -> int:
        """How many offsets there are."""
        return sum([one.last - one.first + 1 for one in self._stretches])

    @property
    def has_renewals(self) -> bool:
        return bool(self.of_kind(RENEW))

    def kind_at(self, offset: int) -> int | None:
        """Return the kind of one offset, None if it is not here."""
        index = self._begins_up_to(offset) - 1
        if index < 0:
            return None
        one = self._stretches[index]
        return one.kind if offset <= one.last else None

    def decide(self, offset: int, kind: int) -> int | None:
        """Acknowledge an offset that is here, and return its kind before; None if it is not here.

        Applications do so in the order of offsets: then a stretch grows and the next one shrinks.
        """
        stretches = self._stretches
        near, count = self._last_decided, len(stretches)
        if near + 1 < count:
            grown, shrunk = stretches[near], stretches[near + 1]
            if (
                grown.kind == kind
                and grown.last + 1 == offset == shrunk.first
                and offset < shrunk.last
            ):
                grown.last = offset
                shrunk.first = offset + 1
                return shrunk.kind
        known = self.kind_at(offset)
        if known is not None and known != kind:
            self.add(offset, offset, kind)
            self._last_decided = self._begins_up_to(offset) - 1
        return known

    def add(self, first: int, last: int, kind: int) -> None:
        """Acknowledge offsets so, also those that were acknowledged otherwise before."""
        stretches = self._stretches
        begin = self._begins_up_to(first)
        # From the stretch that ends before, or beyond, the first offset to the one that begins
        # after the last: those neighbours may continue the same kind.
        begin = max(0, begin - 1)
        if begin and stretches[begin].first == first:
            begin -= 1
        end = min(len(stretches), self._begins_up_to(last) + 1)
        changed = stretches[begin:end]
        made: list[Stretch] = []
        for one in changed:
            if one.first < first:
                _join(made, one.first, min(one.last, first - 1), one.kind)
        _join(made, first, last, kind)
        for one in changed:
            if one.last > last:
                _join(made, max(one.first, last + 1), one.last, one.kind)
        stretches[begin:end] = made

    def _begins_up_to(self, offset: int) -> int:
        """Return how many stretches begin at an offset or before."""
        stretches = self._stretches
        low, high = 0, len(stretches)
        while low < high:
            middle = (low + high) // 2
            one = stretches[middle]
            if one.first <= offset:
                low = middle + 1
            else:
                high = middle
        return low

    def add_all(self, others: Iterable[Run]) -> None:
        """Add other acknowledgements, which win."""
        for first, last, kind in others:
            self.add(first, last, kind)

    def take_decided(self) -> Acknowledgements:
        """Remove and return all but what is undecided."""
        decided = Acknowledgements()
        decided._stretches = [one for one in self._stretches if one.kind != UNDECIDED]
        self._stretches = [one for one in self._stretches if one.kind == UNDECIDED]
        return decided

    def of_kind(self, kind: int) -> list[Run]:
        """Return the ranges of one kind."""
        return [run for run in self if run[2] == kind]

    def ranges(self) -> tuple[range, ...]:
        """Return the offsets, whatever their kinds."""
        joined: list[Stretch] = []
        for one in self._stretches:
            _join(joined, one.first, one.last, GAP)
        return tuple([range(one.first, one.last + 1) for one in joined])


def _join(stretches: list[Stretch], first: int, last: int, kind: int) -> None:
    """Append offsets, to the last stretch if they continue it."""
    before = stretches[len(stretches) - 1] if stretches else None
    if before is not None and before.last + 1 == first and before.kind == kind:
        before.last = last
    else:
        stretches.append(Stretch(first, last, kind))
