"""How a blocking consumer of any kind waits, and who may use it."""

from __future__ import annotations

import inspect
import threading
from collections.abc import Callable, Coroutine
from types import TracebackType
from typing import TYPE_CHECKING, Any, NoReturn, ParamSpec, TypeVar

from pyk.clients.arguments import checked_timeout
from pyk.clients.consumer.faces.closing import ClosingDeadlines
from pyk.clients.consumer.faces.read_path import ApplicationPace, BlockingReadPath, in_use_by
from pyk.clients.consumer.faces.reading_core import ReadingCore
from pyk.clients.consumer.faces.reading_face import ReadingFace
from pyk.clients.consumer.faces.steps import OnLoop, Step, Steps, TellOfCommit
from pyk.clients.engine.context import BlockingContext
from pyk.clients.engine.fork import ForkGuard
from pyk.clients.engine.steps import run
from pyk.clients.engine.thread import LoopThread
from pyk.clients.errors import StateError
from pyk.clients.payload import K, V
from pyk.runtime.clock import Clock
from pyk.runtime.system_clock import SystemClock

P = ParamSpec("P")
R = TypeVar("R")


class BlockingFace(ReadingFace[K, V], BlockingReadPath, BlockingContext):
    """A consumer whose calls block the thread that makes them."""

    def _create(self, core_of: Callable[..., ReadingCore], clock: Clock | None) -> None:
        """Create the core, which is given how to wake up the application."""
        thread = LoopThread("consumer")
        pace = ApplicationPace(thread, clock or SystemClock())
        core = core_of(on_data=pace.waiter.set, on_records=pace.take_records, on_room=pace.note)
        BlockingReadPath.__init__(self, core, thread, pace)
        # A second thread that closes it waits for the first.
        self._closing = threading.RLock()
        thread.guard.on_fork = lambda error: core.forked()
        thread.at_end = core.client.abort

    def start(self, timeout: float | None = None) -> None:
        """Connect. Entering the context manager does it, otherwise the first ``poll``.

        Raises :class:`BootstrapError`, which names every address and how far it came, as soon as
        all have failed, at the latest after ``timeout`` seconds (``request_timeout_ms``).
        """
        self._thread.call(self._core.start(timeout))

    def close(self) -> None:
        """End; each kind of consumer says what that means for its records."""
        raise NotImplementedError

    def _close(
        self, timeout: float | None, steps_of: Callable[[ClosingDeadlines], Steps[None]]
    ) -> None:
        if self._guard.is_forked or self._core.is_closed:
            return
        limit = checked_timeout(timeout)
        deadlines = self._core.limits.closing(limit)
        if not self._closing.acquire(timeout=-1 if limit is None else limit):
            return  # another thread closes it, and takes longer
        try:
            # A close that a signal has interrupted may have ended the thread, and no more.
            if self._thread.loop is not None and not self._thread.has_ended:
                with self._core.wakeups.kept_for_later():
                    self._run(steps_of(deadlines))
        finally:
            self._thread.close()
            self._core.end()
            self._closing.release()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._finish_after(error)
        self.close()

    if not TYPE_CHECKING:  # where a type checker finds the mistake by itself

        def __aiter__(self) -> NoReturn:
            raise self._needs_no_async("for")

    def _abandon(self) -> None:
        self._thread.end_after(self._core.abandon)

    # -- how it waits, and who may use it ----------------------------------------------------------

    def _begin(self) -> None:
        if not self._core.is_started and not self._core.is_closed:
            self._thread.call(self._core.wakeups.interruptible(self._core.start))
        self._core.subscription_calls.check_reading()

    def _attend(self, deadline: float | None) -> None:
        self._run(self._attend_steps(deadline))

    def _run(self, steps: Steps[R], *, alone: bool = False) -> R:
        """Do the steps of a call; ``alone`` while no other thread uses the consumer."""
        if not alone:
            return run(steps, self._do)
        self._refuse_others()
        with self._use:
            return run(steps, self._do)

    def _do(self, step: Step) -> Any:
        if isinstance(step, OnLoop):
            return self._thread.call(step.function())
        if isinstance(step, TellOfCommit):
            told = step.commit.tell()
            if inspect.iscoroutine(told):
                told.close()
                raise StateError("the callback of a blocking consumer cannot be a coroutine")
            return None
        raise NotImplementedError

    def _at_once(self, function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
        """Call a function that never waits on the loop, while no other thread uses the consumer."""

        async def call() -> R:
            return function(*args, **kwargs)

        self._refuse_others()
        with self._use:
            return self._ask(call)

    def _at_once_on_loop(self, function: Callable[..., R], *args: Any) -> R:
        return self._at_once(function, *args)

    def _now_on_loop(self, function: Callable[..., R], *args: Any) -> R:
        async def call() -> R:
            return function(*args)

        return self._ask(call)

    def _ask(
        self, call: Callable[P, Coroutine[Any, Any, R]], *args: P.args, **kwargs: P.kwargs
    ) -> R:
        """Await a call on the loop, after what a signal has interrupted is undone."""
        self._guard.check()
        self._leave_interrupted_poll()
        return self._thread.call(call(*args, **kwargs))

    def _wait_for(
        self, call: Callable[P, Coroutine[Any, Any, R]], *args: P.args, **kwargs: P.kwargs
    ) -> R:
        """Do the same with a call that :meth:`wakeup` may interrupt."""
        return self._ask(self._interruptible(call), *args, **kwargs)

    def _leave_interrupted_poll(self) -> None:
        """Go back if a signal handler has ended a poll: nothing got the records that it took.

        Another thread may begin to poll at any moment, so it is kept out meanwhile.
        """
        if self._reader.is_under_way and self._user is None and self._is_taker():
            with self._use:
                if self._user is None:
                    self._reader.go_back()

    def _is_taker(self) -> bool:
        taker = self._taker
        return taker is None or taker is threading.current_thread() or not taker.is_alive()

    def _caller(self) -> object:
        return threading.current_thread()

    def _refuse_others(self) -> None:
        self._guard.check()  # a thread that does not exist in a forked child may hold the lock
        # Nothing is held after this: the lock is taken with ``with``, which is the only way that
        # the handler of a signal cannot leave it locked.
        thread = threading.current_thread()
        if self._user not in (None, thread) or self._processor not in (None, thread):
            raise in_use_by("thread")

    @property
    def _guard(self) -> ForkGuard:
        return self._thread.guard
