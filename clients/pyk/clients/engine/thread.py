"""The event loop of a blocking client, in which its asyncio twin lives, and who drives it.

Two thread switches are what a blocking call costs that asks a thread to do something: one to get
there and one to come back, each with a wait for the interpreter's lock. So a caller that waits
drives the loop itself, in its own thread, until it has what it waits for:

    caller     send_and_wait ─► visit: encode, write │ drive: select … read, settle │ leave
    background ── select ───────────────────────── relieved ── nap ── nap ─────── nap ── select

1. **One turn at a time.** Whoever runs a turn of the loop holds its lock, and lets go of it only
   while it waits in ``select`` (:class:`~pyk.clients.engine.shared_loop.SharedLoop`).
2. **One driver.** :class:`~pyk.clients.engine.baton.Baton` says who it is, and changes under that
   lock only. The background thread drives while no caller waits, and while several do: they sleep,
   and each is woken when it has what it waits for. The only caller that waits drives.
3. **Taking over needs nobody's help.** The background thread in ``select`` does not hold the lock.
   It finds out when an event wakes it, leaves the event to the caller, and naps; also if the caller
   has just left, for it is likely to come back for that event.
4. **Nothing is left lying.** Whoever gives the loop work from outside wakes the thread in
   ``select`` (:meth:`SharedLoop.poke`) or, if nobody is there, the background thread. A caller
   that leaves does the same if it leaves something that is ready, or others who wait.
5. **A visit** runs one function between two turns, in the thread that asks for it, if the loop is
   at rest at this moment, else soon in the loop. Only the function runs, no callback of the
   application: it may be called while the application holds locks of its own.
6. **A thread that must not run callbacks** of the application, because it is inside ``send``, waits
   aside: it sleeps, and the background thread drives.
7. **Nobody is interrupted.** Handlers of signals wait until the main thread is out of the loop
   (:class:`~pyk.clients.engine.deferred_signals.DeferredSignals`). What a callback raises is
   logged, and never surfaces in the caller that happened to drive.
8. **A thread that runs an event loop of its own** does not drive this one; it sleeps.
9. **A turn that fails** because of a bug, or for lack of memory, is logged, and the next one is
   tried. If one after the other fails, the loop ends, and every call that waits raises why.
"""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import contextvars
import logging
import threading
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from pyk.clients.engine.baton import Baton, Driver
from pyk.clients.engine.call import Call, Visit
from pyk.clients.engine.deferred_signals import DeferredSignals, is_main_thread
from pyk.clients.engine.fork import ForkGuard
from pyk.clients.engine.shared_loop import (
    NEVER,
    BackgroundRest,
    RelievedError,
    Rest,
    SharedLoop,
    new_loop,
)
from pyk.clients.engine.waiter import DrivingWaiter, Waiter
from pyk.clients.errors import ClosedError, KafkaTimeoutError, StateError

R = TypeVar("R")

log = logging.getLogger(__name__)

# How long a call that was interrupted may take to clean up before its caller goes on without it.
CLEAN_UP_SECONDS = 1.0
# The same for one whose time is over: its caller wants to be back.
LATE_SECONDS = 0.2
# For how long after a caller left the background thread leaves the loop alone.
GRACE_SECONDS = 0.004
# So many turns that fail in a row, and the loop is given up.
MOST_FAILED_TURNS = 10


class LoopThread:
    """An event loop, the ways to call into it and to wait for it, and a thread for the rest.

    Any thread may call, but not from within the loop: it would wait for itself. The background
    thread is a daemon, so a program that forgot to close a client still ends.
    """

    def __init__(self, name: str) -> None:
        self.guard = ForkGuard(name)
        self.loop: SharedLoop | None = None
        self._name = name
        self.at_exit: Callable[[], object] | None = None
        """Called when the program ends and this was not closed."""
        self.at_end: Callable[[], object] | None = None
        """Called in the loop when it ends, whatever ends it; must not wait."""
        self._state = threading.Lock()
        self._thread: threading.Thread | None = None
        self._last_task: asyncio.Task[object] | None = None
        self._is_closed = False
        self._failed_turns = 0
        self._failure: BaseException | None = None
        """What ended the loop, if nobody closed it."""
        self._calls: set[Call[Any]] = set()
        self._baton = Baton(GRACE_SECONDS)
        self._bell = Waiter()
        self._waiting: set[Waiter] = set()
        self._driving: Waiter | None = None
        self._background_rest = BackgroundRest(self._is_relieved)
        self._caller_rest = Rest()
        # Visits do not run in the context of whoever happens to make them.
        self._context = contextvars.Context()

    @property
    def is_closed(self) -> bool:
        return self._is_closed

    def is_here(self) -> bool:
        """Say whether this thread runs a turn of the loop now, and so must not wait for it."""
        return self.loop is not None and self.loop.is_here()

    def check_caller(self) -> None:
        """Raise :class:`StateError` inside of the loop, which would wait for itself."""
        if self.is_here():
            raise StateError(
                f"a blocking {self._name} cannot be called from its own event loop (from a "
                "callback, for instance): it would wait for itself"
            )

    def call(
        self,
        coroutine: Coroutine[Any, Any, R],
        timeout: float | None = None,
        *,
        may_drive: bool = True,
    ) -> R:
        """Run a coroutine in the loop, wait for it, and return its result or raise its error.

        Ctrl-C cancels the coroutine and raises ``KeyboardInterrupt``. So does ``timeout`` (seconds,
        None for no limit), with :class:`KafkaTimeoutError`; coroutines that keep deadlines of their
        own need none here. Without ``may_drive`` this waits as :meth:`wait_aside`.
        """
        call = Call(coroutine, DrivingWaiter(self))
        try:
            self._calls.add(call)
            self._enter()
            is_late = not self._wait(call.waiter, timeout, call.begin, may_drive=may_drive)
            if is_late:
                self._give_up(call, LATE_SECONDS, may_drive=may_drive)
            if not is_late or call.ended_by_itself:
                return call.result()
        except asyncio.CancelledError:
            raise self._closed("was closed while a call was under way") from None
        except BaseException:
            if not call.waiter.is_set:
                self._give_up(call, CLEAN_UP_SECONDS)  # Ctrl-C can come anywhere above
            raise
        finally:
            self._calls.discard(call)
            call.forget()
        raise KafkaTimeoutError(
            f"no result within {timeout:g} seconds: a callback, or a busy machine, holds up the "
            f"loop of the {self._name}"
        )

    def call_soon(self, function: Callable[..., object], *arguments: Any) -> None:
        """Have a function called in the loop, and do not wait for it."""
        self._enter()
        self._post(function, *arguments)

    def post(self, function: Callable[[], object]) -> bool:
        """Have a function called in the loop; return False if nobody will do so."""
        if self.guard.is_forked:
            return False
        try:
            self._post(function)
        except StateError:
            return False
        return True

    def visit(self, function: Callable[[], object]) -> None:
        """Call a function of the engine now, in this thread, if the loop is at rest; else soon.

        It must neither wait nor call the application. Nothing happens once the loop has ended.
        """
        loop = self.loop
        if loop is None or self._is_closed or self.guard.is_forked:
            return
        if loop.is_here():
            loop.call_soon(function)
            return
        visit = Visit(function)
        try:
            self._run_between_turns(loop, visit)
        finally:  # also if the handler of a signal has raised before it came to that
            if not visit.has_begun:
                with contextlib.suppress(StateError):
                    self._post(visit)

    def wait_for(self, waiter: Waiter, timeout: float | None = None) -> bool:
        """Drive the loop, if nobody else does, until ``waiter`` is set or the time is over."""
        return self._wait(waiter, timeout)

    def wait_aside(self, waiter: Waiter, timeout: float | None = None) -> bool:
        """Wait like ``waiter.wait``, but leave it to other threads to drive the loop meanwhile.

        No callback of the application runs in this thread, which may hold locks that they take.
        """
        return waiter.is_set or self._wait(waiter, timeout, may_drive=False)

    def new_waiter(self) -> Waiter:
        """Return what a thread can wait for, driving the loop meanwhile."""
        return DrivingWaiter(self)

    def close(self, timeout: float = 5.0) -> None:
        """Cancel what runs in the loop and end the thread; returns within ``timeout`` seconds.

        Closing twice is fine, and so is closing from within the loop, which ends by itself.
        """
        if self.guard.is_forked:
            return  # thread and locks are the parent's
        with self._state:
            self._is_closed = True
            loop, thread = self.loop, self._thread
        if loop is None or thread is None:
            return
        if self.at_exit is not None:
            atexit.unregister(self.at_exit)
        self._baton.end()
        self._bell.set()
        loop.poke()
        if not loop.is_here() and thread is not threading.current_thread():
            thread.join(timeout)

    def end_after(self, last: Callable[[], Coroutine[Any, Any, object]]) -> None:
        """Run a last coroutine and end, without waiting: the client was dropped.

        The collector may call it in any thread and in the middle of anything, so it takes no lock.
        """
        loop = self.loop
        if loop is None or self._is_closed or self.guard.is_forked:
            return

        def begin() -> None:
            self._last_task = loop.create_task(last())
            self._last_task.add_done_callback(lambda _: self.close())

        with contextlib.suppress(RuntimeError):  # it has ended already
            loop.call_soon(begin)
            self._wake_driver(loop)

    # -- calling in --------------------------------------------------------------------------------

    def _enter(self) -> SharedLoop:
        """Return the loop, started if need be; raise if it cannot be used from here."""
        self.guard.check()
        self.check_caller()
        with self._state:
            if self._is_closed:
                raise self._closed("is closed")
            return self.loop or self._start()

    def _closed(self, what: str) -> StateError:
        """Return why the loop cannot be used any more; ``what`` happened if somebody closed it."""
        if self._failure is None:
            return ClosedError(f"the {self._name} {what}")
        error = StateError(
            f"the {self._name} has ended because of a bug in pyk, or for lack of memory: "
            f"{self._failure!r}"
        )
        error.__cause__ = self._failure
        return error

    def _post(self, function: Callable[..., object], *arguments: Any) -> None:
        """Give the loop work, and wake whoever is to do it."""
        # Inside the lock, so that it is queued before the loop is told to end.
        with self._state:
            if self._is_closed or self.loop is None:
                raise self._closed("is closed")
            self.loop.call_soon(function, *arguments)
        self._wake_driver(self.loop)

    def _wake_driver(self, loop: SharedLoop) -> None:
        """Have work noticed that was queued before. Who drives is looked at after that."""
        is_needed = self._baton.is_needed()
        if is_needed:
            self._bell.set()
        if not is_needed or self._background_rest.is_on:
            loop.poke()

    def _run_between_turns(self, loop: SharedLoop, visit: Visit) -> None:
        """Make a visit if the loop is at rest at this moment, and this thread may use it."""
        if asyncio._get_running_loop() is not None:
            return
        signals = DeferredSignals()
        try:
            if is_main_thread():
                signals.begin()
            if not loop.hold(wait=False):
                return
            try:
                if self._is_closed:
                    return
                self._context.run(visit)
                loop.touched()
                must_wake = loop.is_ready or self._oversleeps(loop)
            finally:
                loop.let_go()
            if must_wake:
                self._wake_driver(loop)
        finally:
            signals.end()

    def _oversleeps(self, loop: SharedLoop) -> bool:
        """Say whether the driver, which waits in ``select``, has not heard of an earlier timer."""
        if self._baton.driver is Driver.CALLER:
            return loop.has_timer_before(self._caller_rest.until)
        rest = self._background_rest  # if it is on, of the background thread before a caller came
        return rest.is_on and loop.has_timer_before(rest.until)

    # -- waiting -----------------------------------------------------------------------------------

    def _wait(
        self,
        waiter: Waiter,
        timeout: float | None,
        begin: Callable[[], object] | None = None,
        *,
        may_drive: bool = True,
    ) -> bool:
        """Wait for ``waiter``, once ``begin`` was called in the loop; return whether it is set."""
        self.guard.check()
        loop = self.loop
        assert loop is not None
        deadline = NEVER if timeout is None else loop.time() + timeout
        try:
            self._waiting.add(waiter)
            while not waiter.is_set and loop.time() < deadline:
                if may_drive and self._drive(loop, waiter, deadline, begin):
                    begin = None
                    continue  # it is set, or in time, or a signal came and was handled
                if begin is not None:
                    self._post(begin)
                    begin = None
                # Whoever leaves from now on sees that this one waits. Who left before has not.
                self._wake_background(loop)
                left = None if deadline == NEVER else deadline - loop.time()
                waiter._sleep(left)
            return waiter.is_set
        finally:
            self._waiting.discard(waiter)

    def _wake_background(self, loop: SharedLoop) -> None:
        if self._baton.driver is Driver.NOBODY:
            self._wake_driver(loop)

    def _drive(
        self, loop: SharedLoop, waiter: Waiter, deadline: float, begin: Callable[[], object] | None
    ) -> bool:
        """Drive the loop until ``waiter`` is set, or the deadline, or a signal.

        Returns False, and nothing has happened, where another thread drives or is to drive.
        """
        if len(self._waiting) > 1 or self._baton.is_ending:
            return False
        if asyncio._get_running_loop() is not None:
            return False
        signals = DeferredSignals()
        try:
            if is_main_thread():
                signals.begin(loop.wakeup_fd)
            if not loop.hold(wait=False):
                return False
            try:
                if not self._baton.caller_comes():
                    return False
                self._run_turns(loop, waiter, deadline, begin, signals)
            finally:
                loop.let_go()
            if loop.is_ready or len(self._waiting) > 1:
                self._wake_driver(loop)
            return True
        finally:
            signals.end()

    def _run_turns(
        self,
        loop: SharedLoop,
        waiter: Waiter,
        deadline: float,
        begin: Callable[[], object] | None,
        signals: DeferredSignals,
    ) -> None:
        """Be the driver. With the loop's lock."""
        self._driving = waiter
        try:
            if begin is not None:
                begin()
            while not (waiter.is_set or signals.pending or self._baton.is_ending):
                if loop.time() >= deadline:
                    break
                self._turn(loop, deadline, self._caller_rest)
        finally:
            self._driving = None
            if self._baton.caller_leaves(loop.time()):
                self._bell.set()
            # This thread may have read what was to wake the background thread from its select.
            if self._baton.is_ending or self._oversleeps(loop):
                loop.poke()

    def was_set(self, waiter: Waiter) -> None:
        """Have the thread notice that waits for ``waiter`` by driving the loop."""
        loop = self.loop
        if self._driving is waiter and loop is not None and not loop.is_here():
            loop.poke()

    def _give_up(self, call: Call[Any], patience: float, *, may_drive: bool = True) -> None:
        """Cancel a call, and give it a moment to leave its client in order."""
        with contextlib.suppress(StateError):
            self._enter()
            self._wait(call.waiter, patience, call.cancel, may_drive=may_drive)

    # -- driving -----------------------------------------------------------------------------------

    def _turn(self, loop: SharedLoop, until: float, rest: Rest) -> None:
        """Run a turn. With the loop's lock; raises :class:`RelievedError`."""
        try:
            loop.turn(until, rest)
        except RelievedError:
            raise
        except (SystemExit, KeyboardInterrupt):
            # Not a signal's: these are held back. asyncio has logged other errors of callbacks.
            log.exception("A callback tried to end the program from within an event loop")
        except BaseException as error:
            self._failed_turns += 1
            log.exception("A turn of the event loop of a %s failed", self._name)
            if self._failed_turns >= MOST_FAILED_TURNS:
                self._fail(error)
        else:
            self._failed_turns = 0

    def _fail(self, error: BaseException) -> None:
        """End the loop because it does not work any more."""
        log.error("Ending a %s whose event loop fails again and again", self._name)
        with self._state:
            self._failure = error
            self._is_closed = True
        self._baton.end()

    def _start(self) -> SharedLoop:
        """Make the loop and its thread. With the lock of the state."""
        signals = DeferredSignals()
        try:
            if is_main_thread():  # an interrupt would leave a thread that nobody knows
                signals.begin()
            loop = new_loop(self._name)
            self._thread = threading.Thread(
                target=self._run, args=(loop,), name=f"pyk-{self._name}", daemon=True
            )
            self._thread.start()
            if self.at_exit is not None:
                atexit.register(self.at_exit)
            self.loop = loop
            return loop
        finally:
            signals.end()

    def _run(self, loop: SharedLoop) -> None:
        try:
            while not (self._baton.is_ending and self._baton.driver is not Driver.CALLER):
                self._drive_in_background(loop)
        finally:
            self._end(loop)

    def _drive_in_background(self, loop: SharedLoop) -> None:
        """Drive until a caller comes or the loop is to end; then nap."""
        loop.hold(wait=True)
        try:
            nap = self._baton.background_looks(loop.time())
            while nap == 0 and not self._baton.is_ending:
                self._turn(loop, NEVER, self._background_rest)
        except RelievedError:
            nap = self._baton.background_looks(loop.time())
        finally:
            loop.let_go()
        if nap != 0:
            self._bell.wait(nap)
            self._bell.clear()  # and only then look again what it rang for

    def _is_relieved(self) -> bool:
        """Say whether a caller took over while the background thread waited."""
        return self._baton.driver is not Driver.BACKGROUND

    def _end(self, loop: SharedLoop) -> None:
        """Cancel what runs in the loop, and close it. Whoever waits for a call is told."""
        loop.hold(wait=True)
        try:
            if self.at_end is not None:
                self.at_end()
        finally:
            try:
                loop.end(CLEAN_UP_SECONDS)
            finally:
                loop.let_go()
                for call in list(self._calls):
                    call.waiter.set()
