"""Work that a caller that drives the loop leaves to the thread that runs the next turn."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator

import pytest

from pyk.clients.engine.thread import LoopThread
from support.loop_threads import ident
from support.real_time import IN_TIME, eventually, took

GRACE_SECONDS = 10.0  # however slowly this test runs


@pytest.fixture
def thread() -> Iterator[LoopThread]:
    thread = LoopThread("consumer")
    thread.call(ident())
    yield thread
    thread.close()


async def call_later(seconds: float, function: Callable[[], object]) -> None:
    asyncio.get_running_loop().call_later(seconds, function)


def drive_and_leave(thread: LoopThread, done: list[str]) -> bool:
    """Wait for a turn of the loop that leaves work; return whether this thread drove it."""
    waiter, left = thread.new_waiter(), []

    def turn() -> None:
        waiter.set()
        left.append(thread.leave(lambda: done.append("left work"), waiter))

    thread.post(turn)
    assert waiter.wait(IN_TIME)
    return left == [True]


def drives_and_leaves(thread: LoopThread, done: list[str]) -> bool:
    done.clear()
    return drive_and_leave(thread, done)


def test_a_caller_that_comes_back_runs_the_work_that_it_left(thread: LoopThread) -> None:
    thread._drivers.handover.grace = GRACE_SECONDS
    done: list[str] = []
    # The background thread may drive at first; it naps once it finds a caller.
    eventually(lambda: drives_and_leaves(thread, done))
    assert done == []

    thread.call(ident())

    assert done == ["left work"]


def test_the_background_thread_does_it_if_the_caller_stays_away(thread: LoopThread) -> None:
    for _ in range(20):
        done: list[str] = []
        eventually(lambda done=done: drives_and_leaves(thread, done))

        eventually(lambda done=done: done == ["left work"])


def test_the_background_thread_does_it_although_it_slept_for_long(thread: LoopThread) -> None:
    done: list[str] = []
    asleep = thread.new_waiter()
    eventually(lambda: not asleep.wait(0.1) and drives_and_leaves(thread, done))

    eventually(lambda: done == ["left work"])


def test_work_cannot_be_left_to_a_thread_that_does_not_drive(thread: LoopThread) -> None:
    done: list[str] = []
    answers: list[bool] = []
    stranger = thread.new_waiter()

    thread.post(lambda: answers.append(thread.leave(lambda: done.append("work"), stranger)))

    eventually(lambda: answers == [False])
    thread.call(ident())
    assert done == []


def test_a_caller_notices_that_left_work_has_set_its_waiter(thread: LoopThread) -> None:
    thread._drivers.handover.grace = GRACE_SECONDS
    waits: list[float] = []

    def waits_for_left_work() -> bool:
        waiter, next_waiter, left = thread.new_waiter(), thread.new_waiter(), []

        def turn() -> None:
            waiter.set()
            left.append(thread.leave(next_waiter.set, waiter))

        # By a timer: what other threads give the loop wakes the background thread.
        thread.call(call_later(0.01, turn))
        assert waiter.wait(IN_TIME)
        if left != [True]:
            return False
        waits.append(took(lambda: next_waiter.wait(2 * IN_TIME)))
        return True

    # Not the main thread, which wakes up for signals.
    caller = threading.Thread(target=lambda: eventually(waits_for_left_work))
    caller.start()
    caller.join()

    assert [wait < IN_TIME for wait in waits] == [True]


def test_left_work_that_fails_does_not_end_the_loop(thread: LoopThread) -> None:
    def fail() -> None:
        raise ValueError("a bug")

    def drives_and_leaves_a_bug() -> bool:
        waiter, left = thread.new_waiter(), []

        def turn() -> None:
            waiter.set()
            left.append(thread.leave(fail, waiter))

        thread.post(turn)
        return waiter.wait(IN_TIME) and left == [True]

    eventually(drives_and_leaves_a_bug)

    thread.call(ident())


def test_left_work_that_fails_does_not_take_other_work_with_it(thread: LoopThread) -> None:
    done: list[str] = []

    def fail() -> None:
        raise ValueError("a bug")

    def drives_and_leaves_both() -> bool:
        waiter, left = thread.new_waiter(), []

        def turn() -> None:
            waiter.set()
            left.append(thread.leave(fail, waiter))
            if left == [True]:
                thread.leave(lambda: done.append("left work"), waiter)

        thread.post(turn)
        return waiter.wait(IN_TIME) and left == [True]

    eventually(drives_and_leaves_both)

    eventually(lambda: done == ["left work"])
