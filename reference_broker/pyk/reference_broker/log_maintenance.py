"""Carry out the maintenance of all logs when it is due."""

from __future__ import annotations

from pyk.runtime.timers import TimerQueue

from .metadata_follower import MetadataFollower
from .storage import LogManager


class LogMaintenance:
    """Retention, flushes, checkpoints, compaction and moves, until the timers are closed.

    :meth:`schedule` begins them.
    """

    def __init__(self, logs: LogManager, follower: MetadataFollower, timers: TimerQueue) -> None:
        self._logs = logs
        self._follower = follower
        self._timers = timers
        logs.compactor.arm = self._schedule_compaction
        self._schedule_compaction(logs.next_due())
        logs.arm_moves = self._schedule_moves

    def _schedule_compaction(self, at: float) -> None:
        self._timers.schedule(
            "compaction", at, lambda _: self._logs.compactor.run(self._logs.config)
        )

    def _schedule_moves(self, at: float) -> None:
        self._timers.schedule("moves of logs", at, lambda _: self._logs.moves.run())

    def schedule(self) -> None:
        """Wait until the next task is due."""
        self._timers.schedule("maintenance", self._logs.next_due(), self._run)

    def _run(self, _: float) -> None:
        self._follower.follow_unused(then=self._maintain)

    def _maintain(self) -> None:
        try:
            for task in self._logs.due():
                self._logs.perform(task)
        finally:
            self.schedule()
