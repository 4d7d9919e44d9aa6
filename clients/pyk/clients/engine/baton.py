"""Who drives the event loop of a blocking client: a caller that waits, or the background thread.

Pure: the driver is :mod:`pyk.clients.engine.thread`, which asks here under its lock.

                 a caller waits, and no other does
         ┌──────────────────────────────────────────────┐
         │                                              ▼
    BACKGROUND ◄─────────── NOBODY ◄─────────────── CALLER
         nobody came back      │  the caller leaves     ▲
         within the grace;     └────────────────────────┘
         work is left; others wait     a caller waits

A loop of ``send_and_wait`` or ``poll`` leaves and comes back at once. So the background thread does
not take the loop over when a caller leaves, but naps and looks again: as long as callers come and
go, no thread wakes another one. While one caller drives for longer than a nap, the background
thread sleeps until it is told that the caller left.
"""

from __future__ import annotations

from enum import Enum

import attrs

NEVER = float("-inf")


class Driver(Enum):
    """Who runs the loop, or waits in its ``select``."""

    NOBODY = "nobody, for a moment"
    BACKGROUND = "the background thread"
    CALLER = "a caller that waits"


@attrs.define
class Baton:
    """The state; ``now`` is in seconds of the loop's clock, as is ``grace``."""

    grace: float
    driver: Driver = Driver.NOBODY
    is_urgent: bool = False
    """Whether the background thread must take over without waiting for the grace to end."""
    is_ending: bool = False
    _left_at: float = NEVER
    _drives: int = 0
    _drives_seen: int = -1
    _must_tell: bool = False

    def caller_comes(self) -> bool:
        """Let a caller drive, unless another one does or the loop is about to end."""
        if self.driver is Driver.CALLER or self.is_ending:
            return False
        self.driver = Driver.CALLER
        self._drives += 1
        return True

    def caller_leaves(self, now: float) -> bool:
        """Return whether to wake the background thread."""
        self.driver = Driver.NOBODY
        self._left_at = now
        must_tell, self._must_tell = self._must_tell, False
        return must_tell or self.is_ending

    def is_needed(self) -> bool:
        """Take note of work that cannot wait; return whether to wake the background thread."""
        if self.driver is not Driver.NOBODY:
            return False
        self.is_urgent = True
        return True

    def background_looks(self, now: float) -> float | None:
        """Return for how many seconds the background thread naps, 0 if it drives from now on.

        None: until it is woken.
        """
        if self.driver is Driver.CALLER:
            if self._drives == self._drives_seen:
                self._must_tell = True
                return None
            self._drives_seen = self._drives
            return self.grace
        if self.driver is Driver.BACKGROUND:
            return 0.0
        nap = self._left_at + self.grace - now
        if nap > 0 and not self.is_urgent and not self.is_ending:
            return nap
        self.driver = Driver.BACKGROUND
        self.is_urgent = False
        return 0.0

    def end(self) -> None:
        """Let no caller drive any more."""
        self.is_ending = True
