"""What is left in order when a loop fails, a caller is interrupted, or a callback holds it up."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import logging
import signal
import threading
from collections.abc import Callable, Iterator

import pytest

from pyk.clients.engine.handover import Driver
from pyk.clients.engine.loop_drivers import MOST_FAILED_TURNS
from pyk.clients.engine.shared_loop import SharedLoop
from pyk.clients.engine.thread import LoopThread
from pyk.clients.errors import ClosedError, KafkaTimeoutError, StateError
from support.failing_turns import fail_turns
from support.interrupts import handled_everywhere, interrupted_everywhere
from support.real_time import IN_TIME, eventually


@pytest.fixture
def thread() -> Iterator[LoopThread]:
    thread = LoopThread("Admin")
    yield thread
    thread.close()


async def after(seconds: float, value: object = None) -> object:
    await asyncio.sleep(seconds)
    return value


def test_a_turn_that_fails_in_the_background_is_logged_and_the_next_one_works(
    thread: LoopThread, caplog: pytest.LogCaptureFixture
) -> None:
    thread.call(after(0))
    rung = threading.Event()
    fail_turns(thread, MOST_FAILED_TURNS - 1)

    thread.post(rung.set)

    assert rung.wait(IN_TIME)
    assert thread.call(after(0.01, 7)) == 7
    assert "no more" in caplog.text


def test_a_turn_that_fails_does_not_surface_in_the_caller_that_drives(thread: LoopThread) -> None:
    thread.call(after(0))
    for _ in range(5):
        fail_turns(thread, 2)
        assert thread.call(after(0.001, 7)) == 7


def test_a_loop_whose_turns_all_fail_ends_and_every_call_raises_why() -> None:
    ended = threading.Event()
    thread = LoopThread("Admin")
    thread.at_end = lambda failure: ended.set()
    thread.call(after(0))
    raised: list[BaseException] = []

    def wait() -> None:
        try:
            thread.call(after(IN_TIME))
        except StateError as error:
            raised.append(error)

    waiting = [threading.Thread(target=wait) for _ in range(2)]
    for one in waiting:
        one.start()
    eventually(lambda: len(thread._drivers.waiting) == 2)
    fail_turns(thread, MOST_FAILED_TURNS)
    assert thread.loop is not None
    thread.loop.poke()
    for one in waiting:
        one.join(IN_TIME)

    assert len(raised) == 2
    assert all("bug in pyk" in str(error) and "no more" in str(error) for error in raised)
    assert ended.wait(IN_TIME)
    with pytest.raises(StateError, match="no more"):
        thread.call(after(0))
    thread.visit(ended.clear)
    assert ended.is_set()
    thread.close()


class BrokenLog(logging.Handler):
    """A handler of logs that fails."""

    def emit(self, record: logging.LogRecord) -> None:
        raise OSError("no space left")


def test_a_background_thread_that_fails_outside_of_a_turn_leaves_every_call_its_reason(
    thread: LoopThread,
) -> None:
    thread.call(after(0))
    logger, handler = logging.getLogger("pyk.clients.engine.loop_drivers"), BrokenLog()
    logger.addHandler(handler)
    try:
        fail_turns(thread, 1)
        assert thread.loop is not None
        thread.loop.poke()
        background = thread._thread
        assert background is not None
        eventually(lambda: not background.is_alive())
    finally:
        logger.removeHandler(handler)

    with pytest.raises(StateError, match="no space left"):
        thread.call(after(0))


def let_background_drive(thread: LoopThread) -> None:
    rung = threading.Event()
    thread.call(after(0))
    thread.post(rung.set)
    assert rung.wait(IN_TIME)


def runs_out_of_memory(function: Callable[[], object]) -> bool:
    try:
        function()
    except MemoryError:
        return True
    return False


def test_what_a_visit_has_done_before_it_failed_is_not_forgotten(thread: LoopThread) -> None:
    let_background_drive(thread)
    rung = threading.Event()

    def visit() -> None:
        assert thread.loop is not None
        thread.loop.call_soon(rung.set)
        raise MemoryError

    eventually(lambda: runs_out_of_memory(lambda: thread.visit(visit)))

    assert rung.wait(IN_TIME)


def test_what_a_wait_has_begun_before_it_failed_is_not_forgotten(thread: LoopThread) -> None:
    let_background_drive(thread)
    rung = threading.Event()

    def begin() -> None:
        assert thread.loop is not None
        thread.visit(functools.partial(thread.loop.call_soon, rung.set))
        raise MemoryError

    assert runs_out_of_memory(lambda: thread.new_waiter().wait(IN_TIME, begin))

    assert rung.wait(IN_TIME)


def test_a_loop_that_cannot_even_end_leaves_no_caller_waiting(
    thread: LoopThread, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(loop: SharedLoop, *arguments: object) -> None:
        raise MemoryError

    monkeypatch.setattr(SharedLoop, "_run_alone", fail)
    monkeypatch.setattr(threading, "excepthook", lambda _: None)
    raised: list[BaseException] = []

    def wait() -> None:
        try:
            thread.call(after(IN_TIME))
        except StateError as error:
            raised.append(error)

    waiting = threading.Thread(target=wait)
    waiting.start()
    eventually(lambda: bool(thread._drivers.waiting))
    thread.close()
    waiting.join(IN_TIME)

    assert len(raised) == 1


def test_no_callback_runs_in_a_thread_that_waits_aside(thread: LoopThread) -> None:
    thread.call(after(0))
    ran_in: list[int] = []

    async def call_back() -> None:
        for _ in range(5):
            ran_in.append(threading.get_ident())
            await asyncio.sleep(0.001)

    for _ in range(5):
        thread.call(call_back(), may_drive=False)

    assert threading.get_ident() not in ran_in


def test_a_waiter_that_is_waited_for_aside_wakes_its_thread(thread: LoopThread) -> None:
    thread.call(after(0))
    for _ in range(20):
        waiter = thread.new_waiter()
        thread.post(waiter.set)
        assert thread.wait_aside(waiter, IN_TIME)
    assert not thread.wait_aside(thread.new_waiter(), 0.001)


def test_a_call_that_is_late_cleans_up_although_it_had_no_time_to_begin(
    thread: LoopThread,
) -> None:
    cleaned_up: list[bool] = []

    async def late() -> None:
        try:
            await asyncio.sleep(IN_TIME)
        finally:
            cleaned_up.append(True)

    with pytest.raises(KafkaTimeoutError):
        thread.call(late(), timeout=0)

    assert cleaned_up in ([], [True])
    with pytest.raises(KafkaTimeoutError):
        thread.call(late(), timeout=0.001)
    assert cleaned_up[-1:] == [True]


def test_a_call_is_over_soon_after_its_time_although_a_callback_holds_the_loop_up(
    thread: LoopThread,
) -> None:
    thread.call(after(0))
    is_stuck, may_go_on = threading.Event(), threading.Event()

    def stick() -> None:
        is_stuck.set()
        may_go_on.wait(IN_TIME)

    thread.post(stick)
    is_stuck.wait(IN_TIME)
    with pytest.raises(KafkaTimeoutError):
        thread.call(after(0), timeout=0.01)

    assert not may_go_on.is_set()
    may_go_on.set()
    assert thread.call(after(0, 3)) == 3


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_call_that_is_interrupted_anywhere_leaves_the_loop_in_order() -> None:
    thread = LoopThread("Admin")
    handler = signal.getsignal(signal.SIGINT)

    def check(result: object) -> None:
        assert result in {None, 1}
        assert signal.getsignal(signal.SIGINT) is handler
        assert thread.call(after(0, 2), timeout=IN_TIME) == 2
        assert not thread._drivers.waiting
        assert not thread._calls
        assert thread._drivers.handover.driver in {Driver.NOBODY, Driver.BACKGROUND}

    points = interrupted_everywhere(lambda: thread.call(after(0, 1)), check)

    assert points > 5  # compiled, the engine has few
    thread.close()


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_the_first_call_that_is_interrupted_anywhere_leaves_no_thread_behind() -> None:
    threads: list[LoopThread] = []
    before = threading.active_count()

    def call_first() -> object:
        threads.append(LoopThread("Admin"))
        return threads[-1].call(after(0, 1))

    def check(result: object) -> None:
        if not threads:
            return
        thread = threads.pop()
        assert thread.call(after(0, 2), timeout=IN_TIME) == 2
        thread.close()
        assert threading.active_count() == before

    assert interrupted_everywhere(call_first, check, step=3) > 20


def test_a_visit_that_is_interrupted_anywhere_is_made_once(thread: LoopThread) -> None:
    thread.call(after(0))
    visits: list[int] = []

    def check(result: object) -> None:
        assert thread.call(after(0, 2), timeout=IN_TIME) == 2
        assert len(visits) <= 1
        visits.clear()

    assert interrupted_everywhere(lambda: thread.visit(lambda: visits.append(1)), check) > 2


@pytest.mark.skipif(not hasattr(signal, "SIGUSR1"), reason="no such signal")
def test_the_handler_of_a_signal_may_call_at_any_point_of_a_call(thread: LoopThread) -> None:
    results: list[object] = []

    def call_in_a_loop_of_its_own() -> None:
        async def call() -> object:
            return thread.call(after(0, 1))  # does not drive

        results.append(asyncio.run(call()))

    def post() -> None:
        thread.post(lambda: None)
        thread.visit(lambda: None)

    def handle() -> None:
        results.append(thread.call(after(0, 1), timeout=IN_TIME))

    for call in (lambda: thread.call(after(0)), call_in_a_loop_of_its_own, post):
        assert handled_everywhere(call, handle) > 2
    assert set(results) == {1}


@pytest.mark.skipif(not hasattr(signal, "SIGUSR1"), reason="no such signal")
def test_the_handler_of_a_signal_may_call_or_close_at_any_point_of_the_first_call() -> None:
    before = threading.active_count()
    threads: list[LoopThread] = []

    def call_first() -> None:
        threads.append(LoopThread("Admin"))
        with contextlib.suppress(ClosedError):
            threads[0].call(after(0))
        threads.pop().close()
        assert threading.active_count() == before

    def call() -> None:
        for thread in threads:
            assert thread.call(after(0, 1), timeout=IN_TIME) == 1

    def close() -> None:
        for thread in threads:
            thread.close()

    for handle in (call, close):
        assert handled_everywhere(call_first, handle) > 2
