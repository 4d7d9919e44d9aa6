"""Callers drive the loop that they wait for: with real threads, signals and sockets."""

from __future__ import annotations

import asyncio
import os
import random
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator

import pytest

from pyk.clients.engine.thread import LoopThread
from pyk.clients.errors import ClosedError, ForkedClientError, KafkaTimeoutError, StateError
from support.forks import status_of_fork
from support.loop_threads import after, ident, thread_waiter
from support.real_time import IN_TIME

HOSTILE_SWITCH_SECONDS = 1e-5


@pytest.fixture
def thread() -> Iterator[LoopThread]:
    thread = LoopThread("Admin")
    yield thread
    thread.close()


@pytest.fixture
def switching_often() -> Iterator[None]:
    before = sys.getswitchinterval()
    sys.setswitchinterval(HOSTILE_SWITCH_SECONDS)
    yield
    sys.setswitchinterval(before)


def in_threads(count: int, function: Callable[[int], object]) -> list[BaseException]:
    """Run a function in so many threads; return their errors, and fail if one hangs."""
    raised: list[BaseException] = []

    def run(number: int) -> None:
        try:
            function(number)
        except BaseException as error:
            raised.append(error)

    threads = [threading.Thread(target=run, args=(number,), daemon=True) for number in range(count)]
    for one in threads:
        one.start()
    for one in threads:
        one.join(IN_TIME)
    assert not any(one.is_alive() for one in threads), "a caller waits for ever"
    return raised


def eventually(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + IN_TIME
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.001)


def test_the_only_caller_that_waits_runs_the_loop_in_its_own_thread(thread: LoopThread) -> None:
    thread.call(ident())

    ran_in = {thread.call(ident()) for _ in range(100)}

    assert threading.get_ident() in ran_in


def test_the_loop_goes_on_without_waiters(thread: LoopThread) -> None:
    rung = threading.Event()
    for _ in range(50):
        rung.clear()
        thread.call(ident())

        async def ring_later() -> None:
            asyncio.get_running_loop().call_later(0.002, rung.set)

        thread.call(ring_later())

        assert rung.wait(IN_TIME)


def test_work_that_is_posted_while_callers_come_and_go_is_done(thread: LoopThread) -> None:
    for _ in range(200):
        thread.call(ident())
        done = threading.Event()
        thread.post(done.set)

        assert done.wait(IN_TIME)


def test_a_socket_is_read_in_any_thread_that_drives(thread: LoopThread) -> None:
    async def listen() -> int:
        async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            while data := await reader.read(100):
                writer.write(data)
            writer.close()

        server = await asyncio.start_server(echo, "127.0.0.1", 0)
        servers.append(server)
        return int(server.sockets[0].getsockname()[1])

    async def connect() -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        return await asyncio.open_connection("127.0.0.1", port)

    async def ask(number: int) -> bytes:
        writer.write(b"%8d" % number)
        return await reader.readexactly(8)

    async def hang_up() -> None:
        writer.close()
        await writer.wait_closed()

    servers: list[asyncio.Server] = []
    port = thread.call(listen())
    client = LoopThread("Producer")
    reader, writer = client.call(connect())
    chance = random.Random(5)
    for number in range(300):
        assert int(client.call(ask(number), timeout=IN_TIME)) == number
        if chance.random() < 0.05:
            time.sleep(0.006)  # the background thread takes over
    client.call(hang_up())
    client.close()
    thread.post(servers[0].close)
    thread.call(after(0.01))


@pytest.mark.usefixtures("switching_often")
def test_many_threads_that_call_post_and_visit_all_get_their_results() -> None:
    for count in (1, 2, 3, 8):
        thread = LoopThread("Admin")
        seen: list[int] = []

        def use(number: int, thread: LoopThread = thread, seen: list[int] = seen) -> None:
            chance = random.Random(number)
            for turn in range(100):
                kind = chance.randrange(5)
                if kind == 0:
                    assert thread.call(after(0, turn), timeout=IN_TIME) == turn
                elif kind == 1:
                    assert thread.call(after(0.001, turn), timeout=IN_TIME) == turn
                elif kind == 2:
                    done = thread.new_waiter()
                    thread.post(done.set)
                    assert done.wait(IN_TIME)
                elif kind == 3:
                    done = thread.new_waiter()
                    thread.visit(done.set)
                    assert done.wait(IN_TIME)
                else:
                    done = thread.new_waiter()
                    threading.Timer(0.001, done.set).start()
                    assert done.wait(IN_TIME)
            seen.append(number)

        thread.call(ident())
        assert in_threads(count, use) == []
        assert sorted(seen) == list(range(count))
        thread.close()


@pytest.mark.usefixtures("switching_often")
def test_closing_ends_threads_that_wait_drive_and_visit() -> None:
    for round_number in range(30):
        thread = LoopThread("Admin")
        thread.call(ident())

        def use(number: int, thread: LoopThread = thread, chance: int = round_number) -> None:
            try:
                if number == 0:
                    time.sleep(chance % 5 / 1000)
                    thread.close()
                    return
                while True:
                    thread.visit(lambda: None)
                    thread.call(after(0.001 * (number % 2)))
            except ClosedError:
                pass

        assert in_threads(4, use) == []
        assert thread.is_closed


def test_a_wait_that_ends_early_leaves_the_loop_in_order(thread: LoopThread) -> None:
    for _ in range(20):
        assert not thread_waiter(thread).wait(0.003)
        with pytest.raises(KafkaTimeoutError):
            thread.call(after(60), timeout=0.002)
        assert thread.call(after(0, 7)) == 7


def test_an_error_of_a_callback_does_not_surface_in_the_caller_that_drives(
    thread: LoopThread, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(error: BaseException) -> None:
        raise error

    async def call() -> str:
        for error in (ValueError("mine"), SystemExit(3), KeyboardInterrupt()):
            asyncio.get_running_loop().call_soon(fail, error)
        await asyncio.sleep(0.01)
        return "fine"

    assert thread.call(call()) == "fine"
    assert thread.call(call()) == "fine"
    assert "mine" in caplog.text
    assert "tried to end the program" in caplog.text
    assert "A turn of the event loop of a client failed" not in caplog.text


def test_a_callback_that_calls_its_own_client_is_refused_in_any_thread(
    thread: LoopThread,
) -> None:
    refused: list[bool] = []

    def call_again() -> None:
        running = ident()
        try:
            thread.call(running)
        except StateError:
            refused.append(thread.is_here())
        running.close()

    async def call() -> None:
        asyncio.get_running_loop().call_soon(call_again)
        await asyncio.sleep(0.001)

    for _ in range(10):
        thread.call(call())
    thread.post(call_again)

    eventually(lambda: len(refused) == 11)
    assert all(refused)
    assert not thread.is_here()


def test_a_callback_may_close_the_client_that_its_caller_drives() -> None:
    thread = LoopThread("Admin")

    async def close() -> None:
        thread.close(timeout=10 * IN_TIME)
        await asyncio.sleep(60)

    (raised,) = in_threads(1, lambda _: thread.call(close()))

    assert isinstance(raised, ClosedError)


def test_a_thread_with_an_event_loop_of_its_own_waits_and_does_not_drive(
    thread: LoopThread,
) -> None:
    async def call_from_a_coroutine() -> int:
        own = asyncio.get_running_loop()
        found = thread.call(ident())
        thread.visit(lambda: None)
        assert asyncio.get_running_loop() is own
        return found

    assert asyncio.run(call_from_a_coroutine()) != threading.get_ident()


def test_no_loop_is_running_in_a_thread_that_has_stopped_to_drive(thread: LoopThread) -> None:
    thread.call(ident())
    thread.visit(lambda: None)

    assert asyncio._get_running_loop() is None


def test_a_visit_neither_waits_for_a_busy_loop_nor_is_lost(thread: LoopThread) -> None:
    thread.call(ident())
    is_stuck, may_go_on, visited = threading.Event(), threading.Event(), threading.Event()

    def stick() -> None:
        is_stuck.set()
        may_go_on.wait(IN_TIME)

    thread.post(stick)
    is_stuck.wait(IN_TIME)
    thread.visit(visited.set)

    assert not visited.is_set()
    may_go_on.set()
    assert visited.wait(IN_TIME)


def test_a_visit_inside_the_begin_of_a_wait_is_made_later(thread: LoopThread) -> None:
    """As by a log handler that sends to Kafka, called while a request is written."""
    visits: list[str] = []

    def visit() -> None:
        thread.visit(inner)
        visits.append("outer")

    def inner() -> None:
        visits.append("inner")
        waiter.set()

    for _ in range(10):  # a wait that does not drive, but sleeps, begins in another way
        waiter = thread_waiter(thread)
        assert waiter.wait(IN_TIME, lambda: thread.visit(visit))

    assert visits == ["outer", "inner"] * 10


def test_a_timer_that_a_visit_sets_is_kept_while_another_thread_waits(thread: LoopThread) -> None:
    rung = threading.Event()
    waiter = thread_waiter(thread)
    waiting = threading.Thread(target=waiter.wait, args=(IN_TIME,))
    waiting.start()
    time.sleep(0.02)

    thread.visit(lambda: asyncio.get_running_loop().call_later(0.01, rung.set))

    assert rung.wait(IN_TIME / 2)
    waiter.set()
    waiting.join(IN_TIME)
    assert not waiting.is_alive()


def test_no_thread_is_woken_while_one_caller_comes_and_goes(thread: LoopThread) -> None:
    thread._drivers.handover.grace = (
        20.0  # however slowly this test runs; a nap must end before the timer
    )
    thread.call(ident())
    thread.call(after(0.01))
    thread.visit(lambda: asyncio.get_running_loop().call_later(60, print))
    assert thread.loop is not None
    while thread._drivers.oversleeps():  # until the background thread has heard of the timer
        thread.call(after(0.001))
    pokes: list[int] = []
    poke = thread.loop.poke
    thread.loop.poke = lambda: pokes.append(1) or poke()  # type: ignore[assignment,func-returns-value]

    for _ in range(200):
        thread.visit(lambda: None)
        thread.call(ident())

    assert len(pokes) < 20


def test_a_caller_that_comes_back_handles_its_own_events(thread: LoopThread) -> None:
    near, far = socket.socketpair()
    ran_in: list[int] = []

    async def ask() -> None:
        answered = asyncio.Event()

        def read() -> None:
            ran_in.append(threading.get_ident())
            near.recv(10)
            answered.set()

        asyncio.get_running_loop().add_reader(near, read)
        far.send(b"answer")
        await answered.wait()

    def is_left_alone_by_the_background_thread() -> bool:
        ran_in.clear()
        for _ in range(100):
            thread.call(ask())
        return set(ran_in) == {threading.get_ident()}

    thread._drivers.handover.grace = 60.0  # however slowly this test runs
    # The background thread may be anywhere when the first caller comes, and hold the lock in its
    # way; but once it has found a caller there, it naps.
    eventually(is_left_alone_by_the_background_thread)

    thread.close()
    near.close()
    far.close()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_forked_child_does_not_wait(thread: LoopThread) -> None:
    waiter = thread_waiter(thread)

    def is_not_refused() -> int:
        try:
            thread.visit(lambda: None)
            waiter.wait(5)
        except ForkedClientError:
            return 0
        return 1

    assert status_of_fork(is_not_refused) == 0
    assert thread.call(after(0, 1), timeout=IN_TIME) == 1
