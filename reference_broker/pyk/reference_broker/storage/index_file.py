"""Entries of a fixed size in a file that only grows: the base of all indexes of a segment.

New entries stay in memory until ``write``, so an append costs no system call. A process that dies
before loses them, and the recovery of its log makes them again from the records.

The file is open only while it is used: an index is rarely read, and there are very many of them.
"""

from __future__ import annotations

import struct
from bisect import bisect_right
from collections.abc import Iterator
from typing import Any

from pyk.runtime.filesystem.interface import File, FileSystem


class IndexFile:
    """The entries of one index: those in the file, and after them those not yet written.

    ``was_missing`` tells whether there was no file at first, ``was_whole`` whether there was one
    that ended with a whole entry.
    """

    __slots__ = (
        "_entry",
        "_filesystem",
        "_is_stale",
        "_stored",
        "_unwritten",
        "path",
        "was_missing",
        "was_whole",
    )

    def __init__(self, filesystem: FileSystem, path: str, entry: struct.Struct) -> None:
        self.path = path
        self._filesystem = filesystem
        self._entry = entry
        self._unwritten = bytearray()
        self._is_stale = False
        try:
            size = filesystem.size(path)
        except FileNotFoundError:
            self._stored, self.was_missing, self.was_whole = 0, True, False
        else:
            self.was_missing = False
            self._stored, self.was_whole = size // entry.size, size % entry.size == 0

    def __len__(self) -> int:
        return self._stored + len(self._unwritten) // self._entry.size

    def __getitem__(self, index: int) -> tuple[Any, ...]:
        return self._read(self._open() if index < self._stored else None, index)

    @property
    def is_written(self) -> bool:
        """Whether the file holds all entries and nothing else."""
        return not self._is_stale and not self._unwritten

    @property
    def size_in_bytes(self) -> int:
        return self._stored * self._entry.size + len(self._unwritten)

    def count_up_to(self, value: int, field: int) -> int:
        """Return how many entries have at most ``value`` in a field, which never falls."""
        file = self._open() if self._stored else None
        return bisect_right(
            range(len(self)), value, key=lambda index: self._read(file, index)[field]
        )

    def from_index(self, start: int) -> Iterator[tuple[Any, ...]]:
        """Yield the entries from the one numbered ``start`` on."""
        file = self._open() if start < self._stored else None
        for index in range(start, len(self)):
            yield self._read(file, index)

    def append(self, *values: int) -> None:
        self._unwritten += self._entry.pack(*values)

    def truncate(self, count: int) -> None:
        """Keep the first ``count`` entries."""
        if count < self._stored:
            self._open().truncate(count * self._entry.size)
            self._stored = count
        del self._unwritten[(count - self._stored) * self._entry.size :]

    def clear(self) -> None:
        """Remove all entries, whatever the file holds; ``write`` then replaces its content."""
        self._unwritten.clear()
        self._stored = 0
        self._is_stale = self._filesystem.exists(self.path)

    def write(self) -> File:
        """Write what is only in memory, and return the file: its owner may want to flush it."""
        file = self._open()
        self._write(file)
        return file

    def save(self) -> bool:
        """Write what is only in memory, and return whether that changed the file."""
        return self._write(self._open())

    def _write(self, file: File) -> bool:
        if self._is_stale:
            return self._replace(file)
        if not self._unwritten:
            return False
        file.write_at(self._stored * self._entry.size, [self._unwritten])
        self._stored = len(self)
        self._unwritten.clear()
        return True

    def _replace(self, file: File) -> bool:
        """Give the file its new content, if it does not have it: mostly a crash changed nothing.

        It is not emptied first. A file system takes that for a replacement, and waits for the disk.
        """
        size = file.size()
        is_other = file.read_at(0, size) != self._unwritten
        if is_other:
            file.write_at(0, [self._unwritten])
            if size > len(self._unwritten):
                file.truncate(len(self._unwritten))
        self._stored = len(self)
        self._unwritten.clear()
        self._is_stale = False
        return is_other

    def _read(self, file: File | None, index: int) -> tuple[Any, ...]:
        size = self._entry.size
        if file is None or index >= self._stored:
            return self._entry.unpack_from(self._unwritten, (index - self._stored) * size)
        return self._entry.unpack(file.read_at(index * size, size))

    def _open(self) -> File:
        return self._filesystem.open(self.path, create=True)
