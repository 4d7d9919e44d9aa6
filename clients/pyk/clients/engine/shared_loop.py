"""An event loop that several threads run in turns, one turn at a time.

asyncio's own loop has all that it takes: a turn (``_run_once``) keeps nothing between turns but the
queues of the loop, and tasks belong to a loop, not to a thread. What is added here is the lock that
whoever runs a turn holds, and lets go of while it waits in ``select``.
"""

from __future__ import annotations

import asyncio
import selectors
import threading
from collections.abc import Callable
from typing import Any

from pyk.clients.engine import open_files
from pyk.clients.errors import TooManyOpenFilesError

NEVER = float("inf")
LONGEST_WAIT_SECONDS = 24 * 3600.0


class RelievedError(Exception):
    """Another thread drives the loop now; nothing of the turn has happened."""


class SharedLoop(asyncio.SelectorEventLoop):
    """Runs turns under a lock. What needs the lock says so; the rest any thread may call."""

    def __init__(self) -> None:
        self._mutex = threading.Lock()
        self._holder = 0
        self._turns = 0
        self._until = NEVER
        self._rest = Rest()
        self._closed = True  # for the collector, which closes loops: until this one is made
        selector = _Selector(self)
        try:
            super().__init__(selector)
        except BaseException:
            self._closed = True
            selector.close()
            raise
        self.wakeup_fd: int = self._csock.fileno()  # type: ignore[attr-defined]
        """A byte written here wakes whoever waits in ``select``."""

    # -- the lock ----------------------------------------------------------------------------------

    def hold(self, *, wait: bool) -> bool:
        """Take the lock; without ``wait`` only if it is free."""
        if not self._mutex.acquire(wait):
            return False
        self._holder = threading.get_ident()
        asyncio._set_running_loop(self)
        return True

    def let_go(self) -> None:
        """Give the lock back."""
        asyncio._set_running_loop(None)
        self._holder = 0
        self._mutex.release()

    def is_here(self) -> bool:
        """Say whether this thread runs a turn at this moment."""
        return self._holder == threading.get_ident()

    # -- with the lock -----------------------------------------------------------------------------

    def turn(self, until: float, rest: Rest) -> None:
        """Wait for work, at most until a time of the loop's clock, and do what there is.

        ``rest`` is told of the wait. Raises :class:`RelievedError`.
        """
        self._until, self._rest = until, rest
        self._run_once()  # type: ignore[attr-defined]
        self._turns += 1

    def has_timer_before(self, when: float) -> bool:
        """Say whether something is due before a time."""
        timers = self._scheduled  # type: ignore[attr-defined]
        return bool(timers) and timers[0].when() < when

    def touched(self) -> None:
        """Take note of changes to the loop outside of a turn."""
        self._turns += 1

    def end(self, patience: float) -> None:
        """Do what was queued, cancel all tasks, and close; they get ``patience`` seconds."""
        self._until, self._rest = NEVER, Rest()
        try:
            self.call_soon(self.stop)
            self._run_alone(self.run_forever)
            tasks = asyncio.all_tasks(self)
            for task in tasks:
                task.cancel()
            if tasks:
                self._run_alone(self.run_until_complete, asyncio.wait(tasks, timeout=patience))
            self._run_alone(self.run_until_complete, self.shutdown_asyncgens())
        finally:
            self.close()

    def _run_alone(self, run: Callable[..., object], *arguments: Any) -> None:
        asyncio._set_running_loop(None)  # asyncio's own ways to run it set and reset it themselves
        run(*arguments)

    # -- without the lock --------------------------------------------------------------------------

    @property
    def is_ready(self) -> bool:
        """Whether there is something to do at once."""
        return bool(self._ready)  # type: ignore[attr-defined]

    def poke(self) -> None:
        """Wake whoever waits in ``select``. Any thread may."""
        self._write_to_self()  # type: ignore[attr-defined]

    def wait_for_events(
        self, select: Callable[[float | None], list[Any]], timeout: float | None
    ) -> list[Any]:
        """Wait as the selector is asked to, without the lock."""
        if timeout is not None and timeout <= 0:
            return select(0)
        # The timer's own time, not what is left of it: that is a little less with each look.
        timers = self._scheduled  # type: ignore[attr-defined]
        wakes_at = min(self._until, timers[0].when() if timers else NEVER)
        now = self.time()
        if wakes_at <= now:
            return select(0)
        turns, rest = self._turns, self._rest
        rest.begins(wakes_at)
        self._holder = 0
        self._mutex.release()
        try:
            events = select(min(wakes_at - now, LONGEST_WAIT_SECONDS))
        finally:
            self._mutex.acquire()
            self._holder = threading.get_ident()
            is_relieved = rest.ends()
        if is_relieved:
            raise RelievedError
        # Others have worked meanwhile: what they changed comes up again with the next wait.
        return events if turns == self._turns else self._still_true(events)

    def _still_true(self, events: list[Any]) -> list[Any]:
        known = self._selector.get_map()  # type: ignore[attr-defined]
        return [(key, mask) for key, mask in events if known.get(key.fd) is key]


def new_loop(name: str) -> SharedLoop:
    """Return the loop of a client; raise :class:`TooManyOpenFilesError` if it cannot have one."""
    try:
        return SharedLoop()
    except OSError as error:
        if open_files.are_too_many(error):
            raise TooManyOpenFilesError(f"cannot begin a {name}: {open_files.HINT}") from error
        raise


class Rest:
    """A driver's waits in ``select``; touched with the lock only."""

    def __init__(self) -> None:
        self.is_on = False
        self.until = NEVER

    def begins(self, until: float) -> None:
        """The driver waits, at most until a time."""
        self.is_on, self.until = True, until

    def ends(self) -> bool:
        """The wait is over; return whether another thread drives now."""
        self.is_on, self.until = False, NEVER
        return False


class BackgroundRest(Rest):
    """Of a driver that may find after a wait that another thread took over."""

    def __init__(self, is_relieved: Callable[[], bool]) -> None:
        super().__init__()
        self._is_relieved = is_relieved

    def ends(self) -> bool:
        super().ends()
        return self._is_relieved()


class _Selector(selectors.DefaultSelector):
    def __init__(self, loop: SharedLoop) -> None:
        super().__init__()
        self._loop = loop

    def select(self, timeout: float | None = None) -> list[Any]:
        return self._loop.wait_for_events(super().select, timeout)
