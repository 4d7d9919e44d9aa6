"""Wake an event loop at a steady rate.

The timers of asyncio wait whole milliseconds, the unit of ``epoll_wait``. So 1,000 sends a second
come in pairs: one late, and the next directly after it. A kernel timer, which the loop watches as
it watches a socket, has no such unit.
"""

from __future__ import annotations

import asyncio
import ctypes
import os
import time
from collections.abc import AsyncIterator

_LIBC = ctypes.CDLL(None, use_errno=True)


class _TimerSpec(ctypes.Structure):
    """``struct itimerspec``: the interval, and the time until the first tick."""

    _fields_ = tuple(
        (name, ctypes.c_long) for name in ("every_s", "every_ns", "first_s", "first_ns")
    )


async def ticks(seconds: float) -> AsyncIterator[None]:
    """Yield once per interval in seconds; at once while the caller is late. Linux only."""
    timer = _start_timer(seconds)
    due = asyncio.Semaphore(0)

    def tick() -> None:
        for _ in range(int.from_bytes(os.read(timer, 8), "little")):
            due.release()

    loop = asyncio.get_running_loop()
    loop.add_reader(timer, tick)
    try:
        while True:
            await due.acquire()
            yield
    finally:
        loop.remove_reader(timer)
        os.close(timer)


def _start_timer(seconds: float) -> int:
    """Return the descriptor of a timer; reading it gives the number of ticks since."""
    timer: int = _LIBC.timerfd_create(time.CLOCK_MONOTONIC, os.O_NONBLOCK | os.O_CLOEXEC)
    every = (int(seconds), int(seconds % 1 * 1_000_000_000))
    spec = _TimerSpec(*every, *every)
    if timer < 0 or _LIBC.timerfd_settime(timer, 0, ctypes.byref(spec), None):
        raise OSError(ctypes.get_errno(), "no timer descriptor")
    return timer
