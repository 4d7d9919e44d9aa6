"""The file system interface of the broker, and the operating system's implementation.

:mod:`.memory` and :mod:`.faulty` provide others, imported only where they are used.
"""

from pyk.runtime.filesystem.atomic_write import (
    PendingWrite,
    begin_atomic_write,
    read_if_exists,
    write_atomically,
)
from pyk.runtime.filesystem.interface import (
    Buffer,
    DirectoryLockedError,
    File,
    FileSystem,
    Lock,
)
from pyk.runtime.filesystem.operating_system import OsFileSystem

__all__ = [
    "Buffer",
    "DirectoryLockedError",
    "File",
    "FileSystem",
    "Lock",
    "OsFileSystem",
    "PendingWrite",
    "begin_atomic_write",
    "read_if_exists",
    "write_atomically",
]
