"""Which of two logs of one partition counts: the file that tells of its moves (KIP-113).

A log takes the place of another in three steps, and the broker may be killed between any of them:

1. The copy in directory B is complete, and on the disk. It gets a *generation*, one above that of
   the log.
2. The copy loses its ``-future`` suffix. From now on both directories have a log of this name.
3. The log in directory A is renamed for deletion.

A start that finds two logs of one partition keeps the one of the higher generation. If something
fails after step 2, the log in A is used on, and gets a generation above that of the copy first.

The other log may not be deletable, since its disk has failed, and come back long after: so a
generation is kept, and a later move goes on from it. Only where the log in A was of generation 0
and is deleted for certain, nothing is left to tell apart. Apache Kafka has no such file, and
refuses to start between the steps 2 and 3.
"""

from __future__ import annotations

from pyk.reference_broker.storage.errors import StorageError
from pyk.runtime.filesystem.atomic_write import read_if_exists, write_atomically
from pyk.runtime.filesystem.interface import FileSystem

FILE_NAME = "move.metadata"

_KEY = "generation"
_EARLIER_FORM = {"replaces": 1, "given-up": 2}
"""What pyk wrote before there were generations: this word, then an id of the move."""


def write_generation(filesystem: FileSystem, directory: str, generation: int) -> None:
    """Write durably which generation the log in ``directory`` is; raise ``OSError``."""
    write_atomically(filesystem, f"{directory}/{FILE_NAME}", f"{_KEY} {generation}\n".encode())


def read_generation(filesystem: FileSystem, directory: str) -> int:
    """Return which generation a log is, 0 if nothing says so.

    Raises ``OSError``, or ``StorageError`` if the file is damaged.
    """
    path = f"{directory}/{FILE_NAME}"
    content = read_if_exists(filesystem, path)
    if content is None:
        return 0
    key, _, value = content.decode("ascii", "replace").strip().partition(" ")
    if key in _EARLIER_FORM:
        return _EARLIER_FORM[key]
    if key != _KEY or not value.isdecimal():
        raise StorageError(f"{path} is damaged: it must be '{_KEY} NUMBER', not {content[:100]!r}")
    return int(value)


def remove_generation(filesystem: FileSystem, directory: str) -> None:
    """Let a log be of generation 0, durably; raise ``OSError``."""
    filesystem.remove(f"{directory}/{FILE_NAME}")
    filesystem.sync_directory(directory)
