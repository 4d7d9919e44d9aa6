"""Ports of the operating system: without a free descriptor, and with a gate."""

from __future__ import annotations

import asyncio
import contextlib
import os
import resource
import socket
import ssl
import tracemalloc
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from pyk.runtime.network import FrameTransport, SystemNetwork, system
from support.real_time import IN_TIME


@contextlib.contextmanager
def no_free_descriptor() -> Iterator[None]:
    """Let every new descriptor be one too many."""
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    lowest_free = os.dup(0)
    os.close(lowest_free)
    resource.setrlimit(resource.RLIMIT_NOFILE, (lowest_free, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)


class Receiver:
    """Takes frames and does nothing."""

    def frame_received(self, frame: memoryview) -> None: ...

    def connection_lost(self, error: Exception | None) -> None: ...


async def test_connections_wait_with_one_log_line_while_no_descriptor_is_free(
    caplog: pytest.LogCaptureFixture,
) -> None:
    accepted: asyncio.Queue[FrameTransport] = asyncio.Queue()

    def factory(_: str) -> FrameTransport:
        transport = FrameTransport(Receiver(), max_frame_bytes=100)
        accepted.put_nowait(transport)
        return transport

    problems: list[dict[str, Any]] = []
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(lambda _, context: problems.append(context))
    listener = await SystemNetwork().listen(factory, "127.0.0.1", 0)
    clients = [socket.socket() for _ in range(3)]

    with no_free_descriptor():
        for client in clients:
            client.connect(("127.0.0.1", listener.port))
        for _ in range(20):
            await asyncio.sleep(0)
        assert accepted.empty()

    for _ in clients:
        await accepted.get()
    assert problems == []
    warnings = [record.getMessage() for record in caplog.records]
    assert len(warnings) == 1
    assert f"Cannot accept connections on port {listener.port}" in warnings[0]
    assert "Too many open files" in warnings[0]
    await listener.close()
    for client in clients:
        client.close()


async def test_closed_listener_refuses_connections() -> None:
    listener = await SystemNetwork().listen(
        lambda _: FrameTransport(Receiver(), max_frame_bytes=100), "127.0.0.1", 0
    )
    port = listener.port

    await listener.close()

    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", port))


async def test_both_ends_of_a_connection_send_small_frames_at_once() -> None:
    ends: list[FrameTransport] = []
    accepted = asyncio.Event()

    class End(FrameTransport):
        def connection_made(self, transport: asyncio.BaseTransport) -> None:
            super().connection_made(transport)
            own = transport.get_extra_info("socket")
            delays.append(not own.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
            ends.append(self)
            if len(ends) == 2:
                accepted.set()

    delays: list[bool] = []
    network = SystemNetwork()
    listener = await network.listen(lambda _: End(Receiver(), max_frame_bytes=100), "127.0.0.1", 0)
    (address,) = await network.resolve("127.0.0.1", listener.port)

    await network.connect(lambda: End(Receiver(), max_frame_bytes=100), address)
    await accepted.wait()

    assert delays == [False, False]
    for end in ends:
        end.close()
    await listener.close()


class Gate:
    """Answers as it is told to, and remembers who came and went."""

    def __init__(self, *, seconds: float = 0.0, close_after: float | None = None) -> None:
        self.seconds = seconds
        self.close_after = close_after
        self.entered: list[str] = []
        self.left: list[str] = []

    def wait(self) -> float:
        seconds, self.seconds = self.seconds, 0.0
        return seconds

    def enter(self, host: str) -> float | None:
        self.entered.append(host)
        return self.close_after

    def leave(self, host: str) -> None:
        self.left.append(host)


async def listen(gate: Gate, tls: Callable[[], ssl.SSLContext] | None = None) -> Any:
    def factory(_: str) -> FrameTransport:
        return FrameTransport(Receiver(), max_frame_bytes=100)

    return await SystemNetwork().listen(factory, "127.0.0.1", 0, tls, gate)


async def test_connections_wait_while_the_gate_is_closed() -> None:
    gate = Gate(seconds=0.01)
    listener = await listen(gate)

    _, writer = await asyncio.open_connection("127.0.0.1", listener.port)
    async with asyncio.timeout(IN_TIME):
        while not gate.entered:
            await asyncio.sleep(0)

    assert gate.entered == ["127.0.0.1"]
    writer.close()
    await listener.close()


async def test_connections_that_are_not_admitted_are_closed_with_the_port() -> None:
    gate = Gate(close_after=3600)
    listener = await listen(gate)
    reader, writer = await asyncio.open_connection("127.0.0.1", listener.port)
    async with asyncio.timeout(IN_TIME):
        while not gate.entered:
            await asyncio.sleep(0)

        await listener.close()

        assert await reader.read() == b""
    assert gate.left == []
    writer.close()


def no_context() -> ssl.SSLContext:
    raise ValueError("the certificate has changed, and is none")


@pytest.mark.parametrize(
    "tls", [lambda: ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER), no_context], ids=["peer", "broker"]
)
async def test_a_connection_whose_handshake_fails_leaves(
    tls: Callable[[], ssl.SSLContext],
) -> None:
    gate = Gate()
    listener = await listen(gate, tls)
    reader, writer = await asyncio.open_connection("127.0.0.1", listener.port)

    writer.write(b"this is no handshake")
    async with asyncio.timeout(IN_TIME):
        with contextlib.suppress(ConnectionResetError):
            await reader.read()
        while not gate.left:
            await asyncio.sleep(0)

    assert gate.entered == gate.left == ["127.0.0.1"]
    writer.close()
    await listener.close()


async def test_closing_does_not_wait_for_handshakes_that_stall(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(system, "TLS_HANDSHAKE_SECONDS", 3600.0)
    gate = Gate()
    listener = await listen(gate, lambda: ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER))
    reader, writer = await asyncio.open_connection("127.0.0.1", listener.port)
    async with asyncio.timeout(IN_TIME):
        while not gate.entered:
            await asyncio.sleep(0)

        await listener.close()

        assert await reader.read() == b""
    assert gate.left == ["127.0.0.1"]
    writer.close()


@contextlib.contextmanager
def traced_memory() -> Iterator[None]:
    tracemalloc.start()
    try:
        yield
    finally:
        tracemalloc.stop()


async def test_handshakes_that_stall_hold_little_memory() -> None:
    gate = Gate()
    listener = await listen(gate, lambda: ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER))
    clients = [socket.socket() for _ in range(20)]

    with traced_memory():
        for client in clients:
            client.connect(("127.0.0.1", listener.port))
        async with asyncio.timeout(IN_TIME):
            while len(gate.entered) < len(clients):
                await asyncio.sleep(0)
        for _ in range(5):
            await asyncio.sleep(0)
        held, _ = tracemalloc.get_traced_memory()

    assert held / len(clients) < 100_000
    for client in clients:
        client.close()
    await listener.close()
