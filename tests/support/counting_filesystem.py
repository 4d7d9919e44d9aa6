"""A file system that counts what is asked of it."""

from __future__ import annotations

from collections.abc import Sequence

from pyk.runtime.filesystem.faulty import FaultyFile, FaultyFileSystem, Operation
from pyk.runtime.filesystem.interface import Buffer, File, FileSystem


class CountingFileSystem(FaultyFileSystem):
    """Counts operations that change or open something, listed directories, and written bytes."""

    def __init__(self, filesystem: FileSystem) -> None:
        super().__init__(filesystem)
        self.operations = 0
        self.bytes_written = 0

    def find_fault(self, operation: Operation, path: str) -> None:
        self.operations += 1

    def list_directory(self, path: str) -> list[str]:
        names = super().list_directory(path)
        self.operations += 1 + len(names)
        return names

    def open(self, path: str, *, create: bool = False) -> File:
        self.operations += 1
        return _CountingFile(self._filesystem.open(path, create=create), self)


class _CountingFile(FaultyFile):
    _filesystem: CountingFileSystem

    def write_at(self, position: int, parts: Sequence[Buffer]) -> None:
        self._filesystem.bytes_written += sum(map(len, parts))
        super().write_at(position, parts)
