"""A network inside one event loop: a cluster and its clients without sockets, in virtual time.

Every connection has two ends, and each end is at a host that has a name. So a test can cut or delay
the link between two hosts and leave their other links as they are::

    network = MemoryNetwork(latency=0.001)
    broker, alice = network.host("broker"), network.host("alice")  # each is a Network
    …
    network.cut("alice", "broker", one_way=True)  # her requests are lost, responses still arrive
    network.delay("alice", "broker", 0.2)
    network.isolate("broker")  # from all others
    network.heal()
    network.reset("broker")  # as when its process dies

What connects through the network itself is at the host ``"localhost"``, and what listens through it
at a host of the name that it listens on. Addresses are the same for all hosts.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable
from typing import Any

from pyk.runtime.network.links import Link, Links
from pyk.runtime.network.memory_addresses import NothingListensError, note_opened
from pyk.runtime.network.memory_transport import MemoryTransport, Observer
from pyk.runtime.network.system import (
    OPEN_GATE,
    AcceptedFactory,
    AcceptGate,
    Address,
    ClientTls,
    ProtocolFactory,
    ServerTls,
    Tunnel,
)

LOCALHOST = "localhost"
FIRST_FREE_PORT = 49152
# How often a SYN that is not answered is sent again: what Linux (since 6.5) and macOS begin with.
SYN_RETRY_SECONDS = 1.0
NO_PROXY = "this network is in memory and has no proxies"
OTHER_LOOP = (
    "this network is in memory and works within one event loop; a blocking client has a loop of "
    "its own: use its asyncio twin"
)


class MemoryNetwork(Links):
    """Connections between protocols of one event loop, with a latency, and cuts on request.

    ``latency`` is the seconds that every piece of data and every connect takes, one way, unless
    :meth:`delay` says otherwise for a link. ``observe(source, target, data)`` is called with the
    names of both hosts whenever data are written.
    """

    def __init__(self, *, latency: float = 0.0, observe: Observer | None = None) -> None:
        super().__init__(latency)
        self.add_host(LOCALHOST)
        self._observe = observe
        self._listeners: dict[tuple[str, int], MemoryListener] = {}
        self._transports: dict[MemoryTransport, None] = {}
        self._free_ports = itertools.count(FIRST_FREE_PORT)

    def host(self, name: str) -> MemoryHost:
        """Return the network as a host of this name uses it."""
        self.add_host(name)
        return MemoryHost(self, name)

    async def resolve(self, host: str, port: int) -> list[Address]:
        return [Address(host, port)]

    async def canonical_name(self, address: Address) -> str:
        return address.host

    async def connect(
        self,
        factory: ProtocolFactory,
        address: Address,
        tls: ClientTls | None = None,
        tunnel: Tunnel | None = None,
    ) -> asyncio.BufferedProtocol:
        return await self.host(LOCALHOST).connect(factory, address, tls, tunnel)

    async def listen(
        self,
        factory: AcceptedFactory,
        host: str,
        port: int,
        tls: ServerTls | None = None,
        gate: AcceptGate = OPEN_GATE,
    ) -> MemoryListener:
        return await self.host(host).listen(factory, host, port, tls, gate)

    def reset(self, one: str, other: str | None = None) -> None:
        """Reset the connections between two hosts, or between one and all others."""
        self._check_hosts(one, other)
        for transport in list(self._transports):
            if transport.link.connects(one, other):
                transport.fail(ConnectionResetError("connection reset by peer"))

    @property
    def open_connections(self) -> int:
        return len(self._transports) // 2

    def _join(
        self,
        client: asyncio.BufferedProtocol,
        server: asyncio.BufferedProtocol,
        there: Link,
        back: Link,
        address: tuple[str, int],
    ) -> tuple[MemoryTransport, MemoryTransport]:
        """Return the two ends of a new connection."""

        def lost(transport: MemoryTransport) -> None:
            self._transports.pop(transport, None)

        near = MemoryTransport(client, there, address, lost, self._observe)
        far = MemoryTransport(server, back, address, lost, self._observe)
        near.peer, far.peer = far, near
        self._transports[near] = self._transports[far] = None
        return near, far


class MemoryHost:
    """The network of one host; implements :class:`~pyk.runtime.network.Network`."""

    def __init__(self, network: MemoryNetwork, name: str) -> None:
        self.name = name
        self._network = network

    async def resolve(self, host: str, port: int) -> list[Address]:
        return await self._network.resolve(host, port)

    async def canonical_name(self, address: Address) -> str:
        return await self._network.canonical_name(address)

    async def connect(
        self,
        factory: ProtocolFactory,
        address: Address,
        tls: ClientTls | None = None,
        tunnel: Tunnel | None = None,
    ) -> asyncio.BufferedProtocol:
        """Connect from this host. While no packet gets through, TCP tries again, and this waits.

        There are no proxies in memory: a connection that needs one is refused.
        """
        if tunnel is not None:
            raise OSError(NO_PROXY)
        end, listeners = (address.host, address.port), self._network._listeners
        if end in listeners and listeners[end].loop is not asyncio.get_running_loop():
            raise OSError(OTHER_LOOP)
        target = listeners[end].host if end in listeners else address.host
        there, back = self._network.link(self.name, target), self._network.link(target, self.name)
        await asyncio.sleep(there.latency)
        while not (there.is_open and back.is_open):  # noqa: ASYNC110 - it is for the clock to say
            await asyncio.sleep(SYN_RETRY_SECONDS)
        if end not in listeners:
            raise NothingListensError(f"nothing listens on {address}")
        while seconds := listeners[end].gate.wait():  # noqa: ASYNC110 - as above
            await asyncio.sleep(seconds)  # in the backlog
        server = listeners[end].accept()
        client = factory()
        shaken, wire = _encrypted(client, tls)
        near, far = self._network._join(wire, server, there, back, end)
        server.connection_made(far)
        wire.connection_made(near)
        try:
            await shaken
        except BaseException:
            near.abort()
            raise
        return client

    async def listen(
        self,
        factory: AcceptedFactory,
        host: str,
        port: int,
        tls: ServerTls | None = None,
        gate: AcceptGate = OPEN_GATE,
    ) -> MemoryListener:
        """Accept connections at this host."""
        listeners = self._network._listeners
        end = (host, port or next(self._network._free_ports))
        if end in listeners:
            raise OSError(f"port {port} of {host} is taken")
        listener = listeners[end] = MemoryListener(
            self.name, factory, end, lambda: listeners.pop(end, None), gate, tls=tls
        )
        note_opened(self._network, str(Address(*end)))
        return listener


class MemoryListener:
    """An open port of a :class:`MemoryNetwork`."""

    def __init__(
        self,
        host: str,
        factory: AcceptedFactory,
        end: tuple[str, int],
        when_closed: Callable[[], object],
        gate: AcceptGate,
        *,
        tls: ServerTls | None,
    ) -> None:
        self.host = host
        """The name of the host that it is at."""
        self.gate = gate
        self._factory = factory
        self._tls = tls
        self.loop = asyncio.get_running_loop()
        self.port = end[1]
        self._end = end
        self._when_closed = when_closed

    def accept(self) -> asyncio.BufferedProtocol:
        """Return the protocol of a new connection."""
        host = self._end[0]
        seconds = self.gate.enter(host)
        if seconds is not None:
            return _Refused(seconds)
        if self._tls is None:
            return self._factory(host)
        from pyk.runtime.network.memory_tls import server_end

        return server_end(self._factory(host), self._tls())

    async def close(self) -> None:
        self._when_closed()


def _encrypted(
    client: asyncio.BufferedProtocol, tls: ClientTls | None
) -> tuple[asyncio.Future[None], asyncio.BufferedProtocol]:
    """Return when the handshake of a client is over, and what is connected for it."""
    shaken: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    if tls is None:
        shaken.set_result(None)
        return shaken, client
    from pyk.runtime.network.memory_tls import client_end

    tls.begun()
    return shaken, client_end(client, tls, shaken)


class _Refused(asyncio.BufferedProtocol):
    """The end of a connection that is accepted to be closed."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds

    def connection_made(self, transport: Any) -> None:
        asyncio.get_running_loop().call_later(self._seconds, transport.abort)

    def get_buffer(self, sizehint: int) -> bytearray:
        return bytearray(64)
