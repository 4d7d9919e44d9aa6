"""Own the tasks of a client, or of a server."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine
from typing import Any

from pyk.runtime.clock import Clock

log = logging.getLogger(__name__)

# A task that is cancelled needs a few turns of the event loop, also where there is no time left.
GRACE_SECONDS = 0.1


class Supervisor:
    """Owns the tasks of a client or server: starts them, handles their failures, ends them.

    A task that fails has met a bug in pyk, not a fault of the cluster: it is logged with its
    traceback, and ``on_failure`` is called, so that no caller waits for ever. ``closed_error``
    makes the error for tasks that are started after the end.
    """

    def __init__(
        self,
        clock: Clock,
        on_failure: Callable[[str, BaseException], None] | None = None,
        closed_error: Callable[[str], Exception] = RuntimeError,
    ) -> None:
        self._clock = clock
        self._on_failure = on_failure
        self._closed_error = closed_error
        self._tasks: dict[asyncio.Task[Any], None] = {}
        self._is_closed = False

    @property
    def task_names(self) -> list[str]:
        """Return the names of the tasks that run."""
        return sorted(task.get_name() for task in self._tasks)

    def spawn(self, name: str, coroutine: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        """Run a coroutine as a task of the owner; the name is for logs and debuggers."""
        if self._is_closed:
            coroutine.close()
            raise self._closed_error(f"cannot start {name!r}: the client is closed")
        task = asyncio.get_running_loop().create_task(coroutine, name=name)
        self._tasks[task] = None
        task.add_done_callback(self._ended)
        return task

    async def close(self, deadline: float) -> None:
        """Cancel all tasks and return when they have ended, or at the deadline."""
        self._is_closed = True
        own = asyncio.current_task()
        tasks = [task for task in self._tasks if task is not own]
        for task in tasks:
            task.cancel()
        if tasks:
            remaining = max(GRACE_SECONDS, deadline - self._clock.now())
            await asyncio.wait(tasks, timeout=remaining)
            for task in [task for task in tasks if not task.done()]:
                log.warning("Task %s did not end in time and is left behind", task.get_name())

    def _ended(self, task: asyncio.Task[Any]) -> None:
        self._tasks.pop(task, None)
        if task.cancelled():
            return
        error = task.exception()
        if error is None:
            return
        self.failed(task.get_name(), error)

    def failed(self, name: str, error: BaseException) -> None:
        """Report the failure of a task, or of a callback that does the work of one."""
        log.error("Task %s failed", name, exc_info=error)
        if self._on_failure is not None:
            self._on_failure(name, error)
