"""Every task has an owner, which learns of its failure and ends it."""

from __future__ import annotations

import asyncio
import logging

import pytest

from pyk.clients.engine.race import NoResponseError, first_response
from pyk.clients.errors import NodeUnavailableError
from pyk.runtime.supervisor import Supervisor
from pyk.runtime.virtual_time import current_clock, virtual_time


async def for_ever() -> None:
    await asyncio.Event().wait()


@virtual_time
async def test_tasks_are_known_by_name_while_they_run() -> None:
    supervisor = Supervisor(current_clock())
    supervisor.spawn("keep metadata", for_ever())
    supervisor.spawn("brief", asyncio.sleep(1))
    assert supervisor.task_names == ["brief", "keep metadata"]

    await asyncio.sleep(2)

    assert supervisor.task_names == ["keep metadata"]
    await supervisor.close(current_clock().now() + 1)


@virtual_time
async def test_closing_ends_all_tasks() -> None:
    supervisor = Supervisor(current_clock())
    tasks = [supervisor.spawn(f"task {n}", for_ever()) for n in range(3)]

    await supervisor.close(current_clock().now() + 1)

    assert all(task.cancelled() for task in tasks)


@virtual_time
async def test_closing_does_not_wait_for_a_task_that_will_not_end() -> None:
    async def stubborn() -> None:
        while True:
            try:
                await asyncio.sleep(3)
                return
            except asyncio.CancelledError:
                continue

    supervisor = Supervisor(current_clock())
    supervisor.spawn("stubborn", stubborn())
    await asyncio.sleep(0)

    await supervisor.close(current_clock().now() + 1)

    assert current_clock().now() == 1.0
    await asyncio.sleep(5)


@virtual_time
async def test_a_task_may_close_its_own_supervisor() -> None:
    supervisor = Supervisor(current_clock())
    other = supervisor.spawn("other", for_ever())

    closing = supervisor.spawn("close", supervisor.close(current_clock().now() + 1))
    await closing

    assert other.cancelled()


@virtual_time
async def test_a_task_has_a_moment_to_clean_up_although_the_time_is_over() -> None:
    cleaned_up: list[str] = []

    async def clean_up() -> None:
        try:
            await for_ever()
        finally:
            await asyncio.sleep(0.05)
            cleaned_up.append("done")

    supervisor = Supervisor(current_clock())
    supervisor.spawn("clean up", clean_up())
    await asyncio.sleep(0)

    await supervisor.close(current_clock().now() - 1)

    assert cleaned_up == ["done"]


@virtual_time
async def test_a_task_that_is_cancelled_has_not_failed() -> None:
    failures: list[str] = []
    supervisor = Supervisor(current_clock(), lambda name, error: failures.append(name))
    supervisor.spawn("cancelled", for_ever()).cancel()

    await asyncio.sleep(1)

    assert failures == []
    await supervisor.close(current_clock().now() + 1)


@virtual_time
async def test_no_task_can_be_started_after_close() -> None:
    supervisor = Supervisor(current_clock())
    await supervisor.close(current_clock().now())

    with pytest.raises(RuntimeError, match="late"):
        supervisor.spawn("late", for_ever())


@virtual_time
async def test_a_task_that_fails_is_logged_and_reported() -> None:
    failures: list[tuple[str, BaseException]] = []
    supervisor = Supervisor(current_clock(), lambda name, error: failures.append((name, error)))

    async def fail() -> None:
        raise KeyError("a mistake")

    records: list[logging.LogRecord] = []
    handler = logging.Handler()
    handler.emit = records.append  # type: ignore[method-assign]
    logger = logging.getLogger("pyk.runtime.supervisor")
    logger.addHandler(handler)
    supervisor.spawn("fetch", fail())
    await asyncio.sleep(0.1)
    logger.removeHandler(handler)

    assert [(name, type(error)) for name, error in failures] == [("fetch", KeyError)]
    assert [record.getMessage() for record in records] == ["Task fetch failed"]
    await supervisor.close(current_clock().now() + 1)


# -- the first answer of several -------------------------------------------------------------------


class Asked:
    """Answers after a time of its own, or fails."""

    def __init__(self, answers: dict[str, tuple[float, object]]) -> None:
        self.answers = answers
        self.asked: list[str] = []
        self.cancelled: list[str] = []

    async def __call__(self, name: str) -> object:
        self.asked.append(name)
        seconds, answer = self.answers[name]
        try:
            await asyncio.sleep(seconds)
        except asyncio.CancelledError:
            self.cancelled.append(name)
            raise
        if isinstance(answer, Exception):
            raise answer
        return answer


@virtual_time
async def test_only_the_first_is_asked_if_it_answers_soon() -> None:
    ask = Asked({"a": (0.1, 1), "b": (0.0, 2)})

    assert await first_response("ab", ask, head_start=0.5) == 1
    assert ask.asked == ["a"]


@virtual_time
async def test_the_next_is_asked_when_the_first_is_silent_and_the_first_is_given_up() -> None:
    ask = Asked({"a": (60, 1), "b": (0.1, 2)})

    assert await first_response("ab", ask, head_start=0.5) == 2
    assert current_clock().now() == pytest.approx(0.6)
    assert ask.cancelled == ["a"]


@virtual_time
async def test_the_next_is_asked_at_once_when_the_first_fails() -> None:
    ask = Asked({"a": (0.0, NodeUnavailableError("down")), "b": (0.1, 2)})

    assert await first_response("ab", ask, head_start=0.5) == 2
    assert current_clock().now() == pytest.approx(0.1)


@virtual_time
async def test_a_late_answer_of_the_first_is_as_good() -> None:
    ask = Asked({"a": (1.0, 1), "b": (60, 2)})

    assert await first_response("ab", ask, head_start=0.5) == 1


@virtual_time
async def test_when_all_fail_all_errors_are_there() -> None:
    errors = [NodeUnavailableError("one"), NodeUnavailableError("two")]
    ask = Asked({"a": (0.0, errors[0]), "b": (0.0, errors[1])})

    with pytest.raises(NoResponseError) as raised:
        await first_response("ab", ask, head_start=0.5)

    assert raised.value.errors == errors


@virtual_time
async def test_a_mistake_is_not_taken_for_a_failure_to_answer() -> None:
    ask = Asked({"a": (0.0, KeyError("a mistake")), "b": (0.0, 2)})

    with pytest.raises(KeyError):
        await first_response("ab", ask, head_start=0.5)


@virtual_time
async def test_a_cancelled_waiter_leaves_no_task() -> None:
    ask = Asked({"a": (60, 1), "b": (60, 2)})
    waiting = asyncio.ensure_future(first_response("ab", ask, head_start=0.5))
    await asyncio.sleep(1)

    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)

    assert sorted(ask.cancelled) == ["a", "b"]
    assert asyncio.all_tasks() == {asyncio.current_task()}
