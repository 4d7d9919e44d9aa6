"""The operating system's clocks; ``compiled/system_clock.pyx`` is the compiled form.

A producer stamps every record: through Python, asking for the time costs as much as encoding one.
"""

from __future__ import annotations

import time


class SystemClock:
    """The operating system's clocks; implements :class:`~pyk.runtime.clock.Clock`."""

    def now(self) -> float:
        return time.monotonic()

    def time_ms(self) -> int:
        return time.time_ns() // 1_000_000
