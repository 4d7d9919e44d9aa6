"""Signals that come while a caller in the main thread drives the loop that it waits for."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import textwrap
import threading
from collections.abc import Iterator

import pytest

from pyk.clients.engine import turns
from pyk.clients.engine.deferred_signals import is_main_thread
from pyk.clients.engine.loop_drivers import LONGEST_DEAF_SECONDS
from pyk.clients.engine.thread import LoopThread
from pyk.clients.engine.waiter import Waiter
from support.loop_threads import after, thread_waiter
from support.real_time import IN_TIME


@pytest.fixture
def thread() -> Iterator[LoopThread]:
    thread = LoopThread("Admin")
    yield thread
    thread.close()


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no timers that send signals")
def test_handlers_of_signals_never_run_inside_the_engine(thread: LoopThread) -> None:
    ran_inside: list[bool] = []

    async def work() -> int:
        for _ in range(200):
            await asyncio.sleep(0)
        return 200

    before = signal.signal(signal.SIGALRM, lambda *_: ran_inside.append(thread.is_here()))
    signal.setitimer(signal.ITIMER_REAL, 0.0005, 0.0005)
    try:
        for _ in range(100):
            assert thread.call(work()) == 200
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)

    assert ran_inside
    assert not any(ran_inside)


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no timers that send signals")
def test_an_error_of_a_signal_handler_ends_the_wait_and_leaves_the_loop_usable(
    thread: LoopThread,
) -> None:
    class LimitReachedError(Exception):
        pass

    def limit(number: int, frame: object) -> None:
        raise LimitReachedError

    before = signal.signal(signal.SIGALRM, limit)
    try:
        for _ in range(10):
            waiter = Cancelled()
            with pytest.raises(LimitReachedError):
                thread.call(waiter.wait())
            assert waiter.was_cancelled
            assert thread.call(after(0, 1), timeout=IN_TIME) == 1
        assert signal.getsignal(signal.SIGALRM) is limit
    finally:
        signal.signal(signal.SIGALRM, before)


class Cancelled:
    """A coroutine that waits, and notes that it was cancelled."""

    def __init__(self) -> None:
        self.was_cancelled = False

    async def wait(self) -> None:
        signal.setitimer(signal.ITIMER_REAL, 0.01)
        try:
            await asyncio.sleep(IN_TIME)
        finally:
            self.was_cancelled = True


@pytest.mark.skipif(not hasattr(signal, "pthread_kill"), reason="no signals to one thread")
def test_ctrl_c_ends_a_wait_however_early_it_comes(thread: LoopThread) -> None:
    main = threading.main_thread().ident or 0
    for number in range(30):
        waiter = thread_waiter(thread)
        killer = threading.Timer(number / 10_000, signal.pthread_kill, (main, signal.SIGINT))
        with pytest.raises(KeyboardInterrupt):
            start_and_wait(killer, waiter)
        killer.join()

    assert thread.call(after(0, 1), timeout=IN_TIME) == 1


@pytest.mark.skipif(not hasattr(signal, "pthread_kill"), reason="no signals to one thread")
@pytest.mark.parametrize("share", [0.9, 0.95, 1.0, 1.05, 1.5])
def test_ctrl_c_ends_a_wait_that_began_some_time_ago(thread: LoopThread, share: float) -> None:
    main = threading.main_thread().ident or 0
    seconds = share * LONGEST_DEAF_SECONDS
    killer = threading.Timer(seconds, signal.pthread_kill, (main, signal.SIGINT))
    waiter = thread_waiter(thread)

    with pytest.raises(KeyboardInterrupt):
        start_and_wait(killer, waiter)
    killer.join()

    assert thread.call(after(0, 1), timeout=IN_TIME) == 1


def start_and_wait(killer: threading.Timer, waiter: Waiter) -> None:
    killer.start()
    waiter.wait(IN_TIME)


def test_a_handler_that_raises_nothing_does_not_end_the_wait(thread: LoopThread) -> None:
    handled = threading.Event()
    before = signal.signal(signal.SIGTERM, lambda number, frame: handled.set())
    try:
        threading.Timer(0.01, os.kill, (os.getpid(), signal.SIGTERM)).start()
        assert thread.call(after(0.05, "done")) == "done"
    finally:
        signal.signal(signal.SIGTERM, before)

    assert handled.is_set()


def test_no_signal_is_written_to_the_descriptor_of_a_loop_that_may_be_closed(
    thread: LoopThread, monkeypatch: pytest.MonkeyPatch
) -> None:
    written_to: list[int] = []
    set_running_loop = turns._set_running_loop

    def note_descriptor(loop: object) -> None:
        if loop is None and is_main_thread():  # the loop is about to be released
            written_to.append(signal.set_wakeup_fd(-1))
        set_running_loop(loop)

    monkeypatch.setattr(turns, "_set_running_loop", note_descriptor)
    thread.call(after(3 * LONGEST_DEAF_SECONDS))

    assert set(written_to) == {-1}


def test_a_program_that_handles_no_signals_keeps_no_wakeup_descriptor(thread: LoopThread) -> None:
    # As a program is started in the background: SIGINT is ignored.
    program = """
        import asyncio, signal
        from pyk.clients.engine.thread import LoopThread

        thread = LoopThread("client")
        thread.call(asyncio.sleep(0.05))
        print(signal.set_wakeup_fd(-1))
        thread.close()
    """
    command = [sys.executable, "-c", textwrap.dedent(program)]
    ignored = {"preexec_fn": lambda: signal.signal(signal.SIGINT, signal.SIG_IGN)}

    assert subprocess.run(command, capture_output=True, check=True, **ignored).stdout == b"-1\n"
