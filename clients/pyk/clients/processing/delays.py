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

    def call_again(self, job: Job, seconds: float) -> None:
        """Let a job run again after so many seconds; until then it does not count as running."""
        asyncio.get_running_loop().call_later(seconds, self._resume, job)

    def _resume(self, job: Job) -> None:
        with self._lock:
            self._jobs.resume(job)
        self._runner.wake()
