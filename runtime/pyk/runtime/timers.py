"""A queue of named deadlines. Pure; a driver sleeps until the next one."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Hashable

from pyk.runtime import slotted


@slotted.frozen
class Moment:
    """The present time, on both clocks."""

    now: float
    """Monotonic seconds: the scale of deadlines."""
    time_ms: int
    """Wall clock: the scale of timestamps."""

    def after(self, milliseconds: int) -> float:
        """Return the deadline that lies so far ahead."""
        return self.now + milliseconds / 1000


Event = Callable[[float], None]


class TimerQueue:
    """Events by key, each with one deadline in monotonic seconds.

    Scheduling a key again moves its deadline. Deadlines mostly move later (every heartbeat does
    that), so a moved entry stays in the heap and is put right when its old deadline comes up: a
    heartbeat costs one dictionary store.
    """

    def __init__(self, arm: Callable[[float], None]) -> None:
        """``arm`` is told the next deadline whenever that comes nearer."""
        self._arm = arm
        self._armed_for: float | None = None
        self._events: dict[Hashable, tuple[float, Event]] = {}
        self._queued: dict[Hashable, float] = {}
        self._heap: list[tuple[float, int, Hashable]] = []
        self._sequence = 0

    def __len__(self) -> int:
        return len(self._events)

    def __contains__(self, key: Hashable) -> bool:
        return key in self._events

    def schedule(self, key: Hashable, deadline: float, event: Event) -> None:
        """Call ``event(now)`` once at ``deadline``, instead of what was scheduled under ``key``."""
        self._events[key] = (deadline, event)
        queued = self._queued.get(key)
        if queued is None or deadline < queued:
            self._push(key, deadline)

    def cancel(self, key: Hashable) -> bool:
        """Forget what is scheduled under ``key``; return whether there was something."""
        return self._events.pop(key, None) is not None

    def next_deadline(self) -> float | None:
        """Return when :meth:`advance` should be called next, perhaps too early, never too late."""
        return self._heap[0][0] if self._heap else None

    def advance(self, now: float) -> None:
        """Run all events that are due at ``now`` in their order, then arm for the next."""
        self._armed_for = now
        try:
            while self._heap and self._heap[0][0] <= now:
                event = self._pop(now)
                if event is not None:
                    event(now)
        finally:
            self._armed_for = None
            self._arm_next()

    def _pop(self, now: float) -> Event | None:
        """Take the first entry off the heap; return its event if that is really due."""
        queued_for, _, key = heapq.heappop(self._heap)
        if self._queued.get(key) != queued_for:
            return None  # superseded by an earlier deadline of the same key
        del self._queued[key]
        deadline, event = self._events.get(key, (now, None))
        if deadline > now:
            self._push(key, deadline)
            return None
        self._events.pop(key, None)
        return event

    def _push(self, key: Hashable, deadline: float) -> None:
        self._sequence += 1
        self._queued[key] = deadline
        heapq.heappush(self._heap, (deadline, self._sequence, key))
        self._arm_next()

    def _arm_next(self) -> None:
        deadline = self.next_deadline()
        if deadline is not None and (self._armed_for is None or deadline < self._armed_for):
            self._armed_for = deadline
            self._arm(deadline)
