"""One pass over one log: read the keys of the dirty part, then rewrite the segments.

The pass goes in steps, each of which may run in any thread, one after the other. It reads files
that are not appended to any more, and writes under names that are not part of the log: so the log
is read and written meanwhile. Its owner swaps each group of segments as it becomes ready.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import chain

from pyk.protocol.records import RecordBatch, RecordBatchError
from pyk.reference_broker.config import LogConfig
from pyk.reference_broker.storage.compaction.cleanable import (
    Cleanable,
    SegmentFacts,
    group_segments,
)
from pyk.reference_broker.storage.compaction.latest_offsets import BYTES_PER_KEY, LatestOffsets
from pyk.reference_broker.storage.compaction.survivors import LastBatch, Survivors
from pyk.reference_broker.storage.compaction.swap import CLEANED_SUFFIX, discard
from pyk.reference_broker.storage.compaction.transactions import CleanedTransactions
from pyk.reference_broker.storage.errors import CorruptRecordsError
from pyk.reference_broker.storage.segment import (
    LOG_SUFFIX,
    BatchExtent,
    LogSegment,
)
from pyk.reference_broker.storage.stored_batches import read_batches_until
from pyk.reference_broker.storage.unstable_transactions import EndedTransaction
from pyk.runtime import slotted
from pyk.runtime.filesystem.interface import Buffer
from pyk.runtime.filesystem.open_files import OpenFiles

Group = list[SegmentFacts]

OPEN_FILES = 2
"""The segment that is read and the one that is written."""


@slotted.frozen
class CompactionPlan:
    """What a pass needs to know of its log, as of its beginning."""

    directory: str
    segments: tuple[SegmentFacts, ...]
    """All that are to be compacted."""
    cleanable: Cleanable
    config: LogConfig
    aborted: tuple[EndedTransaction, ...]
    last_batches: Mapping[int, tuple[int | None, int]]
    """By producer id: see ``LastBatch``."""
    now_ms: int
    key_memory_bytes: int
    io_buffer_bytes: int


class Compaction:
    """A pass. ``compacted_to`` is where its log is compacted to once all its groups are swapped.

    ``ready`` is the group whose new segment waits to be swapped, if there is one.
    """

    def __init__(self, files: OpenFiles, plan: CompactionPlan) -> None:
        self.ready: Group = []
        self.compacted_to = plan.cleanable.end_offset
        self._files = files
        self._plan = plan
        self._begun: Group = []

    def steps(self) -> Iterator[int]:
        """Do one step at a time; yield how many bytes each has read and written.

        Raises ``OSError``, and ``CorruptRecordsError`` if a segment is damaged.
        """
        latest = LatestOffsets(
            self._plan.key_memory_bytes // BYTES_PER_KEY, self._plan.cleanable.end_offset
        )
        yield from self._read_keys(latest)
        self.compacted_to = latest.end_offset
        survivors = Survivors(
            latest,
            CleanedTransactions(self._plan.aborted),
            {pid: LastBatch(*last) for pid, last in self._plan.last_batches.items()},
            self._plan.now_ms,
            self._plan.config.delete_retention_ms,
        )
        segments = [each for each in self._plan.segments if each.base_offset < latest.end_offset]
        for group in group_segments(segments, self._plan.config):
            yield from self._rewrite(group, survivors)
            self.ready = group
            yield 0

    def give_up(self) -> None:
        """Remove what is written of the last segment, unless it was swapped."""
        if self._begun:
            discard(self._files.filesystem, self._plan.directory, self._begun[0].base_offset)

    def swapped(self) -> None:
        """Learn that the group that was ready has its place in the log."""
        self.ready = self._begun = []

    def _read_keys(self, latest: LatestOffsets) -> Iterator[int]:
        first_dirty = self._plan.cleanable.first_dirty_offset
        dirty = [each for each in self._plan.segments if each.end_offset > first_dirty]
        # One whose marker comes before what is read here would never end.
        read_from = dirty[0].base_offset
        transactions = CleanedTransactions(
            each for each in self._plan.aborted if each.last_offset >= read_from
        )
        for segment in dirty:
            for batch in self._batches(segment):
                if not batch.is_control and not transactions.is_aborted(batch):
                    if not latest.has_room_for(batch.count):
                        latest.end_offset = batch.base_offset
                        return
                    _note_keys(batch, latest, first_dirty)
                elif batch.is_control:
                    transactions.is_marker_of_nothing(batch)
                yield batch.size_in_bytes

    def _rewrite(self, group: Group, survivors: Survivors) -> Iterator[int]:
        """Write what survives of a group into a new segment, and make that ready."""
        self._begun = group
        cleaned = LogSegment.create(
            self._files,
            self._plan.directory,
            group[0].base_offset,
            self._plan.now_ms,
            more_suffix=CLEANED_SUFFIX,
        )
        writer = _SegmentWriter(cleaned, self._plan)
        batches = chain.from_iterable(map(self._batches, group))
        for batch, is_last in _with_last(batches):
            kept = survivors.of(batch, ends_segment=is_last)
            written = 0 if kept is None else writer.add(batch, kept)
            yield batch.size_in_bytes + written
        writer.finish(survivors.transactions)

    def _batches(self, segment: SegmentFacts) -> Iterator[RecordBatch]:
        path = f"{self._plan.directory}/{segment.base_offset:020d}{LOG_SUFFIX}"
        read = 0
        try:
            for batch in read_batches_until(self._files.get(path), segment.size):
                read += batch.size_in_bytes
                yield batch
        except RecordBatchError as error:
            raise CorruptRecordsError(f"{path}: {error}") from error
        finally:
            self._files.release(path)
        if read != segment.size:
            raise CorruptRecordsError(f"{path}: no whole batch at position {read}")


class _SegmentWriter:
    """Appends batches to a segment, ``log.cleaner.io.buffer.size`` at a time."""

    def __init__(self, segment: LogSegment, plan: CompactionPlan) -> None:
        self._segment = segment
        self._interval_bytes = plan.config.index_interval_bytes
        self._buffer_bytes = plan.io_buffer_bytes
        self._parts: list[Buffer] = []
        self._extents: list[BatchExtent] = []
        self._size = 0

    def add(self, batch: RecordBatch, data: Buffer) -> int:
        """Append what is left of ``batch``; return its size."""
        size = len(data)
        stored = RecordBatch(memoryview(data))
        self._parts.append(data)
        self._extents.append(BatchExtent(size, batch.last_offset, stored.max_timestamp))
        self._size += size
        if self._size >= self._buffer_bytes:
            self._write()
        return size

    def finish(self, transactions: CleanedTransactions) -> None:
        """Bring all of the segment onto the disk."""
        self._write()
        for aborted in transactions.kept:
            self._segment.indexes.transactions.append(aborted)
        transactions.kept.clear()
        self._segment.complete()
        for file in (self._segment.file, *self._segment.indexes.write()):
            file.flush()
        self._segment.release()

    def _write(self) -> None:
        if self._parts:
            self._segment.append(self._parts, self._extents, self._interval_bytes)
        self._parts, self._extents, self._size = [], [], 0


def _with_last(batches: Iterator[RecordBatch]) -> Iterator[tuple[RecordBatch, bool]]:
    """Yield each batch, and whether it is the last."""
    previous = next(batches, None)
    for batch in batches:
        if previous is not None:
            yield previous, False
        previous = batch
    if previous is not None:
        yield previous, True


def _note_keys(batch: RecordBatch, latest: LatestOffsets, first_dirty_offset: int) -> None:
    for record in batch:
        if record.key is not None and record.offset >= first_dirty_offset:
            latest.note(record.key, record.offset)
