"""Plan which files and directories a flush of a log consists of."""

from __future__ import annotations

import posixpath
from collections.abc import Callable

from pyk.reference_broker.storage.flushing import DirectoryAbove, Flush
from pyk.reference_broker.storage.leader_epochs import LeaderEpochs
from pyk.reference_broker.storage.partition_metadata import open_topic_id
from pyk.reference_broker.storage.segments import LogSegments
from pyk.runtime.filesystem.interface import FileSystem


class FlushPlanner:
    """Plans the flushes of one log, one segment each."""

    def __init__(
        self,
        filesystem: FileSystem,
        directory: str,
        segments: LogSegments,
        leader_epochs: LeaderEpochs,
        *,
        when_flushed: Callable[[], None],
        above: DirectoryAbove,
    ) -> None:
        self._filesystem = filesystem
        self._above = above
        self._number = above.log_added()
        self._directory = directory
        self._segments = segments
        self._leader_epochs = leader_epochs
        self._when_flushed = when_flushed
        self._synced_directory_changes = 0

    def next_flush(self, from_offset: int, up_to_offset: int) -> Flush:
        """Return the flush of the first segment that is not on the disk; raise ``OSError``."""
        segment, *following = self._segments.from_offset(from_offset)
        if not segment.indexes.transactions.entries.is_written:
            self._segments.directory_changes += 1  # its file may be new
        end_offset = min(up_to_offset, following[0].base_offset) if following else up_to_offset
        directory_changes, logs_above = self._segments.directory_changes, self._above.logs
        syncs_above = self._above.synced_logs < self._number
        entries = self._leader_epochs.entries
        files = [segment.file, *segment.indexes.write()]
        if self._synced_directory_changes == 0:
            files += open_topic_id(self._filesystem, self._directory)
        epochs = self._leader_epochs.begin_write()

        def finish() -> None:
            self._synced_directory_changes = max(self._synced_directory_changes, directory_changes)
            if syncs_above:
                self._above.synced_logs = max(self._above.synced_logs, logs_above)
            self._leader_epochs.written(entries)
            self._when_flushed()

        return Flush(
            self._filesystem,
            files,
            [] if epochs is None else [epochs],
            self._directories_to_sync(syncs_above=syncs_above),
            end_offset,
            finish,
        )

    def _directories_to_sync(self, *, syncs_above: bool) -> list[str]:
        above = [posixpath.dirname(self._directory)] if syncs_above else []
        if self._synced_directory_changes == self._segments.directory_changes:
            return above
        return [self._directory, *above]
