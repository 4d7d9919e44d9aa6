"""Kafka's small text files of offsets: a version line, a count, then one entry a line.

``recovery-point-offset-checkpoint``, ``log-start-offset-checkpoint`` and
``replication-offset-checkpoint`` of a data directory have lines ``topic partition offset``; the
``leader-epoch-checkpoint`` of a log has lines ``epoch start_offset``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from pyk.reference_broker.filesystem import FileSystem, read_if_exists, write_atomically
from pyk.reference_broker.storage.errors import StorageError
from pyk.reference_broker.topic_partition import TopicPartition

RECOVERY_POINT_FILE = "recovery-point-offset-checkpoint"
LOG_START_OFFSET_FILE = "log-start-offset-checkpoint"
HIGH_WATERMARK_FILE = "replication-offset-checkpoint"
LEADER_EPOCH_FILE = "leader-epoch-checkpoint"

_VERSION = "0"


class OffsetCheckpoint:
    """One offset for each partition of a data directory, in one file.

    Opening it raises ``StorageError`` if the file makes no sense.
    """

    def __init__(self, filesystem: FileSystem, path: str) -> None:
        self._filesystem = filesystem
        self._path = path
        self._offsets = self._read()

    def get(self, partition: TopicPartition) -> int:
        """Return the offset of a partition, 0 if there is none."""
        return self._offsets.get(partition, 0)

    def update(self, offsets: Mapping[TopicPartition, int]) -> None:
        """Write these too, durably, if they are not what the file says."""
        updated = self._offsets | dict(offsets)
        if updated != self._offsets:
            self._write(updated)

    def forget(self, partition: TopicPartition) -> None:
        """Say nothing of a partition any more, from the next writing on."""
        self._offsets.pop(partition, None)

    def _read(self) -> dict[TopicPartition, int]:
        offsets = {}
        for line in read_lines(self._filesystem, self._path):
            try:
                topic, partition, offset = line.split(" ")
                offsets[TopicPartition(topic, int(partition))] = int(offset)
            except ValueError:
                raise malformed(self._path, line) from None
        return offsets

    def _write(self, offsets: dict[TopicPartition, int]) -> None:
        lines = (f"{name.topic} {name.partition} {offsets[name]}" for name in sorted(offsets))
        write_lines(self._filesystem, self._path, lines)
        self._offsets = offsets


def read_lines(filesystem: FileSystem, path: str) -> list[str]:
    """Return the entries of a checkpoint file, none if there is no file or an empty one."""
    content = read_if_exists(filesystem, path)
    if not content:
        return []
    version, *rest = content.decode("utf-8", "replace").splitlines()
    if version != _VERSION:
        raise malformed(path, version)
    if not rest or rest[0] != str(len(rest) - 1):
        raise malformed(path, rest[0] if rest else "")
    return rest[1:]


def write_lines(filesystem: FileSystem, path: str, entries: Iterable[str]) -> None:
    """Replace a checkpoint file, durably."""
    lines = list(entries)
    content = "\n".join([_VERSION, str(len(lines)), *lines, ""])
    write_atomically(filesystem, path, content.encode())


def malformed(path: str, line: str) -> StorageError:
    """Return the error for a line that does not belong into the file."""
    return StorageError(
        f"{path} is damaged at {line[:100]!r}: restore it or remove it; "
        "without it the logs are recovered from their records"
    )
