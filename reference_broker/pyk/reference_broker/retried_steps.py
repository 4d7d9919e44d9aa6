"""Steps that are repeated until they succeed."""

from __future__ import annotations

import logging
from collections.abc import Callable, Hashable

from pyk.runtime.timers import Moment, TimerQueue

from .storage.errors import helpful_traceback

log = logging.getLogger(__name__)

FIRST_RETRY_MS = 500
LAST_RETRY_MS = 5_000


class RetriedSteps:
    """Steps that are repeated until they succeed, each under a name of its own."""

    def __init__(self, timers: TimerQueue, moment: Callable[[], Moment]) -> None:
        self._timers = timers
        self._moment = moment
        self._failed: dict[Hashable, Callable[[], None]] = {}
        self._retry_ms = FIRST_RETRY_MS

    def __contains__(self, name: Hashable) -> bool:
        """Whether the step of this name has failed and is going to be repeated."""
        return name in self._failed

    def carry_out(self, name: Hashable, step: Callable[[], None]) -> None:
        """Carry out a step, now and again until it succeeds. It replaces one of the same name."""
        has_failed_before = self._failed.pop(name, None) is not None
        try:
            step()
        except Exception as error:
            if not has_failed_before:
                log.error(
                    "Could not carry out %s; trying again: %s",
                    name,
                    error,
                    exc_info=helpful_traceback(error),
                )
            self._failed[name] = step
            if len(self._failed) == 1:
                self._schedule()
        else:
            if has_failed_before:
                log.info("Carried out %s after all", name)

    def _schedule(self) -> None:
        self._timers.schedule(self, self._moment().after(self._retry_ms), self._retry)

    def _retry(self, _: float) -> None:
        before = len(self._failed)
        for name, step in list(self._failed.items()):
            if self._failed.get(name) is step:  # a step before it may have replaced it
                self.carry_out(name, step)
        got_on = len(self._failed) < before
        self._retry_ms = FIRST_RETRY_MS if got_on else min(2 * self._retry_ms, LAST_RETRY_MS)
        if self._failed:
            self._schedule()
