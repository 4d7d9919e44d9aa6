"""Run asyncio code in virtual time: when everybody waits, the clock jumps to the next timer."""

from __future__ import annotations

import asyncio
import functools
import selectors
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")

START_MS = 1_700_000_000_000


class VirtualClock:
    """A clock that stands still until it is advanced; implements :class:`pyk.runtime.Clock`."""

    def __init__(self, seconds: float = 0.0) -> None:
        self.seconds = seconds

    def now(self) -> float:
        return self.seconds

    def time_ms(self) -> int:
        return START_MS + int(self.seconds * 1000)

    def advance(self, seconds: float) -> None:
        self.seconds += seconds


class _JumpingSelector(selectors.DefaultSelector):
    """Instead of waiting for the timeout, advance the clock by it."""

    def __init__(self, clock: VirtualClock) -> None:
        super().__init__()
        self._clock = clock

    def select(self, timeout: float | None = None) -> list[Any]:
        ready = super().select(0)
        if ready or timeout == 0:
            return ready
        if timeout is None:
            ready = super().select(5)  # only another thread could wake the loop now
            if not ready:
                raise RuntimeError("deadlock: every task waits, and no timer is set")
            return ready
        self._clock.advance(timeout)
        return ready


class VirtualLoop(asyncio.SelectorEventLoop):
    """An event loop whose time is a :class:`VirtualClock`."""

    def __init__(self) -> None:
        self.clock = VirtualClock()
        super().__init__(_JumpingSelector(self.clock))

    def time(self) -> float:
        return self.clock.now()


def run_virtual(main: Coroutine[Any, Any, R]) -> R:
    """Run a coroutine to its end in virtual time and return its result."""
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        return runner.run(main)


def current_clock() -> VirtualClock:
    """Return the clock of the running virtual loop."""
    loop = asyncio.get_running_loop()
    assert isinstance(loop, VirtualLoop)
    return loop.clock


async def eventually(condition: Callable[[], bool], timeout: float = 60) -> None:
    """Return once a condition holds; fail if it does not come to."""
    deadline = current_clock().now() + timeout
    while not condition():
        assert current_clock().now() < deadline, "it did not come to pass"
        await asyncio.sleep(0.05)


def virtual_time(test: Callable[P, Awaitable[None]]) -> Callable[P, None]:
    """Decorate an async test: it runs in virtual time, to pytest it is an ordinary function."""

    @functools.wraps(test)
    def run(*args: P.args, **kwargs: P.kwargs) -> None:
        async def main() -> None:
            await test(*args, **kwargs)

        run_virtual(main())

    return run
