"""A response that may come later: what a handler returns when it has to wait."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Generic, TypeVar

from pyk.protocol.schema import Message

log = logging.getLogger(__name__)

T = TypeVar("T")
R = TypeVar("R")


class Deferred(Generic[T]):
    """A value that comes later, at most once, or fails because of a bug in pyk.

    Belongs to one event loop and knows nothing of it: listeners are called at once, inside
    :meth:`complete`. What a client can be told by an error code is a value, not a failure.
    """

    __slots__ = ("_error", "_is_abandoned", "_listeners", "_on_abandoned", "_on_failed", "_values")

    def __init__(self) -> None:
        self._values: tuple[T, ...] = ()
        self._error: Exception | None = None
        self._is_abandoned = False
        self._listeners: list[Callable[[T], object]] = []
        self._on_failed: list[Callable[[Exception], object]] = []
        self._on_abandoned: list[Callable[[], object]] = []

    @property
    def is_done(self) -> bool:
        """Return whether the value has come, has failed, or was abandoned."""
        return bool(self._values) or self._error is not None or self._is_abandoned

    def complete(self, value: T) -> bool:
        """Hand the value to all listeners; return False if that was done before.

        A listener that raises does not keep it from the others; the first error is raised then.
        """
        if self.is_done:
            return False
        self._values = (value,)
        raised: Exception | None = None
        for listener in self._take_listeners()[0]:
            try:
                listener(value)
            except Exception as error:
                raised = raised or error
        if raised is not None:
            raise raised
        return True

    def fail(self, error: Exception) -> bool:
        """Tell all that no value will come; return False if that was done before."""
        if self.is_done:
            return False
        self._error = error
        for listener in self._take_listeners()[1]:
            listener(error)
        return True

    def abandon(self) -> None:
        """Give up on the value: the caller is gone. Calls listeners of ``when_abandoned``."""
        if self.is_done:
            return
        self._is_abandoned = True
        for listener in self._take_listeners()[2]:
            listener()

    def _take_listeners(
        self,
    ) -> tuple[
        list[Callable[[T], object]], list[Callable[[Exception], object]], list[Callable[[], object]]
    ]:
        taken = self._listeners, self._on_failed, self._on_abandoned
        self._listeners, self._on_failed, self._on_abandoned = [], [], []
        return taken

    def when_done(
        self, listener: Callable[[T], object], answer: Deferred[Any] | None = None
    ) -> None:
        """Call ``listener`` with the value, now if it is there; never, if it was abandoned.

        ``answer`` is what the listener completes, sooner or later: it fails if the value does, or
        if the listener raises, so that nobody waits for it in vain.
        """
        if answer is not None:
            listener = _guarded(listener, answer)
            self.when_failed(answer.fail)
        if self._values:
            listener(self._values[0])
        elif not self.is_done:
            self._listeners.append(listener)

    def when_failed(self, listener: Callable[[Exception], object]) -> None:
        """Call ``listener`` with the error if the value fails, now if it has."""
        if self._error is not None:
            listener(self._error)
        elif not self.is_done:
            self._on_failed.append(listener)

    def when_abandoned(self, listener: Callable[[], object]) -> None:
        """Call ``listener`` if the value is abandoned before it came."""
        if not self.is_done:
            self._on_abandoned.append(listener)

    def then(self, change: Callable[[T], R]) -> Deferred[R]:
        """Return what ``change`` makes of the value; abandoning that abandons the value.

        It fails if the value does, or if ``change`` raises.
        """
        changed: Deferred[R] = Deferred()

        def take(value: T) -> None:
            try:
                result = change(value)
            except Exception as error:
                _fail(changed, error)
            else:
                changed.complete(result)

        self.when_done(take)
        self.when_failed(changed.fail)
        changed.when_abandoned(self.abandon)
        return changed


def _guarded(listener: Callable[[T], object], answer: Deferred[Any]) -> Callable[[T], None]:
    def call(value: T) -> None:
        try:
            listener(value)
        except Exception as error:
            if answer.is_done:
                raise
            _fail(answer, error)

    return call


def _fail(answer: Deferred[Any], error: Exception) -> None:
    # Logged here, once: perhaps nothing waits for the answer, and nothing else would tell.
    log.error("An answer failed because of a bug in pyk", exc_info=error)
    answer.fail(error)


def gather(deferreds: Sequence[Deferred[Any]]) -> Deferred[list[Any]]:
    """Return the values of all, in their order, once all are there; fail if one of them does."""
    gathered: Deferred[list[Any]] = Deferred()
    values: dict[int, Any] = {}

    def take(index: int, value: Any) -> None:
        values[index] = value
        if len(values) == len(deferreds):
            gathered.complete([values[index] for index in range(len(deferreds))])

    for index, deferred in enumerate(deferreds):
        deferred.when_done(partial(take, index))
        deferred.when_failed(gathered.fail)
    if not deferreds:
        gathered.complete([])
    return gathered


HandlerResult = Message | Deferred[Any] | None
"""What a handler returns: the response, one that comes later, or None where none is expected."""
