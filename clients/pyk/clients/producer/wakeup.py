"""An alarm clock for one task."""

from __future__ import annotations

import asyncio

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
