"""All logs of a broker."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from random import Random
from uuid import UUID

from pyk.protocol.io import Clock
from pyk.reference_broker.config import BrokerConfig, LogConfig
from pyk.reference_broker.filesystem import FileSystem
from pyk.reference_broker.filesystem.open_files import OpenFiles
from pyk.reference_broker.storage.checkpoint import (
    HIGH_WATERMARK_FILE,
    LOG_START_OFFSET_FILE,
    RECOVERY_POINT_FILE,
    OffsetCheckpoint,
)
from pyk.reference_broker.storage.data_directory import DataDirectory
from pyk.reference_broker.storage.errors import LogError, StorageError
from pyk.reference_broker.storage.flushing import Flush
from pyk.reference_broker.storage.log import Log
from pyk.reference_broker.storage.maintenance import MaintenanceSchedule, Task
from pyk.reference_broker.storage.meta_properties import UNKNOWN_BROKER_EPOCH
from pyk.reference_broker.storage.partition_metadata import read_topic_id, write_topic_id
from pyk.reference_broker.topic_partition import TopicPartition

log = logging.getLogger(__name__)


class LogManager:
    """The logs in one data directory. Belongs to the broker's loop.

    The broker drives its upkeep: ``for task in manager.due(): manager.perform(task)``, again when
    the clock shows ``next_due_ms``. Instead of performing ``Task.FLUSH`` it may run what
    ``begin_flushes`` returns in a thread, and then finish it on the loop.
    """

    def __init__(
        self, data_directory: DataDirectory, config: BrokerConfig, clock: Clock, random: Random
    ) -> None:
        filesystem, path = data_directory.filesystem, data_directory.path
        self.data_directory = data_directory
        self.config = config
        self._filesystem = filesystem
        self._files = OpenFiles(filesystem)
        self._clock = clock
        self._random = random
        self._logs: dict[TopicPartition, Log] = {}
        self._deleted_directories: list[tuple[int, str]] = []
        self._recovery_points = OffsetCheckpoint(filesystem, f"{path}/{RECOVERY_POINT_FILE}")
        self._log_starts = OffsetCheckpoint(filesystem, f"{path}/{LOG_START_OFFSET_FILE}")
        self._high_watermarks = OffsetCheckpoint(filesystem, f"{path}/{HIGH_WATERMARK_FILE}")
        self._schedule = MaintenanceSchedule(config, clock.time_ms())
        self._tasks = {
            Task.DELETE_OLD_SEGMENTS: self._delete_old_segments,
            Task.REMOVE_DELETED_FILES: self._remove_deleted_files,
            Task.FLUSH: self._flush,
            Task.CHECKPOINT_RECOVERY_POINTS: self._checkpoint_recovery_points,
            Task.CHECKPOINT_LOG_START_OFFSETS: self._checkpoint_log_start_offsets,
            Task.CHECKPOINT_HIGH_WATERMARKS: self._checkpoint_high_watermarks,
            Task.EXPIRE_PRODUCERS: self._expire_producers,
        }
        data_directory.remove_deleted()

    @classmethod
    def open(
        cls,
        filesystem: FileSystem,
        path: str,
        config: BrokerConfig,
        *,
        clock: Clock,
        random: Random,
        cluster_id: str | None = None,
    ) -> LogManager:
        """Take hold of the data directory at ``path``; logs are opened one by one, when needed.

        Raises ``StorageError`` if another broker uses it, or it belongs to another.
        """
        data_directory = DataDirectory.open(
            filesystem, path, node_id=config.node_id, cluster_id=cluster_id, random=random
        )
        return cls(data_directory, config, clock, random)

    def __iter__(self) -> Iterator[Log]:
        return iter(tuple(self._logs.values()))

    def __len__(self) -> int:
        return len(self._logs)

    @property
    def cluster_id(self) -> str:
        """The cluster that the data directory belongs to."""
        return self.data_directory.properties.cluster_id

    def stored_partitions(self) -> list[TopicPartition]:
        """Return the partitions that have a log on the disk, opened or not."""
        return self.data_directory.partitions()

    def get(self, partition: TopicPartition) -> Log | None:
        """Return an opened log."""
        return self._logs.get(partition)

    def get_or_create(
        self, partition: TopicPartition, config: LogConfig, topic_id: UUID | None = None
    ) -> Log:
        """Return the log of a partition, opened, recovered and if need be created.

        A log of a deleted topic of the same name makes room. Raises ``StorageError``.
        """
        existing = self._logs.get(partition)
        if existing is not None:
            return existing
        try:
            self._settle_topic_id(partition, topic_id)
            opened = self._open(partition, config)
        except OSError as error:
            raise StorageError(f"cannot open the log of {partition}: {error}") from error
        opened.high_watermark = min(
            max(self._high_watermarks.get(partition), opened.log_start_offset),
            opened.log_end_offset,
        )
        self._logs[partition] = opened
        return opened

    def delete(self, partition: TopicPartition) -> None:
        """Delete the log of a partition, opened or not; do nothing if there is none.

        Its name is free at once, its files stay for ``file.delete.delay.ms``.
        """
        deleted = self._logs.pop(partition, None)
        delay_ms = self.config.log_segment_delete_delay_ms
        if deleted is not None:
            deleted.release()
            delay_ms = deleted.config.file_delete_delay_ms
        for offsets in (self._recovery_points, self._log_starts, self._high_watermarks):
            offsets.forget(partition)
        if not self._filesystem.is_directory(self.data_directory.path_of(partition)):
            return
        deletion_id = UUID(int=self._random.getrandbits(128), version=4)
        path = self.data_directory.rename_for_deletion(partition, deletion_id)
        self._deleted_directories.append((self._clock.time_ms() + delay_ms, path))

    def due(self) -> list[Task]:
        """Return what is to be done now."""
        return self._schedule.due(self._clock.time_ms())

    def next_due_ms(self) -> int:
        """Return when, on the wall clock, something is to be done again."""
        return self._schedule.next_due_ms()

    def perform(self, task: Task) -> None:
        """Do it for all logs. What fails is logged, and tried again the next time."""
        try:
            self._tasks[task]()
        except (LogError, OSError):
            log.exception("%s failed in %s", task.name, self.data_directory.path)

    def begin_flushes(self) -> list[Flush]:
        """Return what is to be flushed now, for a driver that can wait for the disk elsewhere."""
        begun = (each.begin_flush(each.offset_to_flush) for each in self)
        return [flush for flush in begun if flush is not None]

    def close(self, broker_epoch: int = UNKNOWN_BROKER_EPOCH) -> None:
        """Write everything down and let others use the directory.

        The next start believes it only if nothing failed; otherwise it recovers the logs.
        """
        is_clean = True
        for opened in self:
            try:
                opened.close()
            except (LogError, OSError):
                log.exception("Closing %s failed", opened)
                is_clean = False
        try:
            self._checkpoint_all()
        except (LogError, OSError):
            log.exception("Writing the checkpoints of %s failed", self.data_directory.path)
            is_clean = False
        self.data_directory.close(broker_epoch if is_clean else None)
        self._logs.clear()

    def abandon(self) -> None:
        """Let go of all files and write nothing, as if the process had died."""
        for opened in self:
            opened.release()
        self._logs.clear()
        self.data_directory.close(None)

    def _settle_topic_id(self, partition: TopicPartition, topic_id: UUID | None) -> None:
        directory = self.data_directory.path_of(partition)
        if self._filesystem.is_directory(directory):
            known = read_topic_id(self._filesystem, directory)
            if known is not None and topic_id is not None and known != topic_id:
                log.warning("%s has a log of another topic of that name; deleting it", partition)
                self.delete(partition)
            elif known is not None:
                return
        if topic_id is not None:
            self._filesystem.make_directory(directory)
            write_topic_id(self._filesystem, directory, topic_id)

    def _open(self, partition: TopicPartition, config: LogConfig) -> Log:
        return Log.open(
            self._files,
            self.data_directory.path_of(partition),
            partition,
            config,
            clock=self._clock,
            random=self._random,
            recovery_point=self._recovery_points.get(partition),
            log_start_offset=self._log_starts.get(partition),
            was_shut_down_cleanly=self.data_directory.was_shut_down_cleanly,
        )

    def _flush(self) -> None:
        for flush in self.begin_flushes():
            flush.run()
            flush.finish()

    def _delete_old_segments(self) -> None:
        now_ms = self._clock.time_ms()
        for opened in self:
            deleted = opened.delete_old_segments(now_ms)
            if deleted:
                log.info("Deleted %d old segments of %s", deleted, opened)

    def _remove_deleted_files(self) -> None:
        now_ms = self._clock.time_ms()
        for opened in self:
            opened.remove_deleted_files(now_ms)
        due = [path for due_ms, path in self._deleted_directories if due_ms <= now_ms]
        for path in due:
            self._filesystem.remove_tree(path)
        self._deleted_directories = [e for e in self._deleted_directories if e[1] not in due]

    def _expire_producers(self) -> None:
        now_ms = self._clock.time_ms()
        for opened in self:
            opened.producers.expire(now_ms, self.config.producer_id_expiration_ms)

    def _checkpoint_recovery_points(self) -> None:
        self._recovery_points.update({each.topic_partition: each.recovery_point for each in self})

    def _checkpoint_log_start_offsets(self) -> None:
        # Where a log begins with its first segment, the name of that says it.
        self._log_starts.update(
            {
                each.topic_partition: each.log_start_offset
                for each in self
                if each.log_start_offset > each.segment_base_offsets[0]
            }
        )

    def _checkpoint_high_watermarks(self) -> None:
        self._high_watermarks.update({each.topic_partition: each.high_watermark for each in self})

    def _checkpoint_all(self) -> None:
        self._checkpoint_recovery_points()
        self._checkpoint_log_start_offsets()
        self._checkpoint_high_watermarks()
