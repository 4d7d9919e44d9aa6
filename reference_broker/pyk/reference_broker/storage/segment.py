"""One segment of a log: a ``.log`` file with its indexes."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from pyk.reference_broker.storage.errors import StorageError
from pyk.reference_broker.storage.indexes import (
    INDEX_SUFFIX,
    TIME_INDEX_SUFFIX,
    TRANSACTION_INDEX_SUFFIX,
    SegmentIndexes,
)
from pyk.reference_broker.storage.stored_batches import StoredBatch, find_batch, walk_batches
from pyk.reference_broker.storage.time_index import NO_TIMESTAMP
from pyk.runtime.filesystem.interface import Buffer, File
from pyk.runtime.filesystem.open_files import OpenFiles

LOG_SUFFIX = ".log"
DELETED_SUFFIX = ".deleted"
MAX_OFFSET = (1 << 63) - 1
SUFFIXES = (LOG_SUFFIX, INDEX_SUFFIX, TIME_INDEX_SUFFIX, TRANSACTION_INDEX_SUFFIX)


class BatchExtent(NamedTuple):
    """The size, last offset and largest timestamp of a batch that is appended."""

    size: int
    last_offset: int
    max_timestamp: int


class LogSegment:
    """A segment. Its file is open while it is used, and as long as there is room for it.

    ``size`` is where the next batch goes; the file may be longer on the disk after a failed write
    or when it is preallocated, until the segment is finished.
    """

    def __init__(
        self,
        files: OpenFiles,
        directory: str,
        base_offset: int,
        created_ms: int,
        *,
        more_suffix: str = "",
    ) -> None:
        """``more_suffix`` follows the usual suffix of each file: those are not part of the log."""
        self.base_offset = base_offset
        self.created_ms = created_ms
        self.path = f"{directory}/{base_offset:020d}"
        self.log_path = self.path + LOG_SUFFIX + more_suffix
        self.size = 0
        self._first_timestamp: int | None = None
        self._files = files
        self._filesystem = files.filesystem
        files.release(self.log_path)  # it may be that of an earlier log of this name
        self._has_more_in_file = False
        self._forget_last_batch()
        self.indexes = SegmentIndexes(files.filesystem, self.path, base_offset, more_suffix)

    def __repr__(self) -> str:
        return f"LogSegment(base_offset={self.base_offset}, size={self.size})"

    @classmethod
    def create(
        cls,
        files: OpenFiles,
        directory: str,
        base_offset: int,
        created_ms: int,
        preallocate_bytes: int = 0,
        *,
        more_suffix: str = "",
    ) -> LogSegment:
        """Return a new, empty segment; files left behind under its name are emptied.

        Raises ``OSError``, and then leaves no file: an empty one would end the log where it begins.
        """
        segment = cls(files, directory, base_offset, created_ms, more_suffix=more_suffix)
        segment.indexes.clear()
        file = files.filesystem.open(segment.log_path, create=True)
        try:
            file.truncate(preallocate_bytes)
        except OSError:
            files.filesystem.remove(segment.log_path)
            raise
        segment._has_more_in_file = preallocate_bytes > 0
        return segment

    @classmethod
    def load(cls, files: OpenFiles, directory: str, base_offset: int) -> LogSegment:
        """Return the segment whose files are in ``directory``."""
        log_path = f"{directory}/{base_offset:020d}{LOG_SUFFIX}"
        size, modified_ms = files.filesystem.size_and_modified_ms(log_path)
        segment = cls(files, directory, base_offset, modified_ms)
        segment.size = size
        return segment

    @property
    def file(self) -> File:
        """The ``.log`` file, open for as long as the caller refers to it."""
        return self._files.get(self.log_path)

    @property
    def first_timestamp(self) -> int | None:
        """The largest timestamp of the first batch, from which its age is counted."""
        if self._first_timestamp is None and self.size:
            self._first_timestamp = next(self.batches()).max_timestamp
        return self._first_timestamp

    @property
    def has_sound_indexes(self) -> bool:
        """Whether the files of the indexes can be those of this segment."""
        offsets, times = self.indexes.offsets, self.indexes.times
        if not (offsets.is_sound(self.size) and times.is_sound()):
            return False
        if not self.indexes.transactions.is_sound():
            return False
        newest_timestamp, _ = times.last_entry()
        # A disk may know how long a file is and not what is in it: no entries, or zeros.
        return newest_timestamp > 0 or not self._has_newer(newest_timestamp, self.batches())

    @property
    def has_complete_time_index(self) -> bool:
        """Whether no batch after the last entry of the time index is newer."""
        timestamp, offset = self.indexes.times.last_entry()
        return not self._has_newer(timestamp, self.batches(offset))

    @staticmethod
    def _has_newer(timestamp: int, batches: Iterator[StoredBatch]) -> bool:
        return any(batch.max_timestamp > timestamp for batch in batches)

    @property
    def largest_timestamp_ms(self) -> int:
        """The largest timestamp, or where records carry none, when the file was last written."""
        newest_timestamp, _ = self.indexes.newest
        if newest_timestamp != NO_TIMESTAMP:
            return newest_timestamp
        return self._filesystem.size_and_modified_ms(self.log_path)[1]

    def append(
        self, parts: Sequence[Buffer], extents: Sequence[BatchExtent], index_interval_bytes: int
    ) -> None:
        """Write batches, described by ``extents``, with one call.

        Raises ``StorageError`` when the disk refuses; what it took of them is cut off again.
        """
        self._write(parts)
        for extent in extents:
            self.note(extent, index_interval_bytes)

    def note(self, extent: BatchExtent, index_interval_bytes: int) -> None:
        """Add a batch that lies at the end of the file to the segment and its indexes."""
        if self.size == 0:
            self._first_timestamp = extent.max_timestamp
            self._end_offset = self.base_offset
        self.indexes.append(*extent, self.size, index_interval_bytes)
        self._last_batch_from, self._last_batch_position = self._end_offset, self.size
        self._end_offset = extent.last_offset + 1
        self.size += extent.size

    def locate(self, offset: int) -> StoredBatch | None:
        """Return the first batch that ends at or after ``offset``, None if all end before."""
        if offset >= self._last_batch_from:  # the one that readers wait for
            start = self._last_batch_position
        else:
            start = self.indexes.offsets.position_at_or_before(offset)
        return find_batch(self.file, start, self.size, offset)

    def batches(self, from_offset: int | None = None) -> Iterator[StoredBatch]:
        """Yield the batches, beginning at or somewhat before the one with ``from_offset``."""
        position = 0
        if from_offset is not None:
            position = self.indexes.offsets.position_at_or_before(from_offset)
        return walk_batches(self.file, position, self.size)

    def truncate_to(self, offset: int) -> None:
        """Cut off the batch that holds ``offset``, and all after it."""
        batch = self.locate(offset)
        self.indexes.truncate_to(offset)
        if batch is not None:
            self.cut(batch.position)
        # What the last time index entry does not cover any more is after the last index entry.
        for kept in self.batches(self.indexes.times.last_entry()[1]):
            self.indexes.note_timestamp(kept.max_timestamp, kept.last_offset)

    def cut(self, size: int) -> None:
        """Make ``size`` the end of the file, durably; the indexes are left as they are.

        What a power failure brought back would lie below the recovery point, where recovery does
        not look.
        """
        self.size = size
        self.file.truncate(size)
        self.file.flush()
        self._has_more_in_file = False
        self._forget_last_batch()
        if size == 0:
            self._first_timestamp = None

    def _forget_last_batch(self) -> None:
        """Forget where the last batch begins, and the offset after it."""
        self._last_batch_from = self._end_offset = MAX_OFFSET
        self._last_batch_position = 0

    def finish(self) -> bool:
        """Write the indexes out and give back preallocated space.

        Returns whether that changed the files of the indexes. More can be appended afterwards.
        """
        self.complete()
        if not self.size and self.indexes.is_written:
            return False
        return self.indexes.save()

    def complete(self) -> None:
        """Note the largest timestamp and give back preallocated space."""
        if self.size:
            self.indexes.complete()
        if self._has_more_in_file:
            self.cut(self.size)

    def release(self) -> None:
        """Release the file. A fetch that sends from it keeps it open until it is done."""
        self._files.release(self.log_path)

    def mark_deleted(self) -> list[str]:
        """Rename the files so that they count no more, and return their new paths."""
        self.release()
        deleted = []
        for suffix in SUFFIXES:
            if self._filesystem.exists(self.path + suffix):
                target = self.path + suffix + DELETED_SUFFIX
                self._filesystem.rename(self.path + suffix, target)
                deleted.append(target)
        return deleted

    def _write(self, parts: Sequence[Buffer]) -> None:
        try:
            _ = self.indexes.newest  # read now, so that nothing can fail once the batch is written
            self.file.write_at(self.size, parts)
        except OSError as error:
            self._has_more_in_file = True
            with contextlib.suppress(OSError):
                self.file.truncate(self.size)
            raise StorageError(f"cannot append to {self.log_path}: {error}") from error


def offsets_of_files(names: Iterable[str], suffix: str) -> list[int]:
    """Return the offsets that files of this suffix are named by, rising."""
    stems = [name[:20] for name in names if name.endswith(suffix) and len(name) == 20 + len(suffix)]
    offsets = [int(stem) for stem in stems if stem.isascii() and stem.isdigit()]
    return sorted(offset for offset in offsets if offset <= MAX_OFFSET)
