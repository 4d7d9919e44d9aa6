"""Limit how long calls of a consumer take, and how many records a poll returns. Pure."""

from __future__ import annotations

from typing import Protocol

from pyk.clients.arguments import checked_timeout
from pyk.clients.consumer.faces.closing import ClosingDeadlines
from pyk.runtime import slotted
from pyk.runtime.checked_arguments import checked_count
from pyk.runtime.clock import Clock


class LimitOptions(Protocol):
    """The options that limit calls."""

    @property
    def default_api_timeout_ms(self) -> int: ...

    @property
    def max_poll_records(self) -> int: ...


@slotted.frozen
class CallLimits:
    """Turns the timeouts that callers give, in seconds, into deadlines; the rest is configured."""

    _config: LimitOptions
    _clock: Clock

    def deadline(self, timeout: float | None) -> float:
        """Return when a call must end; without a timeout after ``default_api_timeout_ms``."""
        seconds = checked_timeout(timeout)
        if seconds is None:
            seconds = self._config.default_api_timeout_ms / 1000
        return self._clock.now() + seconds

    def poll_deadline(self, timeout: float | None) -> float | None:
        """Return when a poll must end, None if it has no limit."""
        seconds = checked_timeout(timeout)
        return None if seconds is None else self._clock.now() + seconds

    def poll_records(self, max_records: int | None) -> int:
        """Return how many records a poll may return."""
        if max_records is None:
            return self._config.max_poll_records
        return checked_count(max_records, "max_records", lowest=1)

    def closing(self, timeout: float | None) -> ClosingDeadlines:
        """Return how long a close that begins now may take."""
        return ClosingDeadlines.of(self._clock.now(), checked_timeout(timeout))

    def hurried_closing(self) -> ClosingDeadlines:
        """Return how long a close may still take that is cancelled now."""
        return ClosingDeadlines.hurried(self._clock.now())
