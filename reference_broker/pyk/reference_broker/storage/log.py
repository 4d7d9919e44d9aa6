"""The log of one partition: segments in a directory, appended to at its end."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pyk.protocol.records import RecordBatch
from pyk.protocol.topics import TopicPartition
from pyk.reference_broker.config import LogConfig
from pyk.reference_broker.storage.batch_validation import (
    NO_TIMESTAMP,
    AppendOrigin,
    check_header,
    parse_replicated_batches,
    parse_single_batch,
    validate_records,
)
from pyk.reference_broker.storage.errors import (
    OffsetOutOfRangeError,
    SegmentTooSmallError,
    StorageError,
)
from pyk.reference_broker.storage.flush_planner import FlushPlanner
from pyk.reference_broker.storage.flushing import FlushQueue, LogFlusher
from pyk.reference_broker.storage.leader_epochs import LeaderEpochs
from pyk.reference_broker.storage.loading import LoadedLog, load_log, restore_producers
from pyk.reference_broker.storage.log_reader import LogReader
from pyk.reference_broker.storage.producer_entry import BatchMetadata
from pyk.reference_broker.storage.producer_state import ProducerStates
from pyk.reference_broker.storage.retention import count_deletable
from pyk.reference_broker.storage.rolling import must_roll
from pyk.reference_broker.storage.segment import BatchExtent
from pyk.reference_broker.storage.transaction_marker import TransactionMarker
from pyk.runtime import slotted
from pyk.runtime.clock import Clock
from pyk.runtime.filesystem.interface import Buffer
from pyk.runtime.filesystem.open_files import OpenFiles

if TYPE_CHECKING:
    from random import Random


@slotted.frozen
class LogAppendResult:
    """The offsets of an append; for a retry those of the first time."""

    base_offset: int
    last_offset: int
    log_append_time_ms: int
    log_start_offset: int
    is_duplicate: bool = False


class Log:
    """A log. Not thread-safe: it belongs to the broker's loop.

    ``log_start_offset`` is the first offset that can be read, ``log_end_offset`` the next one to be
    given. ``reader`` finds records, ``flusher`` knows how much is on the disk. ``high_watermark``
    is kept by the partition: nothing from there on is deleted. ``compacted_to`` is kept by the
    compactor. A log that ``is_moving`` to another directory is not compacted.
    """

    def __init__(
        self,
        files: OpenFiles,
        directory: str,
        topic_partition: TopicPartition,
        config: LogConfig,
        loaded: LoadedLog,
        *,
        clock: Clock,
        random: Random,
        flushes: FlushQueue,
    ) -> None:
        self.directory = directory
        self.filesystem = files.filesystem
        self.is_moving = False
        self.topic_partition = topic_partition
        self.config = config
        self.log_start_offset = loaded.log_start_offset
        self.log_end_offset = loaded.log_end_offset
        self.high_watermark = loaded.log_start_offset
        self.compacted_to = 0
        self.producers: ProducerStates = loaded.producers
        self.leader_epochs: LeaderEpochs = loaded.leader_epochs
        self.segments = loaded.segments
        self._last_flush = clock.now()
        self._clock = clock
        self._random = random
        self.snapshots = loaded.snapshots
        self._is_closed = False
        self._roll_jitter_ms = self._next_jitter()
        self.reader = LogReader(topic_partition, loaded.segments, self, self._require_open)
        self.flusher = self._new_flusher(files, flushes, loaded)
        self.flusher.appended(loaded.log_end_offset, config.flush_messages)

    def _new_flusher(self, files: OpenFiles, flushes: FlushQueue, loaded: LoadedLog) -> LogFlusher:
        planner = FlushPlanner(
            files.filesystem,
            self.directory,
            loaded.segments,
            loaded.leader_epochs,
            when_flushed=self._flushed,
            above=flushes.directory,
        )
        return LogFlusher(flushes, planner.next_flush, loaded.recovery_point, self.topic_partition)

    def __repr__(self) -> str:
        return f"Log({self.topic_partition}, {self.log_start_offset}..{self.log_end_offset})"

    @classmethod
    def open(
        cls,
        files: OpenFiles,
        directory: str,
        topic_partition: TopicPartition,
        config: LogConfig,
        *,
        clock: Clock,
        random: Random,
        flushes: FlushQueue,
        recovery_point: int = 0,
        log_start_offset: int = 0,
        was_shut_down_cleanly: bool = False,
    ) -> Log:
        """Open the log in ``directory`` and repair it if needed; create it if there is none.

        ``recovery_point`` and ``log_start_offset`` are those of the last checkpoints.
        """
        loaded = load_log(
            files,
            directory,
            config,
            now_ms=clock.time_ms(),
            recovery_point=recovery_point,
            log_start_offset=log_start_offset,
            was_shut_down_cleanly=was_shut_down_cleanly,
        )
        return cls(
            files,
            directory,
            topic_partition,
            config,
            loaded,
            clock=clock,
            random=random,
            flushes=flushes,
        )

    @property
    def recovery_point(self) -> int:
        """The offset below which everything is on the disk."""
        return self.flusher.recovery_point

    @property
    def safe_offset(self) -> int:
        """The offset below which as much is on the disk as ``flush.messages`` demands."""
        return self.flusher.safe_offset

    @property
    def last_stable_offset(self) -> int:
        """The offset up to which readers of committed records may read.

        All transactions below it have ended, and the high watermark has passed their markers.
        """
        transactions = self.producers.transactions
        if not transactions.open and not transactions.ended:
            return self.high_watermark
        first_offset = transactions.first_offset(self.high_watermark)
        if first_offset < 0:
            return self.high_watermark
        return min(self.high_watermark, max(first_offset, self.log_start_offset))

    @property
    def failure(self) -> StorageError | None:
        """Why the log is out of use until it is opened again, None if it is not."""
        return self.flusher.failure

    @property
    def offset_to_flush(self) -> int:
        """Up to where it is time to flush: finished segments, and with ``flush.ms`` everything."""
        is_due = (self._clock.now() - self._last_flush) * 1000 >= self.config.flush_ms
        return self.log_end_offset if is_due else self.segments.active.base_offset

    # Appending

    def append_as_leader(
        self, records: Buffer, leader_epoch: int, origin: AppendOrigin = AppendOrigin.CLIENT
    ) -> LogAppendResult:
        """Check the one batch in ``records`` and append it.

        Raises the ``LogError`` that says why it is refused; the log is then as it was before. The
        batch may be acknowledged when ``safe_offset`` has passed it, or not at all if there is a
        ``failure`` first.
        """
        self._require_open()
        batch = parse_single_batch(records, self.topic_partition)
        check_header(batch, self.topic_partition, self.config, origin)
        if batch.producer_id >= 0:
            is_from_client = origin is AppendOrigin.CLIENT
            duplicate = self.producers.check(
                batch, self.topic_partition, has_sequence=is_from_client
            )
            if duplicate is not None:
                return self._duplicate_result(duplicate)
        return self._append(batch, leader_epoch, self._clock.time_ms())

    def end_transaction(
        self, marker: TransactionMarker, leader_epoch: int, transaction_version: int = 0
    ) -> LogAppendResult:
        """Append a marker of a transaction coordinator.

        ``transaction_version`` says how the marker's epoch is to be checked, see
        ``producer_state``. Raises ``InvalidProducerEpochError`` or
        ``TransactionCoordinatorFencedError`` if the marker is late, and what ``append_as_leader``
        does.
        """
        self._require_open()
        self.producers.check_marker(marker, transaction_version, self.topic_partition)
        now_ms = self._clock.time_ms()
        batch = parse_single_batch(marker.encode(now_ms), self.topic_partition)
        check_header(batch, self.topic_partition, self.config, AppendOrigin.COORDINATOR)
        self.producers.transactions.first_offset(self.high_watermark)  # forgets what is settled
        return self._append(batch, leader_epoch, now_ms)

    def _append(self, batch: RecordBatch, leader_epoch: int, now_ms: int) -> LogAppendResult:
        """Append a batch whose header and producer are checked."""
        validated = validate_records(batch, self.topic_partition, self.config, now_ms)
        base_offset = self.log_end_offset
        last_offset = base_offset + batch.last_offset_delta
        extent = BatchExtent(validated.size, last_offset, validated.max_timestamp)
        self._write(validated.parts_at(base_offset, leader_epoch), [extent], base_offset, now_ms)
        self.leader_epochs.assign(leader_epoch, base_offset)
        if batch.is_control:
            self._remember_marker(batch, last_offset, validated.max_timestamp)
        elif batch.producer_id >= 0:
            self.producers.add(batch, last_offset, validated.max_timestamp)
        self.flusher.appended(self.log_end_offset, self.config.flush_messages)
        return LogAppendResult(
            base_offset, last_offset, validated.log_append_time_ms, self.log_start_offset
        )

    def append_as_follower(self, records: Buffer) -> LogAppendResult | None:
        """Append the batches in ``records`` as their leader stored them; None without batches.

        Raises ``CorruptRecordsError`` for a damaged batch, ``OffsetOutOfRangeError`` for one that
        does not lie after the log's end.
        """
        self._require_open()
        batches = parse_replicated_batches(records, self.topic_partition, self.log_end_offset)
        if not batches:
            return None
        extents = [BatchExtent(b.size_in_bytes, b.last_offset, b.max_timestamp) for b in batches]
        first, last = batches[0], batches[-1]
        self._write([b.data for b in batches], extents, first.base_offset, self._clock.time_ms())
        for batch in batches:
            self.leader_epochs.assign(batch.partition_leader_epoch, batch.base_offset)
            if batch.is_control:
                self._remember_marker(batch, batch.last_offset, batch.max_timestamp)
            elif batch.producer_id >= 0:
                self.producers.add(batch, batch.last_offset, batch.max_timestamp)
        self.flusher.appended(self.log_end_offset, self.config.flush_messages)
        return LogAppendResult(
            first.base_offset, last.last_offset, NO_TIMESTAMP, self.log_start_offset
        )

    def _write(
        self, parts: Sequence[Buffer], extents: Sequence[BatchExtent], base_offset: int, now_ms: int
    ) -> None:
        """Write batches into the active segment, or into a new one if it is full."""
        size = sum(extent.size for extent in extents)
        last = extents[-1]
        if size > self.config.max_segment_bytes:
            raise SegmentTooSmallError(
                f"{size} bytes for {self.topic_partition} exceed segment.bytes="
                f"{self.config.max_segment_bytes}; raise it or send smaller batches"
            )
        if self._must_roll(size, last, now_ms):
            self.roll(base_offset)
        self.segments.active.append(parts, extents, self.config.index_interval_bytes)
        self.log_end_offset = last.last_offset + 1

    def _must_roll(self, size: int, last: BatchExtent, now_ms: int) -> bool:
        active, jitter_ms = self.segments.active, self._roll_jitter_ms
        try:
            return must_roll(active, size, last, self.config, now_ms=now_ms, jitter_ms=jitter_ms)
        except OSError as error:
            raise StorageError(f"cannot append to {self.topic_partition}: {error}") from error

    def _remember_marker(self, batch: RecordBatch, offset: int, timestamp: int) -> None:
        marker = TransactionMarker.decode(batch)
        if marker is not None:
            aborted = self.producers.end_transaction(marker, offset, timestamp)
            if aborted is not None:
                self.segments.active.indexes.transactions.append(aborted)

    def _duplicate_result(self, known: BatchMetadata) -> LogAppendResult:
        uses_append_time = self.config.message_timestamp_type == "LogAppendTime"
        timestamp = known.timestamp if uses_append_time else NO_TIMESTAMP
        return LogAppendResult(
            known.base_offset, known.last_offset, timestamp, self.log_start_offset, True
        )

    # Rolling and flushing

    def roll(self, base_offset: int | None = None) -> None:
        """Finish the active segment and begin the next one at the log's end, or ``base_offset``.

        A log that ends before ``base_offset`` ends there now. Raises ``StorageError``; the active
        segment then stays the active one.
        """
        if base_offset is None:
            base_offset = self.log_end_offset
        if self.segments.active.base_offset == base_offset:
            return
        try:
            self._complete_active()
            self.segments.active.finish()
            self.producers.map_end_offset = base_offset
            self.snapshots.take(self.producers)
            self._create_segment(base_offset)
        except OSError as error:
            raise StorageError(
                f"cannot begin a segment of {self.topic_partition}: {error}"
            ) from error
        self.log_end_offset = base_offset
        self._roll_jitter_ms = self._next_jitter()

    def _flushed(self) -> None:
        self._last_flush = self._clock.now()

    def begin_close(self) -> None:
        """Write everything, without waiting for the disk; raise ``OSError`` or ``StorageError``.

        The log is not appended to any more.
        """
        self._is_closed = True
        self.flusher.check()
        if self.segments.size:
            self.producers.map_end_offset = self.log_end_offset
            self.snapshots.take(self.producers)
        self._complete_active()
        if self.recovery_point == self.log_end_offset:
            self.segments.active.finish()  # otherwise the flush writes the indexes

    def _complete_active(self) -> None:
        """Complete the indexes of the active segment, which are believed once it is flushed.

        A time index that a power failure shortened would let retention delete the segment.
        """
        active = self.segments.active
        active.complete()
        if not active.indexes.is_written:
            self.flusher.changed_from(active.base_offset)

    def close(self) -> None:
        """Flush everything and close the files."""
        if self._is_closed:
            return
        self.begin_close()
        self.flusher.flush_now()
        self.release()

    def release(self) -> None:
        """Close the files and write nothing: the log is deleted, or the disk is gone."""
        self._is_closed = True
        self.flusher.close()
        for segment in self.segments:
            segment.release()

    # Deleting

    def advance_log_start_offset(self, offset: int) -> None:
        """Move the log start offset to ``offset`` (DeleteRecords); segments are deleted later.

        Raises ``OffsetOutOfRangeError`` beyond the high watermark.
        """
        if offset > self.high_watermark:
            raise OffsetOutOfRangeError(
                f"cannot delete records of {self.topic_partition} up to {offset}: its high "
                f"watermark is {self.high_watermark}"
            )
        if offset > self.log_start_offset:
            self.log_start_offset = offset
            self.leader_epochs.truncate_from_start(offset)

    def delete_old_segments(self, now_ms: int) -> int:
        """Delete the segments that retention and DeleteRecords allow to; return how many.

        Their files stay for ``file.delete.delay.ms``, see ``LogSegments.take_deleted_files``.
        """
        self._require_open()
        count = count_deletable(
            self.segments.facts(self.log_end_offset),
            self.config,
            log_size=self.segments.size,
            log_start_offset=self.log_start_offset,
            high_watermark=self.high_watermark,
            now_ms=now_ms,
        )
        if count == 0:
            return 0
        if count == len(self.segments):
            self.roll()
        remove_at = self._clock.now() + self.config.file_delete_delay_ms / 1000
        for segment in list(self.segments)[:count]:
            self.segments.delete(segment, remove_at)
        self.log_start_offset = max(self.log_start_offset, self.segments.first.base_offset)
        self.leader_epochs.truncate_from_start(self.log_start_offset)
        self.snapshots.keep(self.segments.base_offsets)
        return count

    def truncate_to(self, offset: int) -> None:
        """Cut off everything from ``offset`` on; do nothing if the log ends before."""
        self._require_open()
        if offset >= self.log_end_offset:
            return
        if offset < self.segments.first.base_offset:
            self.truncate_fully(offset)
            return
        for segment in self.segments.above(offset):
            self.segments.remove(segment)
        if self.segments.active.base_offset == offset and len(self.segments) > 1:
            self.segments.remove(self.segments.active)
        self.segments.active.truncate_to(offset)
        self._end_at(offset)

    def truncate_fully(self, offset: int) -> None:
        """Remove all records and start the log at ``offset``."""
        self._require_open()
        for segment in self.segments:
            self.segments.remove(segment)
        self._create_segment(offset)
        self.log_start_offset = offset
        self._end_at(offset)

    def _end_at(self, offset: int) -> None:
        self.log_end_offset = offset
        self.log_start_offset = min(self.log_start_offset, offset)
        self.flusher.truncated(offset)
        self.high_watermark = min(self.high_watermark, offset)
        self.compacted_to = min(self.compacted_to, offset)
        self.leader_epochs.truncate_from_end(offset)
        restore_producers(
            self.producers, self.snapshots, self.segments, self.log_start_offset, offset
        )

    # Segments

    def _create_segment(self, base_offset: int) -> None:
        preallocate_bytes = self.config.max_segment_bytes if self.config.preallocate else 0
        self.segments.create(base_offset, self._clock.time_ms(), preallocate_bytes)

    def _next_jitter(self) -> int:
        most = min(self.config.segment_jitter_ms, self.config.segment_ms)
        return self._random.randrange(most + 1) if most else 0

    def _require_open(self) -> None:
        self.flusher.check()
        if self._is_closed:
            raise StorageError(f"the log of {self.topic_partition} is closed")
