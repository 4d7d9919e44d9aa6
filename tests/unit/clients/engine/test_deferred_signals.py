"""Signal handlers that are held back, and always restored."""

from __future__ import annotations

import os
import signal
import socket
import threading
from collections.abc import Iterator
from types import FrameType

import pytest

from pyk.clients.engine.deferred_signals import DeferredSignals
from support.forks import status_of_fork
from support.real_time import IN_TIME


@pytest.fixture
def handlers() -> Iterator[None]:
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGUSR1)}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


class ExitError(Exception):
    """What the handler of SIGTERM raises."""


class LimitError(Exception):
    """What the handler of SIGUSR1 raises."""


def raising(error: type[Exception]) -> object:
    def handler(number: int, frame: object) -> None:
        raise error

    return handler


@pytest.mark.usefixtures("handlers")
def test_every_signal_that_came_is_handled_although_the_first_handler_raises() -> None:
    handled: list[int] = []
    signal.signal(signal.SIGTERM, raising(ExitError))
    signal.signal(signal.SIGUSR1, lambda number, frame: handled.append(number))
    signals = DeferredSignals()

    signals.begin()
    signal.raise_signal(signal.SIGTERM)
    signal.raise_signal(signal.SIGUSR1)
    with pytest.raises(ExitError):
        signals.end()

    assert handled == [signal.SIGUSR1]


@pytest.mark.usefixtures("handlers")
def test_the_last_of_several_errors_of_handlers_is_raised_with_the_others_as_its_context() -> None:
    signal.signal(signal.SIGTERM, raising(ExitError))
    signal.signal(signal.SIGUSR1, raising(LimitError))
    signals = DeferredSignals()

    signals.begin()
    signal.raise_signal(signal.SIGTERM)
    signal.raise_signal(signal.SIGUSR1)
    with pytest.raises(LimitError) as raised:
        signals.end()

    assert isinstance(raised.value.__context__, ExitError)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
@pytest.mark.usefixtures("handlers")
def test_a_child_that_another_thread_forks_meanwhile_has_the_handlers_of_the_program() -> None:
    def handler(number: int, frame: object) -> None:
        raise ExitError

    signal.signal(signal.SIGTERM, handler)
    statuses: list[int] = []
    reading, writing = os.pipe()
    os.set_blocking(writing, False)

    def is_not_restored() -> int:
        is_restored = signal.getsignal(signal.SIGTERM) is handler
        return not (is_restored and signal.set_wakeup_fd(-1) == -1)

    def fork() -> None:
        statuses.append(status_of_fork(is_not_restored))

    signals = DeferredSignals()
    try:
        signals.begin()
        signals.ring(writing)
        forking = threading.Thread(target=fork)
        forking.start()
        forking.join(IN_TIME)
    finally:
        signals.end()
        os.close(reading)
        os.close(writing)

    assert statuses == [0]
    assert signal.getsignal(signal.SIGTERM) is handler


@pytest.mark.usefixtures("handlers")
def test_a_child_forked_inside_the_region_leaves_it_without_a_second_restore() -> None:
    signal.signal(signal.SIGTERM, raising(ExitError))
    held_back = signal.getsignal(signal.SIGTERM)
    signals = DeferredSignals()

    signals.begin()
    DeferredSignals.restore_in_child()
    signals.end()

    assert signal.getsignal(signal.SIGTERM) is held_back


@pytest.mark.usefixtures("handlers")
def test_a_signal_that_waits_keeps_nothing_of_the_function_that_it_interrupted() -> None:
    """A view of a receive buffer that outlives the read would keep the buffer from growing."""
    frames: list[object] = []
    signal.signal(signal.SIGTERM, lambda number, frame: frames.append(frame))
    buffer = bytearray(4)

    def read() -> None:
        view = memoryview(buffer)
        signal.raise_signal(signal.SIGTERM)
        view[0] = 1

    signals = DeferredSignals()
    signals.begin()
    read()
    buffer += b"more"
    signals.end()

    assert buffer == b"\1\0\0\0more"
    assert [type(frame) for frame in frames] == [FrameType]


def test_a_handler_that_is_replaced_meanwhile_is_left_alone() -> None:
    before = signal.getsignal(signal.SIGTERM)
    signal.signal(signal.SIGTERM, lambda *_: None)
    signals = DeferredSignals()
    try:
        signals.begin()
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        signals.end()
        assert signal.getsignal(signal.SIGTERM) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGTERM, before)


def test_a_wakeup_descriptor_that_its_owner_closed_is_not_put_back() -> None:
    near, far = socket.socketpair()
    far.setblocking(False)
    before = signal.set_wakeup_fd(far.fileno())
    handler = signal.signal(signal.SIGTERM, lambda *_: None)
    signals = DeferredSignals()
    try:
        with near:
            near.setblocking(False)
            signals.begin()
            signals.ring(near.fileno())
            far.close()
            signals.end()
        assert signal.set_wakeup_fd(-1) == -1
    finally:
        signal.signal(signal.SIGTERM, handler)
        signal.set_wakeup_fd(before)
