"""The leader epochs of a log and their offsets: its ``leader-epoch-checkpoint`` (KIP-101).

A leader epoch begins at an offset and ends where the next begins. The records carry their epoch
too, so what a crash takes from the file comes back when the log is recovered.
"""

from __future__ import annotations

from bisect import bisect_right
from itertools import count
from typing import NamedTuple

from pyk.reference_broker.storage.checkpoint import (
    begin_write_lines,
    malformed,
    parse_number,
    read_lines,
)
from pyk.runtime.filesystem.atomic_write import TEMPORARY_SUFFIX, PendingWrite
from pyk.runtime.filesystem.interface import FileSystem

UNDEFINED_EPOCH = -1
UNDEFINED_OFFSET = -1

_write_numbers = count()


class EpochEntry(NamedTuple):
    """A leader epoch and the first offset it wrote."""

    epoch: int
    start_offset: int


class LeaderEpochs:
    """The leader epochs of one log, both epochs and offsets rising.

    They are on the disk once the result of ``begin_write`` has run; call ``written`` then.
    """

    def __init__(self, filesystem: FileSystem, path: str) -> None:
        self._filesystem = filesystem
        self._path = path
        self.entries = self._read()
        self._written = self.entries

    @property
    def latest_epoch(self) -> int:
        """The last epoch, -1 without epochs."""
        return self.entries[-1].epoch if self.entries else UNDEFINED_EPOCH

    def assign(self, epoch: int, start_offset: int) -> None:
        """Begin ``epoch`` at ``start_offset``; what contradicts that is forgotten."""
        if epoch < 0 or epoch <= self.latest_epoch:
            return
        kept = [entry for entry in self.entries if entry.start_offset < start_offset]
        self._replace([*kept, EpochEntry(epoch, start_offset)])

    def epoch_of(self, offset: int) -> int:
        """Return the epoch that wrote ``offset``, -1 if it is not known."""
        index = bisect_right(self.entries, offset, key=lambda entry: entry.start_offset)
        return self.entries[index - 1].epoch if index else UNDEFINED_EPOCH

    def end_offset_of(self, epoch: int, log_end_offset: int) -> EpochEntry:
        """Return the largest epoch not above ``epoch`` and where it ends; (-1, -1) if unknown."""
        if epoch < 0 or not self.entries or epoch > self.latest_epoch:
            return EpochEntry(UNDEFINED_EPOCH, UNDEFINED_OFFSET)
        if epoch == self.latest_epoch:
            return EpochEntry(epoch, log_end_offset)
        above = bisect_right(self.entries, epoch, key=lambda entry: entry.epoch)
        end = self.entries[above].start_offset
        # An epoch older than all that are kept ended where the first of them began.
        return EpochEntry(self.entries[above - 1].epoch if above else epoch, end)

    def truncate_from_end(self, end_offset: int) -> None:
        """Forget the epochs that begin at ``end_offset`` or after it."""
        kept = [entry for entry in self.entries if entry.start_offset < end_offset]
        if len(kept) < len(self.entries):
            self._replace(kept)

    def truncate_from_start(self, start_offset: int) -> None:
        """Forget the epochs that end before ``start_offset``."""
        index = bisect_right(self.entries, start_offset, key=lambda entry: entry.start_offset)
        if index and self.entries[0].start_offset < start_offset:
            first = EpochEntry(self.entries[index - 1].epoch, start_offset)
            self._replace([first, *self.entries[index:]])

    def copy_from(self, other: LeaderEpochs) -> None:
        """Take over the epochs of a log whose records these are, too.

        Records alone do not tell of an epoch that has none, or none any more.
        """
        if self.entries != other.entries:
            self._replace(list(other.entries))

    def begin_write(self) -> PendingWrite | None:
        """Return what writes the file, None if it holds all this."""
        if self._written is self.entries:
            return None
        lines = (f"{entry.epoch} {entry.start_offset}" for entry in self.entries)
        # A name of its own: while it is pending, a new log of the same name may begin another.
        suffix = f".{next(_write_numbers)}{TEMPORARY_SUFFIX}"
        return begin_write_lines(self._filesystem, self._path, lines, suffix)

    def written(self, entries: list[EpochEntry]) -> None:
        """Note that the file holds ``entries``, what ``self.entries`` was when it was begun."""
        self._written = entries

    def _replace(self, entries: list[EpochEntry]) -> None:
        self.entries = entries

    def _read(self) -> list[EpochEntry]:
        entries = []
        for line in read_lines(self._filesystem, self._path):
            try:
                epoch, start_offset = line.split(" ")
                entries.append(EpochEntry(parse_number(epoch), parse_number(start_offset)))
            except ValueError:
                raise malformed(self._path, line) from None
        return entries
