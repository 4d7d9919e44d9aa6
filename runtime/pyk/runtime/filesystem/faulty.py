"""A file system that fails at named points, over any other.

    filesystem = FaultyFileSystem(MemoryFileSystem())
    filesystem.on("write", "*.log").once().tear(100)   # 100 bytes arrive, then the disk is full
    filesystem.on("flush", "*.log").lose()             # reports success and does nothing
    filesystem.on("rename", "*/recovery-point-*").fail(errno.EIO)
    filesystem.on("any").after(17).once().fail()       # whatever it is, the 18th fails
    with filesystem.full():                            # until the block ends
        ...

A point is an operation and a pattern of paths, which stands for all that is below it, too. Rules
are tried in the order they were made.
"""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Callable, Sequence
from fnmatch import fnmatchcase
from types import TracebackType
from typing import Literal, Self, get_args

from pyk.runtime import slotted
from pyk.runtime.checked_arguments import checked_count, checked_number, checked_text
from pyk.runtime.filesystem.interface import Buffer, File, FileSystem, Lock
from pyk.runtime.wrong_twin import BlockingBlock

Operation = Literal[
    "open",
    "read",
    "write",
    "truncate",
    "flush",
    "rename",
    "remove",
    "make_directory",
    "sync_directory",
    "any",
]
OPERATIONS = get_args(Operation)


@slotted.define(eq=False)
class Fault(BlockingBlock):
    """The fault that happens at a point, until its ``times`` are used up."""

    operation: Operation
    pattern: str
    times_left: int | None = None
    skips_left: int = 0
    error: int = 0
    bytes_before: int = 0
    slow_seconds: float = 0.0
    is_set: bool = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.heal()

    def once(self) -> Self:
        """Happen at the next operation only."""
        return self.times(1)

    def times(self, count: int) -> Self:
        """Happen at the next ``count`` operations."""
        self.times_left = checked_count(count, "times", 1)
        return self

    def after(self, count: int) -> Self:
        """Let the first ``count`` operations through."""
        self.skips_left = checked_count(count, "after")
        return self

    def fail(self, error: int = errno.EIO) -> Self:
        """Raise ``OSError`` with this number; nothing is done."""
        self.error, self.is_set = checked_count(error, "error (such as errno.EIO)", 1), True
        return self

    def tear(self, bytes_before: int, error: int = errno.ENOSPC) -> Self:
        """Let this many bytes of a write arrive, then raise."""
        if self.operation not in ("write", "any"):
            raise ValueError(f"tear() is for writes, not for {self.operation}: on('write', …)")
        self.bytes_before = checked_count(bytes_before, "bytes_before")
        return self.fail(error)

    def lose(self) -> Self:
        """Claim success and do nothing."""
        self.is_set = True
        return self

    def slow(self, seconds: float) -> Self:
        """Take so much longer, and be done; in memory, the whole node waits meanwhile."""
        self.slow_seconds, self.is_set = checked_number(seconds, "seconds"), True
        return self

    def heal(self) -> None:
        """Stop happening."""
        self.times_left = 0

    def applies_to(self, operation: str, path: str) -> bool:
        is_meant = self.operation in (operation, "any")
        if not (is_meant and self.is_set and self.times_left != 0):
            return False
        if not (fnmatchcase(path, self.pattern) or fnmatchcase(path, f"{self.pattern}/*")):
            return False
        self.skips_left -= 1
        return self.skips_left < 0

    @property
    def only_slows(self) -> bool:
        """Return whether the operation is carried out all the same."""
        return bool(self.slow_seconds) and not self.error

    def happen(self, path: str, wait: Callable[[float], object]) -> None:
        if self.times_left is not None:
            self.times_left -= 1
        if self.slow_seconds:
            wait(self.slow_seconds)
        if self.error:
            raise OSError(self.error, os.strerror(self.error), path)


class FaultyFile:
    """An open file whose operations are points of its file system."""

    has_descriptor = False  # reading through a descriptor would bypass every fault

    def __init__(self, file: File, filesystem: FaultyFileSystem) -> None:
        self._file = file
        self._filesystem = filesystem

    @property
    def path(self) -> str:
        return self._file.path

    def fileno(self) -> int:
        return self._file.fileno()

    def size(self) -> int:
        return self._file.size()

    def read_at(self, position: int, size: int) -> bytes:
        is_lost = self._filesystem.reach("read", self.path)
        return b"" if is_lost else self._file.read_at(position, size)

    def write_at(self, position: int, parts: Sequence[Buffer]) -> None:
        fault = self._filesystem.find_fault("write", self.path)
        if fault is not None:
            if fault.bytes_before:
                self._file.write_at(position, [b"".join(parts)[: fault.bytes_before]])
            if self._filesystem.apply(fault, self.path):
                return
        self._file.write_at(position, parts)

    def truncate(self, size: int) -> None:
        if not self._filesystem.reach("truncate", self.path):
            self._file.truncate(size)

    def flush(self) -> None:
        if not self._filesystem.reach("flush", self.path):
            self._file.flush()

    def close(self) -> None:
        self._file.close()


class FaultyFileSystem:
    """Passes everything on to ``filesystem``, except where a fault was set.

    ``wait`` is what a slow operation does.
    """

    def __init__(
        self, filesystem: FileSystem, wait: Callable[[float], object] = time.sleep
    ) -> None:
        self._filesystem = filesystem
        self._wait = wait
        self._faults: list[Fault] = []

    @property
    def waits_for_device(self) -> bool:
        return self._filesystem.waits_for_device

    @property
    def max_open_files(self) -> int:
        return self._filesystem.max_open_files

    def on(self, operation: Operation, pattern: str = "*") -> Fault:
        """Name a point; call a method of the returned fault to say what happens there."""
        if operation not in OPERATIONS:
            raise ValueError(f"no operation {operation!r}: use one of {', '.join(OPERATIONS)}")
        fault = Fault(operation, checked_text(pattern, "the pattern of paths"))
        self._faults.append(fault)
        return fault

    def fail(self, pattern: str = "*") -> Fault:
        """Let every operation on these paths fail, as a disk does that is broken."""
        return self.on("any", pattern).fail(errno.EIO)

    def full(self, pattern: str = "*") -> Fault:
        """Let writes fail: the disk is full."""
        return self.on("write", pattern).fail(errno.ENOSPC)

    def slow(self, seconds: float, pattern: str = "*") -> Fault:
        """Let flushes take so much longer, which is what makes a disk slow."""
        return self.on("flush", pattern).slow(seconds)

    def heal(self) -> None:
        """Forget all faults."""
        self._faults.clear()

    def find_fault(self, operation: Operation, path: str) -> Fault | None:
        """Return the fault to apply at this point now, None for no fault."""
        if not self._faults:
            return None
        return next((fault for fault in self._faults if fault.applies_to(operation, path)), None)

    def reach(self, operation: Operation, path: str) -> bool:
        """Apply the fault of a point: raise its error, or return whether to lose the operation."""
        fault = self.find_fault(operation, path)
        return fault is not None and self.apply(fault, path)

    def apply(self, fault: Fault, path: str) -> bool:
        """Apply a fault: raise its error, or return whether to lose the operation."""
        fault.happen(path, self._wait)
        return not fault.only_slows

    def open(self, path: str, *, create: bool = False) -> File:
        if self.reach("open", path):
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
        return FaultyFile(self._filesystem.open(path, create=create), self)

    def lock(self, path: str) -> Lock:
        return self._filesystem.lock(path)

    def exists(self, path: str) -> bool:
        return self._filesystem.exists(path)

    def is_directory(self, path: str) -> bool:
        return self._filesystem.is_directory(path)

    def size(self, path: str) -> int:
        return self._filesystem.size(path)

    def size_and_modified_ms(self, path: str) -> tuple[int, int]:
        return self._filesystem.size_and_modified_ms(path)

    def volume_bytes(self, path: str) -> tuple[int, int] | None:
        return self._filesystem.volume_bytes(path)

    def list_directory(self, path: str) -> list[str]:
        return self._filesystem.list_directory(path)

    def make_directory(self, path: str) -> None:
        if not self.reach("make_directory", path):
            self._filesystem.make_directory(path)

    def rename(self, source: str, target: str) -> None:
        if not self.reach("rename", target):
            self._filesystem.rename(source, target)

    def remove(self, path: str) -> None:
        if not self.reach("remove", path):
            self._filesystem.remove(path)

    def remove_tree(self, path: str) -> None:
        if not self.reach("remove", path):
            self._filesystem.remove_tree(path)

    def sync_directory(self, path: str) -> None:
        if not self.reach("sync_directory", path):
            self._filesystem.sync_directory(path)
