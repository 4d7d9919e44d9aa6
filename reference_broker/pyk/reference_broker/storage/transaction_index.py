"""The aborted transactions whose markers are in a segment: Kafka's ``.txnindex`` files.

An entry names the producer, the first offset of the transaction, the offset of the marker, and the
last stable offset after the marker: where the oldest transaction begins that was open then. A
fetch of committed records is told of the aborted transactions that it overlaps. Those whose marker
is in a later segment are in the index of that one.
"""

from __future__ import annotations

from pyk.protocol.records.index_layout import TRANSACTION_INDEX_ENTRY
from pyk.reference_broker.storage.index_file import IndexFile
from pyk.reference_broker.storage.unstable_transactions import EndedTransaction
from pyk.runtime.filesystem.interface import File, FileSystem

_VERSION = 0
_LAST_OFFSET_FIELD = 3


class TransactionIndex:
    """The transaction index of one segment. The file is there only if it has entries."""

    __slots__ = ("_base_offset", "entries")

    def __init__(self, filesystem: FileSystem, path: str, base_offset: int) -> None:
        self.entries = IndexFile(filesystem, path, TRANSACTION_INDEX_ENTRY)
        self._base_offset = base_offset

    def __len__(self) -> int:
        return len(self.entries)

    def append(self, aborted: EndedTransaction) -> None:
        """Add a transaction; the offsets of markers only rise."""
        self.entries.append(_VERSION, *aborted)

    def overlapping(self, offset: int, end_offset: int) -> tuple[list[EndedTransaction], bool]:
        """Return the transactions with records from ``offset`` to below ``end_offset``.

        The second value tells whether those are all: later segments have no more.
        """
        found = []
        for _, *fields in self.entries.from_index(self._count_ended_before(offset)):
            aborted = EndedTransaction(*fields)
            if aborted.first_offset < end_offset:
                found.append(aborted)
            # Whatever is aborted after this marker begins there or later.
            if aborted.last_stable_offset >= end_offset:
                return found, True
        return found, False

    def truncate_to(self, offset: int) -> None:
        """Keep the transactions whose markers are below ``offset``."""
        self.entries.truncate(self._count_ended_before(offset))

    def is_sound(self) -> bool:
        """Whether the file can be the transaction index of this segment, or there is none."""
        count = len(self.entries)
        if not count:
            return self.entries.was_missing or self.entries.was_whole
        version, _, first_offset, last_offset, _ = self.entries[count - 1]
        rises = count == 1 or self.entries[0][_LAST_OFFSET_FIELD] < last_offset
        return (
            self.entries.was_whole
            and version == _VERSION
            and last_offset >= self._base_offset
            and last_offset > first_offset
            and rises
        )

    def save(self) -> bool:
        """Write all entries into the file; return whether that changed it."""
        return not self.entries.is_written and self.entries.save()

    def write(self) -> list[File]:
        """Write all entries; return the file, if there is one, for its owner to flush."""
        if self.entries.is_written and not len(self.entries):
            return []
        return [self.entries.write()]

    def _count_ended_before(self, offset: int) -> int:
        return self.entries.count_up_to(offset - 1, field=_LAST_OFFSET_FIELD)
