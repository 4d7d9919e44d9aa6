"""A thread and a task drive the same steps in the same way."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable, Generator
from typing import Any

import pytest

from pyk.clients.engine.steps import run, run_awaited
from support.interruptions import interrupted_at

Steps = Generator[str, Any, Any]
Drive = Callable[[Steps, Callable[[str], Any]], Any]


def in_a_task(steps: Steps, do: Callable[[str], Any]) -> Any:
    async def do_awaited(step: str) -> Any:
        return do(step)

    return asyncio.run(run_awaited(steps, do_awaited))


both_ways = pytest.mark.parametrize("drive", [run, in_a_task])


class Log:
    """Does each step by writing it down; ``errors`` are those of some."""

    def __init__(self, **errors: BaseException) -> None:
        self.done: list[str] = []
        self._errors = errors

    def do(self, step: str) -> str:
        self.done.append(step)
        if step in self._errors:
            raise self._errors[step]
        return step.upper()


def close_after_work() -> Steps:
    try:
        return (yield "work")
    finally:
        yield "close"


@both_ways
def test_a_step_returns_the_result_of_each_wait(drive: Drive) -> None:
    def steps() -> Steps:
        return [(yield "a"), (yield "b")]

    assert drive(steps(), Log().do) == ["A", "B"]


@both_ways
def test_steps_that_yield_nothing_return_at_once(drive: Drive) -> None:
    def steps() -> Steps:
        yield from ()
        return 7

    assert drive(steps(), Log().do) == 7


@both_ways
def test_an_error_of_a_step_is_raised_where_the_steps_wait(drive: Drive) -> None:
    log = Log(work=ValueError("no"))

    with pytest.raises(ValueError, match="no"):
        drive(close_after_work(), log.do)

    assert log.done == ["work", "close"]


@both_ways
def test_steps_may_go_on_after_an_error(drive: Drive) -> None:
    def steps() -> Steps:
        try:
            yield "work"
        except ValueError:
            return (yield "other work")

    assert drive(steps(), Log(work=ValueError()).do) == "OTHER WORK"


@both_ways
def test_an_error_of_the_last_step_wins_over_the_one_before(drive: Drive) -> None:
    log = Log(work=ValueError("first"), close=KeyError("last"))

    with pytest.raises(KeyError, match="last"):
        drive(close_after_work(), log.do)


def test_a_cancelled_task_does_the_steps_that_clean_up() -> None:
    done: list[str] = []

    async def do(step: str) -> None:
        done.append(step)
        if step == "work":
            await asyncio.sleep(3600)

    async def cancel_in_the_middle() -> None:
        task = asyncio.create_task(run_awaited(close_after_work(), do))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(cancel_in_the_middle())

    assert done == ["work", "close"]


def close_after_two_steps() -> Steps:
    try:
        yield "work"
        yield "more work"
    finally:
        yield "close"


def test_an_interrupt_at_any_place_does_not_keep_the_steps_from_cleaning_up() -> None:
    for number in itertools.count(1):
        log = Log()
        with interrupted_at(number, "engine/steps.py:run") as interruption:
            run(close_after_two_steps(), log.do)

        assert log.done[0] == "work"
        assert log.done[-1] == "close"
        assert log.done.count("close") == 1
        if not interruption.is_over:
            break
    assert number > 3
