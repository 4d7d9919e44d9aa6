"""Offsets of one partition and how each is acknowledged, as ranges. Pure.

The ranges are canonical: in order, disjoint, and neighbours of the same kind are one. So the same
acknowledgements always make the same request, however they came about.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from operator import itemgetter

from pyk.clients.share.acknowledge_type import AcknowledgeType

Run = tuple[int, int, int]
"""First offset, last offset (included), kind."""

GAP = 0
"""Kafka's number for an offset that has no record."""
UNDECIDED = -1
"""The application has the record and has not said what becomes of it."""
RENEW = int(AcknowledgeType.RENEW)

_FIRST = itemgetter(0)


class Acknowledgements:
    """Maps offsets to kinds of acknowledgement; a kind is a number of Kafka's, or UNDECIDED."""

    __slots__ = ("_runs",)

    def __init__(self, runs: Iterable[Run] = ()) -> None:
        self._runs: list[Run] = []
        for first, last, kind in runs:
            self.add(first, last, kind)

    def __bool__(self) -> bool:
        return bool(self._runs)

    def __iter__(self) -> Iterator[Run]:
        return iter(self._runs)

    def __repr__(self) -> str:
        return f"Acknowledgements({self._runs})"

    @property
    def count(self) -> int:
        """How many offsets there are."""
        return sum(last - first + 1 for first, last, _ in self._runs)

    @property
    def has_renewals(self) -> bool:
        return any(kind == RENEW for _, _, kind in self._runs)

    def kind_at(self, offset: int) -> int | None:
        """Return the kind of one offset, None if it is not here."""
        index = bisect_right(self._runs, offset, key=_FIRST) - 1
        if index < 0:
            return None
        _, last, kind = self._runs[index]
        return kind if offset <= last else None

    def decide(self, offset: int, kind: int) -> int | None:
        """Acknowledge an offset that is here, and return its kind before; None if it is not here.

        Applications do so in the order of offsets: then a range grows and the next one shrinks.
        """
        runs = self._runs
        index = bisect_right(runs, offset, key=_FIRST) - 1
        if index < 0 or runs[index][1] < offset:
            return None
        first, last, known = runs[index]
        if known == kind:
            return known
        before = runs[index - 1] if index else None
        if first == offset < last and before is not None and before[1:] == (offset - 1, kind):
            runs[index - 1] = (before[0], offset, kind)
            runs[index] = (offset + 1, last, known)
        else:
            self.add(offset, offset, kind)
        return known

    def add(self, first: int, last: int, kind: int) -> None:
        """Acknowledge offsets so, also those that were acknowledged otherwise before."""
        runs = self._runs
        if not runs or first > runs[-1][1]:
            self._append(first, last, kind)
            return
        begin = bisect_right(runs, first - 1, key=_FIRST)
        if begin and runs[begin - 1][1] >= first:
            begin -= 1
        end = bisect_right(runs, last, key=_FIRST)
        replaced = runs[begin:end]
        middle = [(first, last, kind)]
        if replaced and replaced[0][0] < first:
            middle.insert(0, (replaced[0][0], first - 1, replaced[0][2]))
        if replaced and replaced[-1][1] > last:
            middle.append((last + 1, replaced[-1][1], replaced[-1][2]))
        # One neighbour on each side may now continue the same kind.
        begin, end = max(0, begin - 1), min(len(runs), end + 1)
        kept_before = [run for run in runs[begin:end] if run[1] < middle[0][0]]
        kept_after = [run for run in runs[begin:end] if run[0] > middle[-1][1]]
        runs[begin:end] = _joined([*kept_before, *middle, *kept_after])

    def _append(self, first: int, last: int, kind: int) -> None:
        runs = self._runs
        if runs and runs[-1][1] + 1 == first and runs[-1][2] == kind:
            runs[-1] = (runs[-1][0], last, kind)
        else:
            runs.append((first, last, kind))

    def add_all(self, others: Iterable[Run]) -> None:
        """Add other acknowledgements, which win."""
        for first, last, kind in others:
            self.add(first, last, kind)

    def take_decided(self) -> Acknowledgements:
        """Remove and return all but what is undecided."""
        decided = Acknowledgements(run for run in self._runs if run[2] != UNDECIDED)
        self._runs = [run for run in self._runs if run[2] == UNDECIDED]
        return decided

    def of_kind(self, kind: int) -> list[Run]:
        """Return the ranges of one kind."""
        return [run for run in self._runs if run[2] == kind]

    def ranges(self) -> tuple[range, ...]:
        """Return the offsets, whatever their kinds."""
        return tuple(
            range(first, last + 1)
            for first, last, _ in _joined((first, last, GAP) for first, last, _ in self._runs)
        )


def _joined(runs: Iterable[Run]) -> list[Run]:
    joined: list[Run] = []
    for first, last, kind in runs:
        if joined and joined[-1][1] + 1 == first and joined[-1][2] == kind:
            joined[-1] = (joined[-1][0], last, kind)
        else:
            joined.append((first, last, kind))
    return joined
