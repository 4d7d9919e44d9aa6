"""What is done at once although the background thread naps, since callers come and go."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import threading
from collections.abc import Callable, Iterator

import pytest

from pyk.clients.engine.call import Visit
from pyk.clients.engine.thread import LoopThread
from pyk.clients.engine.waiter import Waiter
from pyk.clients.errors import ClosedError
from support.loop_threads import ident, let_callers_drive, thread_waiter
from support.real_time import IN_TIME, eventually

LONG_NAP = 10.0 * IN_TIME


@pytest.fixture
def thread() -> Iterator[LoopThread]:
    """A loop that callers drive: the background thread naps for longer than any test."""
    thread = LoopThread("Admin")
    thread.call(ident())
    let_callers_drive(thread, LONG_NAP)
    yield thread
    thread.close()


class Mail:
    """A socket that the loop reads, and the function to call when data arrives."""

    def __init__(self, thread: LoopThread, arrived: Callable[[], object]) -> None:
        self._near, self._far = socket.socketpair()
        self._thread = thread
        self._arrived = arrived
        thread.call(self._watch())

    async def _watch(self) -> None:
        asyncio.get_running_loop().add_reader(self._near, self._read)

    def _read(self) -> None:
        self._near.recv(10)
        self._arrived()

    def send(self) -> None:
        self._far.send(b"mail")

    def close(self) -> None:
        self._thread.close()
        self._near.close()
        self._far.close()


class OtherCaller:
    """Another thread, which waits for a future of the loop, and so drives."""

    def __init__(self, thread: LoopThread) -> None:
        self.came_back = threading.Event()
        self.future: asyncio.Future[None]
        self._thread = thread
        self._waits = threading.Event()
        threading.Thread(target=self._wait, daemon=True).start()
        assert self._waits.wait(IN_TIME)

    def come_back(self) -> None:
        if not self.future.done():
            self.future.set_result(None)

    def _wait(self) -> None:
        with contextlib.suppress(ClosedError):  # the test is over
            self._thread.call(self._wait_for_future())
            self.came_back.set()

    async def _wait_for_future(self) -> None:
        self.future = asyncio.get_running_loop().create_future()
        self._waits.set()
        await self.future


def test_work_that_is_posted_is_done(thread: LoopThread) -> None:
    done = threading.Event()

    thread.post(done.set)

    assert done.wait(IN_TIME)


def test_work_that_is_posted_beside_a_caller_that_waits_for_events_is_done(
    thread: LoopThread,
) -> None:
    for _ in range(50):
        other = OtherCaller(thread)

        thread.post(other.come_back)

        assert other.came_back.wait(IN_TIME)


def test_work_made_ready_before_a_caller_left_is_done(thread: LoopThread) -> None:
    done = threading.Event()

    async def leave_something() -> None:
        loop = asyncio.get_running_loop()
        loop.call_soon(loop.call_soon, loop.call_soon, done.set)

    thread.call(leave_something())

    assert done.wait(IN_TIME)


@pytest.mark.parametrize("is_beside_caller", [False, True])
def test_work_made_ready_by_a_visit_is_done(thread: LoopThread, is_beside_caller: bool) -> None:
    done = threading.Event()
    other = OtherCaller(thread) if is_beside_caller else None

    thread.visit(lambda: asyncio.get_running_loop().call_soon(done.set))

    assert done.wait(IN_TIME)
    assert other is None or not other.came_back.is_set()


def test_a_timer_that_a_visit_sets_beside_a_caller_is_kept(thread: LoopThread) -> None:
    other = OtherCaller(thread)

    thread.visit(lambda: asyncio.get_running_loop().call_later(0.001, other.come_back))

    assert other.came_back.wait(IN_TIME)


def test_a_thread_that_does_not_drive_gets_its_responses(thread: LoopThread) -> None:
    waiter = Waiter()
    ran_in: list[int] = []

    def arrive() -> None:
        ran_in.append(threading.get_ident())
        waiter.set()

    mail = Mail(thread, arrive)
    mail.send()

    assert thread.wait_aside(waiter, IN_TIME)
    assert ran_in != [threading.get_ident()], "it may hold locks that a callback takes"
    mail.close()


def test_other_waiters_get_their_responses_after_the_driver_left(thread: LoopThread) -> None:
    driver = OtherCaller(thread)
    sleeper = OtherCaller(thread)
    mail = Mail(thread, sleeper.come_back)

    thread.post(driver.come_back)
    assert driver.came_back.wait(IN_TIME)
    mail.send()

    assert sleeper.came_back.wait(IN_TIME)
    mail.close()


def test_a_dropped_client_does_the_last_thing_and_ends(thread: LoopThread) -> None:
    done = threading.Event()

    async def last() -> None:
        done.set()

    thread.end_after(last)

    assert done.wait(IN_TIME)
    eventually(lambda: thread.is_closed)


def test_visits_of_a_wait_that_drives_are_made_at_once(thread: LoopThread) -> None:
    steps: list[str] = []

    def begin() -> None:
        thread.visit(lambda: steps.append("first"))
        thread.visit(lambda: steps.append("second"))
        steps.append("begun")
        waiter.set()

    waiter = thread_waiter(thread)
    waiter.wait(IN_TIME, begin)

    assert steps == ["first", "second", "begun"]


def test_no_work_is_left_to_a_driver_that_has_gone(thread: LoopThread) -> None:
    waiter = thread_waiter(thread)
    waiter.wait(0.001)

    assert not thread._drivers.leave(print, waiter)


def test_no_visit_is_made_once_the_loop_has_ended(thread: LoopThread) -> None:
    visit = Visit(lambda: None)
    thread.close()

    thread._drivers.visit(visit)

    assert not visit.has_begun
