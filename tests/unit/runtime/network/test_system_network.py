"""Connections by the operating system, on whichever event loop the application runs."""

from __future__ import annotations

import asyncio
import errno
import socket
import struct
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from pyk.runtime.network import Address, FrameTransport, SystemNetwork
from pyk.runtime.network.silent_peers import SILENCE_MS, end_if_silent
from pyk.runtime.network.socket_transport import SocketTransport

RESET_AT_CLOSE = struct.pack("ii", 1, 0)
FRAME = (1000).to_bytes(4, "big") + bytes(1000)


class ForeignLoop(asyncio.AbstractEventLoop):
    """An event loop of another library: asyncio's behind another type."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop

    def __getattribute__(self, name: str) -> Any:
        if name == "__class__":
            return ForeignLoop
        return getattr(object.__getattribute__(self, "_loop"), name)


class Receiver:
    def __init__(self) -> None:
        self.frames: list[bytes] = []
        self.lost: asyncio.Future[Exception | None] = asyncio.get_running_loop().create_future()

    def frame_received(self, frame: memoryview) -> None:
        self.frames.append(bytes(frame))

    def connection_lost(self, error: Exception | None) -> None:
        self.lost.set_result(error)


@pytest.fixture
def listening() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield listening


async def _connected(listening: socket.socket, receiver: Receiver) -> FrameTransport:
    frames = FrameTransport(receiver, max_frame_bytes=1_000_000)
    address = Address("127.0.0.1", listening.getsockname()[1])
    await SystemNetwork().connect(lambda: frames, address)
    return frames


@pytest.mark.skipif(sys.platform == "win32", reason="asyncio's own transports are used there")
async def test_a_loop_of_asyncio_gets_the_compiled_transport(listening: socket.socket) -> None:
    receiver = Receiver()

    frames = await _connected(listening, receiver)

    assert isinstance(frames._transport, SocketTransport)
    frames.abort()
    await receiver.lost


async def test_another_loop_uses_its_own_transport(listening: socket.socket) -> None:
    # uvloop calls a reader only once after a peer has reset the connection.
    receiver, own = Receiver(), asyncio.get_running_loop()

    asyncio._set_running_loop(ForeignLoop(own))
    try:
        frames = await _connected(listening, receiver)
    finally:
        asyncio._set_running_loop(own)

    assert not isinstance(frames._transport, SocketTransport)
    frames.abort()
    await receiver.lost


async def test_a_reset_after_many_bytes_ends_the_connection(listening: socket.socket) -> None:
    receiver = Receiver()
    await _connected(listening, receiver)
    peer, _ = listening.accept()
    peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET_AT_CLOSE)

    peer.sendall(100 * FRAME)
    peer.close()

    assert isinstance(await receiver.lost, ConnectionResetError)
    assert len(receiver.frames) <= 100


class NamedLoop(ForeignLoop):
    """An event loop for which an address is called ``canonical`` and has ``addresses``."""

    def __init__(self, loop: asyncio.AbstractEventLoop, addresses: list[str]) -> None:
        super().__init__(loop)
        self._addresses = addresses

    def __getattribute__(self, name: str) -> Any:
        if name in ("getnameinfo", "getaddrinfo", "_addresses"):
            return object.__getattribute__(self, name)
        return super().__getattribute__(name)

    async def getnameinfo(self, *_: Any) -> tuple[str, str]:  # type: ignore[override]
        if not self._addresses:
            raise socket.gaierror("no name")
        return "canonical", "9092"

    async def getaddrinfo(self, *_: Any, **__: Any) -> list[Any]:  # type: ignore[override]
        return [(socket.AF_INET, 0, 0, "", (one, 9092)) for one in self._addresses]


@pytest.mark.parametrize(
    ("addresses", "name"),
    [
        (["127.0.0.1"], "canonical"),
        (["10.0.0.1", "127.0.0.1"], "canonical"),
        (["10.0.0.1"], "127.0.0.1"),
        ([], "127.0.0.1"),
    ],
)
async def test_the_name_of_an_address_counts_if_it_leads_back(
    addresses: list[str], name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    loop = NamedLoop(asyncio.get_running_loop(), addresses)
    monkeypatch.setattr(asyncio, "get_running_loop", lambda: loop)

    assert await SystemNetwork().canonical_name(Address("127.0.0.1", 9092)) == name


@pytest.mark.parametrize(
    ("host", "family"), [("127.0.0.1", socket.AF_INET), ("::1", socket.AF_INET6)]
)
async def test_an_address_is_resolved_without_asking_for_names(
    host: str, family: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    loop = NamedLoop(asyncio.get_running_loop(), ["10.0.0.1"])
    monkeypatch.setattr(asyncio, "get_running_loop", lambda: loop)

    assert await SystemNetwork().resolve(host, 9092) == [Address(host, 9092, family)]
    assert await SystemNetwork().resolve("name", 9092) == [Address("10.0.0.1", 9092)]


async def test_an_empty_name_is_not_this_machine() -> None:
    with pytest.raises(socket.gaierror):
        await SystemNetwork().resolve("", 9092)


@pytest.mark.skipif(not hasattr(socket, "TCP_USER_TIMEOUT"), reason="only Linux knows it")
@pytest.mark.parametrize(("ends_silent", "milliseconds"), [(True, SILENCE_MS), (False, 0)])
async def test_connections_to_silent_peers_end_where_that_is_asked_for(
    listening: socket.socket, ends_silent: bool, milliseconds: int
) -> None:
    address = Address("127.0.0.1", listening.getsockname()[1])
    network = SystemNetwork(ends_silent=ends_silent)
    receiver, own = Receiver(), asyncio.get_running_loop()
    frames = FrameTransport(receiver, max_frame_bytes=1_000_000)
    asyncio._set_running_loop(ForeignLoop(own))  # its transports tell their sockets
    try:
        await network.connect(lambda: frames, address)
    finally:
        asyncio._set_running_loop(own)

    connection = frames._transport.get_extra_info("socket")

    assert connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT) == milliseconds
    assert bool(connection.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)) is ends_silent
    frames.abort()
    await receiver.lost


class SocketWithoutOptions(socket.socket):
    """A socket of a sandbox that calls itself Linux, and has few options of it."""

    def setsockopt(self, *option: Any) -> None:
        raise OSError(errno.ENOPROTOOPT, "Protocol not available")


def test_a_connection_is_used_where_the_system_cannot_end_silent_ones() -> None:
    with SocketWithoutOptions() as connection:
        end_if_silent(connection)
