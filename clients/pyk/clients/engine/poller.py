"""Wait for events of the descriptors that a loop's selector watches.

The compiled form, ``compiled/poller.pyx``, asks the kernel itself: the selector's own way makes a
list, tuples and two Python calls of each wait.
"""

from __future__ import annotations

import selectors


def note_signals() -> None:
    """Run the handlers of signals that came, which compiled code does not do by itself."""


class Poller:
    """Waits, and keeps the events that came until the next wait."""

    def __init__(self, selector: selectors.BaseSelector) -> None:
        self._selector = selector
        self._events: list[tuple[selectors.SelectorKey, int]] = []

    def wait(self, seconds: float) -> int:
        """Wait for events, at most so long; return how many came.

        The lock of the interpreter is released if ``seconds`` are more than 0. Handlers of signals
        that come meanwhile run, and may end the wait.
        """
        self._events = self._selector.select(seconds)
        return len(self._events)

    def key(self, index: int) -> selectors.SelectorKey | None:
        """Return whose event it is, None if nobody's any more."""
        return self._events[index][0]

    def mask(self, index: int) -> int:
        """Return what happened: ``EVENT_READ``, ``EVENT_WRITE`` or both."""
        return self._events[index][1]
