"""Steps that are repeated until they succeed, or a newer one of the same name replaces them."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from pyk.reference_broker.retried_steps import LAST_RETRY_MS, RetriedSteps
from pyk.runtime.timers import Moment, TimerQueue


class Steps:
    """Steps in virtual time; ``failing`` are those that fail, ``taken`` all that were tried."""

    def __init__(self) -> None:
        self.now = 0.0
        self.timers = TimerQueue(lambda _: None)
        self.steps = RetriedSteps(self.timers, lambda: Moment(self.now, 0))
        self.failing: set[str] = set()
        self.taken: list[str] = []

    def step(self, text: str, then: Callable[[], None] = lambda: None) -> Callable[[], None]:
        def run() -> None:
            self.taken.append(text)
            if text in self.failing:
                raise OSError(text)
            then()

        return run

    def carry_out(self, name: str, text: str) -> None:
        self.steps.carry_out(name, self.step(text))

    def times_of(self, text: str, count: int) -> list[int]:
        """Return at which milliseconds a step is tried the next ``count`` times."""
        times: list[int] = []
        while len(times) < count and self.now < 60:
            before = self.taken.count(text)
            self.now += 0.5
            self.timers.advance(self.now)
            if self.taken.count(text) > before:
                times.append(round(self.now * 1000))
        return times

    def wait(self) -> None:
        """Let the time pass after which steps are repeated at the latest."""
        self.now += LAST_RETRY_MS / 1000
        self.timers.advance(self.now)


def test_a_step_that_fails_is_repeated_until_it_succeeds() -> None:
    steps = Steps()
    steps.failing.add("open")
    steps.carry_out("log", "open")
    steps.wait()
    steps.failing.clear()

    steps.wait()
    steps.wait()

    assert steps.taken == ["open", "open", "open"]
    assert "log" not in steps.steps


def test_a_newer_step_replaces_one_that_failed() -> None:
    steps = Steps()
    steps.failing.add("open")
    steps.carry_out("log", "open")

    steps.carry_out("log", "delete")
    steps.wait()

    assert steps.taken == ["open", "delete"]


def test_a_step_is_repeated_though_the_one_that_it_replaced_was_due_at_the_same_time() -> None:
    steps = Steps()
    steps.failing |= {"open", "load the old log", "load the new log"}
    load_new = steps.step("load the new log")
    steps.steps.carry_out(
        "opening", steps.step("open", lambda: steps.steps.carry_out("loading", load_new))
    )
    steps.carry_out("loading", "load the old log")

    steps.failing -= {"open", "load the old log"}
    steps.wait()
    assert "loading" in steps.steps
    steps.failing.clear()
    steps.wait()

    assert steps.taken[-1] == "load the new log"
    assert steps.taken.count("load the old log") == 1


def test_steps_are_repeated_less_and_less_often_and_soon_again_once_one_succeeds() -> None:
    steps = Steps()
    steps.failing.update({"open", "delete"})
    steps.carry_out("log", "open")
    steps.carry_out("old log", "delete")

    assert steps.times_of("open", 5) == [500, 1500, 3500, 7500, 12_500]

    steps.failing.remove("delete")
    assert steps.times_of("open", 2) == [17_500, 18_000]


def test_a_failure_of_the_disk_is_one_line_and_a_bug_has_a_traceback(
    caplog: pytest.LogCaptureFixture,
) -> None:
    steps = Steps()
    steps.failing.add("open")

    steps.carry_out("log", "open")
    steps.steps.carry_out("bug", [].pop)

    assert [bool(record.exc_info) for record in caplog.records] == [False, True]
