"""Snapshots of the producers of a log: ``.snapshot`` files, named by the offset they reach to.

With one, a log that is opened reads only the records after it to know its producers again.
"""

from __future__ import annotations

import contextlib
import struct
from bisect import insort
from collections.abc import Iterable
from typing import TYPE_CHECKING

from pyk.protocol.errors import ProtocolError
from pyk.protocol.records.checksum import crc32c
from pyk.reference_broker.storage.producer_entry import BatchMetadata, ProducerEntry
from pyk.reference_broker.storage.producer_state import ProducerStates
from pyk.reference_broker.storage.segment import offsets_of_files
from pyk.runtime.filesystem.atomic_write import read_if_exists, write_atomically
from pyk.runtime.filesystem.interface import FileSystem

if TYPE_CHECKING:
    from pyk.protocol.messages.producer_snapshot import ProducerEntry as StoredEntry

# The messages are imported when they are needed: a broker must start fast.

SNAPSHOT_SUFFIX = ".snapshot"

_VERSION = 1
_HEAD = struct.Struct(">hI")  # version, CRC of what follows


class ProducerSnapshots:
    """The snapshot files among the ``names`` in the directory of one log."""

    def __init__(self, filesystem: FileSystem, directory: str, names: Iterable[str]) -> None:
        self._filesystem = filesystem
        self._directory = directory
        self._offsets = offsets_of_files(names, SNAPSHOT_SUFFIX)  # rising

    def path(self, offset: int) -> str:
        return f"{self._directory}/{offset:020d}{SNAPSHOT_SUFFIX}"

    def take(self, producers: ProducerStates) -> None:
        """Write a snapshot of all that is known up to ``map_end_offset``, unless it exists.

        One of the same offset holds the same; Kafka keeps it, too. Many file systems flush a file
        that replaces another, which would cost a shutdown one wait for each log. Nothing here waits
        for the disk: a snapshot that a power failure damages is not used.
        """
        if producers.map_end_offset in self._offsets:
            return
        content = encode_snapshot(producers)
        path = self.path(producers.map_end_offset)
        write_atomically(self._filesystem, path, content, is_durable=False)
        insort(self._offsets, producers.map_end_offset)

    def load_latest(self, producers: ProducerStates, log_start_offset: int, up_to: int) -> None:
        """Restore the latest sound snapshot of at most ``up_to``; without one forget everything.

        Snapshots beyond it, and damaged ones, are removed.
        """
        for offset in reversed(self._offsets.copy()):
            if offset <= up_to and (entries := self._read(offset)) is not None:
                producers.restore(entries, offset)
                return
            self._remove(offset)
        producers.restore([], log_start_offset)

    def keep(self, base_offsets: Iterable[int]) -> None:
        """Remove all but the latest and those of segments, given by their base offsets."""
        for offset in set(self._offsets[:-1]).difference(base_offsets):
            self._remove(offset)

    def _remove(self, offset: int) -> None:
        with contextlib.suppress(FileNotFoundError):
            self._filesystem.remove(self.path(offset))
        self._offsets.remove(offset)

    def _read(self, offset: int) -> list[ProducerEntry] | None:
        content = read_if_exists(self._filesystem, self.path(offset))
        return decode_snapshot(content) if content is not None else None


def encode_snapshot(producers: ProducerStates) -> bytes:
    """Return the content of a snapshot file."""
    from pyk.protocol.messages.producer_snapshot import ProducerSnapshot

    entries = [_to_stored(entry) for entry in producers]
    body = ProducerSnapshot(producer_entries=entries).encode(_VERSION)[4:]
    return _HEAD.pack(_VERSION, crc32c(body)) + body


def decode_snapshot(content: bytes) -> list[ProducerEntry] | None:
    """Return the producers in a snapshot file, None if it is damaged."""
    from pyk.protocol.messages.producer_snapshot import ProducerSnapshot

    if len(content) < _HEAD.size:
        return None
    version, crc = _HEAD.unpack_from(content)
    if version != _VERSION or crc != crc32c(content[_HEAD.size :]):
        return None
    try:
        snapshot = ProducerSnapshot.decode(content[2:], _VERSION)
    except ProtocolError:
        return None
    return [_from_stored(entry) for entry in snapshot.producer_entries]


def _to_stored(entry: ProducerEntry) -> StoredEntry:
    from pyk.protocol.messages.producer_snapshot import ProducerEntry as StoredEntry

    last = entry.batches[-1] if entry.batches else BatchMetadata(-1, -1, 0, entry.last_timestamp)
    return StoredEntry(
        producer_id=entry.producer_id,
        epoch=entry.epoch,
        last_sequence=last.last_sequence,
        last_offset=last.last_offset,
        offset_delta=last.offset_delta,
        timestamp=entry.last_timestamp,
        coordinator_epoch=entry.coordinator_epoch,
        current_txn_first_offset=entry.current_txn_first_offset,
    )


def _from_stored(stored: StoredEntry) -> ProducerEntry:
    entry = ProducerEntry(
        producer_id=stored.producer_id,
        epoch=stored.epoch,
        last_timestamp=stored.timestamp,
        coordinator_epoch=stored.coordinator_epoch,
        current_txn_first_offset=stored.current_txn_first_offset,
    )
    if stored.last_offset >= 0:
        entry.batches.append(
            BatchMetadata(
                stored.last_sequence, stored.last_offset, stored.offset_delta, stored.timestamp
            )
        )
    return entry
