"""Let jobs run again after some time. On the consumer's event loop."""

from __future__ import annotations

import asyncio
from contextlib import AbstractContextManager

from pyk.clients.processing.jobs import Job, Jobs
from pyk.clients.processing.runner import Runner


class Delays:
    """The jobs of one ``process()`` that wait for their next attempt. ``lock`` guards ``jobs``."""

    def __init__(self, jobs: Jobs, runner: Runner, lock: AbstractContextManager[object]) -> None:
        self._jobs = jobs
        self._runner = runner
        self._lock = lock
        self._timers: dict[Job, asyncio.TimerHandle] = {}

    def call_again(self, job: Job, seconds: float) -> None:
        """Let a job run again after so many seconds; until then it does not count as running."""
        loop = asyncio.get_running_loop()
        self._timers[job] = loop.call_later(seconds, self._resume, job)

    def close(self) -> None:
        """Forget the jobs that wait: a timer of an hour would keep them, and their consumer."""
        for timer in self._timers.values():
            timer.cancel()
        self._timers.clear()

    def _resume(self, job: Job) -> None:
        del self._timers[job]
        with self._lock:
            self._jobs.resume(job)
        self._runner.wake()
