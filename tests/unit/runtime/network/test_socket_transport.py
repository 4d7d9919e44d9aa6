"""A socket as the transport of frames, with the guarantees of asyncio's own transports."""

from __future__ import annotations

import asyncio
import os
import socket
import sys
import threading
import time
from collections.abc import AsyncIterator
from typing import Any

import pytest

from pyk.runtime.network import FrameTransport
from pyk.runtime.network import stream_socket as stream_sockets
from pyk.runtime.network.socket_transport import HIGH_WATER_BYTES, LOW_WATER_BYTES, SocketTransport
from pyk.runtime.network.stream_socket import StreamSocket
from support.real_time import IN_TIME

LARGE = bytes(range(256)) * 40_000  # more than the kernel takes at once
IS_COMPILED = not stream_sockets.__file__.endswith(".py")


class Receiver:
    """Keeps frames, and fails at those that say so."""

    fails_at_the_end = False

    def __init__(self) -> None:
        self.frames: list[bytes] = []
        self.arrived = asyncio.Event()
        self.lost = asyncio.Event()
        self.errors: list[Exception | None] = []

    def frame_received(self, frame: memoryview) -> None:
        if bytes(frame) == b"fail":
            raise LookupError("a bug")
        if bytes(frame) == b"exit":
            raise SystemExit(3)
        self.frames.append(bytes(frame))
        self.arrived.set()

    def connection_lost(self, error: Exception | None) -> None:
        self.errors.append(error)
        self.lost.set()
        if self.fails_at_the_end:
            raise LookupError("a bug")


class PacedFrames(FrameTransport):
    """Records each pause and resume of writing, and how much was unsent then."""

    def __init__(self, receiver: Receiver) -> None:
        super().__init__(receiver, max_frame_bytes=1000)
        self.told: list[str] = []
        self.unsent_when_told: list[int] = []

    def pause_writing(self) -> None:
        self._note("pause")
        super().pause_writing()

    def resume_writing(self) -> None:
        self._note("resume")
        super().resume_writing()

    def _note(self, what: str) -> None:
        self.told.append(what)
        self.unsent_when_told.append(self.unsent_bytes)


class Ends:
    """A transport that is connected to a socket that the test uses."""

    def __init__(self) -> None:
        near, self.peer = socket.socketpair()
        self.peer.setblocking(False)
        near.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 8 * 1024)
        self.receiver = Receiver()
        self.frames = PacedFrames(self.receiver)
        self.transport = SocketTransport(near, self.frames)
        self.transport.begin()

    async def read(self, count: int) -> bytes:
        loop, data = asyncio.get_running_loop(), bytearray()
        while len(data) < count:
            received = await loop.sock_recv(self.peer, count - len(data))
            if not received:
                break
            data += received
        return bytes(data)


@pytest.fixture
async def ends() -> AsyncIterator[Ends]:
    ends = Ends()
    yield ends
    ends.frames.abort()
    ends.peer.close()
    await ends.receiver.lost.wait()


async def test_parts_that_the_kernel_takes_are_sent_at_once(ends: Ends) -> None:
    ends.frames.write([b"one", bytearray(b"two"), memoryview(b"three")])

    assert ends.peer.recv(100) == b"onetwothree"
    assert ends.frames.unsent_bytes == 0


async def test_parts_may_change_once_they_are_sent(ends: Ends) -> None:
    part = bytearray(b"one")

    ends.frames.write([part])
    part += b"two"

    assert ends.peer.recv(100) == b"one"


async def test_a_write_that_fails_halfway_ends_the_connection(ends: Ends) -> None:
    parts: list[Any] = [b"head"] * 100 + ["text"]

    with pytest.raises(TypeError):
        ends.frames.write(parts)
    ends.frames.write([b"next"])

    assert ends.frames.is_closing
    await ends.receiver.lost.wait()
    assert b"next" not in await ends.read(1000)


async def test_a_later_write_that_fails_ends_the_connection_and_is_reported_once(
    ends: Ends,
) -> None:
    told: list[dict[str, Any]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: told.append(context))
    parts: list[Any] = ["text"]

    ends.frames.write([LARGE])
    ends.frames.write(parts)
    await ends.read(len(LARGE))
    await ends.receiver.lost.wait()

    assert [type(one["exception"]) for one in told] == [TypeError]


async def test_many_parts_arrive_in_their_order(ends: Ends) -> None:
    parts = [b"%04d" % number for number in range(2000)]

    ends.frames.write(parts)

    assert await ends.read(8000) == b"".join(parts)


@pytest.mark.parametrize("part_count", [1, 3, 40])
async def test_bytes_that_the_kernel_does_not_take_go_later_in_order(
    ends: Ends, part_count: int
) -> None:
    size = len(LARGE) // part_count
    parts = [LARGE[at : at + size] for at in range(0, len(LARGE), size)]

    ends.frames.write(parts)
    ends.frames.write([b"behind"])
    unsent = ends.frames.unsent_bytes

    assert unsent > HIGH_WATER_BYTES
    assert await ends.read(len(LARGE) + 6) == LARGE + b"behind"
    assert ends.frames.unsent_bytes == 0


async def test_bytes_written_after_unsent_ones_count_and_are_sent_once(ends: Ends) -> None:
    ends.frames.write([LARGE])
    unsent = ends.frames.unsent_bytes
    ends.frames.write([LARGE, b"end"])

    assert ends.frames.unsent_bytes == unsent + len(LARGE) + 3
    assert await ends.read(2 * len(LARGE) + 3) == LARGE + LARGE + b"end"


async def test_the_loop_does_not_watch_for_room_once_all_is_sent(ends: Ends) -> None:
    ends.frames.write([LARGE])
    descriptor = ends.transport.get_extra_info("socket").fileno()

    await ends.read(len(LARGE))

    assert not asyncio.get_running_loop().remove_writer(descriptor)


async def test_a_writer_is_paused_once_and_resumed_once(ends: Ends) -> None:
    for _ in range(2):
        ends.frames.write([LARGE])
        ends.frames.write([LARGE])
        await ends.read(2 * len(LARGE))

    assert ends.frames.told == ["pause", "resume"] * 2


async def test_a_writer_resumes_before_all_is_sent(ends: Ends) -> None:
    ends.frames.write([bytes(HIGH_WATER_BYTES)])
    is_paused_early = bool(ends.frames.told)
    ends.frames.write([LARGE])

    await ends.read(HIGH_WATER_BYTES + len(LARGE))

    at_pause, at_resume = ends.frames.unsent_when_told
    assert not is_paused_early
    assert at_pause > HIGH_WATER_BYTES
    assert 0 < at_resume <= LOW_WATER_BYTES


async def test_a_writer_waits_until_the_peer_has_taken_enough(ends: Ends) -> None:
    ends.frames.write([LARGE])
    drained = asyncio.ensure_future(ends.frames.drain())
    await asyncio.sleep(0)
    waited = not drained.done()

    await ends.read(len(LARGE))
    await drained

    assert waited


async def test_a_send_returns_when_there_is_room_again(ends: Ends) -> None:
    sent = asyncio.ensure_future(ends.frames.send([LARGE]))
    await asyncio.sleep(0)
    waited = not sent.done()

    await ends.read(len(LARGE))
    await sent

    assert waited


async def test_a_writer_that_gives_up_leaves_the_others_waiting(ends: Ends) -> None:
    ends.frames.write([LARGE])
    impatient, patient = (asyncio.ensure_future(ends.frames.drain()) for _ in range(2))
    await asyncio.sleep(0)

    impatient.cancel()
    await asyncio.sleep(0)
    is_waiting = not patient.done()
    await ends.read(len(LARGE))
    await patient

    assert is_waiting
    assert not patient.cancelled()


async def test_close_sends_written_bytes(ends: Ends) -> None:
    ends.frames.write([LARGE])
    ends.frames.close()
    ends.frames.write([b"too late"])

    assert await ends.read(len(LARGE) + 1) == LARGE
    await ends.receiver.lost.wait()
    assert ends.receiver.errors == [None]


async def test_nothing_is_received_after_close_while_bytes_are_unsent(ends: Ends) -> None:
    ends.frames.write([LARGE])
    ends.frames.close()
    ends.frames.close()
    ends.frames.resume_reading()
    ends.peer.send(b"\0\0\0\1a")

    assert await ends.read(len(LARGE)) == LARGE
    await ends.receiver.lost.wait()
    assert ends.receiver.frames == []
    assert ends.receiver.errors == [None]


async def test_a_connection_that_is_closed_twice_is_lost_once(ends: Ends) -> None:
    ends.frames.close()
    ends.transport.close()
    ends.transport.abort()
    await ends.receiver.lost.wait()
    await asyncio.sleep(0)

    assert ends.receiver.errors == [None]


async def test_abort_drops_unsent_bytes_and_reports_the_reason(ends: Ends) -> None:
    error = OSError("enough")
    ends.frames.write([LARGE])
    ends.frames.abort(error)
    ends.frames.abort(OSError("once more"))
    is_told_at_once = bool(ends.receiver.errors)

    assert len(await ends.read(len(LARGE))) < len(LARGE)
    await ends.receiver.lost.wait()
    assert not is_told_at_once
    assert ends.receiver.errors == [error]


async def test_an_aborted_connection_is_neither_watched_nor_written_to(ends: Ends) -> None:
    ends.frames.write([LARGE])
    descriptor = ends.transport.get_extra_info("socket").fileno()

    ends.frames.abort()
    ends.frames.write([b"too late"])

    assert ends.frames.is_closing
    assert ends.frames.unsent_bytes == 0
    assert not asyncio.get_running_loop().remove_reader(descriptor)
    assert not asyncio.get_running_loop().remove_writer(descriptor)


async def test_abort_ends_a_close_that_waits_for_the_peer(ends: Ends) -> None:
    ends.frames.write([LARGE])
    ends.frames.close()
    ends.frames.abort()
    ends.frames.abort()

    await ends.receiver.lost.wait()
    assert ends.receiver.errors == [None]


async def test_the_end_of_the_stream_closes(ends: Ends) -> None:
    ends.peer.shutdown(socket.SHUT_WR)

    await ends.receiver.lost.wait()

    assert ends.receiver.errors == [None]
    assert ends.frames.is_closing


async def test_the_end_of_the_stream_ends_a_connection_with_unsent_bytes(ends: Ends) -> None:
    # A proxy whose broker is gone: it closes its end, and reads no more.
    ends.frames.write([LARGE])

    ends.peer.shutdown(socket.SHUT_WR)
    await asyncio.wait_for(ends.receiver.lost.wait(), IN_TIME)

    assert ends.receiver.errors == [None]


async def test_nothing_to_receive_is_not_the_end_of_the_stream(ends: Ends) -> None:
    ends.transport.receive()

    assert not ends.frames.is_closing


async def test_a_reset_ends_the_connection_and_is_not_reported_as_a_bug(ends: Ends) -> None:
    reported: list[dict[str, Any]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: reported.append(context))
    ends.frames.write([b"unread"])

    ends.peer.close()
    await ends.receiver.lost.wait()

    assert isinstance(ends.receiver.errors[0], ConnectionResetError)
    assert reported == []


async def test_the_name_of_a_peer_that_has_gone_already_is_unknown() -> None:
    with socket.socket() as unconnected:
        transport = SocketTransport(unconnected, FrameTransport(Receiver(), max_frame_bytes=1000))

        assert transport.get_extra_info("peername") is None


@pytest.mark.parametrize("size", [10, len(LARGE)])
async def test_a_write_to_a_peer_that_has_gone_ends_the_connection(ends: Ends, size: int) -> None:
    ends.frames.pause_reading()
    ends.peer.close()
    ends.frames.write([bytes(size)])

    await ends.receiver.lost.wait()

    assert isinstance(ends.receiver.errors[0], ConnectionError)


async def test_a_peer_that_goes_while_bytes_are_unsent_ends_the_connection(ends: Ends) -> None:
    ends.frames.write([LARGE])
    ends.frames.pause_reading()
    ends.peer.close()

    await ends.receiver.lost.wait()

    assert isinstance(ends.receiver.errors[0], ConnectionError)
    await ends.frames.drain()


async def test_nothing_is_received_while_reading_is_paused(ends: Ends) -> None:
    ends.frames.pause_reading()
    ends.frames.pause_reading()
    ends.peer.send(b"\0\0\0\3abc")
    for _ in range(10):
        await asyncio.sleep(0)
    received = list(ends.receiver.frames)

    ends.frames.resume_reading()
    ends.frames.resume_reading()
    await ends.receiver.arrived.wait()

    assert received == []
    assert ends.receiver.frames == [b"abc"]


async def test_a_bug_in_the_receiver_is_reported_and_ends_the_connection(ends: Ends) -> None:
    reported: list[dict[str, Any]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: reported.append(context))

    ends.peer.send(b"\0\0\0\4fail")
    await ends.receiver.lost.wait()

    assert [type(each["exception"]) for each in reported] == [LookupError]
    assert isinstance(ends.receiver.errors[0], LookupError)


async def test_a_bug_in_the_callback_of_a_lost_connection_leaves_no_socket_open(ends: Ends) -> None:
    asyncio.get_running_loop().set_exception_handler(lambda *_: None)
    ends.receiver.fails_at_the_end = True

    ends.frames.abort()
    await ends.receiver.lost.wait()

    assert ends.transport.get_extra_info("socket").fileno() == -1


async def test_an_exit_of_the_program_in_the_receiver_is_not_taken_for_a_bug(ends: Ends) -> None:
    ends.frames.pause_reading()
    ends.peer.send(b"\0\0\0\4exit")

    with pytest.raises(SystemExit):
        ends.transport.receive()

    assert not ends.frames.is_closing


async def test_a_receiver_that_closes_the_connection_gets_nothing_more(ends: Ends) -> None:
    ends.peer.send(b"\0\0\0\1a")
    await ends.receiver.arrived.wait()

    ends.frames.close()
    await ends.receiver.lost.wait()

    assert ends.receiver.frames == [b"a"]


def test_a_closed_socket_does_not_touch_the_new_owner_of_its_descriptor() -> None:
    near, far = socket.socketpair()
    closed = StreamSocket(near)
    descriptor = closed.fileno()
    closed.close()
    os.dup2(far.fileno(), descriptor)
    far.setblocking(False)

    with pytest.raises(OSError, match="Bad file descriptor"):
        closed.send_parts([b"lost"])
    with pytest.raises(OSError, match="Bad file descriptor"):
        closed.receive_into(memoryview(bytearray(10)))

    assert closed.fileno() == -1
    os.close(descriptor)
    far.close()


@pytest.mark.skipif(not IS_COMPILED, reason="plain Python releases the lock in each system call")
def test_small_transfers_do_not_release_the_interpreters_lock() -> None:
    near, far = socket.socketpair()
    ends = StreamSocket(near), StreamSocket(far)
    go, ran = threading.Lock(), threading.Event()
    go.acquire()
    other = threading.Thread(target=lambda: (go.acquire(), ran.set()))
    other.start()
    before = sys.getswitchinterval()
    sys.setswitchinterval(1000)
    try:
        go.release()
        until = time.monotonic() + 0.02
        while time.monotonic() < until:
            pass  # the other thread gets as far as it can without the lock
        for _ in range(10):
            ends[0].send_parts([b"a" * 100])
            ends[1].receive_into(memoryview(bytearray(1000)))
        has_run = ran.is_set()
    finally:
        sys.setswitchinterval(before)
    other.join()
    for end in ends:
        end.close()

    assert not has_run
