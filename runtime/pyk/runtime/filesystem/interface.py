"""The file system interface that the broker needs.

Paths are strings with ``/`` between names. Errors are ``OSError`` with the usual number on every
file system, so that code handles a full disk in one way.

Durability has two steps, as on a real disk: ``File.flush`` makes the bytes of a file survive a
power failure, ``FileSystem.sync_directory`` its name. Without them everything still survives the
end of the process.
"""

from __future__ import annotations

import errno
from collections.abc import Sequence
from typing import Protocol

Buffer = bytes | bytearray | memoryview


class DirectoryLockedError(OSError):
    """Another process, or another broker of this one, uses the directory."""

    def __init__(self, path: str) -> None:
        super().__init__(
            errno.EAGAIN, f"{path} is locked: another broker is using this directory", path
        )


class File(Protocol):
    """An open file. It stays open for as long as anything refers to it, unless it is closed."""

    @property
    def path(self) -> str:
        """The path it was opened with."""

    @property
    def has_descriptor(self) -> bool:
        """Whether there is a descriptor that ``sendfile`` can read from."""

    def fileno(self) -> int:
        """Return the descriptor; raise ``OSError`` for a file without one."""

    def size(self) -> int:
        """Return the size in bytes."""

    def read_at(self, position: int, size: int) -> bytes:
        """Return ``size`` bytes from ``position``, fewer only at the end of the file."""

    def write_at(self, position: int, parts: Sequence[Buffer]) -> None:
        """Write ``parts`` one after the other from ``position``.

        After an error any number of the bytes may have been written.
        """

    def truncate(self, size: int) -> None:
        """Cut the file at ``size``, or extend it with zeros."""

    def flush(self) -> None:
        """Wait until the content is on the disk. May be called from any thread."""

    def close(self) -> None:
        """Release the file now; does nothing when it is closed."""


class Lock(Protocol):
    """An exclusive claim that ends with its process at the latest."""

    def release(self) -> None:
        """Give the claim up; does nothing when it is given up."""


class FileSystem(Protocol):
    """Files by path: readable by their owner only, and never made through a symbolic link."""

    @property
    def waits_for_device(self) -> bool:
        """Whether flushing takes the time of a device, so that it belongs in a thread."""

    @property
    def max_open_files(self) -> int:
        """The number of descriptors that the process may have, for files and connections."""

    def open(self, path: str, *, create: bool = False) -> File:
        """Open for reading and writing; ``create`` makes an empty file if it does not exist."""

    def lock(self, path: str) -> Lock:
        """Claim ``path`` exclusively; raise ``DirectoryLockedError`` if it is claimed."""

    def exists(self, path: str) -> bool:
        """Return whether there is a file or directory."""

    def is_directory(self, path: str) -> bool:
        """Return whether there is a directory, and not just a link to one."""

    def size(self, path: str) -> int:
        """Return the size of a file in bytes."""

    def size_and_modified_ms(self, path: str) -> tuple[int, int]:
        """Return a file's size, and when it was last changed, in milliseconds since 1970."""

    def volume_bytes(self, path: str) -> tuple[int, int] | None:
        """Return the size of the volume of a directory, and what of it may be used; None if there
        is no volume."""

    def list_directory(self, path: str) -> list[str]:
        """Return the names in a directory, sorted."""

    def make_directory(self, path: str) -> None:
        """Make a directory and those above it; an existing one is left as it is."""

    def rename(self, source: str, target: str) -> None:
        """Give a file or directory another name; a file that has it is replaced."""

    def remove(self, path: str) -> None:
        """Remove a file."""

    def remove_tree(self, path: str) -> None:
        """Remove a directory with all that is in it; does nothing if it does not exist."""

    def sync_directory(self, path: str) -> None:
        """Wait until the names in a directory are on the disk. May be called from any thread."""
