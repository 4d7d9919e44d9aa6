"""The event loop of a blocking client, in which its asyncio twin lives, and its threads.

A blocking call that hands its work to another thread costs two thread switches, one there and one
back, each with a wait for the interpreter's lock. So a caller that waits drives the loop itself, in
its own thread, until it has what it waits for:

    caller     send_and_wait ─► drive: encode, write, select … read, settle │ leave
    background ── select ─────────────────── relieved ── nap ── nap ─────── nap ── select

1. **One turn at a time.** The thread that runs a turn of the loop holds its lock, and releases it
   only while it waits in ``select`` (:class:`~pyk.clients.engine.turns.Turns`).
2. **One driver.** :class:`~pyk.clients.engine.handover.Handover` says who it is, and changes under
   that lock only. The background thread drives while no caller waits, and while several do: they
   sleep, and each is woken when it has what it waits for. The only caller that waits drives.
3. **Taking over needs no help.** The background thread in ``select`` does not hold the lock.
   It finds out when an event wakes it, leaves the event to the caller, and naps; also if the caller
   has just left, for it is likely to come back for that event. It naps on as long as
   callers come and go.
4. **No work is forgotten.** A thread that gives the loop work from outside wakes the thread in
   ``select`` (:meth:`SharedLoop.poke`) or, if no thread is there, the background thread. A caller
   that leaves does the same if it leaves work that is ready, or other waiters. Timers
   end a nap; work in progress that no caller waits for is found at the end of one. So is
   what may wait until the caller comes back (:meth:`LoopThread.leave`), if it does not.
5. **A visit** runs one function between two turns, in the thread that asks for it, if the loop is
   at rest at this moment, otherwise soon in the loop. Only the function runs, no callback of the
   application: it may be called while the application holds locks of its own.
6. **A thread that must not run callbacks** of the application, because it is inside ``send``, waits
   aside: it sleeps, and the background thread drives.
7. **No turn is interrupted.** Handlers of signals wait until the main thread is out of the loop
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
import functools
import logging
import sys
import threading
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from pyk.clients.engine.call import Call, Visit
from pyk.clients.engine.deferred_signals import DeferredSignals, is_main_thread
from pyk.clients.engine.fork import ForkGuard
from pyk.clients.engine.loop_drivers import LoopDrivers
from pyk.clients.engine.shared_loop import SharedLoop, new_loop
from pyk.clients.engine.waiter import DrivingWaiter, Waiter, new_future, raise_soon
from pyk.clients.errors import ClosedError, KafkaTimeoutError, StateError

R = TypeVar("R")

log = logging.getLogger(__name__)

# How long a call that was interrupted may take to clean up before its caller goes on without it.
CLEAN_UP_SECONDS = 1.0
# The same for a call whose timeout is over: its caller wants to return.
LATE_SECONDS = 0.2


class LoopThread:
    """An event loop, the ways to call into it and to wait for it, and a thread for the rest.

    Any thread may call, except from within the loop, which would wait for itself. The background
    thread is a daemon, so a program that forgot to close a client still ends.
    """

    def __init__(self, name: str) -> None:
        self.guard = ForkGuard(name)
        self.loop: SharedLoop | None = None
        self._name = name
        self.at_exit: Callable[[], object] | None = None
        """Called when the program ends and this was not closed."""
        self.at_wait: Callable[[], object] | None = None
        """Called by a thread that is about to wait for the loop; raises where it must not."""
        self.at_end: Callable[[StateError | None], object] | None = None
        """Called in the loop when it ends, with the failure that ends it if there is one; must not
        wait."""
        # The handler of a signal may call while its thread holds it.
        self._state = threading.RLock()
        self._thread: threading.Thread | None = None
        self._last_task: asyncio.Task[object] | None = None
        self._is_closed = False
        self._failure: BaseException | None = None
        """Why the loop ended, if it was not closed."""
        self._calls: dict[Call[Any], None] = {}
        self._drivers = LoopDrivers(self._fail)

    @property
    def is_closed(self) -> bool:
        return self._is_closed

    @property
    def has_ended(self) -> bool:
        """Whether nobody can call any more: it was closed, or the interpreter shuts down.

        Then its daemon threads stand still, maybe with a lock, and nothing can be imported.
        """
        return self._is_closed or sys.is_finalizing()

    def check_usable(self) -> None:
        """Raise :class:`StateError` if nobody can call any more, or wait for the loop."""
        if self.has_ended:
            raise self._closed("is closed")

    def is_here(self) -> bool:
        """Say whether this thread runs a turn of the loop now, and so must not wait for it."""
        return self._drivers.is_here()

    def check_caller(self) -> None:
        """Raise :class:`StateError` inside the loop, which would wait for itself."""
        if self.is_here():
            raise StateError(
                f"a blocking {self._name} cannot be called from its own event loop (from a "
                "callback, for instance): it would wait for itself"
            )
        if self.at_wait is not None:
            self.at_wait()

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
        call = Call(coroutine, DrivingWaiter(self._drivers, self.guard))
        try:
            self._calls[call] = None
            self._enter()
            begin = functools.partial(self._run_in_loop, call.begin)
            is_late = not self._drivers.wait(call.waiter, timeout, begin, may_drive)
            if is_late:
                self._give_up(call, LATE_SECONDS, may_drive)
            if not is_late or call.ended_by_itself:
                return call.result()
        except asyncio.CancelledError:
            raise self._closed("was closed while a call was in progress") from None
        except BaseException:
            if not call.waiter.is_set:
                self._give_up(call, CLEAN_UP_SECONDS, True)  # Ctrl-C can come anywhere above
            raise
        finally:
            self._calls.pop(call, None)
            call.forget()
        raise KafkaTimeoutError(
            f"no result within {timeout:g} seconds: a callback, or a busy machine, holds up the "
            f"loop of the {self._name}"
        )

    def post(self, function: Callable[[], object]) -> bool:
        """Call a function in the loop, soon; return False if the loop has ended."""
        if self.guard.is_forked:
            return False
        try:
            self._post(function)
        except StateError:
            return False
        return True

    def visit(self, function: Callable[[], object]) -> None:
        """Call a function of the engine now, in this thread, if the loop is at rest; otherwise
        soon.

        It must neither wait nor call the application. Nothing happens once the loop has ended.
        """
        if self.loop is None or self._is_closed or self.guard.is_forked:
            return
        drivers = self._drivers
        if drivers.is_here():
            drivers.call_here(function)
            return
        visit = Visit(function)
        try:
            drivers.visit(visit)
        finally:  # also if the handler of a signal has raised before it came to that
            if not visit.has_begun:
                with contextlib.suppress(StateError):
                    self._post(visit)

    def wait_aside(self, waiter: Waiter, timeout: float | None = None) -> bool:
        """Wait like ``waiter.wait``, but let other threads drive the loop meanwhile.

        No callback of the application runs in this thread, which may hold locks that they take.
        """
        self.guard.check()
        return waiter.is_set or self._drivers.wait(waiter, timeout, None, False)

    def leave(self, function: Callable[[], object], waiter: Waiter) -> bool:
        """Leave a function of the engine to the thread that runs the next turn; on the loop only.

        For what may wait until the thread is back that waits for ``waiter``, which is set. Returns
        False, and nothing has happened, if that thread does not drive.
        """
        return self._drivers.leave(function, waiter)

    def new_waiter(self) -> Waiter:
        """Return a waiter for a thread, which drives the loop meanwhile."""
        if self.at_wait is not None:
            self.at_wait()
        return DrivingWaiter(self._drivers, self.guard)

    def new_future(self) -> tuple[asyncio.Future[None], Callable[[], None]]:
        """Return a future of the running loop, and a function that settles it from this one."""
        return new_future(self.loop)

    def raise_soon(self, error: BaseException) -> None:
        """Raise an error out of the running loop, after the work that it is busy with."""
        raise_soon(error)

    def close(self, timeout: float = 5.0) -> None:
        """Cancel what runs in the loop and end the thread; returns within ``timeout`` seconds.

        It may be closed twice, and from within the loop, which then ends by itself.
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
        self._drivers.end()
        if not self.is_here() and thread is not threading.current_thread():
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
            self._drivers.wake()

    # -- calling in --------------------------------------------------------------------------------

    def _enter(self) -> SharedLoop:
        """Return the loop, started if need be; raise if it cannot be used from here."""
        self.guard.check()
        self.check_caller()
        self.check_usable()  # before a lock that a thread may hold which stands still
        with self._state:
            self.check_usable()
            return self.loop or self._start()

    def _closed(self, what: str) -> StateError:
        """Return why the loop cannot be used any more; ``what`` happened if somebody closed it."""
        if not self._is_closed and sys.is_finalizing():
            what = (
                "cannot be used while the interpreter shuts down: close it before the program "
                "ends, not in a finalizer such as __del__"
            )
        return self._why_failed() or ClosedError(f"the {self._name} {what}")

    def _why_failed(self) -> StateError | None:
        """Return an error of its own for each caller, None if the loop has not failed."""
        if self._failure is None:
            return None
        error = StateError(
            f"the {self._name} has ended because of a bug in pyk, or for lack of memory: "
            f"{self._failure!r}"
        )
        error.__cause__ = self._failure
        return error

    def _post(self, function: Callable[[], object]) -> None:
        """Give the loop work, and wake the thread that will do it."""
        # Inside the lock, so that it is queued before the loop is told to end.
        with self._state:
            if self._is_closed or self.loop is None:
                raise self._closed("is closed")
            self.loop.call_soon(function)
        self._drivers.wake()

    def _run_in_loop(self, function: Callable[[], object]) -> None:
        """Call a function in the loop: at once if this thread holds it, otherwise soon."""
        if self.is_here():
            function()
        else:
            self._post(function)

    def _give_up(self, call: Call[Any], patience: float, may_drive: bool) -> None:
        """Cancel a call, and give it a moment to leave its client in order."""
        with contextlib.suppress(StateError):
            self._enter()
            cancel = functools.partial(self._run_in_loop, call.cancel)
            self._drivers.wait(call.waiter, patience, cancel, may_drive)

    # -- life --------------------------------------------------------------------------------------

    def _fail(self, error: BaseException) -> None:
        """End the loop because it does not work any more."""
        with self._state:
            self._failure = self._failure or error
            self._is_closed = True
        self._drivers.end()
        log.error("Ending a %s whose event loop fails again and again", self._name)

    def _start(self) -> SharedLoop:
        """Make the loop and its thread. With the lock of the state."""
        signals = DeferredSignals()
        try:
            if is_main_thread():  # an interrupt would leave a thread that nobody knows
                signals.begin()
            # Until here, the handler of a signal may have used the client.
            if self._is_closed:
                raise self._closed("is closed")
            if self.loop is not None:
                return self.loop
            loop = new_loop(self._name)
            self._drivers.take(loop)
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
            self._drivers.drive_in_background()
        except BaseException as error:  # not of a turn: these are logged
            self._fail(error)
            self._drivers.drive_in_background()  # until no caller does
        finally:
            self._end(loop)

    def _end(self, loop: SharedLoop) -> None:
        """Cancel what runs in the loop, and close it; callers that wait get an error."""
        loop.turns.hold(True)
        try:
            if self.at_end is not None:
                self.at_end(self._why_failed())
        finally:
            try:
                loop.end(CLEAN_UP_SECONDS)
            finally:
                loop.turns.let_go()
                for call in list(self._calls):
                    call.waiter.set()
