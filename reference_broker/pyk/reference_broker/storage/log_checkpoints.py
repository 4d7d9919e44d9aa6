"""The checkpoint files of a data directory: what is written down of each of its logs."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from pyk.protocol.topics import TopicPartition
from pyk.reference_broker.storage.checkpoint import (
    COMPACTION_FILE,
    HIGH_WATERMARK_FILE,
    LOG_START_OFFSET_FILE,
    RECOVERY_POINT_FILE,
    OffsetCheckpoint,
)
from pyk.reference_broker.storage.log import Log
from pyk.reference_broker.storage.maintenance import Task
from pyk.runtime.filesystem.atomic_write import PendingWrite
from pyk.runtime.filesystem.interface import FileSystem


class LogCheckpoints:
    """The recovery points, log start offsets, high watermarks of ``logs``, and up to where they are
    compacted, a file each.

    Opening them raises ``StorageError`` if a file is damaged. A file is named by the maintenance
    task that writes it.
    """

    def __init__(
        self, filesystem: FileSystem, directory: str, logs: Mapping[TopicPartition, Log]
    ) -> None:
        def opened(file_name: str) -> OffsetCheckpoint:
            return OffsetCheckpoint(filesystem, f"{directory}/{file_name}")

        self.recovery_points = opened(RECOVERY_POINT_FILE)
        self.log_start_offsets = opened(LOG_START_OFFSET_FILE)
        self.high_watermarks = opened(HIGH_WATERMARK_FILE)
        self.compacted_to = opened(COMPACTION_FILE)
        self._logs = logs
        self._files = {
            Task.CHECKPOINT_RECOVERY_POINTS: self.recovery_points,
            Task.CHECKPOINT_LOG_START_OFFSETS: self.log_start_offsets,
            Task.CHECKPOINT_HIGH_WATERMARKS: self.high_watermarks,
            Task.CHECKPOINT_COMPACTION: self.compacted_to,
        }
        self._offsets: dict[Task, Callable[[], dict[TopicPartition, int]]] = {
            Task.CHECKPOINT_RECOVERY_POINTS: self._recovery_points,
            Task.CHECKPOINT_LOG_START_OFFSETS: self._log_start_offsets,
            Task.CHECKPOINT_HIGH_WATERMARKS: self._high_watermarks,
            Task.CHECKPOINT_COMPACTION: self._compacted_to,
        }

    @property
    def tasks(self) -> tuple[Task, ...]:
        """The tasks that write a file, each a name of one."""
        return tuple(self._files)

    def flushed_to(self, partition: TopicPartition) -> int:
        """Return up to where a log was flushed: also what is compacted was."""
        files = self.recovery_points, self.compacted_to
        return max(file.get(partition) for file in files)

    def begin_update(self, task: Task) -> PendingWrite | None:
        """Return what writes a file; None if it would not change, or is being written."""
        return self._files[task].begin_update(self._offsets[task]())

    def end_update(self, task: Task, error: BaseException | None) -> None:
        """Learn how the last write of a file went."""
        self._files[task].end_update(error)

    def write_now(
        self, partition: TopicPartition, *, recovery_point: int, log_start_offset: int | None
    ) -> bool:
        """Write down, now, what a log needs that is not among the logs yet; raise ``OSError``.

        Returns False, and writes nothing, while a file is being written.
        """
        offsets = {self.recovery_points: recovery_point}
        if log_start_offset is not None:
            offsets[self.log_start_offsets] = log_start_offset
        if any(file.is_writing for file in offsets):
            return False
        for file, offset in offsets.items():
            write = file.begin_update({partition: offset})
            if write is not None:
                try:
                    write.finish()
                except OSError as error:
                    file.end_update(error)
                    raise
                file.end_update(None)
        return True

    def forget(self, partition: TopicPartition) -> None:
        """Leave a partition out of all files, each from its next write on."""
        for file in self._files.values():
            file.forget(partition)

    def may_name(self, partition: TopicPartition) -> bool:
        """Return whether a file on the disk may have an entry of a partition."""
        return any(file.may_name(partition) for file in self._files.values())

    def tasks_with_forgotten(self) -> list[Task]:
        """Return the tasks whose file may still have an entry that was forgotten."""
        return [task for task, file in self._files.items() if file.may_name_forgotten]

    def _recovery_points(self) -> dict[TopicPartition, int]:
        return {partition: log.recovery_point for partition, log in self._logs.items()}

    def _log_start_offsets(self) -> dict[TopicPartition, int]:
        # Where a log begins with its first segment, the name of that says it.
        return {
            partition: log.log_start_offset
            for partition, log in self._logs.items()
            if log.log_start_offset > log.segments.first.base_offset
        }

    def _high_watermarks(self) -> dict[TopicPartition, int]:
        return {partition: log.high_watermark for partition, log in self._logs.items()}

    def _compacted_to(self) -> dict[TopicPartition, int]:
        return {
            partition: log.compacted_to
            for partition, log in self._logs.items()
            if log.compacted_to or self.compacted_to.get(partition)
        }
