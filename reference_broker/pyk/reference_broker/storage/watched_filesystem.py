"""A file system that notices when the disk below it has failed.

Code that uses a file handles its error and goes on; that the whole directory is lost nobody could
tell from one error. So each error passes here, and the first that means a broken disk is told.

A broker ends with the directory of its metadata log. So an error of another log there means that
this log alone has failed, unless its disk does not answer otherwise either.
"""

from __future__ import annotations

import errno
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from copy import copy

from pyk.reference_broker.storage.meta_properties import META_PROPERTIES_FILE
from pyk.runtime.filesystem.atomic_write import read_if_exists
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

_LOG = re.compile(r".+-[0-9]+([./].*)?")
"""The path, inside the directory, of a log, also of one that is moved or deleted, or of its file.
"""

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
            self._watched.notice(error, self.path)
            raise

    def write_at(self, position: int, parts: Sequence[Buffer]) -> None:
        try:
            self._file.write_at(position, parts)
        except OSError as error:
            self._watched.notice(error, self.path)
            raise

    def truncate(self, size: int) -> None:
        with self._watched.noticing(self.path):
            self._file.truncate(size)

    def flush(self) -> None:
        with self._watched.noticing(self.path):
            self._file.flush()


class WatchedFileSystem:
    """Passes everything on to ``filesystem`` for the directory at ``path``.

    ``failure`` is the first error that means that the directory is lost. ``when_failed`` is called
    with it, in the thread that met it. ``vital_log`` is the name of the log that the directory is
    lost with, empty if it is lost with any.
    """

    def __init__(self, filesystem: FileSystem, path: str, vital_log: str = "") -> None:
        self.failure: OSError | None = None
        self.when_failed: Callable[[OSError], object] = lambda error: None
        self._filesystem = filesystem
        self._path = path
        self.vital_log = vital_log

    @property
    def waits_for_device(self) -> bool:
        return self._filesystem.waits_for_device

    @property
    def max_open_files(self) -> int:
        return self._filesystem.max_open_files

    def notice(self, error: OSError, path: str) -> None:
        """Look at an error that an operation on ``path`` met."""
        if self.failure is None and self._means_failure(error, path):
            self.fail(error)

    def fail(self, error: OSError) -> None:
        """Take the directory for lost, because of an error."""
        if self.failure is None:
            self.failure = copy(error)  # whose traceback does not keep a file of the disk open
            self.when_failed(self.failure)

    def _means_failure(self, error: OSError, path: str) -> bool:
        if error.errno in SIGNS_OF_A_LOST_DIRECTORY:
            return not self._filesystem.is_directory(self._path)
        if error.errno not in SIGNS_OF_FAILURE:
            return False
        return not self._is_of_another_log(path) or not self._answers()

    def _is_of_another_log(self, path: str) -> bool:
        """Whether a path belongs to a log without which a directory is used all the same."""
        name = path.removeprefix(self._path).strip("/")
        is_vital = not self.vital_log or name.partition("/")[0] == self.vital_log
        return not is_vital and _LOG.fullmatch(name) is not None

    def _answers(self) -> bool:
        try:
            read_if_exists(self._filesystem, f"{self._path}/{META_PROPERTIES_FILE}")
        except OSError:
            return False
        return True

    @contextmanager
    def noticing(self, path: str) -> Iterator[None]:
        """Notice the error of a block that does something with ``path``."""
        try:
            yield
        except OSError as error:
            self.notice(error, path)
            raise

    def open(self, path: str, *, create: bool = False) -> File:
        with self.noticing(path):
            return WatchedFile(self._filesystem.open(path, create=create), self)

    def lock(self, path: str) -> Lock:
        with self.noticing(path):
            return self._filesystem.lock(path)

    def exists(self, path: str) -> bool:
        with self.noticing(path):
            return self._filesystem.exists(path)

    def is_directory(self, path: str) -> bool:
        with self.noticing(path):
            return self._filesystem.is_directory(path)

    def size(self, path: str) -> int:
        with self.noticing(path):
            return self._filesystem.size(path)

    def size_and_modified_ms(self, path: str) -> tuple[int, int]:
        with self.noticing(path):
            return self._filesystem.size_and_modified_ms(path)

    def volume_bytes(self, path: str) -> tuple[int, int] | None:
        with self.noticing(path):
            return self._filesystem.volume_bytes(path)

    def list_directory(self, path: str) -> list[str]:
        with self.noticing(path):
            return self._filesystem.list_directory(path)

    def make_directory(self, path: str) -> None:
        with self.noticing(path):
            self._filesystem.make_directory(path)

    def rename(self, source: str, target: str) -> None:
        with self.noticing(source):
            self._filesystem.rename(source, target)

    def remove(self, path: str) -> None:
        with self.noticing(path):
            self._filesystem.remove(path)

    def remove_tree(self, path: str) -> None:
        with self.noticing(path):
            self._filesystem.remove_tree(path)

    def sync_directory(self, path: str) -> None:
        with self.noticing(path):
            self._filesystem.sync_directory(path)
