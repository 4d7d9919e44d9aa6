"""Rates over sliding windows, with the arithmetic of Apache Kafka's quotas. Pure.

What was used is summed up in samples of one window each. The rate is the sum of all samples divided
by the time since the oldest of them began, or by all windows but one if that is longer: a client
that has just come may use at once what it may use in ten windows.
"""

from __future__ import annotations

from collections import deque

from pyk.runtime import slotted

LONGEST_THROTTLE_MS = 2**31 - 1
"""What a response can say; Apache Kafka's arithmetic overflows there."""


@slotted.define
class _Sample:
    started_ms: int
    last_used_ms: int
    amount: float = 0.0


class SampledRate:
    """How much is used per second. Times are milliseconds of any clock that only goes forward.

    ``windows`` is how many samples there are, the current one included.
    """

    def __init__(self, windows: int, window_ms: int) -> None:
        self._windows = windows
        self._window_ms = window_ms
        # One more than counts: the oldest may have begun before the windows that are looked at.
        self._samples: deque[_Sample] = deque(maxlen=windows + 1)

    def record(self, amount: float, now_ms: int) -> None:
        """Add what was used; a negative amount takes back."""
        last = self._samples[-1] if self._samples else None
        if last is None or now_ms - last.started_ms >= self._window_ms:
            last = _Sample(now_ms, now_ms)
            self._samples.append(last)
        last.amount += amount
        last.last_used_ms = now_ms

    def per_second(self, now_ms: int, more: float = 0.0) -> float:
        """Return how much was used per second, or would be with ``more``."""
        return (self._total(now_ms) + more) / self._span_ms(now_ms) * 1000

    def throttle_ms(self, limit: float, now_ms: int, more: float = 0.0) -> int:
        """Return after how many milliseconds without use the rate is within ``limit``.

        Where O is the rate over a span of W, that is X in O * W / (W + X) = ``limit``.
        """
        excess = self.per_second(now_ms, more) - limit
        if excess <= 0:
            return 0
        if limit <= 0:
            return LONGEST_THROTTLE_MS
        return round(min(LONGEST_THROTTLE_MS, excess / limit * self._span_ms(now_ms)))

    def is_idle(self, now_ms: int) -> bool:
        """Return whether nothing counts any more: a new rate would be the same."""
        self._drop_old(now_ms)
        return not self._samples

    def _total(self, now_ms: int) -> float:
        self._drop_old(now_ms)
        return sum(sample.amount for sample in self._samples)

    def _span_ms(self, now_ms: int) -> int:
        elapsed = now_ms - self._samples[0].started_ms if self._samples else 0
        missing = max(0, self._windows - 1 - elapsed // self._window_ms)
        return max(1, elapsed + missing * self._window_ms)

    def _drop_old(self, now_ms: int) -> None:
        oldest_use = now_ms - self._windows * self._window_ms
        while self._samples and self._samples[0].last_used_ms <= oldest_use:
            self._samples.popleft()
