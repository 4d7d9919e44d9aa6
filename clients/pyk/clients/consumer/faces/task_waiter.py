"""Let the one task that reads wait until there is something for it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Generator
from contextvars import Context
from typing import Any

# What the task awaits; its own callback, and the context to call it in.
WakeUp = Callable[[Any], object]


class TaskWaiter:
    """A flag that one task awaits, and that code on its event loop sets.

    It stays set until :meth:`clear`: a signal handler may set it at any point, even just before the
    task begins to wait.

    To asyncio it is a future: a task knows one by ``_asyncio_future_blocking``, and adds its own
    step as a callback. asyncio's futures can be used once, and call back in the next turn of the
    loop. This one is used again and again, and :meth:`set_now` spares that turn.
    """

    def __init__(self) -> None:
        self._asyncio_future_blocking = False
        self._is_set = False
        self._is_awaited = False
        self._loop: asyncio.AbstractEventLoop | None = None
        self._wake_up: WakeUp | None = None
        self._context: Context | None = None
        self._cancelled: asyncio.CancelledError | None = None

    def set(self) -> None:
        """End the wait soon, or the next one."""
        self._is_set = True
        self._wake_soon()

    def set_now(self) -> None:
        """End the wait, or the next one: the task goes on before this returns.

        It goes on in a turn of its own if this is called by a task.
        """
        self._is_set = True
        wake_up, context = self._wake_up, self._context
        if wake_up is None or context is None:
            return
        if asyncio.current_task() is not None:
            self._wake_soon()
            return
        self._wake_up = self._context = None
        context.run(wake_up, self)

    def set_before(self, function: Callable[[], object]) -> None:
        """Set it now, and call a function once the task has gone on as far as it can at once."""
        try:
            self.set_now()
        finally:  # a task that goes on may end the program
            function()

    def clear(self) -> None:
        """Reset it, so that the next wait blocks again."""
        self._is_set = False

    async def wait(self, deadline: float | None) -> bool:
        """Wait until it is set; return False at the deadline, in seconds of the loop's clock."""
        if deadline is None:
            await self
            return True
        timer = asyncio.get_running_loop().call_at(deadline, self._wake_soon)
        try:
            await self
        finally:
            timer.cancel()
        return self._is_set

    # -- what a coroutine calls --------------------------------------------------------------------

    def __await__(self) -> Generator[Any, None, None]:
        self._is_awaited = False
        return self  # type: ignore[return-value]

    def __iter__(self) -> TaskWaiter:
        return self

    def __next__(self) -> TaskWaiter:
        if self._is_set or self._is_awaited:
            raise StopIteration
        self._is_awaited = self._asyncio_future_blocking = True
        self._loop = asyncio.get_running_loop()
        return self

    # -- what a task calls -------------------------------------------------------------------------

    def get_loop(self) -> asyncio.AbstractEventLoop | None:
        """Return the loop whose tasks may wait."""
        return self._loop

    def add_done_callback(self, wake_up: WakeUp, *, context: Context) -> None:
        """Call the task's next step when it is set."""
        self._wake_up, self._context = wake_up, context

    def cancel(self, msg: object = None) -> bool:
        """End the wait because the task is cancelled; return False if it has ended already."""
        if self._wake_up is None:
            return False
        self._cancelled = asyncio.CancelledError() if msg is None else asyncio.CancelledError(msg)
        self._wake_soon()
        return True

    def result(self) -> None:
        """Raise if the task was cancelled."""
        cancelled, self._cancelled = self._cancelled, None
        if cancelled is not None:
            raise cancelled

    def _wake_soon(self) -> None:
        wake_up, context = self._wake_up, self._context
        if wake_up is not None and self._loop is not None:
            self._wake_up = self._context = None
            self._loop.call_soon(wake_up, self, context=context)
