"""Time as clients and broker see it. Nothing else in pyk asks the operating system for it."""

from __future__ import annotations

import time
from typing import Protocol


class Clock(Protocol):
    """Where time comes from. Tests hand in a virtual one, driven by their event loop."""

    def now(self) -> float:
        """Return monotonic seconds, on the same scale as the event loop's own ``time()``."""

    def time_ms(self) -> int:
        """Return the wall clock in milliseconds since the epoch, the unit of record timestamps."""


class SystemClock:
    """The operating system's clocks."""

    def now(self) -> float:
        return time.monotonic()

    def time_ms(self) -> int:
        return time.time_ns() // 1_000_000
