"""The operating system's clocks, whichever form is loaded."""

from __future__ import annotations

import time

from pyk.runtime.system_clock import SystemClock


def test_the_wall_clock_is_in_milliseconds_since_1970():
    before = time.time_ns() // 1_000_000

    now = SystemClock().time_ms()

    assert before <= now <= time.time_ns() // 1_000_000


def test_the_other_clock_is_that_of_event_loops():
    before = time.monotonic()

    now = SystemClock().now()

    assert before <= now <= time.monotonic()
