"""Decide when to request metadata again. Pure."""

from __future__ import annotations

from pyk.clients.engine.backoff import Backoff
from pyk.runtime import slotted


@slotted.define
class MetadataRefresh:
    """Decides when the next question for metadata is due; the driver asks.

    There are three reasons to ask: metadata is old, it proved wrong, or a new topic is needed. The
    second is slowed down as long as the responses bring nothing new (KIP-580): otherwise a missing
    leader would be asked for in a loop. The third is not slowed down, because nothing is known of
    the new topic; and only what is missing is asked for, not all topics in use (KIP-526).
    """

    max_age: float
    backoff: Backoff
    last_answer: float | None = None
    """When all topics in use were last answered for."""
    failing_since: float | None = None
    _is_requested: bool = True
    _is_urgent: bool = True
    _wants_all: bool = True
    _asked_for_all: bool = True
    _not_before: float = 0.0
    _failures: int = 0
    _answers_without_news: int = 0

    def request(self) -> None:
        """Ask soon, because the known metadata seems to be wrong."""
        self._is_requested = self._wants_all = True

    def request_missing(self) -> None:
        """Ask soon, because a topic is not there yet."""
        self._is_requested = True

    def request_at_once(self) -> None:
        """Ask now, because a new topic is needed."""
        self._is_requested = self._is_urgent = True

    def due_in(self, now: float) -> float:
        """Return the seconds until the next question is due; 0.0 when it is."""
        if self._is_urgent and not self._failures:
            return 0.0
        if self._is_requested or self._failures or self.last_answer is None:
            return max(0.0, self._not_before - now)
        return max(0.0, self.last_answer + self.max_age - now)

    def asked(self, now: float) -> bool:
        """Note that a request is sent; calls from now on are for the next one.

        Returns whether to ask for all topics in use, and not only for those that are missing.
        """
        is_old = self.last_answer is None or now >= self.last_answer + self.max_age
        self._asked_for_all = self._wants_all or is_old
        self._is_requested = self._is_urgent = self._wants_all = False
        return self._asked_for_all

    def answered(self, now: float, chance: float, *, has_news: bool) -> None:
        """Note that the request was answered."""
        if self._asked_for_all:
            self.last_answer = now
        self.failing_since = None
        self._failures = 0
        self._answers_without_news = 0 if has_news else self._answers_without_news + 1
        self._not_before = now + self.backoff.delay(max(1, self._answers_without_news), chance)

    def failed(self, now: float, chance: float) -> None:
        """Note that the request failed."""
        if self.failing_since is None:
            self.failing_since = now
        self._failures += 1
        self._is_requested = self._wants_all = True
        self._not_before = now + self.backoff.delay(self._failures, chance)
