"""Let the one task that reads wait until there is something for it."""

from __future__ import annotations

import asyncio


class Bell:
    """One task waits for it, and whatever runs on its event loop may ring it.

    What rang stays rung until :meth:`clear`: the handler of a signal may ring in the middle of
    anything, also before the task that is about to wait does so.
    """

    def __init__(self) -> None:
        self._has_rung = False
        self._waiting: asyncio.Future[bool] | None = None

    def ring(self) -> None:
        """End the wait, or the next one."""
        self._has_rung = True
        waiting = self._waiting
        if waiting is not None and not waiting.done():
            waiting.set_result(True)

    def clear(self) -> None:
        """Let the next wait wait again."""
        self._has_rung = False

    async def rings(self, deadline: float | None) -> bool:
        """Wait until it rings; return False at the deadline, in seconds of the loop's clock."""
        loop = asyncio.get_running_loop()
        self._waiting = loop.create_future()
        timer = None
        try:
            if self._has_rung:
                return True
            if deadline is not None:
                timer = loop.call_at(deadline, _give_up, self._waiting)
            return await self._waiting
        finally:
            self._waiting = None
            if timer is not None:
                timer.cancel()


def _give_up(waiting: asyncio.Future[bool]) -> None:
    if not waiting.done():
        waiting.set_result(False)
