"""Copies of logs that are on their way to a data directory: ``TOPIC-PARTITION.ID-future``."""

from __future__ import annotations

from collections.abc import Iterator
from uuid import UUID

from pyk.protocol.records.layout import MAX_INT64
from pyk.protocol.topics import TopicPartition
from pyk.reference_broker.config import LogConfig
from pyk.reference_broker.storage.data_directory import DataDirectory
from pyk.reference_broker.storage.errors import StorageError
from pyk.reference_broker.storage.flushing import FlushQueue
from pyk.reference_broker.storage.log import Log
from pyk.reference_broker.storage.partition_metadata import write_topic_id
from pyk.reference_broker.storage.storage_environment import StorageEnvironment
from pyk.runtime import slotted
from pyk.runtime.filesystem.open_files import OpenFiles


class FutureLogs:
    """The copies in one data directory. Belongs to the broker's loop.

    ``unfinished`` are the partitions whose moves an earlier broker began. What it has copied is
    removed: after a crash the log may lack what the copy has, so the copy is made again.
    """

    def __init__(
        self,
        data_directory: DataDirectory,
        files: OpenFiles,
        flushes: FlushQueue,
        environment: StorageEnvironment,
    ) -> None:
        """Raise ``OSError``."""
        self.unfinished = data_directory.take_copies()
        self._data_directory = data_directory
        self._files = files
        self._flushes = flushes
        self._environment = environment
        self._logs: dict[TopicPartition, Log] = {}

    def __iter__(self) -> Iterator[Log]:
        return iter(tuple(self._logs.values()))

    def get(self, partition: TopicPartition) -> Log | None:
        return self._logs.get(partition)

    def create(
        self, partition: TopicPartition, config: LogConfig, topic_id: UUID | None, offset: int
    ) -> Log:
        """Begin an empty copy at an offset; raise ``StorageError``."""
        path = self._data_directory.path_of_copy(partition, self._environment.new_id())
        # What matters is on the disk before the copy takes its place, not while it is made.
        relaxed = slotted.evolve(config, flush_messages=MAX_INT64, flush_ms=MAX_INT64)
        try:
            self._data_directory.filesystem.make_directory(path)
            if topic_id is not None:
                write_topic_id(self._data_directory.filesystem, path, topic_id)
            created = Log.open(
                self._files,
                path,
                partition,
                relaxed,
                clock=self._environment.clock,
                random=self._environment.random,
                flushes=self._flushes,
                log_start_offset=offset,
            )
        except OSError as error:
            raise StorageError(f"cannot begin to move {partition}: {error}") from error
        self._logs[partition] = created
        return created

    def take(self, partition: TopicPartition) -> Log | None:
        """Forget a copy and return it: it is about to get another name."""
        return self._logs.pop(partition, None)
