from __future__ import annotations

import asyncio

from pyk.runtime.timer_driver import TimerDriver
from pyk.runtime.timers import TimerQueue
from pyk.runtime.virtual_time import current_clock, virtual_time


class Recorder:
    """A timer queue that records the events that it runs and the deadlines that it arms."""

    def __init__(self) -> None:
        self.armed: list[float] = []
        self.ran: list[tuple[str, float]] = []
        self.queue = TimerQueue(self.armed.append)

    def schedule(self, name: str, deadline: float) -> None:
        self.queue.schedule(name, deadline, lambda now: self.ran.append((name, now)))


def test_events_run_in_the_order_of_their_deadlines() -> None:
    timers = Recorder()
    timers.schedule("late", 3)
    timers.schedule("early", 1)
    timers.schedule("never", 9)

    timers.queue.advance(4)

    assert timers.ran == [("early", 4), ("late", 4)]
    assert len(timers.queue) == 1


def test_events_of_one_deadline_run_in_the_order_in_which_they_were_scheduled() -> None:
    timers = Recorder()
    for name in ("first", "second", "third"):
        timers.schedule(name, 1)

    timers.queue.advance(1)

    assert [name for name, _ in timers.ran] == ["first", "second", "third"]


def test_scheduling_again_moves_the_deadline_either_way() -> None:
    timers = Recorder()
    timers.schedule("later", 1)
    timers.schedule("later", 5)
    timers.schedule("earlier", 9)
    timers.schedule("earlier", 2)

    timers.queue.advance(4)
    assert timers.ran == [("earlier", 4)]
    timers.queue.advance(5)

    assert timers.ran == [("earlier", 4), ("later", 5)]


def test_a_cancelled_event_does_not_run_even_if_scheduled_again_for_later() -> None:
    timers = Recorder()
    timers.schedule("a", 1)

    assert timers.queue.cancel("a")
    assert not timers.queue.cancel("a")
    timers.schedule("a", 3)
    timers.queue.advance(2)

    assert timers.ran == []
    timers.queue.advance(3)
    assert timers.ran == [("a", 3)]


def test_it_arms_only_when_the_next_deadline_comes_nearer() -> None:
    timers = Recorder()

    timers.schedule("a", 5)
    timers.schedule("b", 7)
    timers.schedule("c", 2)

    assert timers.armed == [5, 2]


def test_it_arms_for_the_next_event_after_it_ran() -> None:
    timers = Recorder()
    timers.schedule("a", 1)
    timers.schedule("b", 5)

    timers.queue.advance(1)

    assert timers.armed == [1, 5]


def test_an_event_may_schedule_the_next() -> None:
    timers = Recorder()
    timers.queue.schedule("first", 1, lambda now: timers.schedule("second", now + 1))

    timers.queue.advance(1)
    timers.queue.advance(2)

    assert timers.ran == [("second", 2)]
    assert timers.armed == [1, 2]


@virtual_time
async def test_a_closed_driver_runs_nothing_that_was_scheduled_before() -> None:
    driver = TimerDriver(current_clock())
    ran: list[float] = []
    driver.queue.schedule("before", 1, ran.append)

    driver.close()
    await asyncio.sleep(2)

    assert ran == []


@virtual_time
async def test_a_closed_driver_runs_nothing_that_is_scheduled_later() -> None:
    clock = current_clock()
    driver = TimerDriver(clock)
    ran: list[float] = []
    driver.queue.schedule("before", 1, ran.append)

    driver.close()
    driver.queue.schedule("after", 0.5, ran.append)
    await asyncio.sleep(2)

    assert ran == []


def test_an_event_that_fails_does_not_stop_those_after_it() -> None:
    timers = Recorder()

    def fail(now: float) -> None:
        raise ZeroDivisionError

    timers.queue.schedule("bad", 1, fail)
    timers.schedule("good", 2)
    try:
        timers.queue.advance(1)
    except ZeroDivisionError:
        timers.queue.advance(2)

    assert timers.ran == [("good", 2)]
    assert timers.armed == [1, 2]
