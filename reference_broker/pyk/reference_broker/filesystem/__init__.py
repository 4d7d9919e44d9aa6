"""The file system seam: what the broker needs of one, and the one that it runs on.

:mod:`.memory` and :mod:`.faulty` provide others, imported only where they are used.
"""

from pyk.reference_broker.filesystem.atomic_write import (
    PendingWrite,
    begin_atomic_write,
    read_if_exists,
    write_atomically,
)
from pyk.reference_broker.filesystem.interface import (
    Buffer,
    DirectoryLockedError,
    File,
    FileSystem,
    Lock,
)
from pyk.reference_broker.filesystem.operating_system import OsFileSystem

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
