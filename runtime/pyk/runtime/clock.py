"""Time as clients and broker see it. Nothing else in pyk asks the operating system for it."""

from __future__ import annotations

from typing import Protocol


class Clock(Protocol):
    """A source of time. Tests pass in a virtual one, driven by their event loop."""

    def now(self) -> float:
        """Return monotonic seconds, on the same scale as the event loop's own ``time()``."""

    def time_ms(self) -> int:
        """Return the wall clock in milliseconds since the epoch, the unit of record timestamps."""
