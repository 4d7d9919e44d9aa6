"""Decide who drives the event loop of a blocking client: a waiting caller or the background thread.

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
go, no thread wakes another one. A nap in which a caller came is followed by another one at once
(:class:`~pyk.clients.engine.nap_bell.NapBell`), unless a timer is due before that would end.
While one caller drives for longer than some naps, the background thread sleeps until it is told
that the caller left.
"""

from __future__ import annotations

from enum import Enum

NEVER = float("inf")
# About as long as a response takes; a caller that stays longer has to tell when it leaves.
MOST_NAPS_BESIDE_CALLER = 8


class Driver(Enum):
    """The thread that runs the loop, or waits in its ``select``."""

    NOBODY = "nobody, for a moment"
    BACKGROUND = "the background thread"
    CALLER = "a caller that waits"


NOBODY, BACKGROUND, CALLER = Driver


class Handover:
    """The state; ``now`` and ``grace`` are in seconds of the loop's clock.

    ``is_urgent`` says whether the background thread must take over without waiting for the grace to
    end, ``is_ending`` whether no caller may drive any more.
    """

    def __init__(self, grace: float) -> None:
        self.grace = grace
        self.driver = NOBODY
        self.is_urgent = False
        self.is_ending = False
        self._left_at = -NEVER
        self._moves = 0
        """How often a caller came or left: odd while one drives."""
        self._moves_seen = -1
        self._naps_beside_caller = 0
        self._must_tell = False
        self.next_timer = NEVER
        """When the loop had something to do at the last look."""
        self.nap_ends_at = -NEVER
        """The latest time at which the background thread looks again."""

    @property
    def is_with_background(self) -> bool:
        return self.driver is BACKGROUND

    def caller_comes(self) -> bool:
        """Let a caller drive, unless another one drives or the loop is about to end."""
        if self.driver is CALLER or self.is_ending:
            return False
        self.driver = CALLER
        self._moves += 1
        return True

    def caller_leaves(self, now: float) -> bool:
        """Return whether to wake the background thread."""
        self.driver = NOBODY
        self._moves += 1
        self._left_at = now
        must_tell, self._must_tell = self._must_tell, False
        return must_tell or self.is_ending

    def is_needed(self) -> bool:
        """Take note of work that cannot wait; return whether to wake the background thread."""
        if self.driver is not NOBODY:
            return False
        self.is_urgent = True
        return True

    def background_looks(self, now: float, next_timer: float) -> float | None:
        """Return for how many seconds the background thread naps, 0 if it drives from now on.

        None: until it is woken. ``next_timer`` is when the loop has something to do.
        """
        has_moved = self._moves != self._moves_seen
        self._moves_seen = self._moves
        self._naps_beside_caller = 0
        if self.driver is BACKGROUND:
            return 0.0
        if self.driver is CALLER:
            if not has_moved:
                self._must_tell = True
                self.nap_ends_at = NEVER
                return None
            return self._nap(self.grace, now, next_timer)
        left = self._left_at + self.grace - now
        if left <= 0 or self.is_urgent or self.is_ending:
            self.driver = BACKGROUND
            self.is_urgent = False
            return 0.0
        return self._nap(left, now, next_timer)

    def naps_again(self, now: float) -> bool:
        """Return whether a nap that has ended is followed at once by another one, of the grace."""
        if self.next_timer < now + self.grace:
            return False
        if self._moves != self._moves_seen:
            self._moves_seen = self._moves
            self._naps_beside_caller = 0
        elif self._moves % 2 == 1 and self._naps_beside_caller < MOST_NAPS_BESIDE_CALLER:
            self._naps_beside_caller += 1
        else:
            return False
        self._note_nap(self.grace, now)
        return True

    def end(self) -> None:
        """Let no caller drive any more."""
        self.is_ending = True

    def _nap(self, seconds: float, now: float, next_timer: float) -> float:
        self.next_timer = next_timer
        self._note_nap(seconds, now)
        return seconds

    def _note_nap(self, seconds: float, now: float) -> None:
        # Another nap may follow while somebody reads this.
        ends_at = now + seconds
        self.nap_ends_at = max(ends_at, min(ends_at + self.grace, self.next_timer))
