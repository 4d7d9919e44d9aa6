"""The turns of an event loop that several threads run one after the other, and their lock.

A turn does what asyncio's own does: it waits for events, and runs what they, timers and earlier
callbacks made ready. It keeps nothing between turns but the queues of the loop, and tasks belong to
a loop, not to a thread. The thread that runs a turn holds the lock, and releases it while it waits.

Compiled, a turn costs a fraction of asyncio's, which is written in Python.
"""

from __future__ import annotations

import asyncio
import heapq
from selectors import EVENT_READ, EVENT_WRITE
from typing import Any

from pyk.clients.engine.handover import Handover
from pyk.clients.engine.poller import Poller
from pyk.clients.engine.turn_lock import TurnLock
from pyk.runtime.network.socket_transport import SocketTransport
from pyk.runtime.system_clock import SystemClock

NEVER = float("inf")
LONGEST_WAIT_SECONDS = 24 * 3600.0
# Timers that were cancelled stay in the queue until they are due, or until they are most of it.
LEAST_TIMERS_TO_SWEEP = 100

_set_running_loop = asyncio._set_running_loop
_pop_timer = heapq.heappop


class RelievedError(Exception):
    """Another thread drives the loop now; nothing of the turn has happened."""


class Turns:
    """Runs turns of an event loop under a lock. What needs the lock says so."""

    def __init__(self, loop: Any) -> None:
        self._loop = loop
        # asyncio never replaces the two: only its own turn would, and that one never runs.
        self._ready = loop._ready
        self._timers = loop._scheduled
        self._selector = loop._selector
        self._resolution = loop._clock_resolution
        self._clock = SystemClock()  # as asyncio's loop.time()
        self._lock = TurnLock()
        self._count = 0

    # -- the lock ----------------------------------------------------------------------------------

    def hold(self, wait: bool) -> bool:
        """Take the lock; without ``wait`` only if it is free."""
        if not self._lock.acquire(wait):
            return False
        _set_running_loop(self._loop)
        return True

    def let_go(self) -> None:
        """Release the lock."""
        _set_running_loop(None)
        self._lock.release()

    def is_here(self) -> bool:
        """Return whether this thread runs a turn at this moment. Any thread may ask."""
        return self._lock.is_mine()

    # -- with the lock -----------------------------------------------------------------------------

    def run(self, until: float, event_wait: EventWait) -> None:
        """Wait for work, at most until a time of the loop's clock, and do it.

        ``event_wait`` is told of the wait. Raises :class:`RelievedError`.
        """
        ready = self._ready
        poller = event_wait.poller
        if poller is None:
            poller = event_wait.poller = Poller(self._selector)
        self._drop_cancelled_timers()
        self._take_events(poller, poller.wait(0.0) if ready else self._wait(until, event_wait))
        self._take_due_timers()
        # What these make ready waits for the next turn, which looks for events first.
        for _ in range(len(ready)):
            handle = ready.popleft()
            if not handle._cancelled:
                self._run(handle)
        self._count += 1

    def touched(self) -> None:
        """Note changes to the loop outside of a turn."""
        self._count += 1

    def has_timer_before(self, when: float) -> bool:
        """Return whether something is due before a time."""
        return self.next_timer() < when

    def next_timer(self) -> float:
        """Return when the next timer is due, infinity if no timer is set."""
        due: float = self._timers[0]._when if self._timers else NEVER
        return due

    @property
    def is_ready(self) -> bool:
        """Whether there is something to do at once. Any thread may ask."""
        return bool(self._ready)

    def _drop_cancelled_timers(self) -> None:
        timers, loop = self._timers, self._loop
        if len(timers) > LEAST_TIMERS_TO_SWEEP and loop._timer_cancelled_count > len(timers) // 2:
            for handle in timers:
                if handle._cancelled:
                    handle._scheduled = False
            timers[:] = [handle for handle in timers if not handle._cancelled]
            heapq.heapify(timers)
            loop._timer_cancelled_count = 0
        while timers and timers[0]._cancelled:
            loop._timer_cancelled_count -= 1
            _pop_timer(timers)._scheduled = False

    def _wait(self, until: float, event_wait: EventWait) -> int:
        """Wait for events without the lock, until the next timer at most; return how many came."""
        poller = event_wait.poller
        assert poller is not None
        # The timer's own time, not what is left of it: that is a little less with each look.
        wakes_at = min(until, self.next_timer())
        now = self._clock.now()
        if wakes_at <= now:
            return poller.wait(0.0)
        count = self._count
        event_wait.begins(wakes_at)
        self._lock.release()
        try:
            event_count = poller.wait(min(wakes_at - now, LONGEST_WAIT_SECONDS))
        finally:
            self._lock.acquire(True)
            is_relieved = event_wait.ends()
        if is_relieved:
            raise RelievedError
        # If another thread has worked meanwhile, events may be stale. Real ones come again.
        return event_count if count == self._count else poller.wait(0.0)

    def _take_events(self, poller: Poller, count: int) -> None:
        for index in range(count):
            key, mask = poller.key(index), poller.mask(index)
            if key is None:
                continue
            reader, writer = key.data
            # A callback that an earlier event of this turn removed does not run.
            if reader is not None and mask & EVENT_READ:
                self._read(reader)
            if writer is not None and mask & EVENT_WRITE:
                self._ready.append(writer)

    def _read(self, reader: Any) -> None:
        """Receive what a transport of pyk's own can read; run any other callback in its turn."""
        owner = getattr(reader._callback, "__self__", None)
        if isinstance(owner, SocketTransport):
            transport = owner
            transport.receive()
        else:
            self._ready.append(reader)

    def _take_due_timers(self) -> None:
        timers = self._timers
        if not timers:
            return
        end = self._clock.now() + self._resolution
        while timers and timers[0]._when < end:
            handle = _pop_timer(timers)
            handle._scheduled = False
            self._ready.append(handle)

    def _run(self, handle: Any) -> None:
        """Run a callback. What it raises goes to the loop's handler of exceptions."""
        if self._loop._debug:
            self._loop.run_in_debug_mode(handle)
            return
        try:
            handle._context.run(handle._callback, *handle._args)
        except (SystemExit, KeyboardInterrupt):
            raise
        except BaseException as error:
            self._loop.report(handle, error)


class EventWait:
    """A driver's waits for events; touched with the lock only.

    Each driver has a poller of its own: its wait, without the lock, may end while another driver
    goes through the events of its turn.
    """

    def __init__(self) -> None:
        self.is_on = False
        self.until = NEVER
        self.poller: Poller | None = None

    def begins(self, until: float) -> None:
        """Note that the driver waits, at most until a time."""
        self.is_on = True
        self.until = until

    def ends(self) -> bool:
        """Note that the wait is over; return whether another thread drives now."""
        self.is_on = False
        self.until = NEVER
        return False


class BackgroundEventWait(EventWait):
    """The waits of a driver that may find after a wait that another thread took over."""

    def __init__(self, handover: Handover) -> None:
        super().__init__()
        self._handover = handover

    def ends(self) -> bool:
        self.is_on = False
        self.until = NEVER
        return not self._handover.is_with_background
