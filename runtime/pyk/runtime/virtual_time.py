"""Run asyncio code in virtual time: when all tasks wait, the clock jumps to the next timer."""

from __future__ import annotations

import asyncio
import contextvars
import functools
import heapq
import inspect
import itertools
import selectors
import threading
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from typing import Any, ParamSpec, TypeVar, TypeVarTuple

P = ParamSpec("P")
R = TypeVar("R")
Ts = TypeVarTuple("Ts")

START_MS = 1_700_000_000_000
FEWEST_TIMERS_TO_SWEEP = 100
PATIENCE_SECONDS = 5
"""How long other threads may take, in real time, to wake a loop that has no timer."""


class DeadlockError(RuntimeError):
    """Every task waits and no timer is set, so nothing can happen any more."""


class VirtualClock:
    """A :class:`~pyk.runtime.clock.Clock` that stands still until it is advanced."""

    def __init__(self, seconds: float = 0.0) -> None:
        self.seconds = seconds

    def now(self) -> float:
        return self.seconds

    def time_ms(self) -> int:
        return START_MS + int(self.seconds * 1000)

    def advance(self, seconds: float) -> None:
        """Move the clock, never to before a deadline that lies so far ahead.

        A sum of floats may be too small: ten steps of 0.1 s end 1e-16 s before one second, and what
        is due then would not be. It is rounded to nanoseconds if that is later.
        """
        reached = self.seconds + seconds
        self.seconds = max(reached, round(reached, 9))


class VirtualLoop(asyncio.SelectorEventLoop):
    """An event loop whose time is a :class:`VirtualClock`.

    Timers of one moment run in the order in which they were set, so that nothing depends on how a
    heap breaks ties. Descriptors are watched, but a loop in virtual time mostly has none: then a
    turn makes no system call.
    """

    # asyncio's own, which typeshed does not know:
    _ready: deque[Any]
    _selector: selectors.BaseSelector
    _stopping: bool
    _timer_cancelled_count: int
    _check_closed: Callable[[], None]
    _process_events: Callable[[list[Any]], None]

    def __init__(self, clock: VirtualClock | None = None) -> None:
        self.clock = clock or VirtualClock()
        self._jobs_of_threads = 0
        self._timers: list[tuple[float, int, Any]] = []
        self._timer_count = itertools.count()
        super().__init__()
        self._descriptors = self._selector.get_map()
        self._own_descriptors = len(self._descriptors)

    def time(self) -> float:
        return self.clock.seconds

    def run_in_executor(
        self, executor: Any, function: Callable[[*Ts], R], *args: *Ts
    ) -> asyncio.Future[R]:
        """Run a function on another thread; the clock stands still until it is done."""
        job = super().run_in_executor(executor, function, *args)
        self._jobs_of_threads += 1
        job.add_done_callback(self._job_done)
        return job

    def _job_done(self, _: object) -> None:
        self._jobs_of_threads -= 1

    def call_at(
        self,
        when: float,
        callback: Callable[[*Ts], object],
        *args: *Ts,
        context: contextvars.Context | None = None,
    ) -> asyncio.TimerHandle:
        """Call a function at a time of the virtual clock."""
        self._check_closed()
        handle: Any = asyncio.TimerHandle(when, callback, args, self, context)
        handle._scheduled = True
        heapq.heappush(self._timers, (when, next(self._timer_count), handle))
        return handle  # type: ignore[no-any-return]

    def _run_once(self) -> None:
        """Run a turn. Replaces asyncio's, which really waits, and compares timers in Python."""
        ready = self._ready
        if not (ready or self._stopping):
            self._wait()
        timers, now = self._timers, self.clock.seconds
        while timers and timers[0][0] <= now:
            handle = heapq.heappop(timers)[2]
            handle._scheduled = False
            ready.append(handle)
        for _ in range(len(ready)):
            handle = ready.popleft()
            if not handle._cancelled:
                handle._run()

    def _wait(self) -> None:
        """Let the clock jump to the next timer; without one, wait for other threads."""
        timers = self._timers
        if self._timer_cancelled_count > max(FEWEST_TIMERS_TO_SWEEP, len(timers) // 2):
            timers[:] = [each for each in timers if not each[2]._cancelled]
            heapq.heapify(timers)
            self._timer_cancelled_count = 0
        while timers and timers[0][2]._cancelled:
            heapq.heappop(timers)[2]._scheduled = False
            self._timer_cancelled_count -= 1
        if self._jobs_of_threads:
            self._process_events(self._selector.select())
        elif not timers or len(self._descriptors) > self._own_descriptors:
            self._process_events(self._selector.select(0 if timers else self._patience()))
        if self._ready or self._jobs_of_threads:
            return
        if not timers:
            raise DeadlockError(f"every task waits, and no timer is set:{_waiting(self)}")
        self.clock.seconds = max(self.clock.seconds, timers[0][0])

    def _patience(self) -> float:
        """Return how long to wait for what is outside of this loop: not if there is nothing."""
        has_sockets = len(self._descriptors) > self._own_descriptors
        return PATIENCE_SECONDS if has_sockets or threading.active_count() > 1 else 0


def _waiting(loop: asyncio.AbstractEventLoop) -> str:
    """Return what each task waits in, from its own function to the innermost one."""
    lines = []
    for task in asyncio.all_tasks(loop):
        places = [
            f"{frame.f_code.co_filename}:{frame.f_lineno} in {frame.f_code.co_name}"
            for frame in _frames(task.get_coro())
            if frame.f_code.co_filename != __file__
        ]
        lines.append(f"\n  {task.get_name()} waits at {', '.join(places) or 'its end'}")
    return "".join(sorted(lines))


def _frames(waiting: Any) -> Iterator[Any]:
    """Yield the frames of a coroutine and of those that it awaits, where they are known."""
    while waiting is not None:
        frame = getattr(waiting, "cr_frame", None) or getattr(waiting, "gi_frame", None)
        if frame is not None:
            yield frame
        waiting = getattr(waiting, "cr_await", None) or getattr(waiting, "gi_yieldfrom", None)


def run_virtual(main: Coroutine[Any, Any, R], clock: VirtualClock | None = None) -> R:
    """Run a coroutine to its end in virtual time and return its result."""
    if not asyncio.iscoroutine(main):
        raise TypeError(f"run() takes a coroutine, as in run(main()), not {main!r}")
    if asyncio._get_running_loop() is not None:
        main.close()
        raise RuntimeError(
            "an event loop is running here already: await the coroutine, or call run() from code "
            "that is not async"
        )
    with asyncio.Runner(loop_factory=lambda: VirtualLoop(clock)) as runner:
        return runner.run(main)


def current_clock() -> VirtualClock:
    """Return the clock of the running virtual loop; raise ``RuntimeError`` outside of one."""
    loop = asyncio._get_running_loop()
    if not isinstance(loop, VirtualLoop):
        raise RuntimeError(
            "this needs virtual time: decorate the async test with @virtual_time, or pass the "
            "coroutine to run_virtual()"
        )
    return loop.clock


async def eventually(condition: Callable[[], bool], timeout: float = 60) -> None:
    """Wait until a condition holds; fail if that never happens."""
    deadline = current_clock().now() + timeout
    while not condition():
        assert current_clock().now() < deadline, "the condition did not become true"
        await asyncio.sleep(0.05)


def virtual_time(test: Callable[P, Awaitable[None]]) -> Callable[P, None]:
    """Decorate an async test: it runs in virtual time, to pytest it is an ordinary function."""

    name = getattr(test, "__name__", repr(test))

    @functools.wraps(test)
    def run(*args: P.args, **kwargs: P.kwargs) -> None:
        async def main() -> None:
            running = test(*args, **kwargs)
            if not inspect.isawaitable(running):
                raise TypeError(f"@virtual_time is for async functions: write async def {name}")
            await running

        run_virtual(main())

    return run
