"""Go on without the directories whose disks fail (KIP-112), or end where that is impossible."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from .directory_reports import DirectoryReports
from .metadata_follower import MetadataFollower
from .storage import LogManager, StorageError
from .storage.log_directory import LogDirectory


class FailedDirectories:
    """Takes directories offline as they fail. Belongs to the running event loop.

    ``when_lost`` is called when the broker cannot go on, and is to be killed: without the directory
    of its metadata log, or without any for logs. Apache Kafka halts then.
    """

    def __init__(
        self,
        logs: LogManager,
        follower: MetadataFollower,
        reports: DirectoryReports,
    ) -> None:
        self.when_lost: Callable[[StorageError], object] = lambda error: None
        self._logs = logs
        self._follower = follower
        self._reports = reports
        self._failed: set[LogDirectory] = set()
        loop = asyncio.get_running_loop()
        logs.when_failed(lambda *failed: loop.call_soon_threadsafe(self._fail, *failed))

    def _fail(self, directory: LogDirectory, error: OSError) -> None:
        if directory in self._failed:
            return  # two threads met its first errors
        self._failed.add(directory)
        self._follower.went_offline(self._logs.take_offline(directory, error))
        if self._logs.lost is not None:
            self.when_lost(self._logs.lost)
        else:
            self._reports.failed(directory.directory_id)
