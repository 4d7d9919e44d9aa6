"""The segments of a log, in the order of their base offsets, and the life of their files."""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Iterable, Iterator
from operator import attrgetter

from pyk.reference_broker.storage.compaction.swap import make_ready, take_place
from pyk.reference_broker.storage.file_records import NO_RECORDS, FileRecords
from pyk.reference_broker.storage.retention import SegmentFacts
from pyk.reference_broker.storage.segment import LOG_SUFFIX, LogSegment, offsets_of_files
from pyk.reference_broker.storage.unstable_transactions import EndedTransaction
from pyk.runtime.filesystem.open_files import OpenFiles

_base_offset = attrgetter("base_offset")


class LogSegments:
    """Segments by base offset. The last is the active one, the only one that is appended to.

    ``directory_changes`` counts what a sync of the directory would bring to the disk.
    """

    def __init__(self, files: OpenFiles, directory: str) -> None:
        self.directory_changes = 1  # the directory itself may have been made just now
        self._files = files
        self._filesystem = files.filesystem
        self._directory = directory
        self._segments: list[LogSegment] = []
        self._deleted_files: list[tuple[float, str]] = []

    def __len__(self) -> int:
        return len(self._segments)

    def __iter__(self) -> Iterator[LogSegment]:
        return iter(tuple(self._segments))

    @property
    def first(self) -> LogSegment:
        return self._segments[0]

    @property
    def active(self) -> LogSegment:
        return self._segments[-1]

    @property
    def base_offsets(self) -> list[int]:
        """The first offset of each segment."""
        return [segment.base_offset for segment in self._segments]

    @property
    def size(self) -> int:
        """The bytes of all ``.log`` files."""
        return sum(segment.size for segment in self._segments)

    def from_offset(self, offset: int) -> list[LogSegment]:
        """Return the segment that may hold ``offset``, and all after it."""
        index = bisect_right(self._segments, offset, key=_base_offset) - 1
        return self._segments[max(index, 0) :]

    def above(self, offset: int) -> list[LogSegment]:
        """Return the segments that begin above ``offset``."""
        return self._segments[bisect_right(self._segments, offset, key=_base_offset) :]

    def records(
        self, offset: int, max_bytes: int, end_offset: int | None, min_one_batch: bool
    ) -> FileRecords:
        """Return where whole batches from the one that holds ``offset`` on lie in one segment.

        They are below ``end_offset``, if there is one, and have at most ``max_bytes``; the first
        may be larger with ``min_one_batch``. Raises ``OSError``.
        """
        for segment in self.from_offset(offset):
            first = segment.locate(offset)
            if first is not None:
                following = None if end_offset is None else segment.locate(end_offset)
                end = segment.size if following is None else following.position
                size = min(end - first.position, max(max_bytes, first.size if min_one_batch else 0))
                is_whole = size >= first.size
                return FileRecords(segment.file, first.position, size) if is_whole else NO_RECORDS
        return NO_RECORDS

    def aborted_transactions(
        self, offset: int, records: FileRecords, end_offset: int
    ) -> list[EndedTransaction]:
        """Return the aborted transactions that ``records``, read from ``offset`` on, may be of.

        ``end_offset`` is the limit that they were read with. Raises ``OSError``.
        """
        segments = self.from_offset(offset)
        if not any(len(segment.indexes.transactions) for segment in segments):
            return []
        end_offset = self._offset_after(offset, records, end_offset)
        found = []
        for segment in segments:
            aborted, is_complete = segment.indexes.transactions.overlapping(offset, end_offset)
            found += aborted
            if is_complete:
                break
        return found

    def _offset_after(self, offset: int, records: FileRecords, end_offset: int) -> int:
        """Return an offset above all of ``records``, and not much above, at most ``end_offset``."""
        for segment in self.from_offset(offset):
            if segment.locate(offset) is not None:
                found = segment.indexes.offsets.offset_at_or_after(records.position + records.size)
                later = self.above(segment.base_offset)
                if found is None and later:
                    found = later[0].base_offset
                return end_offset if found is None else min(found, end_offset)
        return end_offset

    def facts(self, log_end_offset: int) -> Iterator[SegmentFacts]:
        """Yield what retention needs to know of each segment."""
        ends = [*self.base_offsets[1:], log_end_offset]
        for segment, end in zip(self._segments, ends, strict=True):
            yield SegmentFacts(segment.size, end, segment.largest_timestamp_ms)

    def load(self, names: Iterable[str]) -> None:
        """Take in the segments whose files are among the names of the directory."""
        for base_offset in offsets_of_files(names, LOG_SUFFIX):
            self._segments.append(LogSegment.load(self._files, self._directory, base_offset))

    def create(self, base_offset: int, now_ms: int, preallocate_bytes: int = 0) -> None:
        """Begin a new, empty segment; raise ``OSError``."""
        self.directory_changes += 1
        segment = LogSegment.create(
            self._files, self._directory, base_offset, now_ms, preallocate_bytes
        )
        insort(self._segments, segment, key=_base_offset)

    def remove(self, segment: LogSegment) -> None:
        """Remove a segment and its files, durably: nothing may bring its records back."""
        for path in self._forget(segment):
            self._filesystem.remove(path)
        self._filesystem.sync_directory(self._directory)

    def set_aside(self) -> None:
        """Remove all segments, durably; their files stay under other names."""
        for segment in self:
            self._forget(segment)
        self._filesystem.sync_directory(self._directory)

    def delete(self, segment: LogSegment, remove_at: float) -> None:
        """Remove a segment; its files stay until ``remove_at``, under other names."""
        self._deleted_files += [(remove_at, path) for path in self._forget(segment)]

    def replace(self, replaced: Iterable[LogSegment], base_offset: int, remove_at: float) -> None:
        """Put the compacted segment of this base offset in the place of others.

        See ``compaction.swap`` for the order of the steps. The old files stay until ``remove_at``.
        Raises ``OSError``; the next start then finishes what was begun.
        """
        make_ready(self._filesystem, self._directory, base_offset)
        for segment in replaced:
            self.delete(segment, remove_at)
        take_place(self._filesystem, self._directory, base_offset)
        self.directory_changes += 1
        segment = LogSegment.load(self._files, self._directory, base_offset)
        insort(self._segments, segment, key=_base_offset)

    def take_deleted_files(self, now: float) -> list[str]:
        """Return, once, the files of deleted segments whose time has come."""
        due = [path for remove_at, path in self._deleted_files if remove_at <= now]
        self._deleted_files = [entry for entry in self._deleted_files if entry[0] > now]
        return due

    def _forget(self, segment: LogSegment) -> list[str]:
        self.directory_changes += 1
        self._segments.remove(segment)
        return segment.mark_deleted()
