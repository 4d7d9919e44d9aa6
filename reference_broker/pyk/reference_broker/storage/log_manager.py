"""All logs of a broker."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING
from uuid import UUID

from pyk.protocol.topics import TopicPartition
from pyk.reference_broker.config import BrokerConfig, LogConfig
from pyk.reference_broker.storage.compaction.compactor import LogCompactor
from pyk.reference_broker.storage.data_directory import DataDirectory, unusable
from pyk.reference_broker.storage.disk import Disk, InlineDisk
from pyk.reference_broker.storage.errors import StorageError
from pyk.reference_broker.storage.log import Log
from pyk.reference_broker.storage.log_directory import LogDirectory
from pyk.reference_broker.storage.maintenance import MaintenanceSchedule, Task
from pyk.reference_broker.storage.meta_properties import UNKNOWN_BROKER_EPOCH
from pyk.reference_broker.storage.storage_environment import StorageEnvironment
from pyk.runtime.clock import Clock
from pyk.runtime.filesystem.interface import FileSystem

if TYPE_CHECKING:
    from random import Random


def _ignore(_: BaseException | None) -> None:
    return


class LogManager:
    """The logs in the data directory of a broker. Belongs to the broker's loop.

    The broker drives its maintenance: ``for task in manager.due(): manager.perform(task)``, again
    at ``next_due``; and its ``compactor``. Whatever waits for the device is given to ``disk``.
    """

    def __init__(
        self, data_directory: DataDirectory, config: BrokerConfig, environment: StorageEnvironment
    ) -> None:
        self.config = config
        self._clock = environment.clock
        self._directory = LogDirectory(data_directory, lambda: self.config, environment)
        self._schedule = MaintenanceSchedule(config, environment.clock.now())
        self.compactor = LogCompactor(
            data_directory.filesystem,
            self,
            environment.clock,
            environment.disk,
            lambda: self.perform(Task.CHECKPOINT_COMPACTION),
        )

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
        environment = StorageEnvironment(clock, random, InlineDisk() if disk is None else disk)
        try:
            return cls(data_directory, config, environment)
        except OSError as error:
            data_directory.close(None)
            raise unusable(path, error) from error
        except BaseException:
            data_directory.close(None)
            raise

    def __iter__(self) -> Iterator[Log]:
        return iter(self._directory)

    def __len__(self) -> int:
        return len(self._directory)

    @property
    def path(self) -> str:
        """The data directory."""
        return self._directory.path

    @property
    def data_directory(self) -> DataDirectory:
        return self._directory.data_directory

    @property
    def cluster_id(self) -> str:
        """The cluster that the data directory belongs to."""
        return self.data_directory.properties.cluster_id

    @property
    def was_shut_down_cleanly(self) -> bool:
        """Whether the last broker stopped cleanly. Otherwise records may have been lost."""
        return self._directory.was_shut_down_cleanly

    def get(self, partition: TopicPartition) -> Log | None:
        """Return an opened log."""
        return self._directory.get(partition)

    def get_or_create(
        self, partition: TopicPartition, config: LogConfig, topic_id: UUID | None = None
    ) -> Log:
        """Return the log of a partition, opened, recovered and if need be created.

        A log of a deleted topic of the same name makes room. Raises ``StorageError``, also while
        ``free_name`` has work to do.
        """
        return self._directory.open_log(partition, config, topic_id)

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
        return self._directory.free_name(partition, topic_id, when_free)

    def mark_deleted(self, partition: TopicPartition) -> None:
        """Mark the log of a deleted topic: ``free_name`` deletes it and does not set it aside."""
        self._directory.mark_deleted(partition)

    def delete(self, partition: TopicPartition) -> None:
        """Delete the log of a partition, opened or not; do nothing if it has none.

        Its name is free at once, its files stay for ``file.delete.delay.ms``.
        """
        self._directory.delete(partition)

    def set_strays_aside(self, is_known: Callable[[TopicPartition, UUID | None], bool]) -> None:
        """Rename the logs that no metadata names, and log that: otherwise they would go unnoticed.

        Apache Kafka does the same. They may be all that is left of a topic, so they stay until an
        administrator removes them. ``is_known`` is asked for a partition and the id of its topic,
        None where that is not written down. After a clean shutdown the ids are not read before the
        logs are used: the metadata is complete, and ``free_name`` checks the id.
        """
        self._directory.set_strays_aside(is_known)

    def due(self) -> list[Task]:
        """Return the tasks that are due now."""
        return self._schedule.due(self._clock.now())

    def next_due(self) -> float:
        """Return when, in monotonic seconds, the next task is due."""
        return self._schedule.next_due()

    def perform(self, task: Task) -> None:
        """Perform a task for all logs. A failure is logged; the next time it is tried again."""
        self._directory.tasks.perform(task)

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
        self._directory.close(broker_epoch, when_closed)

    def abandon(self) -> None:
        """Release all files and write nothing, as if the process had died."""
        self.compactor.close()
        self._directory.abandon()
