"""Deadlines of a shard; what is due returns a decision like any other event."""

from __future__ import annotations

from collections.abc import Callable, Hashable

from pyk.runtime.timers import Moment, TimerQueue

from .decision import Decision

TimedEvent = Callable[[Moment], Decision]


class ShardTimers:
    """The timers of one shard, under keys of its own in the queue of its broker."""

    def __init__(
        self,
        name: Hashable,
        timers: TimerQueue,
        moment: Callable[[], Moment],
        carry_out: Callable[[Decision], None],
    ) -> None:
        self._name = name
        self._timers = timers
        self._moment = moment
        self._carry_out = carry_out
        self._keys: set[tuple[str, ...]] = set()

    def schedule(self, key: tuple[str, ...], deadline: float, event: TimedEvent) -> None:
        """Carry out what ``event`` decides at ``deadline``, instead of what ``key`` stood for."""
        self._keys.add(key)
        self._timers.schedule((self._name, key), deadline, lambda _: self._expire(key, event))

    def has(self, key: tuple[str, ...]) -> bool:
        """Return whether something is scheduled under ``key``."""
        return key in self._keys

    def cancel(self, key: tuple[str, ...]) -> None:
        """Forget what is scheduled under ``key``."""
        self._keys.discard(key)
        self._timers.cancel((self._name, key))

    def cancel_all(self) -> None:
        """Forget everything that the shard has scheduled."""
        for key in tuple(self._keys):
            self.cancel(key)

    def _expire(self, key: tuple[str, ...], event: TimedEvent) -> None:
        self._keys.discard(key)
        self._carry_out(event(self._moment()))
