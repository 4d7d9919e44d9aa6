"""An event loop that several threads run, one turn at a time.

It is asyncio's own loop except for its turn, which is :class:`~pyk.clients.engine.turns.Turns`.
"""

from __future__ import annotations

import asyncio
import logging
import selectors
from collections.abc import Callable
from typing import Any

from pyk.clients.engine import open_files
from pyk.clients.engine.turns import NEVER, EventWait, Turns
from pyk.clients.errors import TooManyOpenFilesError

log = logging.getLogger(__name__)


class SharedLoop(asyncio.SelectorEventLoop):
    """Runs turns under a lock, which ``turns`` has. Only :meth:`end` needs it here."""

    def __init__(self) -> None:
        self._closed = True  # for the collector, which closes loops: until this one is made
        selector = selectors.DefaultSelector()
        try:
            super().__init__(selector)
        except BaseException:
            self._closed = True
            selector.close()
            raise
        self.turns = Turns(self)
        self.wakeup_fd: int = self._csock.fileno()  # type: ignore[attr-defined]
        """A byte written here wakes the thread that waits for events."""

    def poke(self) -> None:
        """Wake the thread that waits for events. Any thread may call it."""
        self._write_to_self()  # type: ignore[attr-defined]

    def end(self, patience: float) -> None:
        """Run what was queued, cancel all tasks, and close; tasks get ``patience`` seconds.

        With the lock.
        """
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

    # -- what turns call ---------------------------------------------------------------------------

    def report(self, handle: asyncio.Handle, error: BaseException) -> None:
        """Tell the handler of exceptions what a callback raised."""
        self.call_exception_handler(
            {"message": f"Exception in callback {handle!r}", "exception": error, "handle": handle}
        )

    def run_in_debug_mode(self, handle: asyncio.Handle) -> None:
        """Run a callback, and warn if it is slow."""
        self._current_handle = handle
        began_at = self.time()
        try:
            handle._run()
        finally:
            self._current_handle = None  # type: ignore[assignment]
        took = self.time() - began_at
        if took >= self.slow_callback_duration:
            log.warning("Executing %r took %.3f seconds", handle, took)

    def _run_once(self) -> None:
        """Run a turn where asyncio does: in ``run_forever``, at the end."""
        self.turns.run(NEVER, EventWait())


def new_loop(name: str) -> SharedLoop:
    """Return the loop of a client; raise :class:`TooManyOpenFilesError` if it cannot have one."""
    try:
        return SharedLoop()
    except OSError as error:
        if open_files.are_too_many(error):
            raise TooManyOpenFilesError(f"cannot begin a {name}: {open_files.HINT}") from error
        raise
