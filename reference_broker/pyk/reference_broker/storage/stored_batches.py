"""Batches as they lie in a segment: their headers without their records, or one batch whole."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from pyk.protocol.records import RecordBatch, RecordBatchError, parse_batch
from pyk.protocol.records.layout import (
    CONTROL,
    HEADER_AS_STORED,
    HEADER_BYTES,
    HEADER_EXTENT,
    LENGTH,
    LENGTH_AT,
    LENGTH_END,
    MAGIC,
    TRANSACTIONAL,
)
from pyk.reference_broker.storage.errors import CorruptRecordsError, StorageError
from pyk.reference_broker.storage.producer_entry import MAX_SEQUENCE
from pyk.runtime.filesystem.interface import File

WINDOW_BYTES = 8 * 1024
SCAN_WINDOW_BYTES = 1 << 20


class StoredBatch(NamedTuple):
    """The header of a batch and where it lies."""

    position: int
    size: int
    base_offset: int
    last_offset: int
    leader_epoch: int
    attributes: int
    max_timestamp: int
    producer_id: int
    producer_epoch: int
    base_sequence: int

    @property
    def end(self) -> int:
        """The position of the next batch."""
        return self.position + self.size

    @property
    def last_offset_delta(self) -> int:
        return self.last_offset - self.base_offset

    @property
    def last_sequence(self) -> int:
        """The sequence number of the last offset, -1 without sequence numbers."""
        first = self.base_sequence
        return first if first < 0 else (first + self.last_offset_delta) & MAX_SEQUENCE

    @property
    def is_transactional(self) -> bool:
        return bool(self.attributes & TRANSACTIONAL)

    @property
    def is_control(self) -> bool:
        return bool(self.attributes & CONTROL)


def find_batch(file: File, position: int, end: int, offset: int) -> StoredBatch | None:
    """Return the first batch from ``position`` on that ends at or after ``offset``.

    Raises ``StorageError`` as ``walk_batches`` does. It is that, with nothing made of the batches
    that are passed over: every fetch comes through here.
    """
    window, window_start = b"", position
    while position < end:
        at = position - window_start
        if at + HEADER_BYTES > len(window):
            window, window_start, at = file.read_at(position, WINDOW_BYTES), position, 0
            if len(window) < HEADER_BYTES:
                break
        base_offset, length, magic, last_offset_delta = HEADER_EXTENT.unpack_from(window, at)
        if magic != MAGIC or length < 0:
            break
        if base_offset + last_offset_delta >= offset:
            batch = parse_header(window, at, position)
            if batch is None or batch.end > end:
                break
            return batch
        position += length + LENGTH_END
    return next(walk_batches(file, position, end), None)


def walk_batches(
    file: File,
    position: int,
    end: int,
    window_bytes: int = WINDOW_BYTES,
    *,
    may_be_cut: bool = False,
) -> Iterator[StoredBatch]:
    """Yield the batches from ``position``, where one begins, to ``end``.

    Raises ``StorageError`` if a batch is missing: another program changed the file. The last one
    is left out if it ``may_be_cut`` by ``end``.
    """
    window, window_start = b"", position
    while position < end:
        at = position - window_start
        if at + HEADER_BYTES > len(window):
            window, window_start, at = file.read_at(position, window_bytes), position, 0
        if may_be_cut and end - position < HEADER_BYTES:
            return
        if len(window) < HEADER_BYTES:
            raise StorageError(f"{file.path}: no batch at position {position}, the file ends")
        batch = parse_header(window, at, position)
        if may_be_cut and batch is not None and batch.end > end:
            return
        if batch is None or batch.end > end:
            raise StorageError(f"{file.path}: no batch of format 2 at position {position}")
        yield batch
        position = batch.end


def read_batch(file: File, stored: StoredBatch) -> RecordBatch:
    """Return a batch with its records, checked; raise ``CorruptRecordsError``."""
    data = memoryview(file.read_at(stored.position, stored.size))
    try:
        batch = parse_batch(data)
        if batch is None:
            raise CorruptRecordsError(f"{file.path}: the batch at {stored.position} is cut off")
        batch.check()
    except RecordBatchError as error:
        raise CorruptRecordsError(f"{file.path}: {error}") from error
    return batch


def read_batches_until(file: File, end: int) -> Iterator[RecordBatch]:
    """Yield the batches from the beginning of a file to ``end``, each with its records, checked.

    Stops before a batch that is not whole. Raises a ``RecordBatchError`` for one that is damaged,
    ``UnsupportedMagicError`` for one of an older format.
    """
    position, window_bytes = 0, SCAN_WINDOW_BYTES
    while position < end:
        window = memoryview(file.read_at(position, min(window_bytes, end - position)))
        used = 0
        while (batch := parse_batch(window, used)) is not None:
            batch.check()
            yield batch
            used += batch.size_in_bytes
        if used == 0:
            if len(window) < window_bytes or len(window) < LENGTH_END:
                return
            (length,) = LENGTH.unpack_from(window, LENGTH_AT)
            window_bytes = LENGTH_END + length
            if position + window_bytes > end:
                return
        else:
            window_bytes = SCAN_WINDOW_BYTES
        position += used


def parse_header(window: bytes | memoryview, at: int, position: int) -> StoredBatch | None:
    """Return the batch whose header is at ``at`` of ``window``, None if that is not one."""
    (
        base_offset,
        length,
        leader_epoch,
        magic,
        attributes,
        last_offset_delta,
        max_timestamp,
        producer_id,
        producer_epoch,
        base_sequence,
    ) = HEADER_AS_STORED.unpack_from(window, at)
    if magic != MAGIC or length < HEADER_BYTES - LENGTH_END or last_offset_delta < 0:
        return None
    return StoredBatch(
        position,
        length + LENGTH_END,
        base_offset,
        base_offset + last_offset_delta,
        leader_epoch,
        attributes,
        max_timestamp,
        producer_id,
        producer_epoch,
        base_sequence,
    )
