"""The maintenance of the logs in one data directory: what is due is carried out for each of them.

Each log is handled on its own: one that fails is logged, the others go on.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from functools import partial

from pyk.reference_broker.config import BrokerConfig
from pyk.reference_broker.storage.disk import Disk, Work
from pyk.reference_broker.storage.errors import helpful_traceback
from pyk.reference_broker.storage.log import Log
from pyk.reference_broker.storage.log_checkpoints import LogCheckpoints
from pyk.reference_broker.storage.maintenance import Task
from pyk.runtime.clock import Clock
from pyk.runtime.filesystem.interface import FileSystem

log = logging.getLogger(__name__)


def _ignore(_: BaseException | None) -> None:
    return


class DirectoryTasks:
    """Performs tasks for ``logs``, all in the directory at ``path``.

    ``when_checkpointed`` is called after each checkpoint file that was written.
    """

    def __init__(
        self,
        path: str,
        filesystem: FileSystem,
        logs: Iterable[Log],
        checkpoints: LogCheckpoints,
        config: Callable[[], BrokerConfig],
        *,
        clock: Clock,
        disk: Disk,
        when_checkpointed: Callable[[], None],
    ) -> None:
        self._path = path
        self._filesystem = filesystem
        self._logs = logs
        self._checkpoints = checkpoints
        self._config = config
        self._clock = clock
        self._disk = disk
        self._when_checkpointed = when_checkpointed
        self._deleted_directories: list[tuple[float, str]] = []
        self._tasks: dict[Task, Callable[[], None]] = {
            Task.DELETE_OLD_SEGMENTS: self._delete_old_segments,
            Task.REMOVE_DELETED_FILES: self._remove_deleted_files,
            Task.FLUSH: self._flush,
            Task.EXPIRE_PRODUCERS: self._expire_producers,
            **{task: partial(self._checkpoint, task) for task in checkpoints.tasks},
        }

    def perform(self, task: Task) -> None:
        """Perform a task for all logs. A failure is logged; the next time it is tried again."""
        try:
            self._tasks[task]()
        except Exception as error:
            self.log_failure(task.name, error)

    def remove_later(self, path: str, delay_ms: int) -> None:
        """Remove a deleted log after a while."""
        self._deleted_directories.append((self._clock.now() + delay_ms / 1000, path))

    def write_checkpoints_of_forgotten(self) -> None:
        """Write the checkpoint files that may name partitions that were forgotten."""
        for task in self._checkpoints.tasks_with_forgotten():
            self._checkpoint(task)

    def log_failure(self, what: str, error: BaseException) -> None:
        """Log what failed in this directory."""
        traceback = helpful_traceback(error)
        log.error("%s failed in %s: %s", what, self._path, error, exc_info=traceback)

    def _for_each(self, task: Task, action: Callable[[Log], object]) -> None:
        """Do something with every log in use; a failure of one does not stop the others."""
        for opened in self._logs:
            if opened.failure is None:
                try:
                    action(opened)
                except Exception as error:
                    self.log_failure(f"{task.name} of {opened}", error)

    def _run(self, what: str, work: Work, done: Callable[[BaseException | None], object]) -> None:
        """Let the disk do something; log its failure."""

        def finish(error: BaseException | None) -> None:
            if error is not None:
                self.log_failure(what, error)
            done(error)

        self._disk.run(work, finish)

    def _flush(self) -> None:
        self._for_each(Task.FLUSH, lambda each: each.flusher.request(each.offset_to_flush))

    def _delete_old_segments(self) -> None:
        now_ms = self._clock.time_ms()

        def delete(opened: Log) -> None:
            deleted = opened.delete_old_segments(now_ms)
            if deleted:
                log.info("Deleted %d old segments of %s", deleted, opened)

        self._for_each(Task.DELETE_OLD_SEGMENTS, delete)

    def _remove_deleted_files(self) -> None:
        now = self._clock.now()
        for opened in self._logs:
            for path in opened.segments.take_deleted_files(now):
                self._run("Removing a file", partial(self._filesystem.remove, path), _ignore)
        due = [path for remove_at, path in self._deleted_directories if remove_at <= now]
        self._deleted_directories = [e for e in self._deleted_directories if e[0] > now]
        for path in due:
            self._remove_directory(path)

    def _remove_directory(self, path: str) -> None:
        def again(error: BaseException | None) -> None:
            if error is not None:
                self._deleted_directories.append((self._clock.now(), path))

        self._run("Removing a deleted log", partial(self._filesystem.remove_tree, path), again)

    def _expire_producers(self) -> None:
        now_ms = self._clock.time_ms()
        expiration_ms = self._config().producer_id_expiration_ms
        self._for_each(
            Task.EXPIRE_PRODUCERS, lambda each: each.producers.expire(now_ms, expiration_ms)
        )

    def _checkpoint(self, task: Task) -> None:
        """Write a checkpoint file, if it would change."""
        write = self._checkpoints.begin_update(task)
        if write is not None:

            def written(error: BaseException | None) -> None:
                self._checkpoints.end_update(task, error)
                if error is None:
                    self._when_checkpointed()

            self._run(task.name, write.finish, written)
