"""Small files that are replaced as a whole, so that a reader finds the old or the new content."""

from __future__ import annotations

import posixpath

from pyk.reference_broker.filesystem.interface import FileSystem

TEMPORARY_SUFFIX = ".tmp"


def write_atomically(
    filesystem: FileSystem, path: str, content: bytes, *, is_durable: bool = True
) -> None:
    """Replace the file at ``path``: after a crash it has the old content or the new one.

    ``is_durable=False`` leaves out waiting for the disk: enough to survive the end of the process.
    """
    temporary = path + TEMPORARY_SUFFIX
    file = filesystem.open(temporary, create=True)
    try:
        file.truncate(0)  # what an earlier attempt left
        file.write_at(0, [content])
        if is_durable:
            file.flush()
    finally:
        file.close()
    filesystem.rename(temporary, path)
    if is_durable:
        filesystem.sync_directory(posixpath.dirname(path))


def read_if_exists(filesystem: FileSystem, path: str) -> bytes | None:
    """Return the content of a small file, None if there is none."""
    try:
        file = filesystem.open(path)
    except FileNotFoundError:
        return None
    try:
        return file.read_at(0, file.size())
    finally:
        file.close()
