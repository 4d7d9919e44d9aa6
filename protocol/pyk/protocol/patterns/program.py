"""Match a text against a regular expression in linear time: Thompson's construction. Pure.

A program is a graph. The matcher goes through the text once, with the set of all places in the
graph that are possible at each character. So the time for a text is at most its length times the
size of the program, whatever the expression is; the size is limited while the program is built.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pyk.runtime import slotted

MAX_STEPS = 500
"""How large a program may be."""

MAX_REMEMBERED = 100_000
"""How many places are remembered, in moves from some to others: names of topics are much alike, so
most moves have been made before."""

Accepts = Callable[[str], bool]
"""Returns whether a character is one of a class."""
Holds = Callable[[str, str], bool]
"""Returns whether an anchor holds between two characters, either empty at an end of the text."""
Places = frozenset[int]
END = 0
"""The place at which the whole expression has matched."""


class PatternTooLargeError(Exception):
    """The expression needs a larger program than is allowed."""


@slotted.frozen
class _Consume:
    accepts: Accepts
    following: int


@slotted.frozen
class _Require:
    holds: Holds
    following: int


@slotted.define
class _Fork:
    ways: list[int]


class Program:
    """The graph, which is built from its end to its begin."""

    def __init__(self) -> None:
        self.begin = END
        self._nodes: list[_Consume | _Require | _Fork] = [_Fork([])]
        self._steps = 0
        self._moves: dict[tuple[Places, str, str], Places] = {}
        self._remembered = 0

    def count_step(self) -> None:
        """Count a part of the expression, repetitions included; raise if there are too many."""
        self._steps += 1
        if self._steps > MAX_STEPS:
            raise PatternTooLargeError

    def consume(self, accepts: Accepts, following: int) -> int:
        """Return a place that takes one character."""
        return self._add(_Consume(accepts, following))

    def require(self, holds: Holds, following: int) -> int:
        """Return a place that an anchor guards."""
        return self._add(_Require(holds, following))

    def fork(self, ways: Sequence[int]) -> int:
        """Return a place from which all of these are possible."""
        return self._add(_Fork(list(ways)))

    def add_way(self, fork: int, way: int) -> None:
        """Add a way to a fork: loops are closed by it."""
        node = self._nodes[fork]
        assert isinstance(node, _Fork)
        node.ways.append(way)

    def _add(self, node: _Consume | _Require | _Fork) -> int:
        self._nodes.append(node)
        return len(self._nodes) - 1

    def matches(self, text: str) -> bool:
        """Return whether the whole text matches."""
        places, before = frozenset((self.begin,)), ""
        for character in text:
            places = self._moved(places, before, character)
            if not places:
                return False
            before = character
        return END in self._reachable(places, before, "")

    def _moved(self, places: Places, before: str, character: str) -> Places:
        """Return the places after one more character, which are remembered."""
        move = places, before, character
        found = self._moves.get(move)
        if found is None:
            found = frozenset(self._after(places, before, character))
            self._remembered += 1 + len(places) + len(found)
            if self._remembered > MAX_REMEMBERED:
                self._moves.clear()
                self._remembered = 0
            self._moves[move] = found
        return found

    def _after(self, places: Places, before: str, character: str) -> set[int]:
        """Return the places that are possible after one more character."""
        found: set[int] = set()
        is_accepted: dict[Accepts, bool] = {}  # a repeated class is looked at once
        for place in self._reachable(places, before, character):
            node = self._nodes[place]
            if isinstance(node, _Consume):
                if node.accepts not in is_accepted:
                    is_accepted[node.accepts] = node.accepts(character)
                if is_accepted[node.accepts]:
                    found.add(node.following)
        return found

    def _reachable(self, places: Places, before: str, after: str) -> set[int]:
        """Return the places that can be reached without taking a character."""
        found, waiting = set(places), list(places)
        while waiting:
            node = self._nodes[waiting.pop()]
            ways: Sequence[int] = ()
            if isinstance(node, _Fork):
                ways = node.ways
            elif isinstance(node, _Require) and node.holds(before, after):
                ways = (node.following,)
            for way in ways:
                if way not in found:
                    found.add(way)
                    waiting.append(way)
        return found
