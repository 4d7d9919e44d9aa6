"""Open the files of a log, and repair what a crash left of them.

After a clean shutdown everything is believed, except an index that is missing or damaged. After any
other stop, the segment with the recovery point and all after it are read whole: the first
batch that is torn, damaged or out of order ends the log, and the indexes are rebuilt.

A gap between two offsets of a segment is accepted, as in Apache Kafka: a file grows at its end, so
what a power failure takes of it leaves no sound batch right after the one before. Only compaction
leaves such a gap. One between two segments may be a loss: of the end of a segment, or of a whole
one, while what was written later is there. It ends the log, unless

1. the topic is compacted: then every gap is accepted, as Apache Kafka does in all topics;
2. it is below the recovery point, where nothing can have been lost;
3. there is a gap inside a later segment: compaction begins with the first segment and flushes each
   that it writes, so all before that gap was on the disk.
"""

from __future__ import annotations

import logging
import zlib
from collections.abc import Collection, Iterable, Iterator
from functools import cached_property
from itertools import pairwise

from pyk.protocol.records import RecordBatch, RecordBatchError, UnsupportedMagicError
from pyk.protocol.records.layout import LENGTH_AT, LENGTH_END
from pyk.reference_broker.config import LogConfig
from pyk.reference_broker.storage.checkpoint import LEADER_EPOCH_FILE
from pyk.reference_broker.storage.compaction.swap import finish_interrupted
from pyk.reference_broker.storage.errors import StorageError
from pyk.reference_broker.storage.leader_epochs import LeaderEpochs
from pyk.reference_broker.storage.offset_index import MAX_RELATIVE_OFFSET
from pyk.reference_broker.storage.producer_snapshots import ProducerSnapshots
from pyk.reference_broker.storage.producer_state import ProducerStates
from pyk.reference_broker.storage.segment import (
    DELETED_SUFFIX,
    LOG_SUFFIX,
    SUFFIXES,
    BatchExtent,
    LogSegment,
)
from pyk.reference_broker.storage.segments import LogSegments
from pyk.reference_broker.storage.stored_batches import read_batch, read_batches_until
from pyk.reference_broker.storage.transaction_marker import TransactionMarker
from pyk.runtime import slotted
from pyk.runtime.filesystem.atomic_write import TEMPORARY_SUFFIX
from pyk.runtime.filesystem.interface import FileSystem
from pyk.runtime.filesystem.open_files import OpenFiles

log = logging.getLogger(__name__)


@slotted.define
class LoadedLog:
    """The contents of a log, all of it sound."""

    segments: LogSegments
    producers: ProducerStates
    snapshots: ProducerSnapshots
    leader_epochs: LeaderEpochs
    log_start_offset: int
    log_end_offset: int
    recovery_point: int


def load_log(
    files: OpenFiles,
    directory: str,
    config: LogConfig,
    *,
    now_ms: int,
    recovery_point: int,
    log_start_offset: int,
    was_shut_down_cleanly: bool,
) -> LoadedLog:
    """Return the log in ``directory``; one that does not exist is begun at ``log_start_offset``."""
    filesystem = files.filesystem
    finish_interrupted(filesystem, directory)
    names = _remove_leftovers(filesystem, directory)
    segments = LogSegments(files, directory)
    segments.load(names)
    leader_epochs = LeaderEpochs(filesystem, f"{directory}/{LEADER_EPOCH_FILE}")
    repair = _Repair(segments, leader_epochs, config)
    log_end_offset = repair.run(recovery_point, log_start_offset, was_shut_down_cleanly)
    rescanned = repair.rescanned.intersection(segments)
    _report_loss(directory, log_end_offset, recovery_point)
    if not len(segments):
        _begin(segments, log_start_offset, now_ms, config)
    log_start_offset = max(log_start_offset, segments.first.base_offset)
    leader_epochs.truncate_from_end(log_end_offset)
    leader_epochs.truncate_from_start(log_start_offset)
    producers, snapshots = ProducerStates(), ProducerSnapshots(filesystem, directory, names)
    restore_producers(
        producers, snapshots, segments, log_start_offset, log_end_offset, rescanned=rescanned
    )
    snapshots.keep(segments.base_offsets)
    changed = [segment.base_offset for segment in rescanned if segment.finish()]
    return LoadedLog(
        segments,
        producers,
        snapshots,
        leader_epochs,
        log_start_offset,
        log_end_offset,
        recovery_point=min(recovery_point, log_end_offset, *changed),
    )


def _report_loss(directory: str, log_end_offset: int, recovery_point: int) -> None:
    """Log an error if a log ends before what had been flushed: no crash does that."""
    if log_end_offset < recovery_point:
        log.error(
            "%s ends at offset %d, but had been written to the disk up to %d: records are missing. "
            "If they are needed, stop the broker and restore the files",
            directory,
            log_end_offset,
            recovery_point,
        )


def _begin(segments: LogSegments, offset: int, now_ms: int, config: LogConfig) -> None:
    """Create the first segment of a log."""
    preallocate_bytes = config.max_segment_bytes if config.preallocate else 0
    segments.create(offset, now_ms, preallocate_bytes)


def restore_producers(
    producers: ProducerStates,
    snapshots: ProducerSnapshots,
    segments: LogSegments,
    log_start_offset: int,
    log_end_offset: int,
    *,
    rescanned: Collection[LogSegment] = (),
) -> None:
    """Restore the producers of a log from a snapshot and from the batches after it.

    The transaction indexes of ``rescanned`` segments are filled again on the way: so the producers
    must be known as they were where the first of these begins.
    """
    up_to = min((segment.base_offset for segment in rescanned), default=log_end_offset)
    snapshots.load_latest(producers, log_start_offset, up_to)
    known_to = producers.map_end_offset
    for segment in segments.from_offset(known_to) if known_to < log_end_offset else ():
        for batch in segment.batches(known_to):
            if batch.producer_id < 0 or batch.last_offset < known_to:
                continue
            if not batch.is_control:
                producers.add(batch, batch.last_offset, batch.max_timestamp)
                continue
            marker = TransactionMarker.decode(read_batch(segment.file, batch))
            if marker is not None:
                aborted = producers.end_transaction(marker, batch.base_offset, batch.max_timestamp)
                if aborted is not None and segment in rescanned:
                    segment.indexes.transactions.append(aborted)
    producers.map_end_offset = log_end_offset


class _Repair:
    """Repairs the segments of one log by their records."""

    def __init__(
        self, segments: LogSegments, leader_epochs: LeaderEpochs, config: LogConfig
    ) -> None:
        self._segments = segments
        self._leader_epochs = leader_epochs
        self._config = config
        self.rescanned: set[LogSegment] = set()
        """The segments whose indexes were filled again: they are to be finished."""

    def run(self, recovery_point: int, log_start_offset: int, was_shut_down_cleanly: bool) -> int:
        """Repair what needs it and return the log end offset: where it starts if it has no files.

        A log that ends before it starts has lost all that could be read; it is emptied. As in
        Kafka, its files have other names until the log is opened the next time.
        """
        if not len(self._segments):
            return log_start_offset
        active_from = self._segments.active.base_offset
        suspect_from = active_from if was_shut_down_cleanly else recovery_point
        self._rebuild_unsound_indexes(suspect_from, was_shut_down_cleanly)
        log_end_offset = self._find_end(suspect_from, was_shut_down_cleanly)
        if log_end_offset < log_start_offset:
            log.warning(
                "Emptying the log of %s: it ends at %d, before %d",
                self._segments.active.log_path,
                log_end_offset,
                log_start_offset,
            )
            self._segments.set_aside()
        return max(log_end_offset, log_start_offset)

    def _rebuild_unsound_indexes(self, below: int, was_shut_down_cleanly: bool) -> None:
        """Rebuild indexes that cannot be right, of segments before the one of ``below``.

        A segment that ends at the recovery point may have been finished after it was flushed, so
        that the last entry of its time index was not.
        """
        first_suspect = self._segments.from_offset(below)[0]
        for segment, following in pairwise(self._segments):
            if segment is first_suspect:
                break
            is_doubtful = following.base_offset == below and not was_shut_down_cleanly
            is_sound = segment.has_sound_indexes and (
                not is_doubtful or segment.has_complete_time_index
            )
            if segment.size and not is_sound:
                log.warning(
                    "Rebuilding the indexes of %s, which are missing or damaged", segment.log_path
                )
                self._scan(segment)

    def _find_end(self, suspect_from: int, was_shut_down_cleanly: bool) -> int:
        """Return the log end offset, having repaired what is suspect unless it is sound."""
        active = self._segments.active
        if was_shut_down_cleanly and (active.has_sound_indexes or not active.size):
            try:
                return _next_offset(active)
            except StorageError as error:
                log.warning("Recovering a log although the shutdown was clean: %s", error)
        return self._recover_from(suspect_from)

    def _recover_from(self, recovery_point: int) -> int:
        """Check all from the segment with ``recovery_point`` on; return where it ends now."""
        suspects = self._segments.from_offset(recovery_point)
        next_offset = suspects[0].base_offset
        for segment in suspects:
            if segment.base_offset < next_offset:
                self._remove([segment])
                continue
            if self._is_gap(next_offset, segment.base_offset, recovery_point):
                self._remove(self._segments.from_offset(segment.base_offset))
                break
            next_offset, is_cut = self._scan(segment)
            if is_cut:
                self._remove(self._segments.above(segment.base_offset))
                break
        return next_offset

    def _is_gap(self, expected_offset: int, found_offset: int, recovery_point: int) -> bool:
        """Whether records that were there are missing between two segments."""
        if found_offset == expected_offset or "compact" in self._config.cleanup_policy:
            return False
        return found_offset > recovery_point and found_offset > self._compacted_from

    @cached_property
    def _compacted_from(self) -> int:
        """Where the last segment begins that has a gap; the start of the log if none has."""
        segments = reversed(list(self._segments))
        compacted = (segment.base_offset for segment in segments if _has_gap(segment))
        return next(compacted, self._segments.first.base_offset)

    def _remove(self, segments: Iterable[LogSegment]) -> None:
        for segment in segments:
            log.warning(
                "Removing %s: it comes after the end of what could be recovered", segment.log_path
            )
            self._segments.remove(segment)

    def _scan(self, segment: LogSegment) -> tuple[int, bool]:
        """Rebuild one segment; return the offset after it, and whether something was cut off."""
        self.rescanned.add(segment)
        file_size = segment.size
        segment.size = 0
        segment.indexes.clear()
        next_offset = segment.base_offset
        for batch in scan_batches(segment, file_size):
            if not next_offset <= batch.base_offset <= segment.base_offset + MAX_RELATIVE_OFFSET:
                break
            extent = BatchExtent(batch.size_in_bytes, batch.last_offset, batch.max_timestamp)
            segment.note(extent, self._config.index_interval_bytes)
            self._leader_epochs.assign(batch.partition_leader_epoch, batch.base_offset)
            next_offset = batch.next_offset
        lost_bytes = file_size - segment.size
        if lost_bytes:
            log.warning(
                "Cut %d bytes off %s: they are not a whole batch, or not the next one",
                lost_bytes,
                segment.log_path,
            )
            segment.cut(segment.size)
        return next_offset, lost_bytes > 0


def _has_gap(segment: LogSegment) -> bool:
    """Return whether offsets are missing between two batches of a segment, or before the first."""
    next_offset = segment.base_offset
    for batch in scan_batches(segment, segment.size):
        if batch.base_offset > next_offset:
            return True
        next_offset = batch.next_offset
    return False


def _next_offset(segment: LogSegment) -> int:
    """Return the offset after the last batch, which the indexes lead to."""
    next_offset = segment.base_offset
    for batch in segment.batches(segment.indexes.offsets.last_entry()[0]):
        next_offset = batch.last_offset + 1
    return next_offset


def scan_batches(segment: LogSegment, end: int) -> Iterator[RecordBatch]:
    """Yield the batches of a segment, each checked, up to the first that is not sound."""
    position = 0
    try:
        for batch in read_batches_until(segment.file, end):
            yield batch
            position += batch.size_in_bytes
    except UnsupportedMagicError:
        _refuse_old_format(segment, position, end)
    except RecordBatchError:
        return


def _refuse_old_format(segment: LogSegment, position: int, end: int) -> None:
    """Raise if a sound message of before Kafka 0.11 is at ``position``: it must not be cut off."""
    size = int.from_bytes(segment.file.read_at(position, LENGTH_END)[LENGTH_AT:])
    if not 4 < size <= end - position - LENGTH_END:
        return
    message = segment.file.read_at(position + LENGTH_END, size)
    if zlib.crc32(message[4:]) == int.from_bytes(message[:4]):
        raise StorageError(
            f"{segment.path}{LOG_SUFFIX} has messages of a format of before Kafka 0.11, which "
            "cannot be read; let a Kafka 3.x rewrite the topic"
        )


def _remove_leftovers(filesystem: FileSystem, directory: str) -> list[str]:
    """Remove what a crash left of deletions and pending writes; return the other names."""
    try:
        names = filesystem.list_directory(directory)
    except FileNotFoundError:
        filesystem.make_directory(directory)
        return []
    kept, found = [], frozenset(names)
    for name in names:
        is_index = name.endswith(SUFFIXES[1:])
        is_orphan = is_index and name.partition(".")[0] + LOG_SUFFIX not in found
        if name.endswith((DELETED_SUFFIX, TEMPORARY_SUFFIX)) or is_orphan:
            filesystem.remove(f"{directory}/{name}")
        else:
            kept.append(name)
    return kept
