"""The operating system's files."""

from __future__ import annotations

import contextlib
import os
import stat
import sys
from collections.abc import Sequence

from pyk.runtime.filesystem.interface import Buffer, DirectoryLockedError, File, Lock

FILE_MODE = 0o600
DIRECTORY_MODE = 0o700

_OPEN_FLAGS = (
    os.O_RDWR
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_BINARY", 0)
)
_MAX_PARTS = 1024  # IOV_MAX


class OsFile:
    """A file descriptor, closed with the last reference: a fetch can outlive its segment."""

    __slots__ = ("_descriptor", "path")

    has_descriptor = True

    def __init__(self, descriptor: int, path: str) -> None:
        self._descriptor = descriptor
        self.path = path

    def __repr__(self) -> str:
        return f"OsFile({self.path!r})"

    def __del__(self) -> None:
        self.close()

    def fileno(self) -> int:
        return self._descriptor

    def size(self) -> int:
        return os.fstat(self._descriptor).st_size

    def read_at(self, position: int, size: int) -> bytes:
        data = _read_at(self._descriptor, position, size)
        if len(data) == size or not data:
            return data
        pieces = [data]
        missing = size - len(data)
        while missing and (data := _read_at(self._descriptor, position + size - missing, missing)):
            pieces.append(data)
            missing -= len(data)
        return b"".join(pieces)

    def write_at(self, position: int, parts: Sequence[Buffer]) -> None:
        total = sum(map(len, parts))
        written = _write_at(self._descriptor, position, parts)
        while written < total:
            written += _write_at(self._descriptor, position + written, _skip(parts, written))

    def truncate(self, size: int) -> None:
        os.ftruncate(self._descriptor, size)

    def flush(self) -> None:
        os.fsync(self._descriptor)

    def close(self) -> None:
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor >= 0:
            os.close(descriptor)


class ScratchFile(OsFile):
    """A file that is not needed after a power failure."""

    __slots__ = ()

    def flush(self) -> None:
        """Return at once."""


class OsFileSystem:
    """Files and directories of the operating system, readable by their owner only.

    With ``is_durable=False`` nothing waits for the disk: for data that end with the process.
    """

    def __init__(self, *, is_durable: bool = True) -> None:
        self.waits_for_device = is_durable
        self._file = OsFile if is_durable else ScratchFile

    @property
    def max_open_files(self) -> int:
        return _descriptor_limit()

    def open(self, path: str, *, create: bool = False) -> File:
        flags = _OPEN_FLAGS | (os.O_CREAT if create else 0)
        return self._file(os.open(path, flags, FILE_MODE), path)

    def lock(self, path: str) -> Lock:
        return _OsLock(path)

    def exists(self, path: str) -> bool:
        return os.path.lexists(path)

    def is_directory(self, path: str) -> bool:
        try:
            return stat.S_ISDIR(os.lstat(path).st_mode)
        except FileNotFoundError:
            return False

    def size(self, path: str) -> int:
        return os.lstat(path).st_size

    def size_and_modified_ms(self, path: str) -> tuple[int, int]:
        status = os.lstat(path)
        return status.st_size, status.st_mtime_ns // 1_000_000

    def volume_bytes(self, path: str) -> tuple[int, int] | None:
        from shutil import disk_usage  # a large module, which programs that start fast do without

        total, _, usable = disk_usage(path)
        return total, usable

    def list_directory(self, path: str) -> list[str]:
        return sorted(os.listdir(path))

    def make_directory(self, path: str) -> None:
        try:
            os.mkdir(path, DIRECTORY_MODE)
        except FileExistsError:
            if not os.path.isdir(path):
                raise
        except FileNotFoundError:
            os.makedirs(path, DIRECTORY_MODE, exist_ok=True)

    def rename(self, source: str, target: str) -> None:
        os.replace(source, target)

    def remove(self, path: str) -> None:
        os.unlink(path)

    def remove_tree(self, path: str) -> None:
        import shutil

        with contextlib.suppress(FileNotFoundError):
            shutil.rmtree(path)

    def sync_directory(self, path: str) -> None:
        # Windows opens no directories; it has renames in its journal.
        if sys.platform == "win32" or not self.waits_for_device:
            return
        descriptor = os.open(path or ".", os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


class _OsLock:
    """An advisory lock on a file of its own; it ends with the process at the latest."""

    def __init__(self, path: str) -> None:
        self._descriptor = os.open(path, _OPEN_FLAGS | os.O_CREAT, FILE_MODE)
        try:
            _lock_exclusively(self._descriptor)
        except OSError as error:
            os.close(self._descriptor)
            raise DirectoryLockedError(path) from error

    def release(self) -> None:
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor >= 0:
            os.close(descriptor)


if sys.platform == "win32":  # pragma: no cover
    import msvcrt

    def _descriptor_limit() -> int:
        return 8192  # the limit of the C library, which has no call to ask for it

    def _lock_exclusively(descriptor: int) -> None:
        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)

    def _read_at(descriptor: int, position: int, size: int) -> bytes:
        os.lseek(descriptor, position, os.SEEK_SET)
        return os.read(descriptor, size)

    def _write_at(descriptor: int, position: int, parts: Sequence[Buffer]) -> int:
        os.lseek(descriptor, position, os.SEEK_SET)
        return os.write(descriptor, next(part for part in parts if len(part)))

else:
    import fcntl
    import resource

    def _descriptor_limit() -> int:
        soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        return 1 << 20 if soft == resource.RLIM_INFINITY else soft

    def _lock_exclusively(descriptor: int) -> None:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)

    def _read_at(descriptor: int, position: int, size: int) -> bytes:
        return os.pread(descriptor, size, position)

    def _write_at(descriptor: int, position: int, parts: Sequence[Buffer]) -> int:
        return os.pwritev(descriptor, parts[:_MAX_PARTS], position)


def _skip(parts: Sequence[Buffer], written: int) -> list[Buffer]:
    """Return the rest of ``parts`` after the first ``written`` bytes."""
    left: list[Buffer] = []
    for part in parts:
        if written >= len(part):
            written -= len(part)
        else:
            left.append(memoryview(part)[written:])
            written = 0
    return left
