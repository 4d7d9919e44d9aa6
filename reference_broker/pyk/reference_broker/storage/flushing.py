"""Bring logs onto the disk: prepared on the broker's loop, waited for elsewhere.

Three rules hold:

1. What ``flush.messages`` wants on the disk is acknowledged only when it is there: until then the
   *safe offset*, and with it the high watermark, stays behind the log's end.
2. The recovery point moves only after the flush that it stands for.
3. A flush that fails is final. The operating system may have dropped what it could not write, and
   the next flush would succeed without it, so the log is out of use until it is opened again.
   One that could not begin (no space, no file descriptor left) dropped nothing: the next append
   that asks for a flush, or the next maintenance, begins it. Where there will never be one, because
   the directory is gone or must not be written, waiting would be a silence: that fails at once.
"""

from __future__ import annotations

import errno
import logging
from collections import deque
from collections.abc import Callable, Sequence
from functools import partial

from pyk.reference_broker.storage.disk import Disk
from pyk.reference_broker.storage.errors import StorageError
from pyk.runtime import slotted
from pyk.runtime.filesystem.atomic_write import PendingWrite
from pyk.runtime.filesystem.interface import File, FileSystem

log = logging.getLogger(__name__)

OUT_OF_RESOURCES = (errno.ENOSPC, errno.EDQUOT, errno.EMFILE, errno.ENFILE, errno.ENOMEM)

FLUSHES_AT_ONCE = 8
"""Each holds four files open, so there must not be one for each log."""


@slotted.frozen(eq=False)
class Flush:
    """The files to flush so that a log is on the disk up to ``end_offset``."""

    filesystem: FileSystem
    files: Sequence[File]
    writes: Sequence[PendingWrite]
    directories: Sequence[str]
    end_offset: int
    finish: Callable[[], None]
    """Tell the log that it has run, on the loop."""

    def run(self) -> None:
        """Wait until all of it is on the disk; raise ``OSError``. May run in any thread."""
        for file in self.files:
            file.flush()
        for write in self.writes:
            write.finish()
        for directory in self.directories:
            self.filesystem.sync_directory(directory)


class DirectoryAbove:
    """The directory that all logs are in: one sync of it is enough for all that were made before.

    ``logs`` counts those that were ever opened, ``synced_logs`` how many of them it is synced for.
    """

    def __init__(self) -> None:
        self.logs = 0
        self.synced_logs = 0

    def log_added(self) -> int:
        """Count another log; return its number."""
        self.logs += 1
        return self.logs


class FlushQueue:
    """The flushes of all logs, a few at a time, first those that a request waits for.

    Among those the oldest comes first, so a log that is always written to starves no other one.
    """

    def __init__(self, disk: Disk) -> None:
        self.directory = DirectoryAbove()
        self._disk = disk
        self._urgent: deque[WaitingFlush] = deque()
        self._others: deque[WaitingFlush] = deque()
        self._running = 0

    def add(
        self,
        prepare: Callable[[], Flush | None],
        done: Callable[[Flush | None, BaseException | None], None],
        *,
        is_urgent: bool,
    ) -> WaitingFlush:
        """Prepare a flush when its turn comes, run it, then tell ``done`` how it went.

        ``done`` gets None for the flush that could not be prepared.
        """
        waiting = WaitingFlush(prepare, done)
        (self._urgent if is_urgent else self._others).append(waiting)
        self._start_waiting()
        return waiting

    def hurry(self, waiting: WaitingFlush) -> None:
        """Move a flush forward because a request waits for it now."""
        if waiting in self._others:
            self._others.remove(waiting)
            self._urgent.append(waiting)

    def _start_waiting(self) -> None:
        while (self._urgent or self._others) and self._running < FLUSHES_AT_ONCE:
            self._start((self._urgent or self._others).popleft())

    def _start(self, waiting: WaitingFlush) -> None:
        try:
            flush = waiting.prepare()
        except OSError as error:
            waiting.done(None, error)
            return
        if flush is None:
            waiting.done(None, None)
            return
        self._running += 1
        self._disk.run(flush.run, partial(self._finish, flush, waiting.done))

    def _finish(
        self,
        flush: Flush,
        done: Callable[[Flush | None, BaseException | None], None],
        error: BaseException | None,
    ) -> None:
        self._running -= 1
        try:
            done(flush, error)
        finally:
            self._start_waiting()


@slotted.frozen(eq=False)
class WaitingFlush:
    """A flush of one log that waits for its turn."""

    prepare: Callable[[], Flush | None]
    done: Callable[[Flush | None, BaseException | None], None]


class LogFlusher:
    """The part of one log that is on the disk, and the part that is on its way there.

    Below ``recovery_point`` everything is on the disk, below ``safe_offset`` as much as the
    configuration demands. ``failure`` is set once a flush has failed. ``when_moved`` is called
    after each change of these three that no append caused.
    """

    def __init__(
        self,
        queue: FlushQueue,
        prepare: Callable[[int, int], Flush],
        recovery_point: int,
        name: object,
    ) -> None:
        """``prepare`` returns the next flush from one offset on towards another.

        Call ``appended`` then, with the end that the log was found to have.
        """
        self.recovery_point = recovery_point
        self.safe_offset = recovery_point
        self.failure: StorageError | None = None
        self.when_moved: Callable[[], None] = lambda: None
        self._queue = queue
        self._prepare = prepare
        self._name = name
        self._end_offset = recovery_point
        self._wanted = 0
        self._required = 0
        self._is_queued = False
        self._waiting: WaitingFlush | None = None
        self._is_closed = False
        self._changes = 0
        self._when_flushed: Callable[[], object] | None = None

    def appended(self, end_offset: int, flush_messages: int) -> None:
        """Note that the log has grown; flush it if ``flush_messages`` records are not flushed."""
        self._end_offset = end_offset
        if end_offset - self.recovery_point >= flush_messages:
            self._required = end_offset
            self.request(end_offset, is_urgent=True)
        self._move_safe_offset()

    def truncated(self, end_offset: int) -> None:
        """Note that the log ends here now. What is being flushed may be other records."""
        self._changes += 1
        self._end_offset = end_offset
        self.recovery_point = min(self.recovery_point, end_offset)
        self._required = min(self._required, end_offset)
        self._wanted = min(self._wanted, end_offset)
        self.safe_offset = min(self.safe_offset, end_offset)

    def changed_from(self, offset: int) -> None:
        """Note that files of the log that were flushed changed again, from an offset on.

        What is being flushed may not include that, so it counts for nothing.
        """
        self._changes += 1
        self.recovery_point = min(self.recovery_point, offset)

    def request(self, up_to_offset: int, *, is_urgent: bool = False) -> None:
        """Flush the log up to an offset, when its turn comes."""
        self._wanted = max(self._wanted, up_to_offset)
        is_needed = self._wanted > self.recovery_point and self.failure is None
        if not is_needed or self._is_closed:
            return
        if self._is_queued:
            if is_urgent and self._waiting is not None:
                self._queue.hurry(self._waiting)
        else:
            self._is_queued = True
            changes = self._changes
            self._waiting = self._queue.add(
                lambda: self._next(self._wanted),
                lambda flush, error: self._done(flush, error, changes),
                is_urgent=is_urgent,
            )

    def flush_now(self) -> None:
        """Flush everything and wait for it; raise ``StorageError``."""
        try:
            while (flush := self._next(self._end_offset)) is not None:
                flush.run()
                self._advance(flush)
        except OSError as error:
            self.fail(error)
        self.check()

    def check(self) -> None:
        """Raise the ``failure``, if there was one."""
        if self.failure is not None:
            raise StorageError(self.failure.message)  # one raised twice would grow a traceback

    def flush_all(self, done: Callable[[], object]) -> None:
        """Flush everything, then call ``done``, also if that fails or the flusher is closed."""
        self._when_flushed = done
        self.request(self._end_offset)
        self._tell_if_flushed()

    def fail(self, error: BaseException, action: str = "flush") -> None:
        """Put the log out of use until it is opened again: ``action`` left it half done."""
        log.error(
            "Could not %s %s: %s. It is offline until the broker is restarted: "
            "what was written since the last flush may be lost in a power failure",
            action,
            self._name,
            error,
        )
        self.failure = StorageError(f"cannot {action} {self._name}: {error}")

    def give_up(self, failure: StorageError) -> None:
        """Put the log out of use, with all others of its disk: nothing is flushed any more."""
        if self.failure is None:
            self.failure = failure
        self.close()
        self.when_moved()

    def close(self) -> None:
        """Start no more flushes."""
        self._is_closed = True

    def _next(self, up_to_offset: int) -> Flush | None:
        if self._is_closed or self.failure is not None or up_to_offset <= self.recovery_point:
            return None
        return self._prepare(self.recovery_point, up_to_offset)

    def _done(self, flush: Flush | None, error: BaseException | None, changes: int) -> None:
        self._is_queued = False
        if self._is_closed:
            pass  # the log is gone, and its files may be too
        elif flush is None and self._when_flushed is None and _may_pass(error):
            log.warning("Could not begin to flush %s, will try again: %s", self._name, error)
        else:
            if error is not None:
                self.fail(error)
            elif flush is not None and changes == self._changes:
                self._advance(flush)
            self.when_moved()
            self.request(self._wanted, is_urgent=self._required > self.recovery_point)
        self._tell_if_flushed()

    def _tell_if_flushed(self) -> None:
        if self._when_flushed is not None and not self._is_queued:
            done, self._when_flushed = self._when_flushed, None
            done()

    def _advance(self, flush: Flush) -> None:
        flush.finish()
        self.recovery_point = max(self.recovery_point, flush.end_offset)
        self.safe_offset = max(self.safe_offset, self.recovery_point)
        self._move_safe_offset()

    def _move_safe_offset(self) -> None:
        if self._required <= self.recovery_point:
            self.safe_offset = self._end_offset


def _may_pass(error: BaseException | None) -> bool:
    """Whether what could not begin may begin later: once there is space or a descriptor."""
    return isinstance(error, OSError) and error.errno in OUT_OF_RESOURCES
