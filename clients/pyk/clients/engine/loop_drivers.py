"""Drive the event loop of a blocking client: from waiting callers, and from a background thread.

:mod:`pyk.clients.engine.thread` explains the theory.
"""

from __future__ import annotations

import asyncio
import contextvars
import logging
from collections.abc import Callable

from pyk.clients.engine.call import Visit
from pyk.clients.engine.deferred_signals import DeferredSignals, is_main_thread
from pyk.clients.engine.handover import CALLER, NOBODY, Handover
from pyk.clients.engine.nap_bell import NapBell
from pyk.clients.engine.poller import note_signals
from pyk.clients.engine.shared_loop import SharedLoop
from pyk.clients.engine.turns import NEVER, BackgroundEventWait, EventWait, RelievedError, Turns
from pyk.clients.engine.waiter import Waiter
from pyk.runtime.system_clock import SystemClock

log = logging.getLogger(__name__)

# For how long after a caller left the background thread leaves the loop alone.
GRACE_SECONDS = 0.004
# How long a signal that comes just before a wait for events may go unnoticed.
LONGEST_DEAF_SECONDS = 0.02
# How many turns may fail in a row before the loop is given up.
MOST_FAILED_TURNS = 10

_running_loop = asyncio._get_running_loop


class LoopDrivers:
    """Waits for events of a loop by driving it, unless another thread drives.

    ``on_failure`` is told why the loop cannot be driven any more.
    """

    def __init__(self, on_failure: Callable[[BaseException], object]) -> None:
        self.handover = Handover(GRACE_SECONDS)
        self.waiting: set[Waiter] = set()
        self._on_failure = on_failure
        self._clock = SystemClock()
        self._failed_turns = 0
        self._loop: SharedLoop | None = None
        self._turns: Turns | None = None
        self._wakeup_fd = -1
        self._bell = NapBell()
        self._driving: Waiter | None = None
        self._left: list[Callable[[], object]] = []
        """Work that the last driver left undone."""
        self._is_at_rest = False
        """Whether a caller holds the loop, and neither a turn nor a function has begun."""
        self._background_wait = BackgroundEventWait(self.handover)
        self._caller_wait = EventWait()
        # Neither runs in the context of the thread that happens to visit or to drive.
        self._visit_context = contextvars.Context()
        self._turn_context = contextvars.Context()

    def take(self, loop: SharedLoop) -> None:
        """Drive this loop from now on."""
        self._loop = loop
        self._turns = loop.turns
        self._wakeup_fd = loop.wakeup_fd

    def is_here(self) -> bool:
        """Return whether this thread runs a turn of the loop now, and so must not wait for it."""
        return self._turns is not None and self._turns.is_here()

    def end(self) -> None:
        """Let no caller drive any more, and tell the background thread."""
        self.handover.end()
        self._bell.ring()
        self._poke()

    # -- giving work -------------------------------------------------------------------------------

    def call_here(self, function: Callable[[], object]) -> None:
        """Call a function in the loop, which this thread holds: now if it is at rest, otherwise
        soon."""
        if self._is_at_rest:
            self._is_at_rest = False  # the function may call a log handler that calls here, too
            try:
                self._visit_context.run(function)
            finally:
                self._is_at_rest = True
        elif self._loop is not None:
            self._loop.call_soon(function)

    def leave(self, function: Callable[[], object], waiter: Waiter) -> bool:
        """Leave a function to the thread that runs the next turn, if ``waiter``'s thread runs this
        one."""
        if self._driving is not waiter:
            return False
        self._left.append(function)
        return True

    def wake(self) -> None:
        """Tell the driver of work that was queued before this call."""
        is_needed = self.handover.is_needed()
        if is_needed:
            self._bell.ring()
        if not is_needed or self._background_wait.is_on:
            self._poke()

    def visit(self, visit: Visit) -> None:
        """Make a visit if the loop is at rest at this moment, and this thread may use it."""
        turns = self._turns
        assert turns is not None
        if _running_loop() is not None:
            return
        signals = DeferredSignals()
        is_ready = False
        try:
            if is_main_thread():
                signals.begin()
            if not turns.hold(False):
                return
            try:
                if self.handover.is_ending:
                    return
                try:
                    self._visit_context.run(visit)
                finally:  # what it has done before it failed must not be forgotten
                    turns.touched()
                    if self.oversleeps():
                        self._rouse()
                    is_ready = turns.is_ready
            finally:
                turns.let_go()
                if is_ready:
                    self.wake()
        finally:
            signals.end()

    def oversleeps(self) -> bool:
        """Return whether the driver, or the thread that naps, has not heard of an earlier timer."""
        turns = self._turns
        assert turns is not None
        if self.handover.driver is CALLER:
            return turns.has_timer_before(self._caller_wait.until)
        background = self._background_wait  # if it is on, it began before a caller came
        wakes_at = background.until if background.is_on else self.handover.nap_ends_at
        return turns.has_timer_before(wakes_at)

    def _rouse(self) -> None:
        """Wake the sleeping thread to look at the timers."""
        if self.handover.driver is CALLER or self._background_wait.is_on:
            self._poke()
        else:
            self._bell.ring()

    # -- waiting -----------------------------------------------------------------------------------

    def wait(
        self,
        waiter: Waiter,
        timeout: float | None,
        begin: Callable[[], object] | None,
        may_drive: bool,
    ) -> bool:
        """Wait for ``waiter``, once ``begin`` was called; return whether it is set."""
        deadline = NEVER if timeout is None else self._clock.now() + timeout
        try:
            self.waiting.add(waiter)
            while not waiter.is_set and (deadline == NEVER or self._clock.now() < deadline):
                if may_drive and self._drive(waiter, deadline, begin):
                    begin = None
                    continue  # it is set, or in time, or a signal came and was handled
                if begin is not None:
                    begin()
                    begin = None
                # Callers that leave from now on see that this one waits; those that left before did
                # not.
                if self.handover.driver is NOBODY:
                    self.wake()
                waiter.sleep(None if deadline == NEVER else deadline - self._clock.now())
            return waiter.is_set
        finally:
            self.waiting.discard(waiter)

    def _drive(self, waiter: Waiter, deadline: float, begin: Callable[[], object] | None) -> bool:
        """Drive the loop until ``waiter`` is set, or the deadline, or a signal.

        Returns False, and nothing has happened, where another thread drives or is to drive.
        """
        if len(self.waiting) > 1 or self.handover.is_ending:
            return False
        if _running_loop() is not None:
            return False
        turns = self._turns
        assert turns is not None
        signals = DeferredSignals()
        is_driver = False
        try:
            if is_main_thread():
                signals.begin()
            if not turns.hold(False):
                return False
            try:
                is_driver = self.handover.caller_comes()
                if is_driver:
                    self._run_turns(waiter, deadline, begin, signals)
            finally:
                turns.let_go()
                if is_driver and (turns.is_ready or len(self.waiting) > 1):
                    self.wake()
            return is_driver
        finally:
            signals.end()

    def _run_turns(
        self,
        waiter: Waiter,
        deadline: float,
        begin: Callable[[], object] | None,
        signals: DeferredSignals,
    ) -> None:
        """Be the driver. With the loop's lock."""
        self._driving = waiter
        try:
            if begin is not None:
                self._begin(begin)
            self._turn_context.run(self._turn_until_set, waiter, deadline, signals)
        finally:
            signals.silence()  # once this has left, the loop may be closed
            self._driving = None
            # This thread may have consumed the byte that was to wake the background thread.
            must_tell = self.handover.caller_leaves(self._clock.now())
            if must_tell or self.oversleeps() or (self._left and self._background_wait.is_on):
                self._rouse()

    def _turn_until_set(self, waiter: Waiter, deadline: float, signals: DeferredSignals) -> None:
        now = self._clock.now()
        # Most waits are over before this. One that lasts longer must hear of a signal that comes
        # in the instant before it sleeps.
        rings_at = now + LONGEST_DEAF_SECONDS if signals.are_held else NEVER
        note_signals()
        while not (waiter.is_set or signals.pending or self.handover.is_ending or now >= deadline):
            self._turn(min(deadline, rings_at), self._caller_wait)
            now = self._clock.now()
            if now >= rings_at:
                rings_at = NEVER
                signals.ring(self._wakeup_fd)
            note_signals()

    def _begin(self, begin: Callable[[], object]) -> None:
        """Call what comes first, between two turns."""
        self._is_at_rest = True
        try:
            begin()
        finally:
            self._is_at_rest = False

    def _poke(self) -> None:
        """Wake the thread that waits for events."""
        if self._loop is not None:
            self._loop.poke()

    def was_set(self, waiter: Waiter) -> None:
        """Tell the thread that waits for ``waiter`` by driving the loop."""
        if self._driving is waiter and not self.is_here():
            self._poke()

    # -- driving -----------------------------------------------------------------------------------

    def _turn(self, until: float, event_wait: EventWait) -> None:
        """Run a turn. With the loop's lock; raises :class:`RelievedError`."""
        turns = self._turns
        assert turns is not None
        try:
            if self._left:
                self._do_what_was_left()
                if self._driving is not None and self._driving.is_set:
                    return  # no event would tell the driver
            turns.run(until, event_wait)
        except RelievedError:
            raise
        except (SystemExit, KeyboardInterrupt):
            # Not from a signal handler: these are held back. asyncio has logged other errors of
            # callbacks.
            log.exception("A callback tried to end the program from within an event loop")
        except BaseException as error:
            self._failed_turns += 1
            log.exception("A turn of the event loop of a client failed")
            if self._failed_turns >= MOST_FAILED_TURNS:
                self._on_failure(error)
        else:
            self._failed_turns = 0

    def _do_what_was_left(self) -> None:
        for _ in range(len(self._left)):
            self._visit_context.run(self._left.pop(0))

    def drive_in_background(self) -> None:
        """Drive whenever no caller does, until the loop is to end."""
        while not (self.handover.is_ending and self.handover.driver is not CALLER):
            self._drive_until_relieved()

    def _drive_until_relieved(self) -> None:
        """Drive until a caller comes or the loop is to end; then nap."""
        turns = self._turns
        assert turns is not None
        turns.hold(True)
        try:
            nap = self._next_nap()
            while nap == 0 and not self.handover.is_ending:
                self._turn(NEVER, self._background_wait)
        except RelievedError:
            nap = self._next_nap()
        finally:
            turns.let_go()
        if nap != 0:
            self._bell.nap(nap, self.handover)

    def _next_nap(self) -> float | None:
        """Return for how long the background thread naps. With the loop's lock."""
        turns = self._turns
        assert turns is not None
        return self.handover.background_looks(self._clock.now(), turns.next_timer())
