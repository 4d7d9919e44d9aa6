"""The turns of a loop that several threads run, and its queues between turns."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import functools
import random
import selectors
import socket
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from types import SimpleNamespace

import pytest

from pyk.clients.engine.handover import Handover
from pyk.clients.engine.shared_loop import SharedLoop, new_loop
from pyk.clients.engine.turns import NEVER, BackgroundEventWait, EventWait, RelievedError, Turns
from pyk.runtime.network import FrameTransport
from pyk.runtime.network.socket_transport import SocketTransport

LATER = 3600.0


@pytest.fixture
def loop() -> Iterator[SharedLoop]:
    """A loop whose turns this thread may run."""
    loop = new_loop("Admin")
    loop.turns.hold(True)
    yield loop
    loop.end(0)
    loop.turns.let_go()


class BusyEventWait(EventWait):
    """Does something when the wait for events is over, as other threads do meanwhile."""

    def __init__(self, busy: Callable[[], object] = lambda: None) -> None:
        super().__init__()
        self.waited_until: list[float] = []
        self._busy = busy

    def begins(self, until: float) -> None:
        super().begins(until)
        self.waited_until.append(until)

    def ends(self) -> bool:
        self._busy()
        return super().ends()


def run_turn(loop: SharedLoop) -> None:
    loop.turns.run(0, EventWait())


def test_a_callback_made_ready_by_a_callback_waits_for_the_next_turn(loop: SharedLoop) -> None:
    steps: list[int] = []

    def step() -> None:
        steps.append(1)
        if len(steps) < 10:
            loop.call_soon(step)

    loop.call_soon(step)
    run_turn(loop)

    assert len(steps) == 1


def test_a_busy_loop_looks_for_events_in_each_turn(loop: SharedLoop) -> None:
    near, far = socket.socketpair()
    steps: list[str] = []

    def step() -> None:
        steps.append("step")
        loop.call_soon(step)

    loop.add_reader(near, lambda: steps.append(near.recv(10).decode()))
    loop.call_soon(step)
    far.send(b"event")
    run_turn(loop)
    run_turn(loop)
    loop.remove_reader(near)
    near.close()
    far.close()

    assert "event" in steps


def test_a_wait_ends_with_the_next_timer(loop: SharedLoop) -> None:
    timer = loop.call_at(loop.time() + LATER / 2, print)
    event_wait = BusyEventWait()

    loop.poke()  # or it would last as long
    loop.turns.run(loop.time() + LATER, event_wait)

    assert event_wait.waited_until == [timer.when()]
    assert not event_wait.is_on


def test_a_wait_of_less_than_the_kernel_can_tell_is_not_cut_short(loop: SharedLoop) -> None:
    came: list[str] = []
    loop.call_at(loop.time() + 0.0009, came.append, "timer")

    loop.turns.run(loop.time() + LATER, EventWait())

    assert came == ["timer"]


def test_more_events_than_are_taken_at_once_all_come(loop: SharedLoop) -> None:
    pairs = [socket.socketpair() for _ in range(100)]
    received: list[bytes] = []
    for near, far in pairs:
        loop.add_reader(near, lambda near=near: received.append(near.recv(10)))
        far.send(b"event")

    for _ in range(3):
        run_turn(loop)
    for near, far in pairs:
        loop.remove_reader(near)
        near.close()
        far.close()

    assert received == [b"event"] * 100


class TwoWaits(selectors.PollSelector):
    """Lets a wait of another thread end, with no event, while this thread takes its own events."""

    def __init__(self) -> None:
        super().__init__()
        self.is_waiting = threading.Event()
        self.may_end = threading.Event()

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if not timeout:
            return super().select(0)
        self.is_waiting.set()
        self.may_end.wait(10)
        return []


class Reader:
    """A handle whose callback takes a moment to look at."""

    def __init__(self, look: Callable[[], object], read: Callable[[], object]) -> None:
        self._look, self._read = look, read
        self._cancelled = False
        self._context = contextvars.copy_context()
        self._args = ()

    @property
    def _callback(self) -> Callable[[], object]:
        self._look()
        return self._read


def test_a_wait_that_ends_leaves_another_driver_its_events() -> None:
    selector = TwoWaits()
    loop = SimpleNamespace(
        _ready=deque(), _scheduled=[], _selector=selector, _clock_resolution=1e-9, _debug=False
    )
    turns = Turns(loop)
    received: list[bytes] = []

    def wait() -> None:
        turns.hold(True)
        turns.run(time.monotonic() + LATER, EventWait())
        turns.let_go()

    def let_the_other_wait_end() -> None:
        selector.may_end.set()
        time.sleep(0.02)  # the other thread then waits for the lock

    with contextlib.ExitStack() as stack:
        for _ in range(2):
            near, far = (stack.enter_context(each) for each in socket.socketpair())
            read = functools.partial(lambda near: received.append(near.recv(10)), near)
            handles = Reader(let_the_other_wait_end, read), None
            selector.register(near, selectors.EVENT_READ, handles)
            far.send(b"event")
        thread = threading.Thread(target=wait)
        thread.start()
        selector.is_waiting.wait(10)
        turns.hold(True)
        turns.run(0, EventWait())
        turns.let_go()
        thread.join(10)

    assert received == [b"event"] * 2


@pytest.mark.parametrize("event_wait", [EventWait(), BackgroundEventWait(Handover(0.0))])
def test_a_driver_that_was_relieved_does_not_count_as_waiting(
    loop: SharedLoop, event_wait: EventWait
) -> None:
    loop.call_at(loop.time() + 0.001, print)

    with contextlib.suppress(RelievedError):  # the handover is with nobody
        loop.turns.run(loop.time() + LATER, event_wait)

    assert not event_wait.is_on
    assert event_wait.until == NEVER


def test_a_timer_is_not_before_its_own_time(loop: SharedLoop) -> None:
    when = loop.call_later(LATER, print).when()

    assert not loop.turns.has_timer_before(when)
    assert loop.turns.has_timer_before(when + 0.001)


class ClosesOther:
    """Aborts another connection as soon as it receives something."""

    def __init__(self, received: list[bytes]) -> None:
        self._received = received
        self.other: FrameTransport | None = None

    def frame_received(self, frame: memoryview) -> None:
        self._received.append(bytes(frame))
        assert self.other is not None
        self.other.abort()

    def connection_lost(self, error: Exception | None) -> None:
        pass


def test_a_connection_that_another_one_aborted_receives_nothing_more(loop: SharedLoop) -> None:
    received: list[bytes] = []
    receivers = [ClosesOther(received) for _ in range(2)]
    connections = [FrameTransport(each, max_frame_bytes=1000) for each in receivers]
    receivers[0].other, receivers[1].other = connections[1], connections[0]
    pairs = [socket.socketpair() for _ in range(2)]
    for connection, (near, far) in zip(connections, pairs, strict=True):
        SocketTransport(near, connection).begin()
        far.send(b"\0\0\0\1a")

    run_turn(loop)
    for connection, (_, far) in zip(connections, pairs, strict=True):
        connection.abort()
        far.close()
    run_turn(loop)

    assert received == [b"a"]


def test_a_loop_in_debug_mode_warns_of_a_slow_callback(
    loop: SharedLoop, caplog: pytest.LogCaptureFixture
) -> None:
    loop.set_debug(True)
    loop.slow_callback_duration = 0.0

    loop.call_soon(len, "")
    run_turn(loop)

    assert "Executing" in caplog.text


@pytest.mark.parametrize("other", ["turn", "visit"])
def test_an_event_that_another_thread_has_handled_is_forgotten(
    loop: SharedLoop, other: str
) -> None:
    near, far = socket.socketpair()
    received: list[bytes] = []
    problems: list[object] = []

    def handle() -> None:
        if other == "turn":
            run_turn(loop)
        else:
            received.append(near.recv(10))
            loop.turns.touched()

    near.setblocking(False)
    loop.set_exception_handler(lambda _, problem: problems.append(problem))
    loop.add_reader(near, lambda: received.append(near.recv(10)))
    far.send(b"event")
    loop.turns.run(loop.time() + LATER, BusyEventWait(handle))
    loop.remove_reader(near)
    near.close()
    far.close()

    assert received == [b"event"]
    assert problems == [], "it was read a second time"


def test_cancelled_timers_do_not_pile_up(loop: SharedLoop) -> None:
    for _ in range(1000):
        loop.call_later(LATER, print).cancel()

    run_turn(loop)

    assert len(queued_timers(loop)) < 100


def test_timers_come_in_order_after_cancelled_ones_were_swept_out(loop: SharedLoop) -> None:
    chance, came = random.Random(1), []
    now = loop.time()
    moments = [now - chance.random() for _ in range(300)]
    timers = [loop.call_at(when, came.append, when) for when in moments]
    swept = chance.sample(timers, 200)
    for timer in swept:
        timer.cancel()

    run_turn(loop)

    assert came == sorted(timer.when() for timer in timers if timer not in swept)


def cancel_first_of_few(loop: SharedLoop) -> None:
    loop.call_later(LATER, print)
    loop.call_later(LATER / 2, print).cancel()
    run_turn(loop)


def cancel_many(loop: SharedLoop) -> None:
    loop.call_later(1, print)
    for _ in range(1000):
        loop.call_later(LATER, print).cancel()
    run_turn(loop)


def cancel_a_due_one(loop: SharedLoop) -> None:
    last = loop.call_at(loop.time() - 1, print)
    loop.call_at(loop.time() - 2, last.cancel)
    run_turn(loop)


@pytest.mark.parametrize("cancel", [cancel_first_of_few, cancel_many, cancel_a_due_one])
def test_a_cancelled_timer_is_not_counted_once_it_has_left_the_queue(
    loop: SharedLoop, cancel: Callable[[SharedLoop], None]
) -> None:
    cancel(loop)

    assert not any(timer.cancelled() for timer in queued_timers(loop))
    assert loop._timer_cancelled_count == 0  # type: ignore[attr-defined]


def queued_timers(loop: SharedLoop) -> list[asyncio.TimerHandle]:
    return loop._scheduled  # type: ignore[attr-defined,no-any-return]


def test_a_loop_that_was_stopped_goes_on_waiting(loop: SharedLoop) -> None:
    """A callback may call ``stop``; the turns of a client are not asyncio's to stop."""
    loop.stop()
    event_wait = BusyEventWait()

    loop.poke()  # or it would last as long
    loop.turns.run(loop.time() + LATER, event_wait)

    assert len(event_wait.waited_until) == 1


def test_a_callback_that_is_cancelled_by_an_earlier_one_does_not_run(loop: SharedLoop) -> None:
    ran: list[str] = []

    def cancel_next() -> None:
        ran.append("first")
        second.cancel()

    loop.call_soon(cancel_next)
    second = loop.call_soon(ran.append, "second")
    run_turn(loop)

    assert ran == ["first"]


def test_a_timer_is_due_within_the_resolution_of_the_clock(loop: SharedLoop) -> None:
    loop._clock_resolution = 60.0  # type: ignore[attr-defined]
    loop.turns = type(loop.turns)(loop)
    came: list[float] = []
    loop.call_at(time.monotonic() + 30, came.append, 1.0)
    loop.call_soon(lambda: None)

    loop.turns.hold(True)
    run_turn(loop)

    assert came == [1.0]
