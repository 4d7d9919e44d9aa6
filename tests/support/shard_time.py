"""Time that a test lets pass for a shard, in steps from one of its timers to the next."""

from __future__ import annotations

from pyk.runtime.timers import Moment, TimerQueue

START_MS = 1_700_000_000_000


class ShardTime:
    """The clock and the timers of a shard; ``seconds`` have passed since :data:`START_MS`."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self.timers = TimerQueue(lambda _: None)

    def moment(self) -> Moment:
        return Moment(self.seconds, START_MS + int(self.seconds * 1000))

    def advance(self, seconds: float) -> None:
        target = self.seconds + seconds
        while (deadline := self.timers.next_deadline()) is not None and deadline <= target:
            self.seconds = max(self.seconds, deadline)
            self.timers.advance(self.seconds)
        self.seconds = target
