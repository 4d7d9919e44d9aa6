"""What is left of a batch after compaction, as Kafka decides it. Pure.

A record stays if it is the last one with its key, or if the pass has not read so far. A record
without a key goes: topics that are compacted take none. A tombstone, which is a record without a
value, has to be seen by every reader that saw the record it removes. So the first pass that meets
it writes a *delete horizon* into the header of its batch, ``delete.retention.ms`` ahead, and it
stays until then (KIP-534). Markers of transactions without records go the same way.

A batch without records stays, as a header alone,

1. if it is the last one of its producer: the header holds the sequence number, by which the next
   batch of the producer is judged, or the epoch;
2. if the rewritten segment would end without it: what is read after a crash must show how far the
   segment reaches, and so which old ones it replaces.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from pyk.protocol.records import (
    Record,
    RecordBatch,
    RecordBatchBuilder,
    set_base_offset_and_epoch,
    set_log_append_time,
)
from pyk.protocol.records.batch_header import write_header
from pyk.protocol.records.layout import (
    CONTROL,
    HEADER_BYTES,
    LOG_APPEND_TIME,
    MAX_BATCH_BYTES,
    TRANSACTIONAL,
)
from pyk.reference_broker.storage.compaction.latest_offsets import LatestOffsets
from pyk.reference_broker.storage.compaction.transactions import CleanedTransactions
from pyk.runtime import slotted
from pyk.runtime.filesystem.interface import Buffer


class LastBatch(NamedTuple):
    """The last data of a producer that the log still counts with."""

    last_offset: int | None
    """The last offset of its last batch; None if a marker is all that there is."""
    epoch: int


@slotted.define
class Survivors:
    """Decides on the batches of one pass, in the order of their offsets."""

    latest: LatestOffsets
    transactions: CleanedTransactions
    last_batches: Mapping[int, LastBatch]
    """By producer id, of all producers that have not expired."""
    now_ms: int
    delete_retention_ms: int

    def of(self, batch: RecordBatch, *, ends_segment: bool) -> Buffer | None:
        """Return the batch as it is to be stored, None if nothing of it is.

        Raises a ``RecordBatchError`` if its records cannot be read.
        """
        kept, is_unused_marker = self._kept_records(batch)
        if not kept:
            needs_header = ends_segment or self._is_last_of_producer(batch)
            return _header_alone(batch) if needs_header else None
        horizon_ms = batch.delete_horizon_ms
        is_to_get_horizon = horizon_ms is None and (
            is_unused_marker or any(record.value is None for record in kept)
        )
        if is_to_get_horizon:
            horizon_ms = self.now_ms + self.delete_retention_ms
        elif len(kept) == batch.count:
            return batch.data
        return _with_records(batch, kept, horizon_ms)

    def _kept_records(self, batch: RecordBatch) -> tuple[list[Record], bool]:
        """Return the records that stay, and whether they are a marker that nothing needs."""
        horizon_ms = batch.delete_horizon_ms
        is_past_horizon = horizon_ms is not None and horizon_ms <= self.now_ms
        if batch.is_control:
            is_unused = self.transactions.is_marker_of_nothing(batch)
            return ([] if is_unused and is_past_horizon else list(batch)), is_unused
        if self.transactions.is_aborted(batch):
            return [], False
        keeps_tombstones = horizon_ms is None or self.now_ms < horizon_ms
        return [each for each in batch if self._stays(each, keeps_tombstones)], False

    def _stays(self, record: Record, keeps_tombstones: bool) -> bool:
        if record.offset >= self.latest.end_offset:
            return True
        if record.key is None or record.offset < self.latest.offset_of(record.key):
            return False
        return record.value is not None or keeps_tombstones

    def _is_last_of_producer(self, batch: RecordBatch) -> bool:
        last = self.last_batches.get(batch.producer_id)
        if last is None:
            return False
        if last.last_offset is not None:
            return batch.last_offset == last.last_offset
        return batch.is_control and batch.producer_epoch == last.epoch


def _with_records(batch: RecordBatch, kept: list[Record], horizon_ms: int | None) -> Buffer:
    """Return the batch with these of its records, at the same offsets."""
    builder = RecordBatchBuilder(
        batch.compression_type, max_bytes=MAX_BATCH_BYTES, delete_horizon_ms=horizon_ms
    )
    for record in kept:
        builder.append_at(
            record.offset - batch.base_offset,
            record.timestamp,
            record.key,
            record.value,
            headers=record.headers,
        )
    data = builder.seal(
        batch.producer_id,
        batch.producer_epoch,
        batch.base_sequence,
        batch.is_transactional,
        batch.is_control,
        batch.last_offset_delta,
    )
    set_base_offset_and_epoch(data, batch.base_offset, batch.partition_leader_epoch)
    if batch.is_append_time:
        set_log_append_time(data, batch.max_timestamp)
    return data


def _header_alone(batch: RecordBatch) -> Buffer:
    """Return the batch without records."""
    data = bytearray(HEADER_BYTES)
    write_header(
        data,
        batch.attributes & (TRANSACTIONAL | CONTROL | LOG_APPEND_TIME),
        batch.last_offset_delta,
        batch.max_timestamp,
        batch.max_timestamp,
        batch.producer_id,
        batch.producer_epoch,
        batch.base_sequence,
        0,
    )
    set_base_offset_and_epoch(data, batch.base_offset, batch.partition_leader_epoch)
    return data
