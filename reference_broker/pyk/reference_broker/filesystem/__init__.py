"""The file system seam: what the broker needs of one, and three that provide it."""

from pyk.reference_broker.filesystem.atomic_write import read_if_exists, write_atomically
from pyk.reference_broker.filesystem.faulty import FaultyFileSystem
from pyk.reference_broker.filesystem.interface import (
    Buffer,
    DirectoryLockedError,
    File,
    FileSystem,
    Lock,
)
from pyk.reference_broker.filesystem.memory import MemoryFileSystem
from pyk.reference_broker.filesystem.operating_system import OsFileSystem

__all__ = [
    "Buffer",
    "DirectoryLockedError",
    "FaultyFileSystem",
    "File",
    "FileSystem",
    "Lock",
    "MemoryFileSystem",
    "OsFileSystem",
    "read_if_exists",
    "write_atomically",
]
