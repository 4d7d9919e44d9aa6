"""A reply that may come later: what a handler returns when it has to wait."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class Deferred(Generic[T]):
    """A value to come, at most once.

    Belongs to one event loop and knows nothing of it: listeners are called at once, by whoever
    completes the value.
    """

    __slots__ = ("_is_done", "_listeners", "_on_abandoned", "_value")

    def __init__(self) -> None:
        self._is_done = False
        self._value: T | None = None
        self._listeners: list[Callable[[T], None]] = []
        self._on_abandoned: list[Callable[[], None]] = []

    @property
    def is_done(self) -> bool:
        """Return whether the value is there, or will never be wanted."""
        return self._is_done

    def complete(self, value: T) -> bool:
        """Hand the value to all listeners; return False if that happened before."""
        if self._is_done:
            return False
        self._is_done = True
        self._value = value
        listeners, self._listeners, self._on_abandoned = self._listeners, [], []
        for listener in listeners:
            listener(value)
        return True

    def abandon(self) -> None:
        """Give up on the value: whoever asked is gone. What waits on its behalf is told."""
        if self._is_done:
            return
        self._is_done = True
        on_abandoned, self._listeners, self._on_abandoned = self._on_abandoned, [], []
        for listener in on_abandoned:
            listener()

    def when_done(self, listener: Callable[[T], None]) -> None:
        """Call ``listener`` with the value, now if it is there; never, if it was abandoned."""
        if not self._is_done:
            self._listeners.append(listener)
        elif self._value is not None:
            listener(self._value)

    def when_abandoned(self, listener: Callable[[], None]) -> None:
        """Call ``listener`` if the value is given up before it came."""
        if not self._is_done:
            self._on_abandoned.append(listener)
