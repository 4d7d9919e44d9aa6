"""A network inside one event loop: a cluster and its clients without sockets, in virtual time."""

from __future__ import annotations

import asyncio
from collections import deque
from typing import Any

from pyk.runtime.network.system import Address, ProtocolFactory

FIRST_FREE_PORT = 49152
WRITE_LIMIT_BYTES = 64 * 1024
# How often a SYN that is not answered is sent again: what Linux (since 6.5) and macOS begin with.
SYN_RETRY_SECONDS = 1.0


class MemoryNetwork:
    """Connections between protocols of one event loop, with a latency, and cuts on request.

    ``latency`` is the seconds that every piece of data and every connect takes, one way.
    """

    def __init__(self, *, latency: float = 0.0) -> None:
        self.latency = latency
        self._listeners: dict[tuple[str, int], MemoryListener] = {}
        self._transports: set[MemoryTransport] = set()
        self._unreachable: set[tuple[str, int]] = set()
        self._frozen: set[tuple[str, int]] = set()

    async def resolve(self, host: str, port: int) -> list[Address]:
        return [Address(host, port)]

    async def connect(self, factory: ProtocolFactory, address: Address) -> asyncio.BufferedProtocol:
        end = (address.host, address.port)
        await asyncio.sleep(self.latency)
        while end in self._frozen:  # noqa: ASYNC110 - it is for the clock to say when
            await asyncio.sleep(SYN_RETRY_SECONDS)
        listener = self._listeners.get(end)
        if listener is None or end in self._unreachable:
            raise ConnectionRefusedError(f"nothing listens on {address}")
        client, server = factory(), listener.factory()
        near = MemoryTransport(self, client, end)
        far = MemoryTransport(self, server, end)
        near.peer, far.peer = far, near
        self._transports |= {near, far}
        server.connection_made(far)
        client.connection_made(near)
        return client

    async def listen(self, factory: ProtocolFactory, host: str, port: int) -> MemoryListener:
        if port == 0:
            port = FIRST_FREE_PORT + len(self._listeners)
        if (host, port) in self._listeners:
            raise OSError(f"port {port} of {host} is taken")
        listener = self._listeners[host, port] = MemoryListener(self, factory, (host, port))
        return listener

    def cut(self, host: str, port: int) -> None:
        """Refuse new connections to an address and reset open ones, as when its process dies."""
        self._unreachable.add((host, port))
        for transport in [t for t in self._transports if t.end == (host, port)]:
            transport.fail(ConnectionResetError("connection reset by peer"))

    def freeze(self, host: str, port: int) -> None:
        """Let data to and from an address vanish, connections stay open: a half-open network.

        What was written meanwhile never arrives. A connect that is under way succeeds once the
        address is healed, for its SYN is sent again.
        """
        self._frozen.add((host, port))

    def heal(self, host: str, port: int) -> None:
        """Undo :meth:`cut` and :meth:`freeze` for connections from now on."""
        self._unreachable.discard((host, port))
        self._frozen.discard((host, port))

    @property
    def open_connections(self) -> int:
        return len(self._transports) // 2

    def is_frozen(self, end: tuple[str, int]) -> bool:
        return end in self._frozen

    def forget_listener(self, end: tuple[str, int]) -> None:
        self._listeners.pop(end, None)

    def forget_transport(self, transport: MemoryTransport) -> None:
        self._transports.discard(transport)


class MemoryListener:
    """An open port of a :class:`MemoryNetwork`."""

    def __init__(
        self, network: MemoryNetwork, factory: ProtocolFactory, end: tuple[str, int]
    ) -> None:
        self._network = network
        self._end = end
        self.factory = factory

    @property
    def port(self) -> int:
        return self._end[1]

    async def close(self) -> None:
        self._network.forget_listener(self._end)


class MemoryTransport(asyncio.Transport):
    """One end of a connection. What is written arrives at the other in order, after the latency."""

    peer: MemoryTransport

    def __init__(
        self, network: MemoryNetwork, protocol: asyncio.BufferedProtocol, end: tuple[str, int]
    ) -> None:
        super().__init__({"peername": end})
        self.end = end
        self._network = network
        self._protocol = protocol
        self._loop = asyncio.get_running_loop()
        self._in_transit: deque[tuple[Any, tuple[Any, ...]]] = deque()
        self._incoming = bytearray()
        self._unread_by_peer = 0
        self._is_reading = True
        self._is_paused = False
        self._is_closing = False
        self._is_lost = False

    def write(self, data: bytes | bytearray | memoryview[Any]) -> None:
        if self._is_closing or not data or self._network.is_frozen(self.end):
            return
        self._unread_by_peer += len(data)
        if self._unread_by_peer > WRITE_LIMIT_BYTES and not self._is_paused:
            self._is_paused = True
            self._protocol.pause_writing()
        self._later(self.peer.deliver, bytes(data))

    def deliver(self, data: bytes) -> None:
        self._incoming += data
        self._read()

    def is_closing(self) -> bool:
        return self._is_closing

    def close(self) -> None:
        if not self._is_closing:
            self._is_closing = True
            self._later(self.peer.fail, None)
            self._later(self.fail, None)

    def abort(self) -> None:
        self.close()

    def fail(self, error: Exception | None) -> None:
        """End the connection at this end: ``error`` is what the protocol is told."""
        self._is_closing = True
        if not self._is_lost:
            self._is_lost = True
            self._network.forget_transport(self)
            self._protocol.connection_lost(error)

    def pause_reading(self) -> None:
        self._is_reading = False

    def resume_reading(self) -> None:
        self._is_reading = True
        self._loop.call_soon(self._read)

    def get_write_buffer_size(self) -> int:
        return self._unread_by_peer

    def _later(self, function: Any, *arguments: Any) -> None:
        # Timers of one moment fire in any order, so each brings what is first in line.
        self._in_transit.append((function, arguments))
        if self._network.latency:
            self._loop.call_later(self._network.latency, self._arrive)
        else:
            self._loop.call_soon(self._arrive)

    def _arrive(self) -> None:
        function, arguments = self._in_transit.popleft()
        function(*arguments)

    def _read(self) -> None:
        while self._incoming and self._is_reading and not self._is_closing:
            buffer = memoryview(self._protocol.get_buffer(-1)).cast("B")
            count = min(len(buffer), len(self._incoming))
            buffer[:count] = self._incoming[:count]
            del self._incoming[:count]
            buffer.release()
            self._protocol.buffer_updated(count)
            self.peer.acknowledge(count)

    def acknowledge(self, count: int) -> None:
        self._unread_by_peer -= count
        if self._is_paused and self._unread_by_peer <= WRITE_LIMIT_BYTES // 4:
            self._is_paused = False
            self._protocol.resume_writing()
