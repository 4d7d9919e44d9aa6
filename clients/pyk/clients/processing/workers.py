"""The tasks that run jobs: as many as are needed, and no more than may run at once.

A worker is a task that runs one job after the other until none is ready; then it waits for more, or
ends if enough others wait. Jobs that were read are first left to the workers whose handlers end in
the next turn of the event loop, because a worker that goes on costs less than one that has to be
woken. For what they leave, others are woken or started: some times as many as are at work. So
handlers that wait soon run side by side, and those that never wait need few workers.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine
from typing import Any

from pyk.clients.processing.jobs import Jobs
from pyk.clients.processing.session_role import LAST_SECONDS
from pyk.clients.wording import counted

log = logging.getLogger(__name__)

# How many workers are started at once: a few, and so many for each that is at work.
FIRST_WORKERS = 2
GROWTH = 16
# How many workers wait for jobs, at most: a task that is woken costs less than a new one.
MAX_IDLE = 1_000


class Workers:
    """At most ``most`` tasks that ``run`` what is ready of ``jobs``.

    ``fail`` is told what a worker raised.
    """

    def __init__(
        self,
        jobs: Jobs,
        most: int,
        run: Callable[[], Coroutine[Any, Any, None]],
        fail: Callable[[BaseException], object],
    ) -> None:
        self._jobs = jobs
        self._most = most
        self._run = run
        self._fail = fail
        self._tasks: set[asyncio.Task[None]] = set()
        self._idle: list[asyncio.Future[None]] = []
        """What the workers wait for that have no job."""
        self._starting = 0
        """How many were started or woken, and have not come to take a job yet."""
        self._new = 0
        """How many jobs were read since the last look, at most."""
        self._is_looking = False

    def jobs_came(self, count: int) -> None:
        """Look soon whether more workers are needed: so many jobs were read."""
        self._new += count
        self.look_soon()

    def look_soon(self) -> None:
        """Look in the next turn of the loop whether more workers are needed."""
        if not self._is_looking:
            self._is_looking = True
            asyncio.get_running_loop().call_soon(self._look)

    async def stop(self, patience: float) -> None:
        """Let the workers finish what they are at for so many seconds, then cancel them.

        No more jobs begin: ``jobs.is_stopping`` is set.
        """
        while self._idle:
            self._wake_one()
        try:
            if self._tasks and patience:
                await asyncio.wait(self._tasks, timeout=patience)
        finally:
            await self._cancel()

    async def _cancel(self) -> None:
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=LAST_SECONDS)
        if self._tasks:
            log.error("%s did not end when cancelled", counted(len(self._tasks), "handler"))

    def _look(self) -> None:
        """Start workers for what those at work have left, and look again as long as that helps."""
        self._is_looking = False
        left, self._new = self._jobs.ready_count - self._new, 0
        self._start(left)
        has_room = self._idle or len(self._tasks) < self._most
        if has_room and self._jobs.ready_count > self._starting:
            self.look_soon()

    def _start(self, jobs: int) -> None:
        at_work = len(self._tasks) - len(self._idle) - self._starting
        needed = min(jobs - self._starting, FIRST_WORKERS + GROWTH * at_work)
        while needed > 0 and self._idle:
            self._wake_one()
            needed -= 1
        for _ in range(min(needed, self._most - len(self._tasks))):
            self._starting += 1
            task = asyncio.create_task(self._work(), name="handle records")
            self._tasks.add(task)
            task.add_done_callback(self._ended)

    def _wake_one(self) -> None:
        idle = self._idle.pop()
        if not idle.done():  # as it is if its worker was cancelled, at the end of the event loop
            self._starting += 1
            idle.set_result(None)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        error = None if task.cancelled() else task.exception()
        if error is not None:
            self._fail(error)
        self.look_soon()

    async def _work(self) -> None:
        loop = asyncio.get_running_loop()
        self._starting -= 1
        while True:
            await self._run()
            if self._jobs.is_stopping or len(self._idle) >= MAX_IDLE:
                return
            idle = loop.create_future()
            self._idle.append(idle)
            await idle
            self._starting -= 1
