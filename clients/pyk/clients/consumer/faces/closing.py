"""Close a consumer: how long each step may take, and what happens if it is never closed."""

from __future__ import annotations

import asyncio
import warnings
import weakref
from collections.abc import Callable, Coroutine
from typing import Any

from pyk.runtime import slotted

CLOSE_SECONDS = 30.0
# How long closing tries to commit if its caller names no timeout: enough to find a coordinator that
# moves while brokers are restarted one after the other.
LAST_COMMIT_SECONDS = 5.0
# What each step of closing leaves for those after it, so that one that hangs is not the last. And
# how long closing takes once its caller has lost patience.
LEAST_SECONDS = 0.5


@slotted.frozen
class ClosingDeadlines:
    """The deadlines of closing: for the commit, and for its end."""

    commit: float
    end: float

    @classmethod
    def of(cls, now: float, timeout: float | None) -> ClosingDeadlines:
        """Return the deadlines of a close that may take ``timeout`` seconds.

        Without a timeout an outage soon ends the attempt to commit: records that are not committed
        are read again, by another member or after a restart.
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


def warn_of_dropped(consumer: object, *, can_leave: bool) -> None:
    """Warn of a consumer that was dropped without being closed."""
    consequence = (
        "it leaves its group now"
        if can_leave
        else "its event loop has ended, so its group keeps it until its session ends"
    )
    warnings.warn(
        f"{consumer!r} was dropped without close(); {consequence}",
        ResourceWarning,
        source=consumer,
        stacklevel=2,
    )


def warn_of_loop_end(consumer: weakref.ref[Any]) -> None:
    """Warn of a consumer that was not closed before its event loop ended, unless it was dropped."""
    if (still_there := consumer()) is not None:
        warnings.warn(
            f"{still_there!r} was not closed before its event loop ended; it leaves its group now",
            ResourceWarning,
            source=still_there,
            stacklevel=2,
        )


_unattended: set[asyncio.Task[None]] = set()


def run_unattended(function: Callable[[], Coroutine[Any, Any, None]]) -> None:
    """Run a last coroutine, which ``function`` returns, as a task that nothing waits for."""
    task = asyncio.get_running_loop().create_task(function())
    _unattended.add(task)
    task.add_done_callback(_unattended.discard)
