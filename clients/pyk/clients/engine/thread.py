"""The thread of a blocking client, in which its asyncio twin lives."""

from __future__ import annotations

import asyncio
import atexit
import concurrent.futures
import contextlib
import threading
from collections.abc import Callable, Coroutine
from typing import Any, Generic, TypeVar

from pyk.clients.engine.fork import ForkGuard
from pyk.clients.errors import ClosedError, KafkaTimeoutError, StateError

R = TypeVar("R")

# How long a call that was given up may take to clean up before its caller goes on without it.
CLEAN_UP_SECONDS = 1.0


class LoopThread:
    """An event loop in a thread of its own, and the way to call coroutines in it.

    Any thread may call, but the loop's own: that one would wait for itself. The thread is a daemon,
    so a program that forgot to close a client still ends.
    """

    def __init__(self, name: str, at_exit: Callable[[], object] | None = None) -> None:
        self.guard = ForkGuard(name)
        self._name = name
        self._at_exit = at_exit
        """Called when the program ends and this was not closed."""
        self._state = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._is_closed = False

    @property
    def is_closed(self) -> bool:
        return self._is_closed

    def call(self, coroutine: Coroutine[Any, Any, R], timeout: float | None = None) -> R:
        """Run a coroutine in the loop, wait for it, and return its result or raise its error.

        Ctrl-C cancels the coroutine and raises ``KeyboardInterrupt``. So does ``timeout`` (seconds,
        None for no limit), with :class:`KafkaTimeoutError`; coroutines that keep deadlines of their
        own need none here.
        """
        call = _Call(coroutine)
        try:
            self.call_soon(call.begin)
            return call.outcome.result(timeout)
        except concurrent.futures.CancelledError:
            raise ClosedError(f"the {self._name} was closed while a call was under way") from None
        except StateError:
            if not call.outcome.done():
                coroutine.close()  # it never got into the loop
            raise
        except BaseException as error:
            if call.outcome.done():
                raise  # the coroutine's own
            self._give_up(call)  # Ctrl-C can come anywhere above
            if isinstance(error, TimeoutError):
                raise KafkaTimeoutError(f"no result within {timeout} seconds") from error
            raise

    def call_soon(self, function: Callable[..., object], *arguments: Any) -> None:
        """Have a function called in the loop, and do not wait for it."""
        self.guard.check()
        if threading.current_thread() is self._thread:
            raise StateError(
                f"a blocking {self._name} cannot be called from its own event loop (from a "
                "callback, for instance): it would wait for itself"
            )
        with self._state:
            if self._is_closed:
                raise ClosedError(f"the {self._name} is closed")
            if self._loop is None:
                self._loop = self._start()
            # Inside the lock, so that it is queued before the loop is told to stop.
            self._loop.call_soon_threadsafe(function, *arguments)

    def close(self, timeout: float = 5.0) -> None:
        """Cancel what runs in the loop and end the thread; returns within ``timeout`` seconds.

        Closing twice is fine, and so is closing from the loop's own thread, which ends by itself.
        """
        if self.guard.is_forked:
            return  # thread and lock are the parent's
        with self._state:
            self._is_closed = True
            loop, thread = self._loop, self._thread
            self._loop = None
        if loop is None or thread is None:
            return
        if self._at_exit is not None:
            atexit.unregister(self._at_exit)
        with contextlib.suppress(RuntimeError):  # it has ended already
            loop.call_soon_threadsafe(loop.stop)
        if thread is not threading.current_thread():
            thread.join(timeout)

    def _start(self) -> asyncio.AbstractEventLoop:
        loop = asyncio.new_event_loop()
        if self._at_exit is not None:
            atexit.register(self._at_exit)
        self._thread = threading.Thread(
            target=self._run, args=(loop,), name=f"pyk-{self._name}", daemon=True
        )
        self._thread.start()
        return loop

    def _run(self, loop: asyncio.AbstractEventLoop) -> None:
        asyncio.set_event_loop(loop)
        try:
            loop.run_forever()
        finally:
            _cancel_all(loop)
            loop.run_until_complete(loop.shutdown_asyncgens())
            asyncio.set_event_loop(None)
            loop.close()

    def _give_up(self, call: _Call[Any]) -> None:
        """Cancel a call, and give it a moment to leave its client in order."""
        with contextlib.suppress(StateError):
            self.call_soon(call.cancel)
            concurrent.futures.wait([call.outcome], CLEAN_UP_SECONDS)


class _Call(Generic[R]):
    """A coroutine on its way through the loop; its outcome comes only when it has really ended."""

    def __init__(self, coroutine: Coroutine[Any, Any, R]) -> None:
        self.outcome: concurrent.futures.Future[R] = concurrent.futures.Future()
        self._coroutine = coroutine
        self._task: asyncio.Task[R] | None = None

    def begin(self) -> None:
        self._task = asyncio.get_running_loop().create_task(self._coroutine)
        self._task.add_done_callback(self._end)

    def cancel(self) -> None:
        if self._task is not None:
            self._task.cancel()
        else:  # interrupted before it could begin
            self._coroutine.close()
            self.outcome.set_exception(concurrent.futures.CancelledError())

    def _end(self, task: asyncio.Task[R]) -> None:
        if task.cancelled():
            self.outcome.set_exception(concurrent.futures.CancelledError())
        elif (error := task.exception()) is not None:
            self.outcome.set_exception(error)
        else:
            self.outcome.set_result(task.result())


def _cancel_all(loop: asyncio.AbstractEventLoop) -> None:
    tasks = asyncio.all_tasks(loop)
    for task in tasks:
        task.cancel()
    if tasks:
        loop.run_until_complete(asyncio.wait(tasks, timeout=CLEAN_UP_SECONDS))
