"""Compacted logs: fill them, compact them, read what is left."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pyk.protocol.records import Compression, RecordBatch, RecordBatchBuilder, read_batches
from pyk.protocol.topics import TopicPartition
from pyk.reference_broker.storage import Log, LogManager, Task
from pyk.runtime.filesystem import FileSystem
from pyk.runtime.filesystem.memory import MemoryFileSystem
from pyk.runtime.virtual_time import START_MS, VirtualClock
from support.log_managers import ONE, log_config, open_manager
from support.logs import ORDERS

Pair = tuple[bytes | None, bytes | None]

COMPACTED = {
    "cleanup_policy": "compact",
    "internal_segment_bytes": "400",
    "index_interval_bytes": "0",
    "min_cleanable_dirty_ratio": "0",
    "file_delete_delay_ms": "0",
}


class CompactedLog:
    """The log of ``ORDERS`` in a manager of its own."""

    def __init__(
        self,
        filesystem: FileSystem | None = None,
        *,
        clock: VirtualClock | None = None,
        partition: TopicPartition = ORDERS,
        broker: dict[str, str] | None = None,
        **config: str,
    ) -> None:
        self.filesystem = filesystem or MemoryFileSystem()
        self.clock = clock or VirtualClock()
        self.partition = partition
        self.config = log_config(**{**COMPACTED, **config})
        self.manager: LogManager = open_manager(self.filesystem, self.clock, **(broker or {}))
        self.log: Log = self.manager.get_or_create(partition, self.config, ONE)
        self.log.high_watermark = self.log.log_end_offset

    def append(self, *pairs: Pair, timestamp_ms: int = START_MS, **more: Any) -> None:
        """Append a batch of (key, value) pairs."""
        data = keyed_batch(*pairs, timestamp_ms=timestamp_ms, **more)
        self.log.append_as_leader(data, leader_epoch=0)
        self.log.high_watermark = self.log.log_end_offset

    def roll(self) -> None:
        """Begin a new segment: the active one is not compacted."""
        self.log.roll()

    def compact(self) -> None:
        """Flush what is finished, and compact as long as that is worth it."""
        self.manager.perform(Task.FLUSH)
        planned: list[float] = []
        self.manager.compactor.arm = planned.append
        self.manager.compactor.run(self.manager.config)
        while planned[-1] <= self.clock.now():
            self.manager.compactor.run(self.manager.config)

    def batches(self) -> list[RecordBatch]:
        """Return all batches of the log."""
        return list(read_log(self.log))

    def records(self) -> list[tuple[int, bytes | None, bytes | None]]:
        """Return (offset, key, value) of each record that is left."""
        return [(each.offset, each.key, each.value) for batch in self.batches() for each in batch]

    def values(self) -> list[bytes | None]:
        return [value for _, _, value in self.records()]

    def names(self) -> list[str]:
        """Return the names of the files of the log."""
        return self.filesystem.list_directory(self.log.directory)


def keyed_batch(
    *pairs: Pair,
    timestamp_ms: int = START_MS,
    compression: Compression = Compression.NONE,
    producer_id: int = -1,
    producer_epoch: int = -1,
    base_sequence: int = -1,
    is_transactional: bool = False,
) -> bytes:
    """Return a batch of (key, value) pairs as a producer sends it."""
    builder = RecordBatchBuilder(compression, max_bytes=1 << 24)
    for key, value in pairs:
        builder.append(timestamp_ms, key, value)
    return bytes(
        builder.seal(producer_id, producer_epoch, base_sequence, is_transactional=is_transactional)
    )


def read_log(log: Log, max_bytes: int = 1 << 20) -> Iterable[RecordBatch]:
    """Yield the batches of a log, fetch by fetch."""
    offset = log.log_start_offset
    while (records := log.reader.read(offset, max_bytes)).size:
        for batch in read_batches(records.read()):
            assert isinstance(batch, RecordBatch)
            yield batch
            offset = batch.next_offset
