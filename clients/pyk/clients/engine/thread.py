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
6. **Nobody is interrupted.** Handlers of signals wait until the main thread is out of the loop
   (:class:`~pyk.clients.engine.deferred_signals.DeferredSignals`). What a callback raises is
   logged, and never surfaces in the caller that happened to drive.
7. **A thread that runs an event loop of its own** does not drive this one; it sleeps.
"""

from __future__ import annotations

import asyncio
import atexit
import concurrent.futures
import contextlib
import contextvars
import logging
import threading
from collections.abc import Callable, Coroutine
from typing import Any, Generic, TypeVar

from pyk.clients.engine.baton import Baton, Driver
from pyk.clients.engine.deferred_signals import DeferredSignals, is_main_thread
from pyk.clients.engine.fork import ForkGuard
from pyk.clients.engine.shared_loop import NEVER, RelievedError, Rest, SharedLoop
from pyk.clients.engine.waiter import Waiter
from pyk.clients.errors import ClosedError, KafkaTimeoutError, StateError

R = TypeVar("R")

log = logging.getLogger(__name__)

# How long a call that was given up may take to clean up before its caller goes on without it.
CLEAN_UP_SECONDS = 1.0
# For how long after a caller left the background thread leaves the loop alone.
GRACE_SECONDS = 0.004


class LoopThread:
    """An event loop, the ways to call into it and to wait for it, and a thread for the rest.

    Any thread may call, but not from within the loop: it would wait for itself. The background
    thread is a daemon, so a program that forgot to close a client still ends.
    """

    def __init__(self, name: str, at_exit: Callable[[], object] | None = None) -> None:
        self.guard = ForkGuard(name)
        self.loop: SharedLoop | None = None
        self._name = name
        self._at_exit = at_exit
        """Called when the program ends and this was not closed."""
        self._state = threading.Lock()
        self._thread: threading.Thread | None = None
        self._last_task: asyncio.Task[object] | None = None
        self._is_closed = False
        self._baton = Baton(GRACE_SECONDS)
        self._bell = Waiter()
        self._waiting: set[Waiter] = set()
        self._driving: Waiter | None = None
        self._background_rest = _BackgroundRest(self._baton)
        self._caller_rest = Rest()
        # Visits do not run in the context of whoever happens to make them.
        self._context = contextvars.Context()

    @property
    def is_closed(self) -> bool:
        return self._is_closed

    def is_here(self) -> bool:
        """Say whether this thread runs a turn of the loop now, and so must not wait for it."""
        return self.loop is not None and self.loop.is_here()

    def call(self, coroutine: Coroutine[Any, Any, R], timeout: float | None = None) -> R:
        """Run a coroutine in the loop, wait for it, and return its result or raise its error.

        Ctrl-C cancels the coroutine and raises ``KeyboardInterrupt``. So does ``timeout`` (seconds,
        None for no limit), with :class:`KafkaTimeoutError`; coroutines that keep deadlines of their
        own need none here.
        """
        call = _Call(coroutine, DrivingWaiter(self))
        try:
            self._enter()
            is_in_time = self._wait(call.waiter, timeout, call.begin)
        except StateError:
            if not call.has_begun:
                coroutine.close()  # it never got into the loop
            raise
        except BaseException:
            self._give_up(call)  # Ctrl-C can come anywhere above
            raise
        if not is_in_time:
            self._give_up(call)
            raise KafkaTimeoutError(f"no result within {timeout} seconds")
        try:
            return call.result()
        except concurrent.futures.CancelledError:
            raise ClosedError(f"the {self._name} was closed while a call was under way") from None

    def call_soon(self, function: Callable[..., object], *arguments: Any) -> None:
        """Have a function called in the loop, and do not wait for it."""
        self._enter()
        self._post(function, *arguments)

    def visit(self, function: Callable[[], object]) -> None:
        """Call a function of the engine now, in this thread, if the loop is at rest; else soon.

        It must neither wait nor call the application. Nothing happens once the loop has ended.
        """
        loop = self.loop
        if loop is None or self._is_closed or self.guard.is_forked:
            return
        if loop.is_here():
            loop.call_soon(function)
        elif not self._run_between_turns(loop, function):
            with contextlib.suppress(ClosedError):
                self._post(function)

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
        if self._at_exit is not None:
            atexit.unregister(self._at_exit)
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
        if self.is_here():
            raise StateError(
                f"a blocking {self._name} cannot be called from its own event loop (from a "
                "callback, for instance): it would wait for itself"
            )
        with self._state:
            if self._is_closed:
                raise ClosedError(f"the {self._name} is closed")
            if self.loop is None:
                self.loop = self._start()
            return self.loop

    def _post(self, function: Callable[..., object], *arguments: Any) -> None:
        """Give the loop work, and wake whoever is to do it."""
        # Inside the lock, so that it is queued before the loop is told to end.
        with self._state:
            if self._is_closed or self.loop is None:
                raise ClosedError(f"the {self._name} is closed")
            self.loop.call_soon(function, *arguments)
        self._wake_driver(self.loop)

    def _wake_driver(self, loop: SharedLoop) -> None:
        """Have work noticed that was queued before. Who drives is looked at after that."""
        is_needed = self._baton.is_needed()
        if is_needed:
            self._bell.set()
        if not is_needed or self._background_rest.is_on:
            loop.poke()

    def _run_between_turns(self, loop: SharedLoop, function: Callable[[], object]) -> bool:
        if asyncio._get_running_loop() is not None:
            return False
        signals = DeferredSignals()
        try:
            if is_main_thread():
                signals.begin()
            if not loop.hold(wait=False):
                return False
            try:
                if self._is_closed:
                    return True
                self._context.run(function)
                loop.touched()
                must_wake = loop.is_ready or self._oversleeps(loop)
            finally:
                loop.let_go()
            if must_wake:
                self._wake_driver(loop)
            return True
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
        self, waiter: Waiter, timeout: float | None, begin: Callable[[], object] | None = None
    ) -> bool:
        """Wait for ``waiter``, once ``begin`` was called in the loop; return whether it is set."""
        self.guard.check()
        loop = self.loop
        assert loop is not None
        deadline = NEVER if timeout is None else loop.time() + timeout
        self._waiting.add(waiter)
        try:
            while not waiter.is_set and loop.time() < deadline:
                if self._drive(loop, waiter, deadline, begin):
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
                _turn(loop, deadline, self._caller_rest)
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

    def _give_up(self, call: _Call[Any]) -> None:
        """Cancel a call, and give it a moment to leave its client in order."""
        with contextlib.suppress(StateError):
            self._enter()
            self._wait(call.waiter, CLEAN_UP_SECONDS, call.cancel)

    # -- the background thread ---------------------------------------------------------------------

    def _start(self) -> SharedLoop:
        loop = SharedLoop()
        if self._at_exit is not None:
            atexit.register(self._at_exit)
        self._thread = threading.Thread(
            target=self._run, args=(loop,), name=f"pyk-{self._name}", daemon=True
        )
        self._thread.start()
        return loop

    def _run(self, loop: SharedLoop) -> None:
        while not (self._baton.is_ending and self._baton.driver is not Driver.CALLER):
            loop.hold(wait=True)
            try:
                nap = self._baton.background_looks(loop.time())
                while nap == 0 and not self._baton.is_ending:
                    _turn(loop, NEVER, self._background_rest)
            except RelievedError:
                nap = self._baton.background_looks(loop.time())
            finally:
                loop.let_go()
            if nap != 0:
                self._bell.wait(nap)
                self._bell.clear()  # and only then look again what it rang for
        loop.hold(wait=True)
        try:
            loop.end(CLEAN_UP_SECONDS)
        finally:
            loop.let_go()


class DrivingWaiter(Waiter):
    """Waited for by driving the loop of a :class:`LoopThread`, if nobody else does."""

    __slots__ = ("_engine",)

    def __init__(self, engine: LoopThread) -> None:
        super().__init__()
        self._engine = engine

    def set(self) -> None:
        super().set()
        self._engine.was_set(self)

    def wait(self, timeout: float | None = None) -> bool:
        return self.is_set or self._engine._wait(self, timeout)


class _BackgroundRest(Rest):
    """The background thread may find after a wait that a caller took over."""

    def __init__(self, baton: Baton) -> None:
        super().__init__()
        self._baton = baton

    def ends(self) -> bool:
        super().ends()
        return self._baton.driver is not Driver.BACKGROUND


class _Call(Generic[R]):
    """A coroutine on its way through the loop; its outcome comes only when it has really ended."""

    def __init__(self, coroutine: Coroutine[Any, Any, R], waiter: Waiter) -> None:
        self.waiter = waiter
        self.has_begun = False
        self._coroutine = coroutine
        self._task: asyncio.Task[R] | None = None

    def begin(self) -> None:
        self.has_begun = True
        self._task = asyncio.get_running_loop().create_task(self._coroutine)
        self._task.add_done_callback(self._end)

    def cancel(self) -> None:
        if self._task is not None:
            self._task.cancel()
        else:  # interrupted before it could begin
            self.has_begun = True
            self._coroutine.close()
            self.waiter.set()

    def result(self) -> R:
        if self._task is None or self._task.cancelled():
            raise concurrent.futures.CancelledError
        return self._task.result()

    def _end(self, task: asyncio.Task[R]) -> None:
        self.waiter.set()


def _turn(loop: SharedLoop, until: float, rest: Rest) -> None:
    try:
        loop.turn(until, rest)
    except (SystemExit, KeyboardInterrupt):
        # Not a signal's: these are held back. asyncio has logged all other errors of callbacks.
        log.exception("A callback tried to end the program from within an event loop")
