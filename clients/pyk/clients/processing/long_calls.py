"""Tell which calls of handlers do not return. Pure.

It looks from time to time, so that it costs nothing for each record: a call is known from the first
look that sees it.
"""

from __future__ import annotations

from collections.abc import Iterable

from pyk.clients.processing.calls import described
from pyk.clients.processing.jobs import Job

# Seconds between two looks: a tenth of what a call may take, within these bounds.
SHORTEST_INTERVAL = 0.5
LONGEST_INTERVAL = 10.0


class LongCalls:
    """The calls of handlers that take longer than ``limit`` seconds."""

    def __init__(self, limit: float) -> None:
        self._limit = limit
        self.interval = min(max(limit / 10, SHORTEST_INTERVAL), LONGEST_INTERVAL)
        """Seconds between two looks."""
        self._seen: dict[Job, tuple[int, float]] = {}
        """The attempts of each job that runs, and since when this one is known."""
        self._long: dict[Job, float] = {}

    def look(self, running: Iterable[Job], now: float) -> list[Job]:
        """Look at the jobs that run now; return those whose calls have become too long.

        A job goes on running when its partition has gone, and its handler does not return.
        """
        before, self._seen = self._seen, {}
        for job in {*running, *(job for job in before if job in job.partition.running)}:
            attempts, since = before.get(job, (0, now))
            self._seen[job] = (job.attempts, since if attempts == job.attempts else now)
        told = self._long
        self._long = {
            job: since for job, (_, since) in self._seen.items() if now - since >= self._limit
        }
        return [job for job in self._long if job not in told]

    def problems(self, now: float) -> tuple[str, ...]:
        """Return the long calls in words; any thread may ask."""
        return tuple(told(job, now - since) for job, since in self._long.items())


def told(job: Job, seconds: float) -> str:
    """Say for how long a call has not returned."""
    return f"the handler of {described(job)} has not returned for {round(seconds, 1):g} s"
