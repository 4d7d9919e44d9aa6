"""Run what waits for a disk: in threads, or at once where the file system never waits."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from .storage.disk import Done, InlineDisk, Work

if TYPE_CHECKING:
    from concurrent.futures import Future, ThreadPoolExecutor

    from pyk.runtime.filesystem.interface import FileSystem

THREADS = 8
"""Flushes of different files share a commit of the journal, so that eight cost little more than
one."""


class DiskThreads:
    """Runs work in threads and calls back on the loop. Belongs to the running event loop."""

    def __init__(self) -> None:
        self._executor: ThreadPoolExecutor | None = None
        self._unfinished = 0
        self._is_idle = asyncio.Event()
        self._is_idle.set()

    def run(self, work: Work, done: Done) -> None:
        """Run ``work`` in a thread, then on the loop ``done`` with its error, None for success."""
        if self._executor is None:
            from concurrent.futures import ThreadPoolExecutor

            self._executor = ThreadPoolExecutor(THREADS, thread_name_prefix="pyk disk")
        loop = asyncio.get_running_loop()
        self._unfinished += 1
        self._is_idle.clear()
        self._executor.submit(work).add_done_callback(
            lambda future: loop.call_soon_threadsafe(self._finished, future, done)
        )

    async def wait(self) -> None:
        """Wait until all work that was begun is done."""
        await self._is_idle.wait()

    async def close(self) -> None:
        """End the threads, once all that was begun is done."""
        await self.wait()
        if self._executor is not None:
            self._executor.shutdown()
            self._executor = None

    def _finished(self, future: Future[object], done: Done) -> None:
        self._unfinished -= 1
        try:
            done(future.exception())
        finally:
            if not self._unfinished:
                self._is_idle.set()


class ImmediateDisk(InlineDisk):
    """Runs work at once, on the loop."""

    async def wait(self) -> None:
        """Return at once: nothing is left to be done."""

    async def close(self) -> None:
        """Return at once: there are no threads."""


def disk_for(filesystem: FileSystem) -> DiskThreads | ImmediateDisk:
    """Return a disk with threads if the file system waits for a device, otherwise one without."""
    return DiskThreads() if filesystem.waits_for_device else ImmediateDisk()
