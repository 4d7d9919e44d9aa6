"""The logs in one data directory."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable, Iterator
from functools import partial
from uuid import UUID

from pyk.protocol.topics import TopicPartition
from pyk.reference_broker.config import BrokerConfig, LogConfig
from pyk.reference_broker.storage.data_directory import (
    DELETE_SUFFIX,
    FUTURE_SUFFIX,
    DataDirectory,
)
from pyk.reference_broker.storage.directory_tasks import DirectoryTasks
from pyk.reference_broker.storage.disk import Disk, run_all
from pyk.reference_broker.storage.errors import StorageError
from pyk.reference_broker.storage.flushing import FlushQueue
from pyk.reference_broker.storage.future_logs import FutureLogs
from pyk.reference_broker.storage.log import Log
from pyk.reference_broker.storage.log_checkpoints import LogCheckpoints
from pyk.reference_broker.storage.log_names import LogNames
from pyk.reference_broker.storage.meta_properties import META_PROPERTIES_FILE
from pyk.reference_broker.storage.segment import LOG_SUFFIX
from pyk.reference_broker.storage.storage_environment import StorageEnvironment
from pyk.runtime.filesystem.atomic_write import read_if_exists
from pyk.runtime.filesystem.open_files import OpenFiles

log = logging.getLogger(__name__)

FIRST_SEGMENT = f"{0:020d}{LOG_SUFFIX}"


class LogDirectory:
    """The logs in one data directory, opened when they are needed. Belongs to the broker's loop.

    ``names`` tells whose logs they are, ``futures`` has copies that are on their way here, and
    ``tasks`` are the maintenance.
    """

    def __init__(
        self,
        data_directory: DataDirectory,
        config: Callable[[], BrokerConfig],
        environment: StorageEnvironment,
    ) -> None:
        """Raise ``StorageError`` if a checkpoint file is damaged, ``OSError``."""
        filesystem, path = data_directory.filesystem, data_directory.path
        self.data_directory = data_directory
        self._config = config
        self._environment = environment
        self._disk: Disk = environment.disk
        self._files = OpenFiles(filesystem)
        self._flushes = FlushQueue(environment.disk)
        self._logs: dict[TopicPartition, Log] = {}
        self._waiting_for_names: dict[TopicPartition, Callable[[], object]] = {}
        self._checkpoints = LogCheckpoints(filesystem, path, self._logs)
        self.names = LogNames(data_directory, environment.new_id)
        self.futures = FutureLogs(data_directory, self._files, self._flushes, environment)
        self.tasks = DirectoryTasks(
            path,
            filesystem,
            self,
            self._checkpoints,
            config,
            clock=environment.clock,
            disk=environment.disk,
            when_checkpointed=self._tell_of_room,
        )
        data_directory.remove_deleted()

    def __iter__(self) -> Iterator[Log]:
        return iter(tuple(self._logs.values()))

    @property
    def path(self) -> str:
        return self.data_directory.path

    @property
    def was_shut_down_cleanly(self) -> bool:
        """Whether the last broker stopped cleanly. Otherwise records may have been lost."""
        return self.data_directory.was_shut_down_cleanly

    @property
    def directory_id(self) -> UUID:
        return self.data_directory.id

    def volume_bytes(self) -> tuple[int, int] | None:
        """Return how large the volume of the directory is, and what of it is usable."""
        return self.data_directory.filesystem.volume_bytes(self.path)

    def get(self, partition: TopicPartition) -> Log | None:
        """Return an opened log."""
        return self._logs.get(partition)

    def has(self, partition: TopicPartition) -> bool:
        """Return whether a partition has a log here, opened or not; raise ``OSError``."""
        return partition in self._logs or self.names.has_directory(partition)

    # Opening

    def open_log(
        self, partition: TopicPartition, config: LogConfig, topic_id: UUID | None = None
    ) -> Log:
        """Return the log of a partition, opened, recovered and if need be created.

        Raises ``StorageError``, also while ``free_name`` has work to do.
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
            self.names.write_topic_id(partition, topic_id)
            opened = self._open(
                partition,
                config,
                recovery_point=self._checkpoints.flushed_to(partition),
                log_start_offset=self._checkpoints.log_start_offsets.get(partition),
                was_shut_down_cleanly=self.was_shut_down_cleanly,
            )
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
        self.names.unopened.discard(partition)
        return opened

    def _open(
        self,
        partition: TopicPartition,
        config: LogConfig,
        *,
        recovery_point: int,
        log_start_offset: int,
        was_shut_down_cleanly: bool,
    ) -> Log:
        return Log.open(
            self._files,
            self.data_directory.path_of(partition),
            partition,
            config,
            clock=self._environment.clock,
            random=self._environment.random,
            flushes=self._flushes,
            recovery_point=recovery_point,
            log_start_offset=log_start_offset,
            was_shut_down_cleanly=was_shut_down_cleanly,
        )

    # Names

    def free_name(
        self,
        partition: TopicPartition,
        topic_id: UUID | None,
        when_free: Callable[[], object] = lambda: None,
    ) -> bool:
        """Return whether a log of this topic can be opened; if not, call ``when_free`` once it can.

        See ``LogManager``. Raises ``OSError``.
        """
        if self.names.has_directory(partition):
            known = self.names.topic_id(partition)
            if None in (known, topic_id) or known == topic_id:
                return True
            if partition in self.names.unopened:
                self.names.set_aside(partition)
            else:
                log.warning("%s has a log of another topic of that name; deleting it", partition)
                self.delete(partition)
        else:
            self._warn_if_lost(partition)
        self._checkpoints.forget(partition)
        self.tasks.write_checkpoints_of_forgotten()
        if not self._checkpoints.may_name(partition):
            return True
        self._waiting_for_names[partition] = when_free
        return False

    def _warn_if_lost(self, partition: TopicPartition) -> None:
        """Log that a log is gone whose records were on the disk; its topic still exists."""
        flushed_to = self._checkpoints.recovery_points.get(partition)
        if flushed_to:
            log.error(
                "%s is missing: it had records up to offset %d, and an empty log takes its place. "
                "If they are needed, stop the broker and restore the directory",
                self.data_directory.path_of(partition),
                flushed_to,
            )

    def _tell_of_room(self) -> None:
        """Open the logs that were waiting; a write that began before they did was too early.

        One that failed is repeated when the next checkpoint is due.
        """
        made = [name for name in self._waiting_for_names if not self._checkpoints.may_name(name)]
        for when_free in [self._waiting_for_names.pop(name) for name in made]:
            when_free()
        if self._waiting_for_names:
            self.tasks.write_checkpoints_of_forgotten()

    # Deleting

    def mark_deleted(self, partition: TopicPartition) -> None:
        """Mark the log of a deleted topic: ``free_name`` deletes it and does not set it aside."""
        self.names.unopened.discard(partition)

    def delete(self, partition: TopicPartition) -> None:
        """Delete the log of a partition, opened or not; do nothing if it has none.

        Its name is free at once, its files stay for ``file.delete.delay.ms``.
        """
        deleted = self._logs.pop(partition, None)
        delay_ms = self._config().log_segment_delete_delay_ms
        if deleted is not None:
            deleted.release()
            delay_ms = deleted.config.file_delete_delay_ms
        self.names.forget_topic_id(partition)
        self._checkpoints.forget(partition)
        if not self.names.has_directory(partition):
            return
        path = self.data_directory.rename(partition, self._environment.new_id(), DELETE_SUFFIX)
        self.names.unopened.discard(partition)
        self.tasks.remove_later(path, delay_ms)

    # Moving here

    def rank(self, partition: TopicPartition) -> tuple[int, bool]:
        """Return which generation a log is, and whether it may have, or have had, records.

        Of two logs the one of the higher rank counts: one without records may be of a creation that
        failed. Raises ``OSError``, ``StorageError``.
        """
        from pyk.reference_broker.storage.log_generation import read_generation

        filesystem, path = self.data_directory.filesystem, self.data_directory.path_of(partition)
        has_records = any(
            name.endswith(LOG_SUFFIX)
            and (name != FIRST_SEGMENT or filesystem.size(f"{path}/{name}"))
            for name in filesystem.list_directory(path)
        )
        return read_generation(filesystem, path), has_records

    def prepare_name(self, partition: TopicPartition) -> None:
        """Let the checkpoints forget an earlier log of this name."""
        self._checkpoints.forget(partition)
        self.tasks.write_checkpoints_of_forgotten()

    def is_name_free(self, partition: TopicPartition) -> bool:
        """Return whether no checkpoint on the disk names an earlier log."""
        return not self._checkpoints.may_name(partition)

    def write_offsets_of_copy(self, copy: Log, log_start_offset: int) -> bool:
        """Write down what a start must know of a copy that gets the name of the log.

        Without its recovery point, gaps that compaction has left would look like losses. Returns
        False while the checkpoints are being written; raises ``OSError``.
        """
        is_named_by_segment = log_start_offset <= copy.segments.first.base_offset
        return self._checkpoints.write_now(
            copy.topic_partition,
            recovery_point=copy.recovery_point,
            log_start_offset=None if is_named_by_segment else log_start_offset,
        )

    def rename_copy(self, partition: TopicPartition) -> None:
        """Give a copy, which is complete and closed, the name of the log; raise ``OSError``."""
        copy = self.futures.get(partition)
        assert copy is not None
        filesystem = self.data_directory.filesystem
        filesystem.rename(copy.directory, self.data_directory.path_of(partition))
        self.futures.take(partition)
        filesystem.sync_directory(self.path)

    def open_moved(self, source: Log) -> Log:
        """Open what was a copy of ``source``, in its state; raise ``OSError`` or ``LogError``."""
        partition = source.topic_partition
        moved = self._open(
            partition,
            source.config,
            recovery_point=source.log_end_offset,
            log_start_offset=source.log_start_offset,
            was_shut_down_cleanly=True,
        )
        moved.high_watermark, moved.compacted_to = source.high_watermark, source.compacted_to
        moved.producers = source.producers
        moved.leader_epochs.copy_from(source.leader_epochs)
        self._logs[partition] = moved
        return moved

    def discard_copy(self, partition: TopicPartition) -> None:
        """Delete a copy that is not needed any more, if there is one; raise ``OSError``."""
        copy = self.futures.take(partition)
        if copy is not None:
            copy.release()
            path = copy.directory.removesuffix(FUTURE_SUFFIX) + DELETE_SUFFIX
            self.data_directory.filesystem.rename(copy.directory, path)
            self.tasks.remove_later(path, 0)

    # Closing

    def close(
        self, broker_epoch: int, when_closed: Callable[[StorageError | None], object]
    ) -> None:
        """Write everything to the disk, unlock the directory, then call ``when_closed``.

        It is told what could not be written, if anything. The next start believes what it finds
        only if there was nothing; otherwise it recovers the logs.
        """
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
                self.tasks.log_failure(f"Closing {opened}", error)
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
                self.tasks.log_failure(task.name, error)
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
            when_closed(_closing_error(self.path, failures))

        self._release()
        # A log that was not opened after a crash was not recovered either.
        is_recovered = self.was_shut_down_cleanly or not self.names.unopened
        is_clean = is_recovered and not failures
        self._disk.run(
            partial(self.data_directory.close, broker_epoch if is_clean else None), unlocked
        )

    def abandon(self) -> None:
        """Release all files and write nothing, as if the process had died."""
        self._release()
        with contextlib.suppress(OSError):
            self.data_directory.close(None)

    def when_failed(self, listener: Callable[[OSError], object]) -> None:
        """Call ``listener``, in any thread, when the disk has failed."""
        watched = self.data_directory.filesystem
        watched.when_failed = listener
        if watched.failure is not None:
            listener(watched.failure)

    def look(self) -> None:
        """Look whether the directory is still there, although nobody uses it.

        It is lost, too, with a metadata log that is out of use, whatever error that met.
        """
        filesystem = self.data_directory.filesystem
        with contextlib.suppress(OSError):
            read_if_exists(filesystem, f"{self.path}/{META_PROPERTIES_FILE}")
        for opened in self:
            if opened.failure is not None and str(opened.topic_partition) == filesystem.vital_log:
                filesystem.fail(OSError(opened.failure.message))

    def fail(self, error: StorageError) -> None:
        """Put all logs out of use: the disk has failed. Nothing is written any more.

        No file stays open: the disk may have to be unmounted.
        """
        for opened in (*self, *self.futures):
            opened.flusher.give_up(error)
        self._release()
        waiting, self._waiting_for_names = self._waiting_for_names, {}
        for when_free in waiting.values():
            when_free()  # another directory may have room
        with contextlib.suppress(OSError):
            self.data_directory.close(None)

    def _release(self) -> None:
        for opened in (*self, *self.futures):
            opened.release()
        self._logs.clear()


def _closing_error(path: str, failures: list[object]) -> StorageError | None:
    if not failures:
        return None
    named = ", ".join(map(str, failures[:5])) + (", …" if len(failures) > 5 else "")
    return StorageError(
        f"not everything in {path} could be written ({named}); the next start recovers its logs"
    )
