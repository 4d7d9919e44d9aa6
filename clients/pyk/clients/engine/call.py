"""Work that threads hand to an event loop: coroutines that they wait for, and functions."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Coroutine
from typing import Any, Generic, TypeVar

from pyk.clients.engine.waiter import Waiter

R = TypeVar("R")


class Call(Generic[R]):
    """A coroutine that a thread runs in the loop; it has an outcome only when it has really ended.

    ``begin`` and ``cancel`` are called in the loop, the rest by the thread that waits.
    """

    def __init__(self, coroutine: Coroutine[Any, Any, R], waiter: Waiter) -> None:
        self.waiter = waiter
        # Taken out either by the loop, which begins it, or by the caller, which forgets it.
        self._waiting = deque([coroutine])
        self._task: asyncio.Task[R] | None = None

    def begin(self) -> None:
        """Run the coroutine, unless its caller has gone already."""
        try:
            coroutine = self._waiting.pop()
        except IndexError:
            return
        self._task = asyncio.get_running_loop().create_task(coroutine)
        self._task.add_done_callback(self._end)

    def cancel(self) -> None:
        """Cancel the coroutine, or keep it from beginning."""
        if self._task is not None:
            # After its first step: a coroutine that has not begun has no chance to clean up.
            asyncio.get_running_loop().call_soon(self._task.cancel)
        else:
            self.forget()
            self.waiter.set()

    def forget(self) -> None:
        """Keep the call from beginning; if it has begun, it goes on."""
        try:
            self._waiting.pop().close()
        except IndexError:
            return

    @property
    def ended_by_itself(self) -> bool:
        """Whether there is an outcome, and not because the call was cancelled."""
        return self._task is not None and self._task.done() and not self._task.cancelled()

    def result(self) -> R:
        """Return or raise the outcome; ``CancelledError`` if there is none."""
        if self._task is None or not self._task.done():
            raise asyncio.CancelledError
        return self._task.result()

    def _end(self, task: asyncio.Task[R]) -> None:
        self.waiter.set()


class Visit:
    """A function that is called between two turns of the loop, or in it later."""

    def __init__(self, function: Callable[[], object]) -> None:
        self.has_begun = False
        self.function = function

    def __call__(self) -> None:
        self.has_begun = True
        self.function()
