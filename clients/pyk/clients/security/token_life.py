"""When to fetch the next token, and when to try again: the rules of Kafka's client. Pure."""

from __future__ import annotations

from pyk.clients.errors import ConfigurationError
from pyk.runtime import slotted


@slotted.frozen(kw_only=True)
class RefreshWindow:
    """When a token is replaced: after a part of its life, and not all clients at once.

    Kafka's names begin with ``sasl.login.refresh``. ``min_period_seconds`` and ``buffer_seconds``,
    which are how long a token is used at least and how long before its end it is not used any more,
    count for nothing if together they are more than its life.
    """

    factor: float = 0.8
    jitter: float = 0.05
    min_period_seconds: float = 60.0
    buffer_seconds: float = 300.0

    def __attrs_post_init__(self) -> None:
        if not 0.5 <= self.factor <= 1.0:
            raise ConfigurationError("the refresh window factor must be 0.5 to 1.0")
        if not 0.0 <= self.jitter <= 0.25:
            raise ConfigurationError("the refresh window jitter must be 0.0 to 0.25")

    def refresh_in(self, lifetime: float, chance: float) -> float:
        """Return after how many seconds to replace a token; ``chance`` is from 0 to 1."""
        wanted = lifetime * min(1.0, self.factor + self.jitter * chance)
        if self.min_period_seconds + self.buffer_seconds > lifetime:
            return wanted
        return max(self.min_period_seconds, min(wanted, lifetime - self.buffer_seconds))


@slotted.frozen(kw_only=True)
class Retries:
    """How long to wait between attempts: twice as long each time, ``backoff_max_ms`` in all."""

    backoff_ms: int = 100
    backoff_max_ms: int = 10_000

    def wait(self, attempts: int, spent: float) -> float | None:
        """Return the seconds until the next attempt, None if there is none.

        ``attempts`` have failed, ``spent`` seconds after the first one began.
        """
        left = self.backoff_max_ms / 1000 - spent
        return min(self.backoff_ms / 1000 * 2 ** min(attempts - 1, 30), left) if left > 0 else None
