from __future__ import annotations

import attrs

from pyk.reference_broker.delayed import Purgatory
from pyk.runtime.timers import TimerQueue


@attrs.define
class Waiting:
    """An operation that can be completed from outside."""

    is_ready: bool = False
    tries: int = 0
    has_expired: bool = False
    has_bug: bool = False
    has_failed: bool = False

    def try_complete(self) -> bool:
        self.tries += 1
        if self.has_bug:
            raise ValueError("a bug")
        return self.is_ready

    def expire(self) -> None:
        if self.has_bug:
            raise ValueError("a bug")
        self.has_expired = True

    def fail(self) -> None:
        self.has_failed = True


def new_purgatory() -> tuple[Purgatory, TimerQueue]:
    timers = TimerQueue(lambda _: None)
    return Purgatory("fetch", timers), timers


def test_any_key_that_moves_completes_the_operations_that_are_ready() -> None:
    purgatory, timers = new_purgatory()
    operation = Waiting()
    purgatory.watch(operation, ["a", "b", "a"], 5)

    assert purgatory.check("b") == 0
    operation.is_ready = True
    assert purgatory.check("c") == 0
    assert purgatory.check("b") == 1

    assert purgatory.check("a") == 0
    assert len(purgatory) == len(timers) == 0
    assert not operation.has_expired


def test_an_operation_is_tried_once_for_all_of_its_keys_that_moved() -> None:
    purgatory, _ = new_purgatory()
    wide, other = Waiting(), Waiting(is_ready=True)
    purgatory.watch(wide, range(1000), 5)
    purgatory.watch(other, [7], 5)

    assert purgatory.check(*range(1000)) == 1

    assert (wide.tries, other.tries) == (1, 1)


def test_at_the_deadline_the_response_has_the_available_records() -> None:
    purgatory, timers = new_purgatory()
    operation = Waiting()
    purgatory.watch(operation, ["a"], 5)

    timers.advance(4)
    assert not operation.has_expired
    timers.advance(5)

    assert operation.has_expired
    assert purgatory.check("a") == 0


def test_a_forgotten_operation_is_neither_tried_nor_expired() -> None:
    purgatory, timers = new_purgatory()
    operation = Waiting()
    watched = purgatory.watch(operation, ["a"], 5)

    purgatory.forget(watched)
    purgatory.check("a")
    timers.advance(5)

    assert operation.tries == 0
    assert not operation.has_expired


def test_a_response_may_cancel_another_operation_of_the_same_key() -> None:
    purgatory, _ = new_purgatory()
    second = Waiting(is_ready=False)
    ids: list[int] = []

    class ForgetsTheOther(Waiting):
        def try_complete(self) -> bool:
            if ids:
                purgatory.forget(ids[0])
            return bool(ids)

    purgatory.watch(ForgetsTheOther(), ["a"], 5)
    watched = purgatory.watch(second, ["a"], 5)
    ids.append(watched)

    assert purgatory.check("a") == 1
    assert second.tries == 0


def test_an_unexpected_error_of_one_ends_that_one_only(caplog) -> None:
    purgatory, _ = new_purgatory()
    broken, ready = Waiting(has_bug=True), Waiting(is_ready=True)
    purgatory.watch(broken, ["a"], 5)
    purgatory.watch(ready, ["a"], 5)

    assert purgatory.check("a") == 2

    assert (broken.tries, broken.has_failed, ready.tries) == (1, True, 1)
    assert len(purgatory) == 0
    assert "A delayed fetch failed because of a bug" in caplog.text


def test_an_error_of_a_response_affects_no_other_operation(caplog) -> None:
    purgatory, _ = new_purgatory()

    class CannotFail(Waiting):
        def fail(self) -> None:
            raise ValueError("another bug")

    purgatory.watch(CannotFail(has_bug=True), ["a"], 5)
    ready = Waiting(is_ready=True)
    purgatory.watch(ready, ["b"], 5)

    assert purgatory.check("a", "b") == 2

    assert ready.tries == 1
    assert "Could not answer a delayed fetch that failed" in caplog.text


def test_an_unexpected_error_at_a_deadline_keeps_no_timer_from_running() -> None:
    purgatory, timers = new_purgatory()
    broken, other = Waiting(has_bug=True), Waiting()
    purgatory.watch(broken, ["a"], 5)
    purgatory.watch(other, ["a"], 5)

    timers.advance(5)

    assert broken.has_failed
    assert other.has_expired
