"""How a consumer ends: how long each step may take, and what happens if nobody ends it."""

from __future__ import annotations

import asyncio
import warnings
from collections.abc import Callable, Coroutine
from typing import Any

import attrs

CLOSE_SECONDS = 30.0
# How long closing tries to commit if its caller names no timeout. A coordinator that moves, as
# brokers are restarted one after the other, is found again within this.
LAST_COMMIT_SECONDS = 5.0
# What each step of closing leaves for those after it, so that one that hangs is not the last. And
# how long closing takes once its caller has lost patience.
LEAST_SECONDS = 0.5


@attrs.frozen
class ClosingDeadlines:
    """Until when closing tries to commit, and when it ends."""

    commit: float
    end: float

    @classmethod
    def of(cls, now: float, timeout: float | None) -> ClosingDeadlines:
        """Return the deadlines of a close that may take ``timeout`` seconds.

        Without a timeout an outage ends the attempt to commit soon: what is not committed is read
        again, by another member or after a restart.
        """
        if timeout is None:
            return cls(now + LAST_COMMIT_SECONDS, now + CLOSE_SECONDS)
        return cls(before(now + timeout, 3, now), now + timeout)

    @classmethod
    def hurried(cls, now: float) -> ClosingDeadlines:
        """Return the deadlines of a close that was cancelled: it commits nothing more."""
        return cls(now, now + LEAST_SECONDS)


def before(deadline: float, steps: int, now: float) -> float:
    """Return a deadline that leaves time for so many steps after it."""
    return deadline - steps * min(LEAST_SECONDS, max(0.0, deadline - now) / 4)


def warn_of_dropped(consumer: object) -> None:
    """Say that nobody closed a consumer before it was forgotten."""
    warnings.warn(
        f"{consumer!r} was dropped without close(); it leaves its group now",
        ResourceWarning,
        source=consumer,
        stacklevel=2,
    )


_unattended: set[asyncio.Task[None]] = set()


def run_unattended(function: Callable[[], Coroutine[Any, Any, None]]) -> None:
    """Run a last task that nobody waits for: what ``function`` returns."""
    task = asyncio.get_running_loop().create_task(function())
    _unattended.add(task)
    task.add_done_callback(_unattended.discard)
