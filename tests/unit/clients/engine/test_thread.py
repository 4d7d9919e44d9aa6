"""The loop thread of a blocking client, with real threads and real interrupts."""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import threading
import time
import weakref

import pytest

from pyk.clients.engine.fork import ForkGuard
from pyk.clients.engine.thread import LoopThread
from pyk.clients.errors import ClosedError, ForkedClientError, KafkaTimeoutError, StateError
from support.forks import status_of_fork
from support.real_time import IN_TIME


@pytest.fixture
def thread() -> LoopThread:
    thread = LoopThread("Admin")
    yield thread
    thread.close()


class Waiter:
    """A coroutine that waits for ever, and says when it has begun and when it was cleaned up."""

    def __init__(self) -> None:
        self.began = threading.Event()
        self.cleaned_up = threading.Event()

    async def wait(self) -> None:
        self.began.set()
        try:
            await asyncio.Event().wait()
        finally:
            self.cleaned_up.set()


async def value(of: object) -> object:
    await asyncio.sleep(0)
    return of


async def failing(error: BaseException) -> None:
    raise error


def threads_of_pyk() -> list[str]:
    return [one.name for one in threading.enumerate() if one.name.startswith("pyk-")]


def test_a_call_returns_what_the_coroutine_returns(thread: LoopThread) -> None:
    assert thread.call(value(42)) == 42


def test_a_call_raises_what_the_coroutine_raises(thread: LoopThread) -> None:
    with pytest.raises(KeyError, match="nothing"):
        thread.call(failing(KeyError("nothing")))


def test_a_timeout_of_the_coroutine_is_its_own(thread: LoopThread) -> None:
    error = TimeoutError("mine")

    with pytest.raises(TimeoutError) as raised:
        thread.call(failing(error), timeout=60)

    assert raised.value is error


async def stubborn(result: object) -> object:
    """Return a result although it is cancelled."""
    try:
        await asyncio.Event().wait()
    except asyncio.CancelledError:
        return result


def test_the_result_of_a_call_that_ends_during_its_cancellation_is_kept(thread: LoopThread) -> None:
    assert thread.call(stubborn("written"), timeout=0.001) == "written"


def test_a_closed_thread_is_not_closed_again_at_the_exit_of_the_program() -> None:
    waiter = Waiter()
    thread = LoopThread("Admin")
    thread.at_exit = waiter.cleaned_up.set
    thread.call(value(1))
    forgotten = weakref.ref(waiter.cleaned_up)

    thread.close()
    del waiter, thread
    gc.collect()

    assert forgotten() is None


def test_a_call_that_takes_too_long_is_cancelled_and_cleaned_up(thread: LoopThread) -> None:
    waiter = Waiter()

    with pytest.raises(KafkaTimeoutError, match=r"0\.02"):
        thread.call(waiter.wait(), timeout=0.02)

    assert waiter.cleaned_up.is_set()
    assert thread.call(value(1)) == 1


def test_ctrl_c_cancels_the_call_and_leaves_the_client_usable(thread: LoopThread) -> None:
    waiter = Waiter()

    def interrupt() -> None:
        waiter.began.wait()
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)

    threading.Thread(target=interrupt).start()
    with pytest.raises(KeyboardInterrupt):
        thread.call(waiter.wait())

    assert waiter.cleaned_up.is_set()
    assert thread.call(value(1)) == 1


def test_a_call_from_the_loop_itself_is_refused(thread: LoopThread) -> None:
    async def call_again() -> None:
        thread.call(value(1))

    with pytest.raises(StateError, match="its own event loop"):
        thread.call(call_again())


def test_calls_of_many_threads_do_not_get_mixed_up(thread: LoopThread) -> None:
    results: dict[int, object] = {}

    def call(number: int) -> None:
        results[number] = thread.call(value(number))

    callers = [threading.Thread(target=call, args=(number,)) for number in range(32)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()

    assert results == {number: number for number in range(32)}


def test_no_thread_is_there_before_the_first_call_and_none_after_close() -> None:
    before = threads_of_pyk()
    thread = LoopThread("Admin")
    assert threads_of_pyk() == before

    thread.call(value(1))
    assert len(threads_of_pyk()) == len(before) + 1

    thread.close()
    assert threads_of_pyk() == before


def test_closing_ends_a_call_that_is_under_way(thread: LoopThread) -> None:
    waiter = Waiter()

    def close() -> None:
        waiter.began.wait()
        thread.close()

    threading.Thread(target=close).start()
    with pytest.raises(ClosedError, match="Admin was closed"):
        thread.call(waiter.wait())

    assert waiter.cleaned_up.is_set()


def test_nothing_can_be_called_after_close(thread: LoopThread) -> None:
    thread.call(value(1))
    thread.close()
    thread.close()

    with pytest.raises(ClosedError, match="Admin is closed"):
        thread.call(value(1))


def test_close_returns_in_time_while_the_loop_is_stuck() -> None:
    thread = LoopThread("Admin")
    is_stuck, may_go_on = threading.Event(), threading.Event()

    def stick() -> None:
        is_stuck.set()
        may_go_on.wait()

    thread.call(value(1))
    thread.post(stick)
    is_stuck.wait()
    began = time.monotonic()

    thread.close(timeout=0.1)

    assert time.monotonic() - began < IN_TIME
    may_go_on.set()


def test_random_calls_of_32_threads_during_close_end_in_results_or_typed_errors() -> None:
    for _ in range(20):
        thread = LoopThread("Admin")
        thread.call(value(0))
        unexpected: list[BaseException] = []

        def call(thread: LoopThread = thread, errors: list[BaseException] = unexpected) -> None:
            for _ in range(20):
                try:
                    thread.call(value(1))
                except ClosedError:
                    pass
                except BaseException as error:
                    errors.append(error)

        callers = [threading.Thread(target=call) for _ in range(32)]
        for caller in callers:
            caller.start()
        thread.close()
        for caller in callers:
            caller.join(timeout=10)

        assert not any(caller.is_alive() for caller in callers)
        assert unexpected == []


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_the_error_in_a_forked_child_says_what_to_do(thread: LoopThread) -> None:
    thread.call(value(1))
    read_end, write_end = os.pipe()

    def write_error() -> int:
        try:
            thread.call(value(1))
            text = "no error"
        except ForkedClientError as error:
            text = str(error)
        thread.close()
        os.write(write_end, text.encode())
        return 0

    assert status_of_fork(write_error) == 0

    said = os.read(read_end, 1000).decode()
    assert "before the process was forked" in said
    assert "make a new Admin" in said
    assert thread.call(value(2)) == 2
    os.close(read_end)
    os.close(write_end)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_forked_child_is_not_promised_that_the_loop_calls_a_function(thread: LoopThread) -> None:
    thread.call(value(1))

    assert status_of_fork(lambda: thread.post(lambda: None)) == 0


def test_a_guard_is_quiet_where_nothing_was_forked() -> None:
    ForkGuard("Producer").check()
