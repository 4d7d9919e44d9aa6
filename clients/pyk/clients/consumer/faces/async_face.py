"""How an asyncio consumer of any kind waits, and who may use it."""

from __future__ import annotations

import asyncio
import functools
import inspect
import weakref
from collections.abc import Callable, Coroutine, Generator
from types import TracebackType
from typing import TYPE_CHECKING, Any, NoReturn, ParamSpec, TypeVar

from pyk.clients.consumer.faces.closing import ClosingDeadlines, warn_of_loop_end
from pyk.clients.consumer.faces.read_path import AsyncReadPath
from pyk.clients.consumer.faces.reading_core import ReadingCore
from pyk.clients.consumer.faces.reading_face import ReadingFace
from pyk.clients.consumer.faces.steps import OnLoop, Step, Steps, TellOfCommit
from pyk.clients.consumer.faces.task_waiter import TaskWaiter
from pyk.clients.engine.context import AsyncContext
from pyk.clients.engine.fork import ForkGuard
from pyk.clients.engine.steps import run_awaited
from pyk.clients.payload import K, V

P = ParamSpec("P")
R = TypeVar("R")


class AsyncFace(ReadingFace[K, V], AsyncReadPath, AsyncContext):
    """A consumer whose calls are awaited."""

    _other_caller = (
        ". Before Python 3.12 asyncio.wait_for() awaits in a task of its own: pass commit() a "
        "timeout, or use asyncio.timeout()"
    )

    def _create(self, core_of: Callable[..., ReadingCore]) -> None:
        """Create the core, which is given how to wake up the application."""
        waiter = TaskWaiter()
        core = core_of(on_data=waiter.set, on_records=waiter.set_before, on_room=_soon)
        core.warn_at_loop_end = functools.partial(warn_of_loop_end, weakref.ref(self))
        AsyncReadPath.__init__(self, core, waiter)

    async def start(self, timeout: float | None = None) -> None:
        """Connect. Entering the context manager does it, otherwise the first ``poll``.

        Raises :class:`BootstrapError`, which names every address and how far it came, as soon as
        all have failed, at the latest after ``timeout`` seconds (``request_timeout_ms``).
        """
        await self._core.start(timeout)

    async def close(self) -> None:
        """End; each kind of consumer says what that means for its records."""
        raise NotImplementedError

    async def _close(
        self, timeout: float | None, steps_of: Callable[[ClosingDeadlines], Steps[None]]
    ) -> None:
        if self._guard.is_forked or self._core.is_closed:
            return
        self._core.client.check_place()
        deadlines = self._core.limits.closing(timeout)
        with self._core.wakeups.kept_for_later():
            await self._run(steps_of(deadlines))

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._finish_after(error)
        await self.close()

    if not TYPE_CHECKING:  # where a type checker finds the mistake by itself

        def __iter__(self) -> NoReturn:
            raise self._needs_async("for")

    def _abandon(self) -> None:
        self._core.abandon_soon()

    # -- how it waits, and who may use it ----------------------------------------------------------

    async def _begin(self) -> None:
        if not self._core.is_started and not self._core.is_closed:
            await self._core.wakeups.interruptible(self._core.start)
        self._has_begun = True

    async def _attend(self, deadline: float | None) -> None:
        await self._run(self._attend_steps(deadline))

    async def _run(self, steps: Steps[R], *, alone: bool = False) -> R:
        """Do the steps of a call; ``alone`` while no other task is in poll or iteration."""
        if alone:
            self._refuse_others()
        return await run_awaited(steps, self._do)

    async def _wait_for(
        self, call: Callable[P, Coroutine[Any, Any, R]], *args: P.args, **kwargs: P.kwargs
    ) -> R:
        """Await a call that :meth:`wakeup` may interrupt."""
        return await self._interruptible(call)(*args, **kwargs)

    def _at_once(self, function: Callable[P, None], *args: P.args, **kwargs: P.kwargs) -> Done:
        """Call what never waits."""
        function(*args, **kwargs)
        return DONE

    def _at_once_on_loop(self, function: Callable[..., R], *args: Any) -> R:
        self._refuse_others()
        return self._now_on_loop(function, *args)

    def _now_on_loop(self, function: Callable[..., R], *args: Any) -> R:
        if self._user is None and self._is_taker():
            self._reader.go_back()
        return function(*args)

    async def _do(self, step: Step) -> Any:
        if isinstance(step, OnLoop):
            return await step.function()
        if isinstance(step, TellOfCommit):
            told = step.commit.tell()
            return await told if inspect.isawaitable(told) else None
        raise NotImplementedError

    def _is_taker(self) -> bool:
        taker = self._taker
        return taker is None or taker is asyncio.current_task() or taker.done()

    def _caller(self) -> object:
        return asyncio.current_task()

    def _refuse_others(self) -> None:
        self._refuse_other_tasks(asyncio.current_task())

    @property
    def _guard(self) -> ForkGuard:
        return self._core.client.guard


def _soon(look: Callable[[], None]) -> None:
    """Let the next fetch leave once everything that is buffered now is taken."""
    asyncio.get_running_loop().call_soon(look)


class Done:
    """The result of methods that never wait, which may be awaited as well."""

    def __await__(self) -> Generator[Any, None, None]:
        yield from ()


DONE = Done()
