"""The regular tasks of the logs of a broker, and when they are due."""

from __future__ import annotations

from enum import Enum, auto

from pyk.reference_broker.config import BrokerConfig


class Task(Enum):
    """Something to do with all logs."""

    DELETE_OLD_SEGMENTS = auto()
    REMOVE_DELETED_FILES = auto()
    FLUSH = auto()
    CHECKPOINT_RECOVERY_POINTS = auto()
    CHECKPOINT_LOG_START_OFFSETS = auto()
    CHECKPOINT_HIGH_WATERMARKS = auto()
    CHECKPOINT_COMPACTION = auto()
    EXPIRE_PRODUCERS = auto()


HOUSEKEEPING_INTERVAL_MS = 10_000


class MaintenanceSchedule:
    """Says which tasks are due.

    Times are monotonic seconds: a wall clock that is set back must not stop the maintenance.
    """

    def __init__(self, config: BrokerConfig, now: float) -> None:
        self._intervals = _intervals(config)
        delay = config.log_initial_task_delay_ms / 1000
        self._due = {task: now + max(delay, every) for task, every in self._intervals.items()}
        # Kafka looks for old segments right after the initial delay.
        self._due[Task.DELETE_OLD_SEGMENTS] = now + delay

    def due(self, now: float) -> list[Task]:
        """Return the tasks whose time has come, and plan their next time."""
        tasks = [task for task, due in self._due.items() if due <= now]
        for task in tasks:
            self._due[task] = now + self._intervals[task]
        return tasks

    def next_due(self) -> float:
        """Return when the next task is due."""
        return min(self._due.values())


def _intervals(config: BrokerConfig) -> dict[Task, float]:
    wanted = {
        Task.DELETE_OLD_SEGMENTS: config.log_retention_check_interval_ms,
        Task.REMOVE_DELETED_FILES: HOUSEKEEPING_INTERVAL_MS,
        Task.FLUSH: min(config.log_flush_scheduler_interval_ms, HOUSEKEEPING_INTERVAL_MS),
        Task.CHECKPOINT_RECOVERY_POINTS: config.log_flush_offset_checkpoint_interval_ms,
        Task.CHECKPOINT_LOG_START_OFFSETS: config.log_flush_start_offset_checkpoint_interval_ms,
        Task.CHECKPOINT_HIGH_WATERMARKS: config.replica_high_watermark_checkpoint_interval_ms,
        Task.CHECKPOINT_COMPACTION: HOUSEKEEPING_INTERVAL_MS,
        Task.EXPIRE_PRODUCERS: config.producer_id_expiration_check_interval_ms,
    }
    return {task: max(1, interval) / 1000 for task, interval in wanted.items()}
