"""Files that stay open for their next use: as many as fit, the least recently used go first."""

from __future__ import annotations

from collections import OrderedDict

from pyk.runtime.filesystem.interface import File, FileSystem

SHARE_OF_DESCRIPTORS = 4
"""Files get a quarter of the descriptors of the process; connections need the others."""


class OpenFiles:
    """A bounded cache of open files by path. Belongs to one thread.

    A file that falls out is closed with its last reference, so that a fetch which is being sent
    from it goes on.
    """

    def __init__(self, filesystem: FileSystem, limit: int | None = None) -> None:
        """Keep at most ``limit`` files open, by default a share of what the process may have."""
        self.filesystem = filesystem
        self.limit = max(1, limit or filesystem.max_open_files // SHARE_OF_DESCRIPTORS)
        self._files: OrderedDict[str, File] = OrderedDict()

    def __len__(self) -> int:
        return len(self._files)

    def get(self, path: str) -> File:
        """Return an existing file, opened if it is not; raise ``OSError``."""
        file = self._files.get(path)
        if file is not None:
            self._files.move_to_end(path)
            return file
        if len(self._files) >= self.limit:
            self._files.popitem(last=False)
        file = self._files[path] = self.filesystem.open(path)
        return file

    def release(self, path: str) -> None:
        """Forget a file: it is finished, or another is about to get its path."""
        self._files.pop(path, None)
