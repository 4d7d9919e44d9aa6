"""Small files that are replaced as a whole, so that a reader finds the old or the new content."""

from __future__ import annotations

import contextlib
import posixpath

from pyk.runtime import slotted
from pyk.runtime.filesystem.interface import File, FileSystem

TEMPORARY_SUFFIX = ".tmp"


def write_atomically(
    filesystem: FileSystem, path: str, content: bytes, *, is_durable: bool = True
) -> None:
    """Replace the file at ``path``: after a crash it has the old content or the new one.

    ``is_durable=False`` leaves out waiting for the disk: enough to survive the end of the process.
    """
    write = begin_atomic_write(filesystem, path, content)
    if is_durable:
        write.finish()
    else:
        write.replace()


@slotted.frozen
class PendingWrite:
    """The new content of a file, in another file that is about to take its name."""

    filesystem: FileSystem
    path: str
    temporary: str
    file: File

    def finish(self) -> None:
        """Replace the file and wait until that is on the disk. May run in any thread."""
        try:
            self.file.flush()
        except OSError:
            self.file.close()
            raise
        self.replace()
        self.filesystem.sync_directory(posixpath.dirname(self.path))

    def replace(self) -> None:
        """Replace the file, without waiting for the disk."""
        self.file.close()
        self.filesystem.rename(self.temporary, self.path)


def begin_atomic_write(
    filesystem: FileSystem, path: str, content: bytes, suffix: str = TEMPORARY_SUFFIX
) -> PendingWrite:
    """Write new content beside ``path``. Nothing changes there before the result is finished.

    Writes that may be pending at the same time need different suffixes.
    """
    temporary = path + suffix
    file = filesystem.open(temporary, create=True)
    try:
        file.truncate(0)  # what an earlier attempt left
        file.write_at(0, [content])
    except OSError:
        file.close()
        with contextlib.suppress(OSError):
            filesystem.remove(temporary)
        raise
    return PendingWrite(filesystem, path, temporary, file)


def read_if_exists(filesystem: FileSystem, path: str) -> bytes | None:
    """Return the content of a small file, None if it does not exist."""
    try:
        file = filesystem.open(path)
    except FileNotFoundError:
        return None
    try:
        return file.read_at(0, file.size())
    finally:
        file.close()
