"""The operating system's clocks; ``compiled/system_clock.pyx`` is the compiled form.

A producer stamps every record: through Python, asking for the time costs as much as encoding one.
"""

from __future__ import annotations

import time


class SystemClock:
    """The operating system's clocks; implements :class:`~pyk.runtime.clock.Clock`."""

    def __init__(self) -> None:
        self.ahead_ms = 0

    def now(self) -> float:
        return time.monotonic()

    def time_ms(self) -> int:
        return time.time_ns() // 1_000_000 + self.ahead_ms

    def step(self, seconds: float) -> None:
        """Set the wall clock of this object forward, or backward, for tests of wrong clocks."""
        self.ahead_ms += round(seconds * 1000)
