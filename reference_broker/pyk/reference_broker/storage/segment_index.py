"""The base of the offset index and the time index of a segment."""

from __future__ import annotations

import struct

from pyk.reference_broker.storage.index_file import IndexFile
from pyk.runtime.filesystem.interface import FileSystem


class SegmentIndex:
    """Entries of two numbers, of which one is an offset; the last entry is kept in memory."""

    __slots__ = ("_base_offset", "_last", "entries")

    entry: struct.Struct
    """The form of an entry in the file."""

    def __init__(self, filesystem: FileSystem, path: str, base_offset: int) -> None:
        self.entries = IndexFile(filesystem, path, self.entry)
        self._base_offset = base_offset
        self._last: tuple[int, int] | None = None

    def __len__(self) -> int:
        return len(self.entries)

    def clear(self) -> None:
        """Remove all entries."""
        self.entries.clear()
        self._last = None

    def _keep(self, count: int) -> None:
        """Keep the first entries, and no others."""
        self.entries.truncate(count)
        self._last = None
