"""The indexes of a segment, filled as batches are appended to it."""

from __future__ import annotations

from pyk.reference_broker.storage.offset_index import MAX_RELATIVE_OFFSET, OffsetIndex
from pyk.reference_broker.storage.time_index import NO_TIMESTAMP, TimeIndex
from pyk.reference_broker.storage.transaction_index import TransactionIndex
from pyk.runtime.filesystem.interface import File, FileSystem

INDEX_SUFFIX = ".index"
TIME_INDEX_SUFFIX = ".timeindex"
TRANSACTION_INDEX_SUFFIX = ".txnindex"


class SegmentIndexes:
    """The offset index, the time index and the transaction index of one segment.

    ``newest`` is what the time index says next: the largest timestamp of all batches.
    """

    def __init__(
        self, filesystem: FileSystem, path: str, base_offset: int, more_suffix: str = ""
    ) -> None:
        """``path`` is that of the segment's files, without a suffix."""

        def named(suffix: str) -> str:
            return path + suffix + more_suffix

        self.offsets = OffsetIndex(filesystem, named(INDEX_SUFFIX), base_offset)
        self.times = TimeIndex(filesystem, named(TIME_INDEX_SUFFIX), base_offset)
        self.transactions = TransactionIndex(
            filesystem, named(TRANSACTION_INDEX_SUFFIX), base_offset
        )
        self._base_offset = base_offset
        self._newest: tuple[int, int] | None = None
        self._bytes_since_entry = 0

    @property
    def newest(self) -> tuple[int, int]:
        """The largest timestamp, and the last offset of its batch; (-1, base offset) if empty."""
        if self._newest is None:
            self._newest = self.times.last_entry()
        return self._newest

    @property
    def is_written(self) -> bool:
        """Whether the files hold all entries."""
        indexes = (self.offsets, self.times, self.transactions)
        return all(index.entries.is_written for index in indexes)

    def has_room_for(self, last_offset: int, max_index_bytes: int) -> bool:
        """Whether a batch with ``last_offset`` can have an entry in the first two."""
        return (
            last_offset - self._base_offset <= MAX_RELATIVE_OFFSET
            and self.offsets.entries.size_in_bytes <= max_index_bytes - self.offsets.entry.size
            and self.times.entries.size_in_bytes <= max_index_bytes - self.times.entry.size
        )

    def append(
        self, size: int, last_offset: int, max_timestamp: int, position: int, interval_bytes: int
    ) -> None:
        """Note a batch that begins at ``position``; every ``interval_bytes`` one has an entry."""
        self.note_timestamp(max_timestamp, last_offset)
        if self._bytes_since_entry > interval_bytes:
            self.offsets.append(last_offset, position)
            self.complete()
            self._bytes_since_entry = 0
        self._bytes_since_entry += size

    def note_timestamp(self, max_timestamp: int, last_offset: int) -> None:
        """Note the largest timestamp of a batch."""
        if max_timestamp > self.newest[0]:
            self._newest = (max_timestamp, last_offset)

    def complete(self) -> None:
        """Bring the largest timestamp into the time index."""
        self.times.append_if_newer(*self.newest)

    def truncate_to(self, offset: int) -> None:
        """Keep the entries below ``offset``; batches after the last one are to be noted again."""
        self.offsets.truncate_to(offset)
        self.times.truncate_to(offset)
        self.transactions.truncate_to(offset)
        self._newest = None
        self._bytes_since_entry = 0

    def clear(self) -> None:
        """Empty all, to be filled again."""
        self.offsets.clear()
        self.times.clear()
        self.transactions.entries.clear()
        self._newest = (NO_TIMESTAMP, self._base_offset)
        self._bytes_since_entry = 0

    def save(self) -> bool:
        """Write all entries into the files; return whether that changed a file."""
        changed = [index.entries.save() for index in (self.offsets, self.times)]
        return self.transactions.save() or any(changed)

    def write(self) -> list[File]:
        """Write all entries; return the files, for their owner to flush."""
        files = [self.offsets.entries.write(), self.times.entries.write()]
        return files + self.transactions.write()
