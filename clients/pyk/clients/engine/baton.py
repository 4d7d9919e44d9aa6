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
go, no thread wakes another one. Each nap in which they came often is followed by one twice as
long: a thread that wakes takes the interpreter's lock from the caller, and looks in vain.

A long nap must not delay much. It ends before the next timer, and whoever leaves work that no
caller waits for ends it (:meth:`Baton.leaves_work`). The answer to a request that was sent before
may come at its beginning, and waits for its end if no caller comes back: so naps have a limit.
While one caller drives for longer than a nap, the background thread sleeps until it is told that
the caller left.
"""

from __future__ import annotations

from enum import Enum

NEVER = float("-inf")
LONGEST_NAP_SECONDS = 0.032


class Driver(Enum):
    """Who runs the loop, or waits in its ``select``."""

    NOBODY = "nobody, for a moment"
    BACKGROUND = "the background thread"
    CALLER = "a caller that waits"


NOBODY, BACKGROUND, CALLER = Driver


class Baton:
    """The state; ``now`` is in seconds of the loop's clock, as is ``grace``.

    ``is_urgent`` says whether the background thread must take over without waiting for the grace to
    end, ``is_ending`` whether no caller may drive any more.
    """

    def __init__(self, grace: float) -> None:
        self.grace = grace
        self.driver = NOBODY
        self.is_urgent = False
        self.is_ending = False
        self._left_at = NEVER
        self._drives = 0
        self._drives_seen = -1
        self._nap = grace
        self._must_tell = False

    @property
    def is_with_background(self) -> bool:
        return self.driver is BACKGROUND

    def caller_comes(self) -> bool:
        """Let a caller drive, unless another one does or the loop is about to end."""
        if self.driver is CALLER or self.is_ending:
            return False
        self.driver = CALLER
        self._drives += 1
        return True

    def caller_leaves(self, now: float) -> bool:
        """Return whether to wake the background thread."""
        self.driver = NOBODY
        self._left_at = now
        must_tell, self._must_tell = self._must_tell, False
        return must_tell or self.is_ending

    def is_needed(self) -> bool:
        """Take note of work that cannot wait; return whether to wake the background thread."""
        if self.driver is not NOBODY:
            return False
        self.is_urgent = True
        return True

    def leaves_work(self) -> bool:
        """Take note of work that can wait for the grace to end, but no longer.

        Returns whether to wake the background thread, which may be in a longer nap.
        """
        if self.driver is not NOBODY or self._nap <= self.grace:
            return False
        self._nap = self.grace
        return True

    def background_looks(self, now: float, next_timer: float) -> float | None:
        """Return for how many seconds the background thread naps, 0 if it drives from now on.

        None: until it is woken. ``next_timer`` is when the loop has something to do.
        """
        drives, self._drives_seen = self._drives - self._drives_seen, self._drives
        if self.driver is BACKGROUND:
            return 0.0
        if self.driver is CALLER:
            if not drives:
                self._must_tell = True
                self._nap = self.grace
                return None
            return self._next_nap(drives, now, next_timer)
        left = self._left_at + self.grace - now
        if left <= 0 or self.is_urgent or self.is_ending:
            self.driver = BACKGROUND
            self.is_urgent = False
            self._nap = self.grace
            return 0.0
        nap = self._next_nap(drives, now, next_timer)
        return nap if nap > self.grace else left

    def end(self) -> None:
        """Let no caller drive any more."""
        self.is_ending = True

    def _next_nap(self, drives: int, now: float, next_timer: float) -> float:
        """Return twice the last nap if callers came more than twice in a grace."""
        came_often = drives * self.grace > 2 * self._nap
        nap = min(2 * self._nap, LONGEST_NAP_SECONDS) if came_often else self.grace
        self._nap = max(self.grace, min(nap, next_timer - now))
        return self._nap
