"""Take one record after the other: the part of both consumers that runs once per record.

As long as the open span has records, nothing else happens here. When it has none, or something is
due besides records, the consumer's own ``_open_next_span`` takes over.

Taking the record is the last thing that happens before the application has it: a signal handler
that raised in between would lose it.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Generator
from typing import TYPE_CHECKING, Any

from pyk.clients.consumer.faces.task_waiter import TaskWaiter
from pyk.clients.engine.request_path import RequestPath
from pyk.clients.engine.thread import LoopThread
from pyk.clients.errors import ConcurrentUseError, StateError
from pyk.protocol.records.reader import RecordSpan
from pyk.runtime.clock import Clock

if TYPE_CHECKING:
    from pyk.clients.consumer.buffer.read_buffer import ReadBuffer
    from pyk.clients.consumer.buffer.record_reader import RecordReader
    from pyk.clients.consumer.faces.reading_core import ReadingCore


# An application that works on its records for no longer than this gains nothing from a fetch in
# flight meanwhile: sending it takes a good part of that time, and delays the records.
QUICK_SECONDS = 0.0005


def in_use_by(user: str) -> ConcurrentUseError:
    """Return the error of a call while another thread, or task, is inside the consumer."""
    return ConcurrentUseError(
        f"another {user} is using this consumer: give each its own; a handler of process() is "
        "given its records and cannot read or commit, it may call wakeup() and close()"
    )


class BlockingReadPath:
    """How the blocking consumer takes records, and waits for them."""

    def __init__(self, core: ReadingCore, thread: LoopThread, pace: ApplicationPace) -> None:
        self._core: ReadingCore = core
        self._reader: RecordReader = core.reader
        self._buffer: ReadBuffer = core.buffer
        self._thread = thread
        self._pace = pace
        self._waiter = pace.waiter
        self._has_begun = False
        self._use = threading.RLock()
        self._user: threading.Thread | None = None
        """The thread that polls now."""
        self._taker: threading.Thread | None = None
        """The thread that polled last."""
        self._processor: threading.Thread | None = None
        """The thread that is in ``process()``."""

    def __iter__(self) -> BlockingReadPath:
        return self

    def __next__(self) -> Any:
        while True:
            record = self._reader.next_record()
            if record is not None:
                return record
            self._open_next_span()

    def _open_next_span(self) -> None:
        """Return once there is a span to go on with."""
        user = threading.current_thread()
        self._refuse_nested_polls(user)
        with self._use:
            self._user = self._taker = user
            try:  # at once: the handler of a signal may raise in the next call
                self._pace.application_comes()
                while True:
                    if self._buffer.attention:
                        self._attend(None)
                    has_span = self._reader.open_span()
                    if self._pace.fetch is not None:
                        self._fetch_on()
                    if has_span:
                        self._pace.application_goes()
                        return
                    self._wait(None)
            finally:
                self._user = None

    def _take(
        self, limit: int, deadline: float | None
    ) -> tuple[list[RecordSpan], list[Any] | None]:
        """Return what :meth:`FetchReader.take` does, as soon as that is something."""
        user = threading.current_thread()
        self._refuse_nested_polls(user)
        with self._use:
            self._user = self._taker = user
            try:  # at once: the handler of a signal may raise in the next call
                self._pace.application_comes()
                while True:
                    if self._buffer.attention:
                        self._attend(deadline)
                    spans, records = self._reader.take(limit)
                    if self._pace.fetch is not None:
                        self._fetch_on()
                    if spans or not self._wait(deadline):
                        self._pace.application_goes()
                        return spans, records
            finally:
                self._user = None

    def _wait(self, deadline: float | None) -> bool:
        """Wait for records or anything else; return False at the deadline."""
        # A consumer with partitions is started; and attention is called for when a consumer ends.
        if not self._buffer.partitions or not self._has_begun:
            self._begin()
            self._has_begun = True
        self._thread.check_usable()
        self._waiter.clear()
        self._buffer.is_waiting = True
        try:
            if self._buffer.queue or self._buffer.attention:
                return deadline is None or self._core.client.clock.now() < deadline
            left = None if deadline is None else deadline - self._core.client.clock.now()
            return self._waiter.wait(left)
        finally:
            self._buffer.is_waiting = False

    def _fetch_on(self) -> None:
        """Let the next fetch leave, with all that was made room for, before the application works
        on what is there."""
        fetch = self._pace.fetch
        if fetch is not None:
            self._pace.fetch = None
            self._thread.visit(fetch)

    def _begin_process(self) -> None:
        """Let only this thread read, until :meth:`_end_process`."""
        user = threading.current_thread()
        self._refuse_nested_polls(user)
        if self._processor is not None:
            raise in_use_by("thread")
        self._processor = user

    def _end_process(self) -> None:
        self._processor = None

    def _refuse_nested_polls(self, user: threading.Thread) -> None:
        """Raise if a thread is inside the consumer: another, or this one, in a listener.

        And in a forked child, where a thread that does not exist there may hold the lock.
        """
        if self._thread.guard.is_forked:
            self._thread.guard.check()
        if self._processor is not None and self._processor is not user:
            raise in_use_by("thread")
        if self._user is None:
            return
        if self._user is not user:
            raise in_use_by("thread")
        raise StateError(
            "a rebalance listener, deserializer or signal handler cannot poll inside poll or "
            "iteration, which goes on once it returns"
        )

    def _begin(self) -> None:
        """Connect if that has not been done; raise if no record could ever come."""
        raise NotImplementedError

    def _attend(self, deadline: float | None) -> None:
        """Look what there is besides records, and do it."""
        raise NotImplementedError


class ApplicationPace:
    """The state of the application, as the core of a blocking consumer knows it.

    It must not refer to the consumer, or a dropped one would stay alive.
    """

    def __init__(self, thread: LoopThread, clock: Clock) -> None:
        self.waiter = thread.new_waiter()
        self.fetch: Callable[[], None] | None = None
        """How to fetch into the room that the application has made by reading."""
        self._thread = thread
        self._now = clock.now
        self._left_at = clock.now()
        self._is_quick = True

    def application_comes(self) -> None:
        """Note that the application asks for more records."""
        self._is_quick = self._now() - self._left_at < QUICK_SECONDS

    def application_goes(self) -> None:
        """Note that it works on the records that it got."""
        self._left_at = self._now()

    def take_records(self, fetch: Callable[[], None]) -> None:
        """Wake the application that waits for records; ``fetch`` sends the next fetch.

        The fetch is left until the application is back, if it was not away for long last time.
        """
        self.waiter.set()
        if not (self._is_quick and self._thread.leave(fetch, self.waiter)):
            fetch()

    def note(self, fetch: Callable[[], None]) -> None:
        """Note that there is room."""
        self.fetch = fetch


class AsyncReadPath:
    """How the asyncio consumer takes records, and waits for them."""

    def __init__(self, core: ReadingCore, waiter: TaskWaiter) -> None:
        self._core: ReadingCore = core
        self._client: RequestPath = core.client
        self._reader: RecordReader = core.reader
        self._buffer: ReadBuffer = core.buffer
        self._waiter = waiter
        self._has_begun = False
        self._user: asyncio.Task[Any] | None = None
        """The task that is inside poll or iteration."""
        self._taker: asyncio.Task[Any] | None = None
        """The task that polled last."""
        self._processor: asyncio.Task[Any] | None = None
        """The task that is in ``process()``."""

    def __aiter__(self) -> AsyncReadPath:
        return self

    def __anext__(self) -> NextRecord:
        return NextRecord(self)

    async def _open_next_span(self) -> None:
        """Return once there is a span to go on with."""
        self._enter()
        has_waited = False
        try:
            if not self._has_begun:
                await self._begin()
            while True:
                if self._buffer.attention:
                    await self._attend(None)
                if self._reader.open_span():
                    break
                if not self._buffer.partitions:
                    self._core.subscription_calls.check_reading()
                self._waiter.clear()
                self._buffer.is_waiting = True
                try:
                    if not (self._buffer.queue or self._buffer.attention):
                        await self._waiter
                        has_waited = True
                finally:
                    self._buffer.is_waiting = False
            if not has_waited:
                await asyncio.sleep(0)  # or records at hand would keep fetches waiting
        finally:
            self._user = None

    async def _take(
        self, limit: int, deadline: float | None
    ) -> tuple[list[RecordSpan], list[Any] | None]:
        """Return what :meth:`FetchReader.take` does, as soon as that is something."""
        self._enter()
        try:
            if not self._has_begun:
                await self._begin()
            if self._buffer.has_work:
                await asyncio.sleep(0)  # or records at hand would keep fetches waiting
            while True:
                if self._buffer.attention:
                    await self._attend(deadline)
                spans, records = self._reader.take(limit)
                if spans or not await self._wait(deadline):
                    return spans, records
        finally:
            self._user = None

    async def _wait(self, deadline: float | None) -> bool:
        """Wait for records or anything else; return False at the deadline."""
        if not self._buffer.partitions:
            self._core.subscription_calls.check_reading()
        self._waiter.clear()
        self._buffer.is_waiting = True
        try:
            if self._buffer.has_work:
                return deadline is None or self._core.client.clock.now() < deadline
            return await self._waiter.wait(deadline)
        finally:
            self._buffer.is_waiting = False

    async def _begin(self) -> None:
        """Connect if that has not been done."""
        raise NotImplementedError

    async def _attend(self, deadline: float | None) -> None:
        """Look what there is besides records, and do it."""
        raise NotImplementedError

    def _begin_process(self) -> None:
        """Let only this task read, until :meth:`_end_process`."""
        task = asyncio.current_task()
        self._refuse_other_tasks(task)
        if self._user is not None or self._processor is not None:
            raise in_use_by("task")
        self._processor = task

    def _end_process(self) -> None:
        self._processor = None

    def _enter(self) -> None:
        task = asyncio.current_task()
        self._refuse_other_tasks(task)
        if self._user is not None:
            raise StateError(
                "a rebalance listener or deserializer cannot poll inside poll or iteration, which "
                "goes on once it returns"
            )
        self._user = self._taker = task

    def _refuse_other_tasks(self, task: asyncio.Task[Any] | None) -> None:
        """Raise on another event loop, and while another task is inside the consumer."""
        self._client.check_place()
        if self._user is not None and self._user is not task:
            raise in_use_by("task")
        if self._processor is not None and self._processor is not task:
            raise in_use_by("task")


class NextRecord:
    """The awaitable of the next record, which is taken only when it is awaited.

    If a record is available, awaiting it never goes through the event loop. It has the methods of a
    coroutine, so it can be made a task; a task that is cancelled before it begins has taken
    nothing.
    """

    def __init__(self, path: AsyncReadPath) -> None:
        self._path = path
        self._waiting: Any = None
        self._is_over = False

    def __await__(self) -> Generator[Any, None, Any]:
        return self

    def __iter__(self) -> NextRecord:
        return self

    def __next__(self) -> Any:
        """Do what :meth:`send` does, with fewer steps if a record is available."""
        if self._waiting is None and not self._is_over:
            record = self._path._reader.next_record()
            if record is not None:
                self._is_over = True
                raise StopIteration(record)
            self._waiting = self._path._open_next_span()
        return self.send(None)

    def send(self, value: Any) -> Any:
        """Go on, as a coroutine does."""
        if self._is_over:
            raise RuntimeError("cannot reuse already awaited __anext__()")
        while True:
            if self._waiting is None:
                record = self._path._reader.next_record()
                if record is not None:
                    self._is_over = True
                    raise StopIteration(record)
                self._waiting = self._path._open_next_span()
            try:
                return self._waiting.send(value)
            except StopIteration:
                self._waiting = value = None
            except BaseException:
                self._is_over = True
                raise

    def throw(self, *error: Any) -> Any:
        """Raise an error where it waits, as a coroutine does."""
        if self._waiting is None:
            self._is_over = True
            raise error[1] if len(error) > 1 and error[1] is not None else error[0]
        try:
            return self._waiting.throw(*error)
        except StopIteration:
            self._waiting = None
        except BaseException:
            self._is_over = True
            raise
        return self.send(None)

    def close(self) -> None:
        """End the wait, as a coroutine does."""
        self._is_over = True
        if self._waiting is not None:
            self._waiting.close()
