"""Decide when a node may be connected to again, and when a connection logs in again. Pure."""

from __future__ import annotations

from math import inf

from pyk.clients.engine.backoff import Backoff
from pyk.runtime import slotted

# The part of a session after which to log in again, as Java's clients do, and the longest session
# that has an end.
EARLIEST_LOGIN, LATEST_LOGIN = 0.85, 0.95
LONGEST_SESSION = 365 * 86_400.0
# When to try again after a login could not begin, and the shortest rest of a session for that.
LOGIN_RETRY_SECONDS = 10.0
SHORTEST_REST_SECONDS = 1.0

# How long an address must be the same before connections to another one end.
SECONDS_TO_MOVE = 5.0


@slotted.define
class Reconnect:
    """Backs off from a node that cannot be reached, or whose connections turn out to be useless.

    A connection counts as a success only once a request was answered on it, ApiVersions apart. A
    broker that accepts and then closes, because it requires authentication or is overloaded, is
    treated like one that refuses.
    """

    backoff: Backoff
    setup_timeout: Backoff
    """How long connecting may take: longer after each failure (KIP-601)."""
    failures: int = 0
    _not_before: float = 0.0
    _moved_at: float = 0.0

    def due_in(self, now: float) -> float:
        """Return the seconds until the node may be connected to; 0.0 at once."""
        return max(0.0, self._not_before - now)

    def setup_timeout_for(self, chance: float) -> float:
        """Return the seconds that the next attempt may take."""
        return self.setup_timeout.delay(self.failures + 1, chance)

    def failed(self, now: float, chance: float) -> None:
        """Record that connecting failed, or that the connection closed before it was of use."""
        self.failures += 1
        self._not_before = now + self.backoff.delay(self.failures, chance)

    def proved(self) -> None:
        """Record that the connection was of use."""
        self.failures = 0

    def lost(self, now: float, chance: float) -> None:
        """Record that a connection ended."""
        if self.failures:
            self.failed(now, chance)
        else:
            self._not_before = now + self.backoff.delay(1, chance)

    def moved(self, now: float) -> None:
        """Forget failures, because the node has a new address."""
        self.failures = 0
        self._not_before = 0.0
        self._moved_at = now

    def has_settled(self, now: float) -> bool:
        """Return whether the node's address is sure: responses may not agree for a while."""
        return now - self._moved_at >= SECONDS_TO_MOVE


@slotted.define
class ConnectLimiter:
    """Caps how often a client connects at all, whatever goes wrong anywhere else.

    A bucket of tokens: ``burst`` at once, then ``rate`` a second.
    """

    rate: float = 50.0
    burst: float = 200.0
    _tokens: float = 200.0
    _filled_at: float = 0.0

    def due_in(self, now: float) -> float:
        """Take a token and return the seconds until it may be used."""
        gained = (now - self._filled_at) * self.rate
        self._tokens = min(self.burst, self._tokens + gained) - 1
        self._filled_at = now
        return max(0.0, -self._tokens / self.rate)


def times_of_session(began_at: float, lifetime: float, chance: float) -> tuple[float, float]:
    """Return when to log in again, and when the session ends; ``lifetime`` 0.0 has no end.

    ``chance`` is from 0 to 1: so that clients do not come back to a broker all at once.
    """
    if not 0.0 < lifetime < LONGEST_SESSION:
        return inf, inf
    part = EARLIEST_LOGIN + (LATEST_LOGIN - EARLIEST_LOGIN) * chance
    return began_at + lifetime * part, began_at + lifetime


def next_attempt(now: float, ends_at: float) -> float | None:
    """Return when to try again, None if too little is left of the session."""
    left = ends_at - now
    return None if left < SHORTEST_REST_SECONDS else now + min(LOGIN_RETRY_SECONDS, left / 2)
