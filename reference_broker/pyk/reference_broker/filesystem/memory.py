"""A file system in memory that can lose power.

Every change below what was last flushed is kept for undoing, so ``crash`` can bring back exactly
what a real disk guarantees: flushed bytes under synced names. Logs only grow, so in practice
nothing is kept.
"""

from __future__ import annotations

import errno
import posixpath
from collections.abc import Callable, Sequence

import attrs

from pyk.reference_broker.filesystem.interface import Buffer, DirectoryLockedError, File, Lock


@attrs.define(eq=False)
class _Inode:
    """The content of a file, and how to get back to what the disk holds."""

    modified_ms: int
    data: bytearray = attrs.field(factory=bytearray)
    flushed_size: int = 0
    overwritten: list[tuple[int, bytes]] = attrs.field(factory=list)

    def save(self, start: int, end: int) -> None:
        """Keep what ``start`` to ``end`` holds, as far as it is on the disk."""
        end = min(end, self.flushed_size)
        if start < end:
            self.overwritten.append((start, bytes(self.data[start:end])))

    def flush(self) -> None:
        self.flushed_size = len(self.data)
        self.overwritten.clear()

    def lose_unflushed(self) -> None:
        for start, content in reversed(self.overwritten):
            self.data[start : start + len(content)] = content
        del self.data[self.flushed_size :]
        self.overwritten.clear()


class MemoryFile:
    """An open file in memory. After a crash of its file system it is dead."""

    has_descriptor = False

    def __init__(self, filesystem: MemoryFileSystem, inode: _Inode, path: str) -> None:
        self.path = path
        self._filesystem = filesystem
        self._inode: _Inode | None = inode
        self._life = filesystem.crashes

    def fileno(self) -> int:
        raise OSError(errno.EBADF, "a file in memory has no descriptor", self.path)

    def size(self) -> int:
        return len(self._content().data)

    def read_at(self, position: int, size: int) -> bytes:
        return bytes(self._content().data[position : position + size])

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

    def _content(self) -> _Inode:
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
    """Files in memory. ``time_ms`` stamps them; without it they are all of 1970."""

    def __init__(self, time_ms: Callable[[], int] = lambda: 0) -> None:
        self.time_ms = time_ms
        self.crashes = 0
        self._files: dict[str, _Inode] = {}
        self._directories: set[str] = {"", "/"}
        self._locks: set[str] = set()
        self._unsynced: list[tuple[frozenset[str], Callable[[], None]]] = []

    def crash(self, *, loses_unflushed: bool) -> None:
        """End the process that uses it, or with ``loses_unflushed`` cut the power.

        Open files are dead and locks are free. Without power, bytes that were not flushed and names
        that were not synced are gone.
        """
        self.crashes += 1
        self._locks = set()
        if not loses_unflushed:
            return
        for _directories, undo in reversed(self._unsynced):
            undo()
        self._unsynced.clear()
        for inode in self._files.values():
            inode.lose_unflushed()

    def open(self, path: str, *, create: bool = False) -> File:
        inode = self._files.get(path)
        if inode is None:
            self._require_directory(posixpath.dirname(path), path)
            if not create:
                raise FileNotFoundError(errno.ENOENT, "no such file", path)
            inode = self._files[path] = _Inode(self.time_ms())
            self._remember(lambda: self._files.pop(path, None), path)
        return MemoryFile(self, inode, path)

    def lock(self, path: str) -> Lock:
        if path in self._locks:
            raise DirectoryLockedError(path)
        self.open(path, create=True)
        self._locks.add(path)
        return _MemoryLock(self._locks, path)

    def exists(self, path: str) -> bool:
        return path in self._files or path in self._directories

    def is_directory(self, path: str) -> bool:
        return path in self._directories

    def size(self, path: str) -> int:
        return len(self._inode(path).data)

    def modified_ms(self, path: str) -> int:
        return self._inode(path).modified_ms

    def list_directory(self, path: str) -> list[str]:
        self._require_directory(path, path)
        names = {*self._files, *self._directories} - {"", "/"}
        return sorted(posixpath.basename(name) for name in names if posixpath.dirname(name) == path)

    def make_directory(self, path: str) -> None:
        if path in self._directories:
            return
        if path in self._files:
            raise FileExistsError(errno.EEXIST, "a file has this name", path)
        self.make_directory(posixpath.dirname(path))
        self._directories.add(path)
        self._remember(lambda: self._directories.discard(path), path)

    def rename(self, source: str, target: str) -> None:
        if source in self._directories:
            self._rename_directory(source, target)
            return
        self._require_directory(posixpath.dirname(target), target)
        inode = self._inode(source)
        replaced = self._files.get(target)
        self._files[target] = self._files.pop(source)

        def undo() -> None:
            self._restore(target, replaced)
            self._files[source] = inode

        self._remember(undo, source, target)

    def remove(self, path: str) -> None:
        inode = self._inode(path)
        del self._files[path]
        self._remember(lambda: self._restore(path, inode), path)

    def remove_tree(self, path: str) -> None:
        before = (dict(self._files), set(self._directories))
        inside = path + "/"
        self._files = {n: i for n, i in self._files.items() if not n.startswith(inside)}
        self._directories = {n for n in self._directories if n != path and not n.startswith(inside)}
        self._remember(lambda: self._restore_tree(inside, *before), path)

    def sync_directory(self, path: str) -> None:
        self._require_directory(path, path)
        self._unsynced = [
            (left, undo) for directories, undo in self._unsynced if (left := directories - {path})
        ]

    def _rename_directory(self, source: str, target: str) -> None:
        if self.exists(target):
            raise OSError(errno.ENOTEMPTY, "the name is taken", target)
        self._require_directory(posixpath.dirname(target), target)
        self._move_tree(source, target)
        self._remember(lambda: self._move_tree(target, source), source, target)

    def _move_tree(self, source: str, target: str) -> None:
        def moved(name: str) -> str:
            is_inside = name == source or name.startswith(source + "/")
            return target + name[len(source) :] if is_inside else name

        self._files = {moved(name): inode for name, inode in self._files.items()}
        self._directories = {moved(name) for name in self._directories}

    def _restore(self, path: str, inode: _Inode | None) -> None:
        if inode is None:
            self._files.pop(path, None)
        else:
            self._files[path] = inode

    def _restore_tree(self, inside: str, files: dict[str, _Inode], directories: set[str]) -> None:
        self._files |= {n: i for n, i in files.items() if n.startswith(inside)}
        self._directories |= {n for n in directories if (n + "/").startswith(inside)}

    def _remember(self, undo: Callable[[], object], *paths: str) -> None:
        directories = frozenset(posixpath.dirname(path) for path in paths)
        self._unsynced.append((directories, lambda: (undo(), None)[1]))

    def _inode(self, path: str) -> _Inode:
        try:
            return self._files[path]
        except KeyError:
            raise FileNotFoundError(errno.ENOENT, "no such file", path) from None

    def _require_directory(self, directory: str, path: str) -> None:
        if directory not in self._directories:
            raise FileNotFoundError(errno.ENOENT, "no such directory", path)
