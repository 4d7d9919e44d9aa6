"""Alarm clocks: one for a task that waits, one for a function that is called."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

NEVER = float("inf")


class Wakeup:
    """Wakes one waiting task when it is set, or at a time; a set before the wait is not lost."""

    def __init__(self) -> None:
        self._is_set = False
        self._waiter: asyncio.Future[None] | None = None

    def set(self) -> None:
        """Wake the task, or let its next wait return at once. On the loop only."""
        self._is_set = True
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    async def wait_until(self, when: float) -> None:
        """Return once set, at the loop's time ``when`` at the latest."""
        if not self._is_set:
            loop = asyncio.get_running_loop()
            self._waiter = loop.create_future()
            timer = loop.call_at(when, self.set) if when < NEVER else None
            try:
                await self._waiter
            finally:
                self._waiter = None
                if timer is not None:
                    timer.cancel()
        self._is_set = False


class Alarm:
    """Calls a function on the event loop, soon after it is set, or at a time.

    However often it is set until then, the function is called once. Nothing is called before
    :meth:`start` or after :meth:`stop`; what was set before the start is not lost.
    """

    def __init__(self, function: Callable[[], object]) -> None:
        self._function = function
        self._is_set = False
        self._loop: asyncio.AbstractEventLoop | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._due_at = NEVER
        """When the timer ends."""

    def is_started(self) -> bool:
        """Return whether it was started, and not stopped since."""
        return self._loop is not None

    def start(self) -> None:
        """Begin, on the running loop."""
        self._loop = asyncio.get_running_loop()
        if self._is_set:
            self._loop.call_soon(self._ring)

    def stop(self) -> None:
        """Call nothing any more."""
        self._loop = None
        if self._timer is not None:
            self._timer.cancel()

    def set(self) -> None:
        """Have the function called soon. On the loop only."""
        if not self._is_set:
            self._is_set = True
            if self._loop is not None:
                self._loop.call_soon(self._ring)

    def set_at(self, when: float) -> None:
        """Have the function called at the loop's time ``when`` at the latest.

        A call that is due earlier stays: it costs less to be called in vain now and then than to
        set a new timer each time.
        """
        if self._loop is None or self._due_at <= when:
            return
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self._loop.call_at(when, self._ring_in_time)
        self._due_at = when

    def _ring_in_time(self) -> None:
        self._timer = None
        self._due_at = NEVER
        self._function()

    def _ring(self) -> None:
        self._is_set = False
        if self._loop is not None:
            self._function()
