"""Bring a log onto the disk, in three steps of which only the slow one may run in a thread:

flush = log.begin_flush()      # on the loop: writes indexes, notes which files are concerned
flush.run()                    # anywhere: waits for the disk
flush.finish()                 # on the loop: the recovery point moves

"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import attrs

from pyk.reference_broker.filesystem import File, FileSystem


@attrs.frozen
class Flush:
    """What has to reach the disk so that a log is safe up to ``up_to_offset``."""

    filesystem: FileSystem
    files: Sequence[File]
    directories: Sequence[str]
    directory_changes: int  # how many there had been when it began
    up_to_offset: int
    _finished: Callable[[Flush], None]

    def run(self) -> None:
        """Return when all of it is on the disk; raise ``OSError``."""
        for file in self.files:
            file.flush()
        for directory in self.directories:
            self.filesystem.sync_directory(directory)

    def finish(self) -> None:
        """Tell the log that it has run."""
        self._finished(self)
