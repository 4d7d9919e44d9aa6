"""Wakes a :class:`~.timers.TimerQueue` when its next deadline comes."""

from __future__ import annotations

import asyncio

from pyk.runtime.clock import Clock

from .timers import TimerQueue


class TimerDriver:
    """A timer queue that the event loop drives."""

    def __init__(self, clock: Clock) -> None:
        self.queue = TimerQueue(self._arm)
        self._clock = clock
        self._handle: asyncio.TimerHandle | None = None
        self._is_closed = False

    def close(self) -> None:
        """Run nothing any more, whatever is still scheduled."""
        self._is_closed = True
        if self._handle is not None:
            self._handle.cancel()

    def _arm(self, deadline: float) -> None:
        if self._handle is not None:
            self._handle.cancel()
        if self._is_closed:
            return
        self._handle = asyncio.get_running_loop().call_at(deadline, self._advance)

    def _advance(self) -> None:
        self._handle = None
        self.queue.advance(self._clock.now())
