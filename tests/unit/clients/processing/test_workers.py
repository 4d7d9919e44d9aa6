"""How many tasks run the jobs of ``process()``."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from pyk.clients.processing import workers as module
from pyk.clients.processing.workers import Workers


class Handlers:
    """Jobs that are ready, and the workers that handle them: each handler waits to be ended."""

    def __init__(self, most: int = 100_000, waits: bool = True) -> None:
        self.ready: deque[int] = deque()
        self.is_stopping = False
        self.running: deque[asyncio.Future[None]] = deque()
        self.handled = 0
        self.tasks: set[asyncio.Task[Any] | None] = set()
        self.errors: list[BaseException] = []
        self.looks = 0
        self._waits = waits
        jobs: Any = self
        self.workers = Workers(jobs, most, self._run, self.errors.append)

    @property
    def ready_count(self) -> int:
        self.looks += 1
        return 0 if self.is_stopping else len(self.ready)

    def read(self, count: int) -> None:
        self.ready.extend(range(count))
        self.workers.jobs_came(count)

    def end(self, count: int, error: Exception | None = None) -> None:
        for _ in range(count):
            handler = self.running.popleft()
            handler.set_result(None) if error is None else handler.set_exception(error)

    async def _run(self) -> None:
        self.tasks.add(asyncio.current_task())
        count = 0
        while self.ready and not self.is_stopping:
            self.ready.popleft()
            if self._waits:
                handler = asyncio.get_running_loop().create_future()
                self.running.append(handler)
                await handler
            self.handled += 1
            count += 1
            if count % 64 == 0:
                await asyncio.sleep(0)


Make = Callable[..., Handlers]


@pytest.fixture
async def make() -> AsyncIterator[Make]:
    made: list[Handlers] = []

    def make(**options: Any) -> Handlers:
        made.append(Handlers(**options))
        return made[-1]

    yield make
    for handlers in made:
        handlers.is_stopping = True
        await handlers.workers.stop(0.0)


async def turns(count: int) -> None:
    for _ in range(count):
        await asyncio.sleep(0)


async def test_handlers_that_wait_soon_run_side_by_side(make: Make) -> None:
    handlers = make()

    handlers.read(10_000)
    await turns(10)

    assert len(handlers.running) == 10_000


async def test_handlers_that_never_wait_need_few_workers(make: Make) -> None:
    handlers = make(waits=False)

    for _ in range(20):
        handlers.read(500)
        await turns(1)
    await turns(10)

    assert handlers.handled == 10_000
    assert len(handlers.tasks) < 100


async def test_no_more_handlers_run_than_may(make: Make) -> None:
    handlers = make(most=10)

    handlers.read(100)
    await turns(10)

    assert len(handlers.running) == len(handlers.tasks) == 10


async def test_nobody_looks_again_and_again_while_all_workers_are_at_work(make: Make) -> None:
    handlers = make(most=10)
    handlers.read(100)
    await turns(10)
    looks = handlers.looks

    await turns(10)

    assert handlers.looks == looks


async def test_nobody_looks_again_and_again_when_there_is_nothing_to_do(make: Make) -> None:
    handlers = make()
    handlers.read(3)
    await turns(10)
    handlers.end(3)
    await turns(10)
    looks = handlers.looks

    await turns(10)

    assert handlers.looks == looks


async def test_workers_whose_handlers_end_go_on_with_what_was_just_read(
    make: Make,
) -> None:
    handlers = make()
    handlers.read(100)
    await turns(10)

    for _ in range(5):
        handlers.read(100)
        handlers.end(100)  # which they notice in the next turn, after the first look
        await turns(3)

    assert len(handlers.running) == 100
    assert len(handlers.tasks) == 100


async def test_records_that_nobody_goes_on_with_get_other_workers(make: Make) -> None:
    handlers = make()
    handlers.read(2)
    await turns(10)

    handlers.read(5)
    await turns(10)

    assert len(handlers.running) == 7


async def test_workers_that_wait_are_woken_before_others_are_started(
    make: Make,
) -> None:
    handlers = make()
    handlers.read(10)
    await turns(10)
    handlers.end(10)
    await turns(10)

    handlers.read(10)
    await turns(10)

    assert len(handlers.running) == 10
    assert len(handlers.tasks) == 10


async def test_more_workers_than_may_wait_end(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_IDLE", 4)
    handlers = make()
    handlers.read(10)
    await turns(10)

    handlers.end(10)
    await turns(10)

    assert sum(not task.done() for task in handlers.tasks if task is not None) == 4


async def test_another_worker_goes_on_after_one_that_fails(make: Make) -> None:
    handlers = make(most=1)
    handlers.read(2)
    await turns(10)

    handlers.end(1, ValueError("no"))
    await turns(10)

    assert [str(error) for error in handlers.errors] == ["no"]
    assert len(handlers.running) == 1


async def test_a_stop_wakes_those_that_wait_and_cancels_those_that_do_not_end(make: Make) -> None:
    handlers = make()
    handlers.read(10)
    await turns(10)
    handlers.end(5)
    await turns(10)

    handlers.is_stopping = True
    await handlers.workers.stop(0.0)

    assert all(task is not None and task.done() for task in handlers.tasks)
    assert len(handlers.running) == 5
    assert all(handler.cancelled() for handler in handlers.running)
