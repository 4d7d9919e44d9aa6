"""A partition as the log of a shard: append records as one batch, read all of them to replay."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial

from pyk.protocol.errors import ErrorCode
from pyk.protocol.records import (
    Compression,
    RecordBatch,
    RecordBatchBuilder,
    RecordBatchError,
    read_batches,
)
from pyk.protocol.records.compression import check_available
from pyk.protocol.records.legacy import LegacyBatch
from pyk.reference_broker.coordinator.decision import TransactionalProducer
from pyk.reference_broker.coordinator.shard_log import (
    NO_PRODUCER_ID,
    KeyValue,
    LogEntry,
    LoggedMarker,
    LoggedRecords,
)
from pyk.reference_broker.errors import ApiError
from pyk.reference_broker.partition import Partition
from pyk.reference_broker.storage import (
    AppendOrigin,
    LogError,
    StorageError,
    TransactionMarker,
)

READ_BYTES = 1 << 20
MAX_BATCH_BYTES = 64 << 20
"""How large a batch can be built; max.message.bytes of the topic counts after compression."""


class PartitionLog:
    """A :class:`~.coordinator.shard_log.ShardLog` over a partition that this broker leads."""

    def __init__(self, partition: Partition, compression: Compression = Compression.NONE) -> None:
        """Raise ``UnsupportedCompressionError`` if batches cannot be compressed so here."""
        check_available(compression)
        self._partition = partition
        self._compression = compression

    @property
    def high_watermark(self) -> int:
        return self._partition.high_watermark

    @property
    def end_offset(self) -> int:
        return self._partition.log_end_offset

    @property
    def leader_epoch(self) -> int:
        return self._partition.leader_epoch

    @property
    def max_batch_bytes(self) -> int:
        return min(self._partition.log.config.max_message_bytes, MAX_BATCH_BYTES)

    @property
    def failure(self) -> ErrorCode | None:
        failure = self._partition.failure
        return None if failure is None else failure.code

    def append(
        self,
        records: Iterable[KeyValue],
        time_ms: int,
        producer: TransactionalProducer | None = None,
    ) -> int:
        return self._append(records, time_ms, partial(_seal, producer=producer))

    def _append(
        self,
        records: Iterable[KeyValue],
        time_ms: int,
        seal: Callable[[RecordBatchBuilder], memoryview],
    ) -> int:
        builder = RecordBatchBuilder(self._compression, max_bytes=MAX_BATCH_BYTES)
        for key, value in records:
            if builder.append(time_ms, key, value) < 0:
                raise ApiError(
                    ErrorCode.RECORD_LIST_TOO_LARGE,
                    f"The records for {self._partition.topic_partition} do not fit into a batch of "
                    f"{MAX_BATCH_BYTES} bytes; send them in several requests.",
                )
        try:
            appended = self._partition.append(
                seal(builder), origin=AppendOrigin.COORDINATOR, needs_all_replicas=True
            )
        except LogError as error:
            raise ApiError(error.code, error.message) from error
        return appended.last_offset + 1

    def drop_before(self, offset: int) -> None:
        try:
            self._partition.delete_records(offset)
        except LogError as error:
            raise ApiError(error.code, error.message) from error

    def read_all(self) -> Iterator[list[LogEntry]]:
        yield from self.read_from(self._partition.log.log_start_offset)

    def read_from(self, offset: int) -> Iterator[list[LogEntry]]:
        """Yield the records and markers from the batch of an offset on, some at a time."""
        log = self._partition.log
        while offset < log.log_end_offset:
            found: list[LogEntry] = []
            before = offset
            try:
                for batch in read_batches(log.reader.read(offset, READ_BYTES).read()):
                    offset = batch.next_offset
                    self._add_entry(found, batch)
            except (RecordBatchError, LogError, OSError) as error:
                raise self._unreadable(offset, error) from error
            if offset == before:
                raise self._unreadable(offset, "no batch begins there")
            yield found

    def _add_entry(self, entries: list[LogEntry], batch: RecordBatch | LegacyBatch) -> None:
        """Add what a shard replays of a batch; one of the same producer extends the last entry."""
        if isinstance(batch, RecordBatch) and batch.is_control:
            entries += self._control_entries(batch)
        else:
            _add_records(entries, batch)

    def _control_entries(self, batch: RecordBatch) -> list[LogEntry]:
        """Return what a shard replays of a control batch."""
        marker = TransactionMarker.decode(batch)
        return [] if marker is None else [LoggedMarker(marker.producer_id, marker.is_commit)]

    def _unreadable(self, offset: int, why: object) -> StorageError:
        log = self._partition.log
        return StorageError(
            f"cannot read {self._partition.topic_partition} at offset {offset} in {log.directory}: "
            f"{why}; restore its files, or stop the broker and cut the log off there"
        )


def _seal(builder: RecordBatchBuilder, producer: TransactionalProducer | None) -> memoryview:
    if producer is None:
        return builder.seal()
    # No base sequence: nothing can be a duplicate that a coordinator has decided itself.
    return builder.seal(producer.producer_id, producer.producer_epoch, is_transactional=True)


def _add_records(entries: list[LogEntry], batch: RecordBatch | LegacyBatch) -> None:
    records = [(record.key, record.value) for record in batch]
    producer_id = batch.producer_id if batch.is_transactional else NO_PRODUCER_ID
    last = entries[-1] if entries else None
    if isinstance(last, LoggedRecords) and last.producer_id == producer_id:
        last.records.extend(records)
    else:
        entries.append(LoggedRecords(records, producer_id, batch.base_offset))
