"""All logs of a broker."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING
from uuid import UUID

from pyk.protocol.topics import TopicPartition
from pyk.reference_broker.config import BrokerConfig, LogConfig
from pyk.reference_broker.storage.compaction.compactor import LogCompactor
from pyk.reference_broker.storage.data_directories import (
    DataDirectories,
    none_usable,
    open_data_directories,
)
from pyk.reference_broker.storage.data_directory import DataDirectory, unusable
from pyk.reference_broker.storage.disk import Disk, InlineDisk
from pyk.reference_broker.storage.errors import FailedDirectoryError, StorageError
from pyk.reference_broker.storage.log import Log
from pyk.reference_broker.storage.log_directory import LogDirectory
from pyk.reference_broker.storage.log_homes import LogHomes, LostDirectoryError
from pyk.reference_broker.storage.maintenance import MaintenanceSchedule, Task
from pyk.reference_broker.storage.meta_properties import UNKNOWN_BROKER_EPOCH
from pyk.reference_broker.storage.storage_environment import StorageEnvironment
from pyk.runtime.clock import Clock
from pyk.runtime.filesystem.interface import FileSystem

if TYPE_CHECKING:
    from random import Random

    from pyk.reference_broker.storage.log_moves import LogMoves

log = logging.getLogger(__name__)


def _ignore(_: BaseException | None) -> None:
    return


class LogManager:
    """The logs in the data directories of a broker. Belongs to the broker's loop.

    The broker drives its maintenance: ``for task in manager.due(): manager.perform(task)``, again
    at ``next_due``; and its ``compactor`` and ``moves``. Whatever waits for the device is given to
    ``disk``. ``homes`` tells which directory a log is in. ``failures`` are the directories that are
    offline, by path, with what is wrong with each. ``lost`` says why the broker cannot go on, None
    while it can.
    """

    def __init__(
        self,
        found: DataDirectories,
        log_dirs: Sequence[str],
        config: BrokerConfig,
        environment: StorageEnvironment,
    ) -> None:
        self.config = config
        self.log_dirs = tuple(log_dirs)
        self.failures: dict[str, StorageError] = dict(found.failed)
        self.lost: StorageError | None = None
        self._is_closed = False
        self._clock = environment.clock
        self._directories = list(self._usable(found, environment))
        self._metadata_directory = self._directories[0]
        if self.failures.keys() >= set(log_dirs):
            raise none_usable(self.failures.values())
        self.homes = LogHomes(
            (each for each in self._directories if each.path in log_dirs), self._metadata_directory
        )
        self.arm_moves: Callable[[float], object] = lambda at: None
        self.when_moved: Callable[[Log], object] = lambda moved: None
        self.announce_move: Callable[[TopicPartition], bool] = lambda partition: True
        self._environment = environment
        self._moves: LogMoves | None = None
        self._schedule = MaintenanceSchedule(config, environment.clock.now())
        self.compactor = LogCompactor(
            self,
            lambda each: self.get(each.topic_partition) is each,
            environment.clock,
            environment.disk,
            lambda: self.perform(Task.CHECKPOINT_COMPACTION),
        )
        for path, error in self.failures.items():
            log.error("Data directory %s is offline until the broker is restarted: %s", path, error)
        self._without_lost(self.homes.settle)

    def _usable(
        self, found: DataDirectories, environment: StorageEnvironment
    ) -> Iterator[LogDirectory]:
        """Yield the directories whose files can be read, the one of the metadata log first."""
        for each in list(found.opened):
            try:
                yield LogDirectory(each, lambda: self.config, environment)
            except StorageError as error:
                failure, epoch = error, each.previous_broker_epoch  # nothing was changed
            except OSError as error:
                failure, epoch = unusable(each.path, error), None
            else:
                continue
            if each is found.opened[0]:
                raise failure
            found.opened.remove(each)
            self.failures[each.path] = failure
            with suppress(OSError):  # it is not clean then
                each.close(epoch)

    @classmethod
    def open(
        cls,
        filesystem: FileSystem,
        path: str,
        config: BrokerConfig,
        *,
        clock: Clock,
        random: Random,
        log_dirs: Sequence[str] = (),
        cluster_id: str | None = None,
        disk: Disk | None = None,
    ) -> LogManager:
        """Lock the data directories; logs are opened one by one, when needed.

        The directory at ``path`` has the metadata log, and other logs unless ``log_dirs`` are
        others. ``disk`` waits for the device, by default at once. Raises ``StorageError`` if
        another broker uses a directory, it belongs to another, or ``path`` or all of ``log_dirs``
        cannot be used; another one that cannot, or has damaged checkpoints, is offline.
        """
        log_dirs = log_dirs or (path,)
        found = open_data_directories(
            filesystem,
            path,
            log_dirs,
            node_id=config.node_id,
            cluster_id=cluster_id,
            random=random,
        )
        environment = StorageEnvironment(clock, random, InlineDisk() if disk is None else disk)
        try:
            return cls(found, log_dirs, config, environment)
        except BaseException:
            found.close()
            raise

    def __iter__(self) -> Iterator[Log]:
        for directory in tuple(self._directories):
            yield from directory

    def __len__(self) -> int:
        return sum(1 for _ in self)

    @property
    def moves(self) -> LogMoves:
        """The moves between directories, made when they are first used: a broker must start fast.

        ``arm_moves``, ``announce_move`` and ``when_moved`` have to be set by then, see
        ``LogMoves``.
        """
        from pyk.reference_broker.storage.log_moves import LogMoves

        if self._moves is None:
            self._moves = LogMoves(
                self.homes,
                self._environment,
                lambda: self.config,
                arm=self.arm_moves,
                announce=self.announce_move,
                when_moved=self.when_moved,
            )
        return self._moves

    @property
    def data_directory(self) -> DataDirectory:
        """The directory that has the metadata log."""
        return self._metadata_directory.data_directory

    @property
    def cluster_id(self) -> str:
        """The cluster that the data directories belong to."""
        return self.data_directory.properties.cluster_id

    @property
    def was_shut_down_cleanly(self) -> bool:
        """Whether the last broker stopped cleanly. Otherwise records may have been lost."""
        return all(each.was_shut_down_cleanly for each in self._directories)

    def get(self, partition: TopicPartition) -> Log | None:
        """Return an opened log."""
        home = self.homes.of(partition)
        return None if home is None else home.get(partition)

    def place_of(self, partition: TopicPartition) -> LogDirectory | None:
        """Return the directory that a log is in, or is about to be in."""
        move = None if self._moves is None else self._moves.get(partition)
        return move.target if move and move.is_announced else self.homes.of(partition)

    def open_metadata_log(
        self, partition: TopicPartition, config: LogConfig, topic_id: UUID
    ) -> Log:
        """Return the log of the metadata, in its own directory; raise ``StorageError``."""
        return self.homes.add_metadata_log(partition).open_log(partition, config, topic_id)

    def get_or_create(
        self, partition: TopicPartition, config: LogConfig, topic_id: UUID | None = None
    ) -> Log:
        """Return the log of a partition, opened, recovered and if need be created.

        A log of a deleted topic of the same name makes room. Raises ``StorageError``, also while
        ``free_name`` has work to do.
        """
        directory = self.homes.place(partition)
        opened = directory.open_log(partition, config, topic_id)
        self.homes.add(partition, directory)
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
        would begin, and count as flushed, where that did. Raises ``OSError`` or ``StorageError``.
        """
        home = self.homes.of(partition)
        if home is not None:
            is_free = home.free_name(partition, topic_id, when_free)
            if home.has(partition):
                return is_free
            self.homes.remove(partition)  # the new log may have a place elsewhere
        return self.homes.place(partition).free_name(partition, topic_id, when_free)

    def mark_deleted(self, partition: TopicPartition) -> None:
        """Mark the log of a deleted topic: ``free_name`` deletes it and does not set it aside."""
        self._end_move(partition)
        home = self.homes.of(partition)
        if home is None:
            self.homes.remove(partition)  # it may be lost
        else:
            home.mark_deleted(partition)

    def delete(self, partition: TopicPartition) -> None:
        """Delete the log of a partition, opened or not; do nothing if it has none.

        Its name is free at once, its files stay for ``file.delete.delay.ms``.
        """
        self._end_move(partition)
        home = self.homes.of(partition)
        if home is not None:
            home.delete(partition)
        self.homes.remove(partition)

    def _end_move(self, partition: TopicPartition) -> None:
        self.homes.take_unfinished(partition)
        if self._moves is not None:
            self._moves.end(partition)

    def set_strays_aside(self, is_known: Callable[[TopicPartition, UUID | None], bool]) -> None:
        """Rename the logs that no metadata names, and log that: otherwise they would go unnoticed.

        Apache Kafka does the same. They may be all that is left of a topic, so they stay until an
        administrator removes them. ``is_known`` is asked for a partition and the id of its topic,
        None where that is not written down. After a clean shutdown the ids are not read before the
        logs are used: the metadata is complete, and ``free_name`` checks the id.
        """
        self._without_lost(lambda: self.homes.set_rivals_aside(is_known))
        for directory in tuple(self._directories):
            for partition in directory.names.set_strays_aside(is_known):
                self.homes.remove(partition)

    def _without_lost(self, step: Callable[[], object]) -> None:
        """Carry out a step of the start without the directories that fail meanwhile.

        Raises ``StorageError`` if no directory is left for logs, or that of the metadata log fails.
        """
        while True:
            try:
                step()
                return
            except LostDirectoryError as lost:
                directory, error = lost.directory, lost.error
            if directory is self._metadata_directory:
                raise unusable(directory.path, error) from error
            self.take_offline(directory, error)
            if not self.homes.directories:
                raise none_usable(self.failures.values())

    def due(self) -> list[Task]:
        """Return the tasks that are due now."""
        return self._schedule.due(self._clock.now())

    def next_due(self) -> float:
        """Return when, in monotonic seconds, the next task is due."""
        return self._schedule.next_due()

    def perform(self, task: Task) -> None:
        """Perform a task for all logs. A failure is logged; the next time it is tried again."""
        for directory in tuple(self._directories):
            directory.tasks.perform(task)
            if task is Task.CHECKPOINT_HIGH_WATERMARKS:
                directory.look()  # Kafka writes this file also if nothing has changed

    def when_failed(self, listener: Callable[[LogDirectory, OSError], object]) -> None:
        """Call ``listener`` when a directory fails, in any thread; then ``take_offline`` it."""
        for directory in self._directories:
            directory.when_failed(partial(listener, directory))

    def take_offline(self, directory: LogDirectory, error: OSError) -> list[TopicPartition]:
        """Use a directory no more; return the partitions that have their logs there.

        Without the one of the metadata log, or without any for logs, all is ``lost``.
        """
        if self._is_closed or directory not in self._directories:
            return []
        if directory is self._metadata_directory:
            self.lost = FailedDirectoryError(
                f"data directory {directory.path}, which has the metadata log, has failed: {error}"
            )
            return []
        failure = FailedDirectoryError(f"data directory {directory.path} has failed: {error}")
        self._directories.remove(directory)
        self.failures[directory.path] = failure
        if self._moves is not None:
            self._moves.end_all_of(directory)
        lost = self.homes.take_offline(directory)
        log.error(
            "Data directory %s is offline until the broker is restarted, with %d partitions: %s",
            directory.path,
            len(lost),
            error,
        )
        directory.fail(failure)
        if not self.homes.directories:
            self.lost = none_usable(self.failures.values())
        return lost

    def close(
        self,
        broker_epoch: int = UNKNOWN_BROKER_EPOCH,
        when_closed: Callable[[StorageError | None], object] = _ignore,
    ) -> None:
        """Write everything to the disk, unlock the directories, then call ``when_closed``.

        It is told what could not be written, if anything. The next start believes what it finds
        only if there was nothing; otherwise it recovers the logs.
        """
        self._is_closed = True
        self.compactor.close()
        self._close_moves()
        left = len(self._directories)
        errors: list[StorageError] = []

        def closed(error: StorageError | None) -> None:
            nonlocal left
            left -= 1
            if error is not None:
                errors.append(error)
            if not left:
                when_closed(errors[0] if errors else None)

        for directory in tuple(self._directories):
            directory.close(broker_epoch, closed)

    def abandon(self) -> None:
        """Release all files and write nothing, as if the process had died."""
        self._is_closed = True
        self.compactor.close()
        self._close_moves()
        for directory in self._directories:
            directory.abandon()

    def _close_moves(self) -> None:
        if self._moves is not None:
            self._moves.close()
