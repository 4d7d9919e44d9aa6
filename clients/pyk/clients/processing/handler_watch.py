"""Watch the handlers of one ``process()``, and name those that do not return."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from contextlib import AbstractContextManager

from pyk.clients.consumer.faces.reading_core import ReadingCore
from pyk.clients.processing.calls import described
from pyk.clients.processing.jobs import Job, Jobs
from pyk.clients.processing.long_calls import LongCalls, told
from pyk.clients.wording import counted

log = logging.getLogger(__name__)

LOOKS_UNTIL_TOLD = 2
# How many records one warning names.
MOST_NAMED = 5


class HandlerWatch:
    """Looks at the handlers from time to time, on the consumer's event loop.

    ``lock`` guards ``jobs``. A call of a handler may take ``limit`` seconds; ``look_too`` is called
    with each look.
    """

    def __init__(
        self,
        core: ReadingCore,
        jobs: Jobs,
        lock: AbstractContextManager[object],
        limit: float,
        look_too: Callable[[], object] = lambda: None,
    ) -> None:
        self._core = core
        self._jobs = jobs
        self._lock = lock
        self._calls = LongCalls(limit)
        self._limit = limit
        self._look_too = look_too
        self._task: asyncio.Task[None] | None = None
        self._looks_at_the_end = 0

    def start(self) -> None:
        self._core.long_calls = self._calls.problems
        self._task = self._core.client.supervisor.spawn("watch handlers", self._run())

    def stop(self) -> None:
        self._core.long_calls = None
        if self._task is not None:
            self._task.cancel()

    async def _run(self) -> None:
        while True:
            await asyncio.sleep(self._calls.interval)
            self._look()
            self._look_too()

    def _look(self) -> None:
        with self._lock:
            running = [job for partition in self._jobs for job in partition.running]
        for job in self._calls.look(running, self._core.client.clock.now()):
            log.warning("A handler hangs, or takes long: %s", told(job, self._limit))
        if self._jobs.is_stopping and running:
            self._tell_what_holds_up_the_end(running)

    def _tell_what_holds_up_the_end(self, running: list[Job]) -> None:
        """Log once what the call waits for, not at the first look: most handlers end soon."""
        self._looks_at_the_end += 1
        if self._looks_at_the_end == LOOKS_UNTIL_TOLD:
            log.warning(
                "process() is to end, and waits for %s, for most of max_poll_interval_ms; close() "
                "does not wait: %s",
                counted(len(running), "handler"),
                ", ".join(described(job) for job in running[:MOST_NAMED]),
            )
