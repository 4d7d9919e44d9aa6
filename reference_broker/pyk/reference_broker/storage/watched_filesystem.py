"""A file system that notices when the disk below it has failed.

Code that uses a file handles its error and goes on; that the whole directory is lost nobody could
tell from one error. So each error passes here, and the first that means a broken disk is told.
"""

from __future__ import annotations

import errno
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from pyk.runtime.filesystem.interface import Buffer, File, FileSystem, Lock

SIGNS_OF_FAILURE = frozenset(
    (
        errno.EIO,
        errno.EROFS,
        errno.ENXIO,
        errno.ENODEV,
        errno.ENOTCONN,
        errno.ESTALE,
        errno.EACCES,
        errno.EPERM,
    )
)
"""A full disk, or too few descriptors, may pass: what cannot be done for now is refused."""

SIGNS_OF_A_LOST_DIRECTORY = frozenset((errno.ENOENT, errno.ENOTDIR))
"""They are normal for one file, unless the directory of all is gone."""


class WatchedFile:
    """An open file whose errors are noticed."""

    def __init__(self, file: File, watched: WatchedFileSystem) -> None:
        self._file = file
        self._watched = watched
        self.path = file.path
        self.has_descriptor = file.has_descriptor
        self.fileno = file.fileno
        self.size = file.size
        self.close = file.close

    def read_at(self, position: int, size: int) -> bytes:
        try:
            return self._file.read_at(position, size)
        except OSError as error:
            self._watched.notice(error)
            raise

    def write_at(self, position: int, parts: Sequence[Buffer]) -> None:
        try:
            self._file.write_at(position, parts)
        except OSError as error:
            self._watched.notice(error)
            raise

    def truncate(self, size: int) -> None:
        with self._watched.noticing():
            self._file.truncate(size)

    def flush(self) -> None:
        with self._watched.noticing():
            self._file.flush()


class WatchedFileSystem:
    """Passes everything on to ``filesystem`` for the directory at ``path``.

    ``failure`` is the first error that means that the directory is lost. ``when_failed`` is called
    with it, in the thread that met it.
    """

    def __init__(self, filesystem: FileSystem, path: str) -> None:
        self.failure: OSError | None = None
        self.when_failed: Callable[[OSError], object] = lambda error: None
        self._filesystem = filesystem
        self._path = path

    @property
    def waits_for_device(self) -> bool:
        return self._filesystem.waits_for_device

    @property
    def max_open_files(self) -> int:
        return self._filesystem.max_open_files

    def notice(self, error: OSError) -> None:
        """Look at an error that an operation in the directory met."""
        if self.failure is None and self._means_failure(error):
            self.failure = error
            self.when_failed(error)

    def _means_failure(self, error: OSError) -> bool:
        if error.errno in SIGNS_OF_A_LOST_DIRECTORY:
            return not self._filesystem.is_directory(self._path)
        return error.errno in SIGNS_OF_FAILURE

    @contextmanager
    def noticing(self) -> Iterator[None]:
        """Notice the error of a block."""
        try:
            yield
        except OSError as error:
            self.notice(error)
            raise

    def open(self, path: str, *, create: bool = False) -> File:
        with self.noticing():
            return WatchedFile(self._filesystem.open(path, create=create), self)

    def lock(self, path: str) -> Lock:
        with self.noticing():
            return self._filesystem.lock(path)

    def exists(self, path: str) -> bool:
        with self.noticing():
            return self._filesystem.exists(path)

    def is_directory(self, path: str) -> bool:
        with self.noticing():
            return self._filesystem.is_directory(path)

    def size(self, path: str) -> int:
        with self.noticing():
            return self._filesystem.size(path)

    def size_and_modified_ms(self, path: str) -> tuple[int, int]:
        with self.noticing():
            return self._filesystem.size_and_modified_ms(path)

    def volume_bytes(self, path: str) -> tuple[int, int] | None:
        with self.noticing():
            return self._filesystem.volume_bytes(path)

    def list_directory(self, path: str) -> list[str]:
        with self.noticing():
            return self._filesystem.list_directory(path)

    def make_directory(self, path: str) -> None:
        with self.noticing():
            self._filesystem.make_directory(path)

    def rename(self, source: str, target: str) -> None:
        with self.noticing():
            self._filesystem.rename(source, target)

    def remove(self, path: str) -> None:
        with self.noticing():
            self._filesystem.remove(path)

    def remove_tree(self, path: str) -> None:
        with self.noticing():
            self._filesystem.remove_tree(path)

    def sync_directory(self, path: str) -> None:
        with self.noticing():
            self._filesystem.sync_directory(path)
