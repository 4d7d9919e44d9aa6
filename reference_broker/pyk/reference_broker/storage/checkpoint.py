"""Kafka's small text files of offsets: a version line, a count, then one entry a line.

``recovery-point-offset-checkpoint``, ``log-start-offset-checkpoint``,
``replication-offset-checkpoint`` and ``cleaner-offset-checkpoint`` of a data directory have lines
``topic partition offset``; the ``leader-epoch-checkpoint`` of a log has lines ``epoch
start_offset``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from pyk.protocol.topics import TopicPartition
from pyk.reference_broker.storage.errors import StorageError
from pyk.runtime.filesystem.atomic_write import (
    TEMPORARY_SUFFIX,
    PendingWrite,
    begin_atomic_write,
    read_if_exists,
)
from pyk.runtime.filesystem.interface import FileSystem

RECOVERY_POINT_FILE = "recovery-point-offset-checkpoint"
LOG_START_OFFSET_FILE = "log-start-offset-checkpoint"
HIGH_WATERMARK_FILE = "replication-offset-checkpoint"
COMPACTION_FILE = "cleaner-offset-checkpoint"
LEADER_EPOCH_FILE = "leader-epoch-checkpoint"

_VERSION = "0"


class OffsetCheckpoint:
    """One offset for each partition of a data directory, in one file.

    Opening it raises ``StorageError`` if the file is damaged.
    """

    def __init__(self, filesystem: FileSystem, path: str) -> None:
        self._filesystem = filesystem
        self._path = path
        self._offsets = self._read()
        self._names_in_file = frozenset(self._offsets)
        self._names_being_written: frozenset[TopicPartition] = frozenset()
        # Kept and not computed: a broker asks for every new log, and there may be many names.
        self._forgotten: set[TopicPartition] = set()
        self._is_written = True
        self._is_writing = False

    def get(self, partition: TopicPartition) -> int:
        """Return the offset of a partition, 0 for an unknown one."""
        return self._offsets.get(partition, 0)

    def may_name(self, partition: TopicPartition) -> bool:
        """Return whether the file may have an entry of a partition, forgotten or not."""
        return partition in self._names_in_file or partition in self._names_being_written

    @property
    def may_name_forgotten(self) -> bool:
        """Whether the file may still have an entry that was forgotten."""
        return bool(self._forgotten)

    def begin_update(self, offsets: Mapping[TopicPartition, int]) -> PendingWrite | None:
        """Return what writes these too; None if the file has them, or is being written.

        ``end_update`` has to be called when it has run.
        """
        if self._is_writing:
            return None
        self._is_written &= self._offsets.items() >= offsets.items()
        self._offsets.update(offsets)
        self._forgotten.difference_update(offsets)
        if self._is_written:
            return None
        lines = (
            f"{name.topic} {name.partition} {offset}"
            for name, offset in sorted(self._offsets.items())
        )
        write = begin_write_lines(self._filesystem, self._path, lines)
        self._is_writing = self._is_written = True
        self._names_being_written = frozenset(self._offsets)
        return write

    @property
    def is_writing(self) -> bool:
        """Whether an update is under way."""
        return self._is_writing

    def end_update(self, error: BaseException | None) -> None:
        """Learn how the last write went."""
        self._is_writing = False
        if error is None:
            self._names_in_file = self._names_being_written
        else:  # the file may be the old one or the new one
            self._is_written = False
            self._names_in_file |= self._names_being_written
        self._names_being_written = frozenset()
        self._forgotten &= self._names_in_file

    def forget(self, partition: TopicPartition) -> None:
        """Leave a partition out, from the next write on; ``may_name`` tells when that is done."""
        if self._offsets.pop(partition, None) is not None:
            self._is_written = False
            if self.may_name(partition):
                self._forgotten.add(partition)

    def _read(self) -> dict[TopicPartition, int]:
        offsets = {}
        for line in read_lines(self._filesystem, self._path):
            try:
                topic, partition, offset = line.split(" ")
                offsets[TopicPartition(topic, parse_number(partition))] = parse_number(offset)
            except ValueError:
                raise malformed(self._path, line) from None
        return offsets


def read_lines(filesystem: FileSystem, path: str) -> list[str]:
    """Return the entries of a checkpoint file, none if the file is missing or empty."""
    content = read_if_exists(filesystem, path)
    if not content:
        return []
    version, *rest = content.decode("utf-8", "replace").splitlines()
    if version != _VERSION:
        raise malformed(path, version)
    if not rest or rest[0] != str(len(rest) - 1):
        raise malformed(path, rest[0] if rest else "")
    return rest[1:]


def parse_number(text: str) -> int:
    """Return the number in a line; raise ``ValueError`` if it is no number, or negative.

    A log that is flushed up to a negative offset would hide its records from readers.
    """
    number = int(text)
    if number < 0:
        raise ValueError(f"{number} is negative")
    return number


def begin_write_lines(
    filesystem: FileSystem, path: str, entries: Iterable[str], suffix: str = TEMPORARY_SUFFIX
) -> PendingWrite:
    """Return what replaces a checkpoint file."""
    lines = list(entries)
    content = "\n".join([_VERSION, str(len(lines)), *lines, ""])
    return begin_atomic_write(filesystem, path, content.encode(), suffix)


def malformed(path: str, line: str) -> StorageError:
    """Return the error for an invalid line."""
    return StorageError(
        f"{path} is damaged at {line[:100]!r}: restore it or remove it; "
        "without it the logs are recovered from their records"
    )
