"""Track how long a member has failed at its coordinator, and when to report that. Pure.

One refused request is normal: another member was quicker, or a coordinator has just moved.
Refusals that last are a problem in ``health()`` and a warning in the log, and a member that cannot
join, so that its application gets nothing, raises them.
"""

from __future__ import annotations

from pyk.clients.errors import KafkaError
from pyk.runtime import slotted

PROBLEM_SECONDS = 10.0
WARNING_INTERVAL_SECONDS = 60.0


@slotted.define
class JoinFailures:
    """The failures of a member since its last success."""

    raise_after: float
    """Seconds until the first report to the application, and between later ones."""
    _since: float | None = None
    _is_forgotten: bool = False
    _error: KafkaError | None = None
    _warned_at: float | None = None
    _raised_at: float | None = None

    def failed(self, error: KafkaError, now: float) -> None:
        """Record a request that was refused, or not answered."""
        self._error = error
        if self._since is None:
            self._since = now

    def forgotten(self, error: KafkaError, now: float) -> None:
        """Record that the coordinator has given the member up, which joins as a new one.

        At the end of an outage that is the first answer: then no failure lasts, and one begins only
        if the member cannot join. So what failed before is over, but once: a member that is
        given up again and again does not get into its group.
        """
        if not self._is_forgotten:
            self._since, self._is_forgotten = None, True
        self.failed(error, now)

    def succeeded(self) -> None:
        """Record that the member is in its group, or does not want to be."""
        self._since = self._error = self._warned_at = self._raised_at = None
        self._is_forgotten = False

    def problem(self, now: float) -> KafkaError | None:
        """Return the last failure once they last long enough to be reported."""
        return self._error if self.seconds(now) >= PROBLEM_SECONDS else None

    def seconds(self, now: float) -> float:
        """Return how long there was no success."""
        return 0.0 if self._since is None else now - self._since

    def take_warning(self, now: float) -> KafkaError | None:
        """Return the failure to log now: once a minute while it lasts."""
        if _is_recent(self._warned_at, now, WARNING_INTERVAL_SECONDS):
            return None
        problem = self.problem(now)
        if problem is not None:
            self._warned_at = now
        return problem

    def must_raise(self, now: float) -> bool:
        """Return whether it is time to tell the application."""
        is_told = _is_recent(self._raised_at, now, self.raise_after)
        return self._since is not None and self.seconds(now) >= self.raise_after and not is_told

    def take_error(self, now: float) -> KafkaError | None:
        """Return what to raise to the application, None if it is not time."""
        if not self.must_raise(now):
            return None
        self._raised_at = now
        return self._error


def _is_recent(moment: float | None, now: float, interval: float) -> bool:
    return moment is not None and now - moment < interval
