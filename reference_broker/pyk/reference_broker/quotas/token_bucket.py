"""A bucket of permits that fills at a rate (KIP-599). Pure."""

from __future__ import annotations

from .sampled_rate import LONGEST_THROTTLE_MS


class TokenBucket:
    """Permits that a client may use, and debts that it has to wait for.

    It begins full and holds the permits of ``seconds`` at most, so that a burst passes at once.
    Times are milliseconds of any clock that only goes forward.
    """

    def __init__(self, seconds: float, per_second: float) -> None:
        self.per_second = per_second
        """May change at any time."""
        self._seconds = seconds
        self._permits = float("inf")
        self._updated_ms = 0

    def permits(self, now_ms: int) -> float:
        """Return how many permits there are; below zero is a debt."""
        filled = self._permits + self.per_second * (now_ms - self._updated_ms) / 1000
        self._permits = min(self.per_second * self._seconds, filled)
        self._updated_ms = now_ms
        return self._permits

    def take(self, count: float, now_ms: int) -> None:
        """Use permits, even if that makes debts."""
        self._permits = self.permits(now_ms) - count

    def throttle_ms(self, now_ms: int) -> int:
        """Return after how many milliseconds all debts are paid, 0 if there are none."""
        wait_ms = -self.permits(now_ms) / self.per_second * 1000
        return round(max(0, min(LONGEST_THROTTLE_MS, wait_ms)))

    def is_idle(self, now_ms: int) -> bool:
        """Return whether it is full: a new bucket would be the same."""
        return self.permits(now_ms) >= self.per_second * self._seconds
