"""Logs in memory, and batches to put into them."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

from pyk.protocol.records import Compression, RecordBatchBuilder, read_batches
from pyk.protocol.topics import TopicPartition
from pyk.reference_broker.config import LogConfig
from pyk.reference_broker.storage import FlushQueue, Log, LogAppendResult, TransactionMarker
from pyk.reference_broker.storage.disk import Disk, InlineDisk
from pyk.runtime.filesystem import FileSystem, OsFileSystem
from pyk.runtime.filesystem.memory import MemoryFileSystem
from pyk.runtime.filesystem.open_files import OpenFiles
from pyk.runtime.virtual_time import START_MS, VirtualClock

ORDERS = TopicPartition("orders", 0)
DIRECTORY = "/data/orders-0"


def batch(
    *values: bytes,
    key: bytes | None = b"key",
    timestamp_ms: int = START_MS,
    producer_id: int = -1,
    producer_epoch: int = -1,
    base_sequence: int = -1,
    is_transactional: bool = False,
    compression: Compression = Compression.NONE,
) -> bytes:
    """Return a batch as a producer sends it; its records are a millisecond apart."""
    builder = RecordBatchBuilder(compression, max_bytes=1 << 24)
    for index, value in enumerate(values or (b"value",)):
        assert builder.append(timestamp_ms + index, key, value, ()) == index
    return bytes(
        builder.seal(
            producer_id=producer_id,
            producer_epoch=producer_epoch,
            base_sequence=base_sequence,
            is_transactional=is_transactional,
        )
    )


def open_log(
    filesystem: FileSystem | None = None,
    *,
    directory: str = DIRECTORY,
    clock: VirtualClock | None = None,
    recovery_point: int = 0,
    log_start_offset: int = 0,
    was_shut_down_cleanly: bool = False,
    max_open_files: int | None = None,
    disk: Disk | None = None,
    flushes: FlushQueue | None = None,
    **config: Any,
) -> Log:
    """Open the log of ``ORDERS``; ``config`` holds attributes of ``LogConfig``."""
    opened = Log.open(
        OpenFiles(filesystem or MemoryFileSystem(), max_open_files),
        directory,
        ORDERS,
        LogConfig(**config),
        clock=clock or VirtualClock(),
        random=Random(1),
        flushes=flushes or FlushQueue(InlineDisk() if disk is None else disk),
        recovery_point=recovery_point,
        log_start_offset=log_start_offset,
        was_shut_down_cleanly=was_shut_down_cleanly,
    )
    opened.high_watermark = opened.log_end_offset
    return opened


def write_log_on_disk(
    directory: Path, *, batches: int, producer_id: int, producer_epoch: int
) -> list[Path]:
    """Write a log of several segments and return its files that are named by an offset.

    Each batch has one record, ``value 0`` and so on; the compression changes with each batch, the
    leader epoch with every twentieth.
    """
    log = open_log(
        OsFileSystem(), directory=str(directory), segment_bytes=2000, index_interval_bytes=300
    )
    compressions = list(Compression)
    for number in range(batches):
        data = batch(
            b"value %d" % number,
            producer_id=producer_id,
            producer_epoch=producer_epoch,
            base_sequence=number,
            compression=compressions[number % len(compressions)],
        )
        log.append_as_leader(data, leader_epoch=number // 20)
    log.close()
    return sorted(directory.glob("[0-9]*.*"))


def write_transactions_on_disk(directory: Path) -> list[Path]:
    """Write a log of three segments with transactions; return its files as above.

    Producer 1 commits, 2 aborts in the segment after its record, 3 leaves its transaction open.
    """
    log = open_log(OsFileSystem(), directory=str(directory))
    append_in_transaction(log, b"committed", producer_id=1, producer_epoch=4)
    append_in_transaction(log, b"aborted", producer_id=2)
    log.roll()
    end_transaction(
        log,
        commit=True,
        producer_id=1,
        producer_epoch=5,
        coordinator_epoch=9,
        transaction_version=2,
    )
    end_transaction(log, commit=False, producer_id=2)
    append_in_transaction(log, b"open", producer_id=3)
    log.roll()
    append(log, b"without a transaction")
    log.close()
    return sorted(directory.glob("[0-9]*.*"))


def transactional_batch(
    *values: bytes, producer_id: int = 7, producer_epoch: int = 0, base_sequence: int = 0
) -> bytes:
    """Return a batch of a producer that is in a transaction."""
    return batch(
        *values,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        base_sequence=base_sequence,
        is_transactional=True,
    )


def append(log: Log, *values: bytes, leader_epoch: int = 0, **more: Any) -> int:
    """Append one batch as leader, let the high watermark follow, return the base offset."""
    result = log.append_as_leader(batch(*values, **more), leader_epoch)
    log.high_watermark = log.log_end_offset
    return result.base_offset


def append_in_transaction(log: Log, *values: bytes, **producer: int) -> int:
    """Append a :func:`transactional_batch` as leader; see :func:`append`."""
    result = log.append_as_leader(transactional_batch(*values, **producer), 0)
    log.high_watermark = log.log_end_offset
    return result.base_offset


def end_transaction(
    log: Log,
    *,
    commit: bool,
    producer_id: int = 7,
    producer_epoch: int = 0,
    coordinator_epoch: int = 0,
    transaction_version: int = 0,
) -> LogAppendResult:
    """Append a marker, let the high watermark follow."""
    marker = TransactionMarker(producer_id, producer_epoch, coordinator_epoch, commit)
    result = log.end_transaction(marker, 0, transaction_version)
    log.high_watermark = log.log_end_offset
    return result


def aborted_transactions(
    log: Log, offset: int = 0, max_bytes: int = 1 << 20
) -> list[tuple[int, int]]:
    """Return (producer id, first offset) of what a reader of committed records is told."""
    records = log.reader.read(offset, max_bytes, log.last_stable_offset)
    found = log.reader.aborted_transactions(offset, records, log.last_stable_offset)
    return [(each.producer_id, each.first_offset) for each in found]


def values(log: Log, offset: int | None = None, max_bytes: int = 1 << 20) -> list[bytes]:
    """Return all values from ``offset`` on, or from the log's start, fetch by fetch."""
    offset = log.log_start_offset if offset is None else offset
    found = []
    while (records := log.reader.read(offset, max_bytes)).size:
        for stored in read_batches(records.read()):
            found += [r.value for r in stored if r.offset >= offset and r.value is not None]
            offset = max(offset, stored.next_offset)
    return found


def filled_log(filesystem: FileSystem, count: int = 10, **config: Any) -> Log:
    """Open a log, and append so many records, each in a batch of its own."""
    log = open_log(filesystem, **config)
    for value in numbered(count):
        append(log, value)
    return log


def numbered(count: int) -> list[bytes]:
    """Return the values of the records of ``filled_log``."""
    return [b"%d" % number for number in range(count)]


def overwrite(filesystem: FileSystem, path: str, position: int, content: bytes) -> None:
    filesystem.open(path, create=True).write_at(position, [content])
