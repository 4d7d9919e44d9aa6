"""Let a thread wait until something has happened on an event loop."""

from __future__ import annotations

import asyncio
import functools
import logging
import threading
from collections.abc import Callable
from typing import Protocol

from pyk.clients.engine.fork import ForkGuard

LONGEST = threading.TIMEOUT_MAX

log = logging.getLogger(__name__)


class Waiter:
    """A flag that one thread waits for, and any thread may set.

    The wait can be ended by Ctrl-C. What is set stays set until :meth:`clear`. The handler of a
    signal, or the collector, may set it too, in the thread that waits and in the middle of it: so
    the thread sleeps on a bare lock.
    """

    __slots__ = ("_bell", "is_set")

    def __init__(self) -> None:
        self.is_set = False
        self._bell: threading.Lock | None = None

    def set(self) -> None:
        """End the wait."""
        self.is_set = True
        bell = self._bell
        if bell is not None:
            try:  # noqa: SIM105 - `suppress` is Python, and this runs per message
                bell.release()
            except RuntimeError:  # another thread was faster
                pass

    def clear(self) -> None:
        """Reset it, so that the next wait blocks again."""
        self.is_set = False

    def wait(self, timeout: float | None = None, begin: Callable[[], object] | None = None) -> bool:
        """Wait until it is set; return False if that takes longer than ``timeout`` seconds.

        ``begin`` is called first, by the same thread.
        """
        if begin is not None:
            begin()
        return self.sleep(timeout)

    def sleep(self, timeout: float | None) -> bool:
        """Wait as :meth:`wait` does for a waiter that drives nothing."""
        bell = threading.Lock()
        bell.acquire()
        self._bell = bell
        if not self.is_set:  # checked once the bell exists: a thread that sets it from now on rings
            bell.acquire(timeout=-1 if timeout is None else max(0.0, min(timeout, LONGEST)))
        self._bell = None
        return self.is_set


class Drivers(Protocol):
    """Those who drive a loop; see :class:`~pyk.clients.engine.loop_drivers.LoopDrivers`."""

    def wait(
        self,
        waiter: Waiter,
        timeout: float | None,
        begin: Callable[[], object] | None,
        may_drive: bool,
    ) -> bool:
        """Wait for ``waiter``, once ``begin`` was called; return whether it is set."""

    def was_set(self, waiter: Waiter) -> None:
        """Tell the thread that waits for ``waiter`` by driving the loop."""


class DrivingWaiter(Waiter):
    """A waiter that drives a loop meanwhile, if no other thread does.

    What a wait begins with may visit the loop, which the thread holds already where it is to drive:
    a visit, and the wait for what follows from it, enter the loop once.
    """

    __slots__ = ("_drivers", "_guard")

    def __init__(self, drivers: Drivers, guard: ForkGuard) -> None:
        super().__init__()
        self._drivers = drivers
        self._guard = guard

    def set(self) -> None:
        Waiter.set(self)
        self._drivers.was_set(self)

    def wait(self, timeout: float | None = None, begin: Callable[[], object] | None = None) -> bool:
        if self.is_set:
            return True
        if self._guard.is_forked:
            self._guard.check()
        return self._drivers.wait(self, timeout, begin, True)


class Engine(Protocol):
    """The event loop that settles an outcome, as waiting threads see it."""

    @property
    def loop(self) -> asyncio.AbstractEventLoop | None:
        """The loop, None before it was started."""

    def is_here(self) -> bool:
        """Return whether this code runs on the loop, which must not wait for itself."""

    def new_waiter(self) -> Waiter:
        """Return a waiter for a thread."""

    def new_future(self) -> tuple[asyncio.Future[None], Callable[[], None]]:
        """Return a future of the running loop, and a function that settles it from this engine's
        loop."""

    def post(self, function: Callable[[], object]) -> bool:
        """Call a function in the loop, soon; return False if the loop has ended."""

    def raise_soon(self, error: BaseException) -> None:
        """Raise an error out of the running loop, after the work that it is busy with."""


class LoopOfCaller:
    """The loop of an asyncio client: other threads can only wait for it."""

    running = staticmethod(asyncio._get_running_loop)
    """Return the event loop that runs in this thread, None if no loop runs."""

    def __init__(self, guard: ForkGuard) -> None:
        self.loop: asyncio.AbstractEventLoop | None = None
        self._guard = guard
        self._thread = 0

    def start(self) -> None:
        """Remember the running loop."""
        self.loop = asyncio.get_running_loop()
        self._thread = threading.get_ident()

    def is_here(self) -> bool:
        return threading.get_ident() == self._thread

    def new_waiter(self) -> Waiter:
        return Waiter()

    def new_future(self) -> tuple[asyncio.Future[None], Callable[[], None]]:
        return new_future(self.loop)

    def raise_soon(self, error: BaseException) -> None:
        raise_soon(error)

    def post(self, function: Callable[[], object]) -> bool:
        if self.loop is None or self._guard.is_forked:
            return False
        try:
            self.loop.call_soon_threadsafe(function)
        except RuntimeError:
            return False
        return True


def new_future(
    engine_loop: asyncio.AbstractEventLoop | None,
) -> tuple[asyncio.Future[None], Callable[[], None]]:
    """Return a future of the running loop, and a function that settles it from ``engine_loop``."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[None] = loop.create_future()
    if loop is engine_loop:
        return future, functools.partial(_settle, future)
    return future, functools.partial(_settle_elsewhere, loop, future)


def _settle(future: asyncio.Future[None]) -> None:
    if not future.done():  # cancelled: the waiter gave up, but the work goes on
        future.set_result(None)


def _settle_elsewhere(loop: asyncio.AbstractEventLoop, future: asyncio.Future[None]) -> None:
    try:
        loop.call_soon_threadsafe(_settle, future)
    except RuntimeError:
        log.debug("The loop that awaited a delivery is closed")


def raise_soon(error: BaseException) -> None:
    """Raise an error that is to end the program out of the running loop, on its next turn.

    What the loop is busy with goes on first. Without a running loop, raise it at once.
    """
    try:
        loop = asyncio.get_running_loop()
    except RuntimeError:
        raise error from None
    loop.call_soon(_raise, error)


def _raise(error: BaseException) -> None:
    raise error
