"""A function that is called in a turn of the event loop: soon, or at a time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

NEVER = float("inf")


class ScheduledTurn:
    """Calls a function on the event loop, soon after a request or at a given time.

    Several requests lead to one call. Nothing is called before :meth:`start` or after :meth:`stop`;
    requests before the start are kept.
    """

    def __init__(self, function: Callable[[], object]) -> None:
        self._function = function
        self._is_requested = False
        self._loop: asyncio.AbstractEventLoop | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._due_at = NEVER
        """When the timer fires."""

    def is_started(self) -> bool:
        """Return whether it was started, and not stopped since."""
        return self._loop is not None

    def start(self) -> None:
        """Begin, on the running loop."""
        self._loop = asyncio.get_running_loop()
        if self._is_requested:
            self._loop.call_soon(self._run)

    def stop(self) -> None:
        """Call nothing any more."""
        self._loop = None
        if self._timer is not None:
            self._timer.cancel()

    def request(self) -> None:
        """Call the function soon. On the loop only."""
        if not self._is_requested:
            self._is_requested = True
            if self._loop is not None:
                self._loop.call_soon(self._run)

    def request_at(self, when: float) -> None:
        """Call the function at the loop's time ``when`` at the latest.

        An earlier call stays scheduled: a useless call now and then costs less than a new timer
        each time.
        """
        if self._loop is None or self._due_at <= when:
            return
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self._loop.call_at(when, self._run_at_time)
        self._due_at = when

    def _run_at_time(self) -> None:
        self._timer = None
        self._due_at = NEVER
        self._function()

    def _run(self) -> None:
        self._is_requested = False
        if self._loop is not None:
            self._function()
