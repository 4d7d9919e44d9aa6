"""Frames come out whole, however their bytes arrive, and only frames of a permitted size."""

from __future__ import annotations

import asyncio
import asyncio.constants
import os
import socket
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyk.runtime.network import FileRegion, FrameTransport, SystemNetwork
from pyk.runtime.network.frame_reader import (
    FIRST_FRAME_BUFFER_BYTES,
    GROWTH,
    SMALLEST_FRAME_BUFFER_BYTES,
    FrameSizeError,
)
from pyk.runtime.network.frame_transport import JOIN_BELOW_BYTES, SCRATCH_BYTES, TLS_PIECE_BYTES


class Receiver:
    def __init__(self) -> None:
        self.frames: list[bytes] = []
        self.lost: asyncio.Event = asyncio.Event()
        self.error: Exception | None = None

    def frame_received(self, frame: memoryview) -> None:
        self.frames.append(bytes(frame))

    def connection_lost(self, error: Exception | None) -> None:
        self.error = error
        self.lost.set()


class FileWithoutSeek:
    """What a broker's file system hands out: a descriptor, no position."""

    def __init__(self, fd: int) -> None:
        self._fd = fd

    def fileno(self) -> int:
        return self._fd


class ClosableTransport(asyncio.Transport):
    """What the frame transport believes to be its connection."""

    aborted = False
    closed = False

    def abort(self) -> None:
        self.aborted = True

    def close(self) -> None:
        self.closed = True

    def is_closing(self) -> bool:
        return self.closed


class SlowTlsTransport(ClosableTransport):
    """Has room for one write at a time."""

    def __init__(self) -> None:
        self.written: list[bytes] = []
        self.frames: FrameTransport | None = None

    def get_extra_info(self, name: str, default: object = None) -> object:
        return self if name == "sslcontext" else default

    def write(self, data: bytes | bytearray | memoryview) -> None:
        assert self.frames is not None
        self.written.append(bytes(data))
        self.frames.pause_writing()


def framed(*bodies: bytes) -> bytes:
    return b"".join(len(body).to_bytes(4, "big") + body for body in bodies)


def feed(transport: FrameTransport, data: bytes, piece: int) -> None:
    """Deliver ``data`` as an event loop does, at most ``piece`` bytes at a time."""
    if not transport._scratch:  # it has no connection, which would bring one
        transport._scratch = memoryview(bytearray(SCRATCH_BYTES))
    at = 0
    while at < len(data):
        buffer = transport.get_buffer(-1)
        count = min(piece, len(buffer), len(data) - at)
        buffer[:count] = data[at : at + count]
        transport.buffer_updated(count)
        del buffer
        at += count


@given(st.lists(st.binary(min_size=1, max_size=300), max_size=20), st.integers(1, 400))
def test_frames_are_the_same_whatever_pieces_they_arrive_in(
    bodies: list[bytes], piece: int
) -> None:
    receiver = Receiver()
    transport = FrameTransport(receiver, max_frame_bytes=1000)

    feed(transport, framed(*bodies), piece)

    assert receiver.frames == bodies


@pytest.mark.parametrize("size", [65_532, 65_533, 70_000, FIRST_FRAME_BUFFER_BYTES + 1, 5_000_000])
def test_a_large_frame_between_small_ones_arrives_whole(size: int) -> None:
    receiver = Receiver()
    transport = FrameTransport(receiver, max_frame_bytes=10_000_000)
    large = bytes(range(256)) * (size // 256) + b"x" * (size % 256)

    feed(transport, framed(b"before", large, b"after"), 60_000)

    assert receiver.frames == [b"before", large, b"after"]


def test_a_declared_size_is_not_allocated_before_its_bytes_arrive() -> None:
    transport = FrameTransport(Receiver(), max_frame_bytes=1 << 30)

    feed(transport, (1 << 30).to_bytes(4, "big") + b"x", 100)

    assert len(transport.get_buffer(-1)) <= FIRST_FRAME_BUFFER_BYTES


@pytest.mark.parametrize(
    ("declared", "arrived", "held"),
    [
        (100, 1, 100),
        (1 << 30, 1, SMALLEST_FRAME_BUFFER_BYTES),
        (1 << 30, 10_000, GROWTH * 10_000),
        (50_000, 40_000, 50_000),
    ],
)
def test_the_buffer_of_a_frame_grows_with_the_bytes_that_arrive(
    declared: int, arrived: int, held: int
) -> None:
    transport = FrameTransport(Receiver(), max_frame_bytes=1 << 30)

    feed(transport, declared.to_bytes(4, "big") + bytes(arrived), SCRATCH_BYTES)

    assert transport.held_bytes == held
    assert transport.receiving_bytes == declared


def test_a_frame_whose_size_has_not_arrived_whole_holds_nothing() -> None:
    transport = FrameTransport(Receiver(), max_frame_bytes=1000)

    feed(transport, b"\0\0\0", SCRATCH_BYTES)

    assert transport.held_bytes == 0
    assert transport.receiving_bytes == 3


@pytest.mark.parametrize("size", [1, 1000])
def test_the_smallest_and_the_largest_frame_that_are_permitted_arrive(size: int) -> None:
    receiver = Receiver()

    feed(FrameTransport(receiver, max_frame_bytes=1000), framed(bytes(size)), 100)

    assert receiver.frames == [bytes(size)]


@pytest.mark.parametrize("rest", [b"", b"HTTP/1.1 400 Bad Request"])
@pytest.mark.parametrize("size", [0, -1, -(2**31), 1001, 2**31 - 1])
async def test_a_size_that_no_frame_may_have_ends_the_connection(size: int, rest: bytes) -> None:
    receiver, connection = Receiver(), ClosableTransport()
    transport = FrameTransport(receiver, max_frame_bytes=1000)
    transport.connection_made(connection)

    first_bytes = size.to_bytes(4, "big", signed=True) + rest
    feed(transport, first_bytes, 100)
    transport.connection_lost(None)

    assert connection.aborted
    assert isinstance(receiver.error, FrameSizeError)
    assert receiver.error.size == size
    assert receiver.error.first_bytes == first_bytes


async def test_bytes_written_after_the_end_of_the_connection_are_dropped() -> None:
    transport = FrameTransport(Receiver(), max_frame_bytes=1000)
    transport.connection_made(ClosableTransport())

    transport.connection_lost(None)
    transport.write([b"late"])

    assert transport.is_closing


async def test_a_large_frame_to_a_peer_that_has_gone_is_dropped_without_a_word(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """asyncio logs "socket.send() raised exception." for each write from the sixth on."""
    receiver = Receiver()
    near, far = socket.socketpair()
    far.close()
    loop = asyncio.get_running_loop()
    _, transport = await loop.create_connection(
        lambda: FrameTransport(receiver, max_frame_bytes=1000), sock=near
    )

    transport.write([bytes(100_000)] * 20)
    transport.write([bytes(100_000)] * 20)
    await receiver.lost.wait()

    assert [each.getMessage() for each in caplog.records] == []


class TransportOfALostPeer(asyncio.Transport):
    """A connection whose peer has gone, as the event loop's ``sendfile`` finds out."""

    _sendfile_compatible = asyncio.constants._SendfileMode.TRY_NATIVE

    def __init__(self) -> None:
        super().__init__()
        self.written: list[bytes] = []

    def is_closing(self) -> bool:
        return False

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.written.append(bytes(data))


async def test_small_neighbours_are_joined_and_large_parts_are_not_copied() -> None:
    connection = TransportOfALostPeer()
    transport = FrameTransport(Receiver(), max_frame_bytes=1000)
    transport.connection_made(connection)
    large = bytes(JOIN_BELOW_BYTES)

    transport.write([b"a", b"b", large, large, b"c", b"d"])

    assert connection.written == [b"ab", large, large, b"cd"]


@pytest.mark.parametrize(
    ("peername", "peer"), [(("10.0.0.1", 9092), "10.0.0.1:9092"), ("/run/broker", "/run/broker")]
)
async def test_a_peer_is_named_by_its_address(peername: object, peer: str) -> None:
    transport = FrameTransport(Receiver(), max_frame_bytes=1000)

    transport.connection_made(asyncio.Transport({"peername": peername}))

    assert transport.peer == peer


async def test_the_idle_connections_of_a_loop_share_a_buffer() -> None:
    idle = [FrameTransport(Receiver(), max_frame_bytes=1000) for _ in range(2)]

    for transport in idle:
        transport.connection_made(ClosableTransport())

    assert idle[0].get_buffer(-1).obj is idle[1].get_buffer(-1).obj


async def test_an_empty_file_region_is_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "segment"
    path.write_bytes(b"0123456789")
    connection = TransportOfALostPeer()
    transport = FrameTransport(Receiver(), max_frame_bytes=1000)
    transport.connection_made(connection)

    with path.open("rb") as file:
        await transport.send([b"head", FileRegion(file, 2, 0), b"tail"])

    assert connection.written == [b"head", b"tail"]


async def test_a_file_that_cannot_be_sent_by_the_system_is_read_and_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "segment"
    path.write_bytes(b"0123456789")
    connection = TransportOfALostPeer()
    transport = FrameTransport(Receiver(), max_frame_bytes=1000)
    transport.connection_made(connection)

    async def refuse(*_: object) -> int:
        raise asyncio.SendfileNotAvailableError

    monkeypatch.setattr(asyncio.get_running_loop(), "_sendfile_native", refuse)
    fd = os.open(path, os.O_RDONLY)
    try:
        await transport.send([FileRegion(FileWithoutSeek(fd), 2, 5)])
    finally:
        os.close(fd)

    assert connection.written == [b"23456"]


async def slow_send_of(
    path: Path, size: int
) -> tuple[SlowTlsTransport, FrameTransport, asyncio.Task[None]]:
    """Begin to send a file under TLS to a peer that takes nothing yet."""
    connection = SlowTlsTransport()
    transport = connection.frames = FrameTransport(Receiver(), max_frame_bytes=1000)
    transport.connection_made(connection)

    async def send() -> None:
        with path.open("rb") as file:
            await transport.send([FileRegion(file, 1, size)])

    sending = asyncio.create_task(send())
    for _ in range(10):
        await asyncio.sleep(0)
    return connection, transport, sending


async def test_under_tls_a_file_is_read_no_faster_than_the_peer_takes_it(tmp_path: Path) -> None:
    path = tmp_path / "segment"
    path.write_bytes(os.urandom(3_000_001))

    connection, transport, sending = await slow_send_of(path, 3_000_000)

    assert sum(map(len, connection.written)) == TLS_PIECE_BYTES
    while not sending.done():
        transport.resume_writing()
        await asyncio.sleep(0)
    assert b"".join(connection.written) == path.read_bytes()[1:]


async def test_under_tls_a_file_for_a_peer_that_leaves_is_a_connection_error(
    tmp_path: Path,
) -> None:
    path = tmp_path / "segment"
    path.write_bytes(bytes(3_000_001))
    connection, transport, sending = await slow_send_of(path, 3_000_000)

    transport.connection_lost(None)

    with pytest.raises(ConnectionResetError):
        await sending
    assert len(connection.written) == 1


async def test_a_file_for_a_peer_that_has_left_is_a_connection_error(tmp_path: Path) -> None:
    path = tmp_path / "segment"
    path.write_bytes(b"0123456789")
    connection = ClosableTransport()
    transport = FrameTransport(Receiver(), max_frame_bytes=1000)
    transport.connection_made(connection)
    connection.close()

    with path.open("rb") as file, pytest.raises(ConnectionResetError):
        await transport.send([FileRegion(file, 2, 5)])


async def test_parts_and_file_regions_arrive_in_order(tmp_path: Path) -> None:
    path = tmp_path / "segment"
    path.write_bytes(b"0123456789" * 100_000)
    receiver = Receiver()
    network = SystemNetwork()
    served: list[FrameTransport] = []

    def serve(_: str) -> FrameTransport:
        served.append(FrameTransport(Receiver(), max_frame_bytes=1000))
        return served[-1]

    listener = await network.listen(serve, "127.0.0.1", 0)
    (address,) = await network.resolve("127.0.0.1", listener.port)
    client = await network.connect(
        lambda: FrameTransport(receiver, max_frame_bytes=1 << 20), address
    )
    assert isinstance(client, FrameTransport)
    while not served or served[0].is_closing:
        await asyncio.sleep(0)

    with path.open("rb") as file:
        region = FileRegion(file, 5, 900_000)
        await served[0].send([(900_005).to_bytes(4, "big") + b"head", region, b"t"])
        served[0].close()
        await receiver.lost.wait()
    await listener.close()

    assert receiver.frames == [b"head" + path.read_bytes()[5:900_005] + b"t"]
