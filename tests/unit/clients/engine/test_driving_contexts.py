"""Whoever drives a loop, what runs in it does not see the context variables of that thread."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextvars import ContextVar

import pytest

from pyk.clients.engine.thread import LoopThread
from pyk.clients.engine.waiter import Waiter
from pyk.runtime.network import FrameTransport
from pyk.runtime.network.socket_transport import SocketTransport
from support.loop_threads import ident, let_callers_drive, thread_waiter
from support.real_time import IN_TIME

request = ContextVar("request", default="none")


@pytest.fixture
def thread() -> Iterator[LoopThread]:
    thread = LoopThread("Admin")
    thread.call(ident())
    let_callers_drive(thread, 10.0 * IN_TIME)
    yield thread
    thread.close()


class Receiver:
    """Notes in which thread and context it receives a frame."""

    def __init__(self, waiter: Waiter) -> None:
        self.noted: list[tuple[int, str]] = []
        self._waiter = waiter

    def frame_received(self, frame: memoryview) -> None:
        self.noted.append((threading.get_ident(), request.get()))
        self._waiter.set()

    def connection_lost(self, error: Exception | None) -> None:
        pass


def in_a_request(function: Callable[[], object]) -> object:
    """Call a function as a web server's handler would."""
    token = request.set("of a user")
    try:
        return function()
    finally:
        request.reset(token)


def test_a_frame_that_a_caller_receives_is_not_of_its_context(thread: LoopThread) -> None:
    near, far = socket.socketpair()
    waiter = thread_waiter(thread)
    receiver = Receiver(waiter)
    frames = FrameTransport(receiver, max_frame_bytes=1000)

    async def connect() -> None:
        SocketTransport(near, frames).begin()

    thread.call(connect())
    far.send(b"\0\0\0\1a")
    in_a_request(lambda: waiter.wait(IN_TIME))

    assert receiver.noted == [(threading.get_ident(), "none")]
    thread.post(frames.abort)
    thread.close()
    far.close()


def test_a_visit_is_not_of_the_context_of_its_visitor(thread: LoopThread) -> None:
    noted: list[str] = []

    in_a_request(lambda: thread.visit(lambda: noted.append(request.get())))
    thread.call(ident())

    assert noted == ["none"]
