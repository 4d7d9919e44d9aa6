"""Put a compacted segment in the place of those that it was made of, safe against a crash.

1. It is written under names that end in ``.cleaned``. A crash leaves files that mean nothing.
2. When all of it is on the disk, its files are renamed to end in ``.swap``. From now on it counts:
   a start that finds it goes on with step 3.
3. The old segments are renamed to end in ``.deleted``.
4. The new files lose their ``.swap``.

Steps 2 to 4 are done in one go on the broker's loop, so that nothing else changes the log between
them. They do not wait for the disk: its journal keeps the order of names.

The names are Kafka's. The range of a segment with ``.swap`` is that of its batches: the last batch
of what was compacted is always kept, if need be without records.
"""

from __future__ import annotations

from pyk.reference_broker.storage.segment import LOG_SUFFIX, SUFFIXES, offsets_of_files
from pyk.reference_broker.storage.stored_batches import walk_batches
from pyk.runtime.filesystem.interface import FileSystem

CLEANED_SUFFIX = ".cleaned"
SWAP_SUFFIX = ".swap"


def make_ready(filesystem: FileSystem, directory: str, base_offset: int) -> None:
    """Do step 2 for a segment that is on the disk; raise ``OSError``."""
    _rename_all(filesystem, f"{directory}/{base_offset:020d}", CLEANED_SUFFIX, SWAP_SUFFIX)


def take_place(filesystem: FileSystem, directory: str, base_offset: int) -> None:
    """Do step 4; raise ``OSError``."""
    _rename_all(filesystem, f"{directory}/{base_offset:020d}", SWAP_SUFFIX, "")


def discard(filesystem: FileSystem, directory: str, base_offset: int) -> None:
    """Remove what was written of a segment in step 1. May run in any thread."""
    for suffix in SUFFIXES:
        path = f"{directory}/{base_offset:020d}{suffix}{CLEANED_SUFFIX}"
        if filesystem.exists(path):
            filesystem.remove(path)


def finish_interrupted(filesystem: FileSystem, directory: str) -> None:
    """Finish the swaps that a crash has interrupted, if there is such a directory.

    Raises ``StorageError`` if a segment that is to take its place cannot be read, ``OSError``.
    """
    try:
        names = filesystem.list_directory(directory)
    except FileNotFoundError:
        return
    for name in names:
        if name.endswith(CLEANED_SUFFIX):
            filesystem.remove(f"{directory}/{name}")
    stems = {name[:20] for name in names if name.endswith(SWAP_SUFFIX)}
    for stem in sorted(stems):
        if stem + LOG_SUFFIX + SWAP_SUFFIX in names:
            last_offset = _last_offset(filesystem, f"{directory}/{stem}{LOG_SUFFIX}{SWAP_SUFFIX}")
            for replaced in _segments_from(names, int(stem), last_offset):
                filesystem.remove(f"{directory}/{replaced}")
        take_place(filesystem, directory, int(stem))


def _rename_all(filesystem: FileSystem, path: str, old: str, new: str) -> None:
    for suffix in SUFFIXES:
        if filesystem.exists(path + suffix + old):
            filesystem.rename(path + suffix + old, path + suffix + new)


def _last_offset(filesystem: FileSystem, path: str) -> int:
    file = filesystem.open(path)
    try:
        return max((batch.last_offset for batch in walk_batches(file, 0, file.size())), default=-1)
    finally:
        file.close()


def _segments_from(names: list[str], base_offset: int, last_offset: int) -> list[str]:
    """Return the files of segments that begin in a range."""
    return [
        f"{offset:020d}{suffix}"
        for suffix in SUFFIXES
        for offset in offsets_of_files(names, suffix)
        if base_offset <= offset <= max(base_offset, last_offset)
    ]
