"""A file system in memory that can lose power.

Every change is kept for undoing until it is flushed or synced, so ``crash`` brings back exactly
what a real disk guarantees: flushed bytes under synced names.

A real disk may have more than it guarantees. ``crash`` with a source of randomness keeps a random
part of what was not flushed: some pages of a file and not those before them, each as it was after
any of its writes; any size of the file; the first of the changes of names.
"""

from __future__ import annotations

import errno
import posixpath
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from pyk.runtime import slotted
from pyk.runtime.filesystem.interface import Buffer, DirectoryLockedError, File, Lock
from pyk.runtime.filesystem.memory_inode import Inode

if TYPE_CHECKING:
    from random import Random

PAGE_BYTES = 4096


@slotted.define(eq=False)
class _Directory:
    """Names, and what they stand for."""

    entries: dict[str, Inode | _Directory] = slotted.field(factory=dict)
    unsynced: list[_NameChange] = slotted.field(factory=list)
    """The changes of its names since it was synced."""

    def set(self, name: str, entry: Inode | _Directory | None) -> None:
        if entry is None:
            self.entries.pop(name, None)
        else:
            self.entries[name] = entry


@slotted.define(eq=False)
class _NameChange:
    """A change of names that is not synced in all of its directories."""

    before: list[tuple[_Directory, str, Inode | _Directory | None]]
    unsynced: set[_Directory]

    def undo(self) -> None:
        for directory, name, entry in reversed(self.before):
            directory.set(name, entry)


class MemoryFile:
    """An open file in memory. After a crash of its file system it is dead."""

    has_descriptor = False

    def __init__(self, filesystem: MemoryFileSystem, inode: Inode, path: str) -> None:
        self.path = path
        self._filesystem = filesystem
        self._inode: Inode | None = inode
        self._life = filesystem.crashes

    def fileno(self) -> int:
        raise OSError(errno.EBADF, "a file in memory has no descriptor", self.path)

    def size(self) -> int:
        return len(self._content().data)

    def read_at(self, position: int, size: int) -> bytes:
        return bytes(memoryview(self._content().data)[position : position + size])

    def write_at(self, position: int, parts: Sequence[Buffer]) -> None:
        inode = self._content()
        for part in parts:
            end = position + len(part)
            inode.save(position, end)
            if position > len(inode.data):
                inode.data.extend(bytes(position - len(inode.data)))
            inode.data[position:end] = part
            position = end
        inode.modified_ms = self._filesystem.time_ms()

    def truncate(self, size: int) -> None:
        inode = self._content()
        inode.save(size, len(inode.data))
        del inode.data[size:]
        inode.data.extend(bytes(size - len(inode.data)))
        inode.modified_ms = self._filesystem.time_ms()

    def flush(self) -> None:
        self._content().flush()

    def close(self) -> None:
        self._inode = None

    def _content(self) -> Inode:
        if self._inode is None or self._life != self._filesystem.crashes:
            raise OSError(errno.EBADF, "the file is closed", self.path)
        return self._inode


class _MemoryLock:
    def __init__(self, held: set[str], path: str) -> None:
        self._held = held
        self._path = path

    def release(self) -> None:
        self._held.discard(self._path)


class MemoryFileSystem:
    """Files in memory. ``time_ms`` stamps them; without it they are all of 1970.

    ``page_bytes`` is what a disk writes or does not write as a whole: small pages find more bugs in
    small files.
    """

    waits_for_device = False
    max_open_files = 1 << 20

    def __init__(
        self, time_ms: Callable[[], int] = lambda: 0, *, page_bytes: int = PAGE_BYTES
    ) -> None:
        self.time_ms = time_ms
        self._page_bytes = page_bytes
        self.crashes = 0
        self._root = _Directory()
        self._locks: set[str] = set()
        self._name_changes: dict[_NameChange, None] = {}
        """In their order."""

    def crash(self, *, loses_unflushed: bool, random: Random | None = None) -> None:
        """End the process that uses it, or with ``loses_unflushed`` cut the power.

        Open files are dead and locks are free. Without power, bytes that were not flushed and names
        that were not synced are gone, or with ``random`` some of them.
        """
        self.crashes += 1
        self._locks = set()
        if not loses_unflushed:
            return
        for change in self._lost_name_changes(random):
            change.undo()
        self._name_changes.clear()
        self._lose_unflushed(self._root, random)

    def _lost_name_changes(self, random: Random | None) -> list[_NameChange]:
        """Return the changes that do not reach the disk, the last first.

        The journal of a disk keeps the order of changes, so those are lost that come after some
        point.
        """
        kept = 0 if random is None else random.randint(0, len(self._name_changes))
        return list(self._name_changes)[kept:][::-1]

    def open(self, path: str, *, create: bool = False) -> File:
        directory, name = self._parent(path)
        inode = directory.entries.get(name)
        if isinstance(inode, _Directory):
            raise IsADirectoryError(errno.EISDIR, "a directory has this name", path)
        if inode is None:
            if not create:
                raise FileNotFoundError(errno.ENOENT, "no such file", path)
            inode = Inode(self.time_ms())
            self._change((directory, name, inode))
        return MemoryFile(self, inode, path)

    def lock(self, path: str) -> Lock:
        if path in self._locks:
            raise DirectoryLockedError(path)
        self.open(path, create=True)
        self._locks.add(path)
        return _MemoryLock(self._locks, path)

    def exists(self, path: str) -> bool:
        return self._find(path) is not None

    def is_directory(self, path: str) -> bool:
        return isinstance(self._find(path), _Directory)

    def size(self, path: str) -> int:
        return len(self._inode(path).data)

    def size_and_modified_ms(self, path: str) -> tuple[int, int]:
        return self.size(path), self._inode(path).modified_ms

    def volume_bytes(self, path: str) -> tuple[int, int] | None:
        return None

    def list_directory(self, path: str) -> list[str]:
        return sorted(self._directory(path).entries)

    def make_directory(self, path: str) -> None:
        directory = self._root
        for name in _names(path):
            entry = directory.entries.get(name)
            if entry is None:
                entry = _Directory()
                self._change((directory, name, entry))
            if isinstance(entry, Inode):
                raise FileExistsError(errno.EEXIST, "a file has this name", path)
            directory = entry

    def rename(self, source: str, target: str) -> None:
        source_directory, source_name = self._parent(source)
        target_directory, target_name = self._parent(target)
        entry = source_directory.entries.get(source_name)
        if entry is None:
            raise FileNotFoundError(errno.ENOENT, "no such file or directory", source)
        replaced = target_directory.entries.get(target_name)
        if isinstance(entry, _Directory) and replaced is not None:
            raise OSError(errno.ENOTEMPTY, "the name is taken", target)
        self._change((target_directory, target_name, entry), (source_directory, source_name, None))

    def remove(self, path: str) -> None:
        self._inode(path)
        self._change((*self._parent(path), None))

    def remove_tree(self, path: str) -> None:
        if self.exists(path):
            self._change((*self._parent(path), None))

    def sync_directory(self, path: str) -> None:
        synced = self._directory(path)
        changes, synced.unsynced = synced.unsynced, []
        for change in changes:
            change.unsynced.discard(synced)
            if not change.unsynced:
                self._name_changes.pop(change, None)

    def _change(self, *entries: tuple[_Directory, str, Inode | _Directory | None]) -> None:
        before = [(directory, name, directory.entries.get(name)) for directory, name, _ in entries]
        change = _NameChange(before, {directory for directory, _, _ in entries})
        for directory, name, entry in entries:
            directory.set(name, entry)
            directory.unsynced.append(change)
        self._name_changes[change] = None

    def _find(self, path: str) -> Inode | _Directory | None:
        entry: Inode | _Directory | None = self._root
        for name in _names(path):
            if not isinstance(entry, _Directory):
                return None
            entry = entry.entries.get(name)
        return entry

    def _parent(self, path: str) -> tuple[_Directory, str]:
        return self._directory(posixpath.dirname(path)), posixpath.basename(path)

    def _directory(self, path: str) -> _Directory:
        found = self._find(path)
        if not isinstance(found, _Directory):
            raise FileNotFoundError(errno.ENOENT, "no such directory", path)
        return found

    def _inode(self, path: str) -> Inode:
        found = self._find(path)
        if not isinstance(found, Inode):
            raise FileNotFoundError(errno.ENOENT, "no such file", path)
        return found

    def _lose_unflushed(self, directory: _Directory, random: Random | None) -> None:
        for entry in directory.entries.values():
            if isinstance(entry, Inode):
                entry.lose_unflushed(random, self._page_bytes)
            else:
                self._lose_unflushed(entry, random)


def _names(path: str) -> list[str]:
    return [name for name in path.split("/") if name]
