"""Limits for each peer: a byte budget, deadlines, log lines that cannot flood."""

from __future__ import annotations

import logging
from collections.abc import Callable

from pyk.runtime import slotted

from .connection_limits import ConnectionLimits

DEFAULT_BUDGET_BYTES = 512 * 1024 * 1024
GRACE_SECONDS = 30.0
SLOWEST_BYTES_PER_SECOND = 10_000
"""Frames that arrive or are sent must progress this fast: otherwise they only hold memory."""


@slotted.define
class Progress:
    """The last progress of a connection, in monotonic seconds."""

    last_active: float
    receiving_since: float | None = None
    sending_since: float | None = None
    sending_bytes: int = 0

    def received(self, now: float) -> None:
        """Note that a whole request has arrived."""
        self.last_active = now
        self.receiving_since = None

    def resumed(self, now: float) -> None:
        """Note that the peer need not wait any more: meanwhile it could make no progress."""
        self.last_active, self.receiving_since = now, None

    def sending(self, now: float, size: int) -> None:
        """Note that ``size`` bytes are on their way to a peer that has to take them."""
        self.sending_since, self.sending_bytes = now, size

    def sent(self, now: float) -> None:
        """Note that the peer has taken them."""
        self.last_active, self.sending_since = now, None

    def overdue(
        self, now: float, *, max_idle: float, receiving_bytes: int, is_handling: bool
    ) -> str | None:
        """Return why the connection should be closed, None if it is well.

        ``receiving_bytes`` is the size of the request that has begun to arrive, 0 for none. Called
        now and then: that is how it learns since when a request has been arriving.
        """
        if self.sending_since is not None:
            is_late = now - self.sending_since > _allowance(self.sending_bytes)
            return "it does not read its responses" if is_late else None
        if receiving_bytes:
            self.receiving_since = self.receiving_since or now
            is_late = now - self.receiving_since > _allowance(receiving_bytes)
            return "its request does not arrive" if is_late else None
        self.receiving_since = None
        if not is_handling and now - self.last_active > max_idle:
            return "it is idle"
        return None


def _allowance(size: int) -> float:
    return GRACE_SECONDS + size / SLOWEST_BYTES_PER_SECOND


@slotted.frozen(kw_only=True)
class ListenerLimits:
    """The limits of connections; sizes in bytes, times in seconds."""

    max_request_bytes: int = 104_857_600
    max_idle: float = 600.0
    connections: ConnectionLimits = ConnectionLimits()
    budget_bytes: int = DEFAULT_BUDGET_BYTES
    """For all requests that wait or are being handled."""


class ByteBudget:
    """Bytes of requests that all connections together may hold.

    Above ``limit``, connections whose requests wait are no longer read from. Above twice that,
    those whose requests are still arriving are cut off: they could fill it for ever.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._used = 0

    @property
    def used(self) -> int:
        return self._used

    @property
    def is_exhausted(self) -> bool:
        return self._used > self._limit

    @property
    def is_overdrawn(self) -> bool:
        return self._used > 2 * self._limit

    def take(self, size: int) -> None:
        self._used += size

    def give_back(self, size: int) -> None:
        self._used -= size


class LogLimiter:
    """Warnings about peers, a few at once and then one a period, with how many were left out."""

    def __init__(
        self,
        logger: logging.Logger,
        now: Callable[[], float],
        *,
        burst: int = 5,
        period: float = 10.0,
    ) -> None:
        self._logger = logger
        self._now = now
        self._burst = burst
        self._period = period
        self._allowed = float(burst)
        self._last = now()
        self._suppressed = 0

    def warning(self, message: str, *arguments: object) -> None:
        """Log a warning, unless there were too many recently."""
        now = self._now()
        refilled = self._allowed + (now - self._last) / self._period
        self._allowed, self._last = min(float(self._burst), refilled), now
        if self._allowed < 1:
            self._suppressed += 1
            return
        self._allowed -= 1
        if self._suppressed:
            message += " (%d similar ones were not logged)"
            arguments = (*arguments, self._suppressed)
            self._suppressed = 0
        self._logger.warning(message, *arguments)
