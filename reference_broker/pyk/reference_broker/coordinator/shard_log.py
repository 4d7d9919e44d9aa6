"""The interface of a shard's log, and the splitting of large decisions into batches."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Protocol

from pyk.protocol.errors import ErrorCode
from pyk.runtime import slotted

from .decision import ShardRecord, TransactionalProducer

KeyValue = tuple[bytes | None, bytes | None]
EncodedRecord = tuple[ShardRecord, bytes | None, bytes | None]

BATCH_HEAD_BYTES = 61
RECORD_HEAD_BYTES = 32
"""At most: eight fields of variable length, besides key and value."""


NO_PRODUCER_ID = -1


@slotted.frozen
class LoggedRecords:
    """Records that follow each other in a log, all of one transaction or of none."""

    records: list[KeyValue]
    producer_id: int = NO_PRODUCER_ID
    """The producer whose transaction they belong to."""
    base_offset: int = 0
    """The offset of the first; the others may have gaps before them where the log is compacted."""


@slotted.frozen
class LoggedMarker:
    """The marker that ends a transaction."""

    producer_id: int
    is_commit: bool


LogEntry = LoggedRecords | LoggedMarker


class ShardLog(Protocol):
    """The partition under a shard."""

    @property
    def high_watermark(self) -> int:
        """Return the offset up to which records cannot be lost any more."""

    @property
    def end_offset(self) -> int:
        """Return the offset after the last record, committed or not."""

    def append(
        self,
        records: Iterable[KeyValue],
        time_ms: int,
        producer: TransactionalProducer | None = None,
    ) -> int:
        """Append records as one batch; return the offset after them; raise :class:`ApiError`.

        They are committed when the high watermark has passed them; those of a ``producer`` count
        when its transaction is committed.
        """

    @property
    def leader_epoch(self) -> int:
        """Return the epoch in which this broker leads the partition."""

    @property
    def max_batch_bytes(self) -> int:
        """Return how large a batch may be."""

    @property
    def failure(self) -> ErrorCode | None:
        """Return why the high watermark will never move again, None if it may."""

    def drop_before(self, offset: int) -> None:
        """Remove the records before an offset; raise :class:`ApiError`."""

    def read_all(self) -> Iterator[list[LogEntry]]:
        """Yield the records and markers of the log in their order, some at a time."""


def in_batches(records: Iterable[ShardRecord], max_bytes: int) -> Iterator[list[EncodedRecord]]:
    """Yield the encoded records in groups, each of which fits into a batch of ``max_bytes``.

    A record that is larger has a batch of its own: the log refuses it.
    """
    batch: list[EncodedRecord] = []
    size = BATCH_HEAD_BYTES
    for record in records:
        key, value = record.encode()
        needed = RECORD_HEAD_BYTES + len(key or b"") + len(value or b"")
        if batch and size + needed > max_bytes:
            yield batch
            batch, size = [], BATCH_HEAD_BYTES
        batch.append((record, key, value))
        size += needed
    if batch:
        yield batch
