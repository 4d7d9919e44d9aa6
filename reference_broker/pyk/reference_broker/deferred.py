"""A response that may come later: what a handler returns when it has to wait."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Generic, TypeVar

from pyk.protocol.schema import Message

T = TypeVar("T")
R = TypeVar("R")


class Deferred(Generic[T]):
    """A value that comes later, at most once.

    Belongs to one event loop and knows nothing of it: listeners are called at once, inside
    :meth:`complete`.
    """

    __slots__ = ("_is_abandoned", "_listeners", "_on_abandoned", "_values")

    def __init__(self) -> None:
        self._values: tuple[T, ...] = ()
        self._is_abandoned = False
        self._listeners: list[Callable[[T], object]] = []
        self._on_abandoned: list[Callable[[], object]] = []

    @property
    def is_done(self) -> bool:
        """Return whether the value has come, or was abandoned."""
        return bool(self._values) or self._is_abandoned

    def complete(self, value: T) -> bool:
        """Hand the value to all listeners; return False if that was done before."""
        if self.is_done:
            return False
        self._values = (value,)
        listeners, self._listeners, self._on_abandoned = self._listeners, [], []
        for listener in listeners:
            listener(value)
        return True

    def abandon(self) -> None:
        """Give up on the value: the caller is gone. Calls listeners of ``when_abandoned``."""
        if self.is_done:
            return
        self._is_abandoned = True
        on_abandoned, self._listeners, self._on_abandoned = self._on_abandoned, [], []
        for listener in on_abandoned:
            listener()

    def when_done(self, listener: Callable[[T], object]) -> None:
        """Call ``listener`` with the value, now if it is there; never, if it was abandoned."""
        if self._values:
            listener(self._values[0])
        elif not self._is_abandoned:
            self._listeners.append(listener)

    def when_abandoned(self, listener: Callable[[], object]) -> None:
        """Call ``listener`` if the value is abandoned before it came."""
        if not self.is_done:
            self._on_abandoned.append(listener)

    def then(self, change: Callable[[T], R]) -> Deferred[R]:
        """Return what ``change`` makes of the value; abandoning that abandons the value."""
        changed: Deferred[R] = Deferred()
        self.when_done(lambda value: changed.complete(change(value)))
        changed.when_abandoned(self.abandon)
        return changed


def gather(deferreds: Sequence[Deferred[Any]]) -> Deferred[list[Any]]:
    """Return the values of all, in their order, once all are there."""
    gathered: Deferred[list[Any]] = Deferred()
    values: dict[int, Any] = {}

    def take(index: int, value: Any) -> None:
        values[index] = value
        if len(values) == len(deferreds):
            gathered.complete([values[index] for index in range(len(deferreds))])

    for index, deferred in enumerate(deferreds):
        deferred.when_done(partial(take, index))
    if not deferreds:
        gathered.complete([])
    return gathered


HandlerResult = Message | Deferred[Any] | None
"""What a handler returns: the response, one that comes later, or None where none is expected."""
