"""All logs of a broker."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING
from uuid import UUID

from pyk.protocol.topics import TopicPartition
from pyk.reference_broker.config import BrokerConfig, LogConfig
from pyk.reference_broker.storage.compaction.compactor import LogCompactor
from pyk.reference_broker.storage.data_directory import DELETE_SUFFIX, DataDirectory, unusable
from pyk.reference_broker.storage.disk import Disk, InlineDisk, Work, run_all
from pyk.reference_broker.storage.errors import LogError, StorageError, helpful_traceback
from pyk.reference_broker.storage.flushing import FlushQueue
from pyk.reference_broker.storage.log import Log
from pyk.reference_broker.storage.log_checkpoints import LogCheckpoints
from pyk.reference_broker.storage.maintenance import MaintenanceSchedule, Task
from pyk.reference_broker.storage.meta_properties import UNKNOWN_BROKER_EPOCH
from pyk.reference_broker.storage.partition_metadata import read_topic_id, write_topic_id
from pyk.reference_broker.storage.segment import LOG_SUFFIX
from pyk.runtime.clock import Clock
from pyk.runtime.filesystem.interface import FileSystem
from pyk.runtime.filesystem.open_files import OpenFiles

if TYPE_CHECKING:
    from random import Random

log = logging.getLogger(__name__)


def _ignore(_: BaseException | None) -> None:
    return


class LogManager:
    """The logs in one data directory. Belongs to the broker's loop.

    The broker drives its maintenance: ``for task in manager.due(): manager.perform(task)``, again
    at ``next_due``; and its ``compactor``. Whatever waits for the device is given to ``disk``.
    """

    def __init__(
        self,
        data_directory: DataDirectory,
        config: BrokerConfig,
        clock: Clock,
        random: Random,
        disk: Disk,
    ) -> None:
        filesystem, path = data_directory.filesystem, data_directory.path
        self.data_directory = data_directory
        self.config = config
        self._filesystem = filesystem
        self._files = OpenFiles(filesystem)
        self._clock = clock
        self._random = random
        self._disk = disk
        self._flushes = FlushQueue(disk)
        self._logs: dict[TopicPartition, Log] = {}
        self._topic_ids: dict[TopicPartition, UUID | None] = {}
        self._waiting_for_names: dict[TopicPartition, Callable[[], object]] = {}
        self._deleted_directories: list[tuple[float, str]] = []
        self._checkpoints = LogCheckpoints(filesystem, path, self._logs)
        self._schedule = MaintenanceSchedule(config, clock.now())
        self.compactor = LogCompactor(
            filesystem, self, clock, disk, lambda: self.perform(Task.CHECKPOINT_COMPACTION)
        )
        self._tasks: dict[Task, Callable[[], None]] = {
            Task.DELETE_OLD_SEGMENTS: self._delete_old_segments,
            Task.REMOVE_DELETED_FILES: self._remove_deleted_files,
            Task.FLUSH: self._flush,
            Task.EXPIRE_PRODUCERS: self._expire_producers,
            **{task: partial(self._checkpoint, task) for task in self._checkpoints.tasks},
        }
        self._unopened = set(data_directory.partitions())
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
        disk: Disk | None = None,
    ) -> LogManager:
        """Lock the data directory at ``path``; logs are opened one by one, when needed.

        ``disk`` waits for the device, by default at once. Raises ``StorageError`` if another broker
        uses the directory, it belongs to another, or its files are damaged or cannot be used.
        """
        data_directory = DataDirectory.open(
            filesystem, path, node_id=config.node_id, cluster_id=cluster_id, random=random
        )
        try:
            return cls(
                data_directory, config, clock, random, InlineDisk() if disk is None else disk
            )
        except OSError as error:
            data_directory.close(None)
            raise unusable(path, error) from error
        except BaseException:
            data_directory.close(None)
            raise

    def __iter__(self) -> Iterator[Log]:
        return iter(tuple(self._logs.values()))

    def __len__(self) -> int:
        return len(self._logs)

    @property
    def path(self) -> str:
        """The data directory."""
        return self.data_directory.path

    @property
    def cluster_id(self) -> str:
        """The cluster that the data directory belongs to."""
        return self.data_directory.properties.cluster_id

    @property
    def was_shut_down_cleanly(self) -> bool:
        """Whether the last broker stopped cleanly. Otherwise records may have been lost."""
        return self.data_directory.was_shut_down_cleanly

    def get(self, partition: TopicPartition) -> Log | None:
        """Return an opened log."""
        return self._logs.get(partition)

    def get_or_create(
        self, partition: TopicPartition, config: LogConfig, topic_id: UUID | None = None
    ) -> Log:
        """Return the log of a partition, opened, recovered and if need be created.

        A log of a deleted topic of the same name makes room. Raises ``StorageError``, also while
        ``free_name`` has work to do.
        """
        existing = self._logs.get(partition)
        if existing is not None:
            return existing
        try:
            if not self.free_name(partition, topic_id):
                raise StorageError(
                    f"the checkpoints still name an earlier log of {partition}, whose directory "
                    "is missing: restore it, or start again to begin an empty one"
                )
            self._write_topic_id(partition, topic_id)
            opened = self._open(partition, config)
        except OSError as error:
            raise StorageError(f"cannot open the log of {partition}: {error}") from error
        opened.high_watermark = min(
            max(self._checkpoints.high_watermarks.get(partition), opened.log_start_offset),
            opened.log_end_offset,
        )
        opened.compacted_to = min(
            self._checkpoints.compacted_to.get(partition), opened.log_end_offset
        )
        self._logs[partition] = opened
        self._unopened.discard(partition)
        return opened

    def free_name(
        self,
        partition: TopicPartition,
        topic_id: UUID | None,
        when_free: Callable[[], object] = lambda: None,
    ) -> bool:
        """Return whether a log of this topic can be opened; if not, call ``when_free`` once it can.

        A log of a deleted topic of the same name is deleted, or set aside if an earlier broker left
        it. A new log waits until no checkpoint on the disk names an earlier one: after a crash it
        would begin, and count as flushed, where that did. Raises ``OSError``.
        """
        if partition in self._logs:
            return True
        directory = self.data_directory.path_of(partition)
        if partition in self._topic_ids or self._filesystem.is_directory(directory):
            known = self._topic_id(partition)
            if None in (known, topic_id) or known == topic_id:
                return True
            if partition in self._unopened:
                self._set_aside(partition)
            else:
                log.warning("%s has a log of another topic of that name; deleting it", partition)
                self.delete(partition)
        else:
            self._warn_if_lost(partition, directory)
        self._checkpoints.forget(partition)
        self._write_checkpoints_of_forgotten()
        if not self._checkpoints.may_name(partition):
            return True
        self._waiting_for_names[partition] = when_free
        return False

    def _warn_if_lost(self, partition: TopicPartition, directory: str) -> None:
        """Log that a log is gone whose records were on the disk; its topic still exists."""
        flushed_to = self._checkpoints.recovery_points.get(partition)
        if flushed_to:
            log.error(
                "%s is missing: it had records up to offset %d, and an empty log takes its place. "
                "If they are needed, stop the broker and restore the directory",
                directory,
                flushed_to,
            )

    def mark_deleted(self, partition: TopicPartition) -> None:
        """Mark the log of a deleted topic: ``free_name`` deletes it and does not set it aside."""
        self._unopened.discard(partition)

    def delete(self, partition: TopicPartition) -> None:
        """Delete the log of a partition, opened or not; do nothing if it has none.

        Its name is free at once, its files stay for ``file.delete.delay.ms``.
        """
        deleted = self._logs.pop(partition, None)
        delay_ms = self.config.log_segment_delete_delay_ms
        if deleted is not None:
            deleted.release()
            delay_ms = deleted.config.file_delete_delay_ms
        self._topic_ids.pop(partition, None)
        self._checkpoints.forget(partition)
        if not self._filesystem.is_directory(self.data_directory.path_of(partition)):
            return
        path = self.data_directory.rename(partition, self._new_id(), DELETE_SUFFIX)
        self._unopened.discard(partition)
        self._deleted_directories.append((self._clock.now() + delay_ms / 1000, path))

    def set_strays_aside(self, is_known: Callable[[TopicPartition, UUID | None], bool]) -> None:
        """Rename the logs that no metadata names, and log that: otherwise they would go unnoticed.

        Apache Kafka does the same. They may be all that is left of a topic, so they stay until an
        administrator removes them. ``is_known`` is asked for a partition and the id of its topic,
        None where that is not written down. After a clean shutdown the ids are not read before the
        logs are used: the metadata is complete, and ``free_name`` checks the id.
        """
        self.data_directory.name_strays()
        for partition in sorted(self._unopened):
            directory = self.data_directory.path_of(partition)
            try:
                topic_id = None if self.was_shut_down_cleanly else self._topic_id(partition)
                has_lost_id = topic_id is None and self._may_have_lost_id(directory)
                if has_lost_id or not is_known(partition, topic_id):
                    self._set_aside(partition)
            except (LogError, OSError) as error:
                log.warning("Could not tell which topic %s belongs to: %s", directory, error)

    def _set_aside(self, partition: TopicPartition) -> None:
        """Rename an unused log, so that its name is free; raise ``OSError``."""
        self.data_directory.set_aside(partition, self._new_id())
        self._unopened.discard(partition)
        self._topic_ids.pop(partition, None)

    def _may_have_lost_id(self, directory: str) -> bool:
        """Whether a log may be that of a deleted topic, whose id a power failure took.

        The id is flushed with the first records, so nothing of such a log was.
        """
        return not self.was_shut_down_cleanly and any(
            name.endswith(LOG_SUFFIX) and self._filesystem.size(f"{directory}/{name}")
            for name in self._filesystem.list_directory(directory)
        )

    def due(self) -> list[Task]:
        """Return the tasks that are due now."""
        return self._schedule.due(self._clock.now())

    def next_due(self) -> float:
        """Return when, in monotonic seconds, the next task is due."""
        return self._schedule.next_due()

    def perform(self, task: Task) -> None:
        """Perform a task for all logs. A failure is logged; the next time it is tried again."""
        try:
            self._tasks[task]()
        except Exception as error:
            self._log_failure(task.name, error)

    def close(
        self,
        broker_epoch: int = UNKNOWN_BROKER_EPOCH,
        when_closed: Callable[[StorageError | None], object] = _ignore,
    ) -> None:
        """Write everything to the disk, unlock the directory, then call ``when_closed``.

        It is told what could not be written, if anything. The next start believes what it finds
        only if there was nothing; otherwise it recovers the logs.
        """
        self.compactor.close()
        logs = list(self)
        failures: list[object] = []
        left = len(logs)

        def flushed(opened: Log) -> None:
            nonlocal left
            left -= 1
            if opened.failure is not None:
                failures.append(opened)
            if left == 0:
                self._write_checkpoints(broker_epoch, failures, when_closed)

        for opened in logs:
            try:
                opened.begin_close()
            except Exception as error:
                self._log_failure(f"Closing {opened}", error)
                failures.append(opened)
                opened.flusher.close()
            opened.flusher.flush_all(partial(flushed, opened))
        if not logs:
            self._write_checkpoints(broker_epoch, failures, when_closed)

    def _write_checkpoints(
        self,
        broker_epoch: int,
        failures: list[object],
        when_closed: Callable[[StorageError | None], object],
    ) -> None:
        begun = []
        for task in self._checkpoints.tasks:
            try:
                write = self._checkpoints.begin_update(task)
            except OSError as error:
                self._log_failure(task.name, error)
                failures.append(task.name)
            else:
                begun += [write] if write is not None else []
        run_all(
            self._disk,
            [write.finish for write in begun],
            lambda errors: self._unlock(broker_epoch, [*failures, *errors], when_closed),
        )

    def _unlock(
        self,
        broker_epoch: int,
        failures: list[object],
        when_closed: Callable[[StorageError | None], object],
    ) -> None:
        def unlocked(error: BaseException | None) -> None:
            if error is not None:
                failures.append(error)
            when_closed(_closing_error(self.data_directory.path, failures))

        for opened in self:
            opened.release()
        self._logs.clear()
        # A log that was not opened after a crash was not recovered either.
        is_recovered = self.was_shut_down_cleanly or not self._unopened
        is_clean = is_recovered and not failures
        self._disk.run(
            partial(self.data_directory.close, broker_epoch if is_clean else None), unlocked
        )

    def abandon(self) -> None:
        """Release all files and write nothing, as if the process had died."""
        self.compactor.close()
        for opened in self:
            opened.release()
        self._logs.clear()
        self.data_directory.close(None)

    def _new_id(self) -> UUID:
        return UUID(int=self._random.getrandbits(128), version=4)

    def _topic_id(self, partition: TopicPartition) -> UUID | None:
        """Return which topic the log on the disk belongs to, None if that is unknown."""
        known = self._topic_ids.get(partition)
        if known is None:
            directory = self.data_directory.path_of(partition)
            known = read_topic_id(self._filesystem, directory)
            self._topic_ids[partition] = known
        return known

    def _write_topic_id(self, partition: TopicPartition, topic_id: UUID | None) -> None:
        if topic_id is not None and self._topic_ids.pop(partition, None) is None:
            directory = self.data_directory.path_of(partition)
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
            flushes=self._flushes,
            recovery_point=self._checkpoints.recovery_points.get(partition),
            log_start_offset=self._checkpoints.log_start_offsets.get(partition),
            was_shut_down_cleanly=self.was_shut_down_cleanly,
        )

    def _for_each(self, task: Task, action: Callable[[Log], object]) -> None:
        """Do something with every log in use; a failure of one does not stop the others."""
        for opened in self:
            if opened.failure is None:
                try:
                    action(opened)
                except Exception as error:
                    self._log_failure(f"{task.name} of {opened}", error)

    def _run(self, what: str, work: Work, done: Callable[[BaseException | None], object]) -> None:
        """Let the disk do something; log its failure."""

        def finish(error: BaseException | None) -> None:
            if error is not None:
                self._log_failure(what, error)
            done(error)

        self._disk.run(work, finish)

    def _log_failure(self, what: str, error: BaseException) -> None:
        path, traceback = self.data_directory.path, helpful_traceback(error)
        log.error("%s failed in %s: %s", what, path, error, exc_info=traceback)

    def _flush(self) -> None:
        self._for_each(Task.FLUSH, lambda each: each.flusher.request(each.offset_to_flush))

    def _delete_old_segments(self) -> None:
        now_ms = self._clock.time_ms()

        def delete(opened: Log) -> None:
            deleted = opened.delete_old_segments(now_ms)
            if deleted:
                log.info("Deleted %d old segments of %s", deleted, opened)

        self._for_each(Task.DELETE_OLD_SEGMENTS, delete)

    def _remove_deleted_files(self) -> None:
        now = self._clock.now()
        for opened in self:
            for path in opened.segments.take_deleted_files(now):
                self._run("Removing a file", partial(self._filesystem.remove, path), _ignore)
        due = [path for remove_at, path in self._deleted_directories if remove_at <= now]
        self._deleted_directories = [e for e in self._deleted_directories if e[0] > now]
        for path in due:
            self._remove_directory(path)

    def _remove_directory(self, path: str) -> None:
        def again(error: BaseException | None) -> None:
            if error is not None:
                self._deleted_directories.append((self._clock.now(), path))

        self._run("Removing a deleted log", partial(self._filesystem.remove_tree, path), again)

    def _expire_producers(self) -> None:
        now_ms = self._clock.time_ms()
        expiration_ms = self.config.producer_id_expiration_ms
        self._for_each(
            Task.EXPIRE_PRODUCERS, lambda each: each.producers.expire(now_ms, expiration_ms)
        )

    def _checkpoint(self, task: Task) -> None:
        """Write a checkpoint file, if it would change."""
        write = self._checkpoints.begin_update(task)
        if write is not None:

            def written(error: BaseException | None) -> None:
                self._checkpoints.end_update(task, error)
                if error is None:
                    self._tell_of_room()

            self._run(task.name, write.finish, written)

    def _write_checkpoints_of_forgotten(self) -> None:
        for task in self._checkpoints.tasks_with_forgotten():
            self._checkpoint(task)

    def _tell_of_room(self) -> None:
        """Open the logs that were waiting; a write that began before they did was too early.

        One that failed is repeated when the next checkpoint is due.
        """
        made = [name for name in self._waiting_for_names if not self._checkpoints.may_name(name)]
        for when_free in [self._waiting_for_names.pop(name) for name in made]:
            when_free()
        if self._waiting_for_names:
            self._write_checkpoints_of_forgotten()


def _closing_error(path: str, failures: list[object]) -> StorageError | None:
    if not failures:
        return None
    named = ", ".join(map(str, failures[:5])) + (", …" if len(failures) > 5 else "")
    return StorageError(
        f"not everything in {path} could be written ({named}); the next start recovers its logs"
    )
