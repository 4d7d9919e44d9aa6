"""Decide which failures of handlers are logged. Pure.

Where ``process()`` goes on after failures, every record may fail: a line for each would hide all
others, and no line would hide that they fail.
"""

from __future__ import annotations

# Seconds from one warning to the next. What fails in between is counted by the next one.
WARNING_INTERVAL_SECONDS = 10.0


class FailureWarnings:
    """Counts failures, and says when it is time for a warning: every ``interval`` seconds."""

    def __init__(self, interval: float = WARNING_INTERVAL_SECONDS) -> None:
        self._interval = interval
        self._warned_at: float | None = None
        self._unreported = 0

    def take_warning(self, now: float) -> int | None:
        """Record a failure; return how many others there were since the last warning, None if it
        is too early for another."""
        if self._warned_at is not None and now - self._warned_at < self._interval:
            self._unreported += 1
            return None
        self._warned_at = now
        return self.take_rest()

    def take_rest(self) -> int:
        """Return how many failures no warning has counted; they count as reported then."""
        others, self._unreported = self._unreported, 0
        return others
