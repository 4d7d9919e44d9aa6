"""Connections as clients and broker see them. Nothing else in pyk opens a socket."""

from __future__ import annotations

import asyncio
import logging
import socket
import sys
from collections.abc import Callable, Generator
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from pyk.runtime import slotted
from pyk.runtime.network.frame_transport import FrameTransport
from pyk.runtime.network.silent_peers import end_if_silent
from pyk.runtime.network.socket_transport import SocketTransport

if TYPE_CHECKING:
    import ssl  # which a broker without TLS does not load

log = logging.getLogger(__name__)

ProtocolFactory = Callable[[], asyncio.BufferedProtocol]
AcceptedFactory = Callable[[str], asyncio.BufferedProtocol]
"""Makes the protocol of a connection from an address: its socket may not know that any more."""
ServerTls = Callable[[], "ssl.SSLContext"]
"""Returns the context for the next connection: certificates change while a port is open."""


@slotted.frozen
class Address:
    """One resolved address, to which a socket connects."""

    host: str
    port: int
    family: int = socket.AF_INET

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


@slotted.frozen
class ClientTls:
    """Encrypt a connection that a client makes."""

    context: ssl.SSLContext
    server_name: str
    """What the certificate of the server must name: a host name or an address."""
    begun: Callable[[], object]
    """Called when the handshake begins, once the connection is there."""


Tunnel: TypeAlias = Generator["bytes | int", bytes, None]
"""The steps by which a proxy is asked for a connection to a server.

It yields bytes to send, or how many bytes may be received, for which it is sent those that have
arrived, empty at the end of the stream.
"""


class Listener(Protocol):
    """An open port."""

    @property
    def port(self) -> int:
        """Return the port that is really bound, also where 0 was asked for."""

    async def close(self) -> None:
        """Stop accepting. Connections that were accepted live on."""


class AcceptGate(Protocol):
    """Decides which connections are accepted, from before their handshake on."""

    def wait(self) -> float:
        """Return for how many seconds to accept none: they stay in the backlog. 0 for go on."""

    def enter(self, host: str) -> float | None:
        """Admit a connection, or return after how many seconds to close it."""

    def leave(self, host: str) -> None:
        """Note that a connection that was admitted has ended before its protocol was connected.

        Its protocol knows of any later end, and from its factory the host.
        """


class OpenGate:
    """Admits everything; implements :class:`AcceptGate`."""

    def wait(self) -> float:
        return 0.0

    def enter(self, host: str) -> float | None:
        return None

    def leave(self, host: str) -> None:
        """Do nothing: nobody counts."""


OPEN_GATE = OpenGate()


class Network(Protocol):
    """Name resolution, outgoing connections, open ports."""

    async def resolve(self, host: str, port: int) -> list[Address]:
        """Return a name's addresses in the order to try them; raise ``OSError`` if none."""

    async def canonical_name(self, address: Address) -> str:
        """Return the name that an address has, the address itself if it has none."""

    async def connect(
        self,
        factory: ProtocolFactory,
        address: Address,
        tls: ClientTls | None = None,
        tunnel: Tunnel | None = None,
    ) -> asyncio.BufferedProtocol:
        """Connect, and return the connected protocol made by ``factory``; raise ``OSError``.

        With ``tls``, the handshake is complete; what fails in it raises ``ssl.SSLError`` or
        another ``OSError``. With ``tunnel``, the address is that of a proxy, and these steps are
        taken first; what they raise is raised.
        """

    async def listen(
        self,
        factory: AcceptedFactory,
        host: str,
        port: int,
        tls: ServerTls | None = None,
        gate: AcceptGate = OPEN_GATE,
    ) -> Listener:
        """Accept connections on a port (0: a free one), each with a protocol by ``factory``.

        ``gate`` decides which, and is asked on the event loop. With ``tls``, which is asked for a
        context for each of them, a protocol is connected once the handshake is complete.
        """


BACKLOG = 1024
"""A large one: a test that opens thousands of connections at once is a user too."""
TLS_HANDSHAKE_SECONDS = 10.0
"""How long a client may take for the handshake."""
CLOSING_SECONDS = 0.1
"""How long a handshake may go on when the port is closed."""
TLS_SHUTDOWN_SECONDS = 1.0
"""How long a peer may take to confirm the end of TLS before the connection is cut."""
ACCEPTS_PER_TURN = 64
ACCEPT_RETRY_SECONDS = 0.5
ACCEPT_LOG_SECONDS = 10.0
HANDSHAKE_LOG_SECONDS = 1.0


class SystemListener:
    """A port of the operating system.

    When a connection cannot be accepted, mostly because the process has no descriptor left, it
    pauses for ``retry_seconds`` and says so in one line. Meanwhile clients wait in the backlog.
    """

    def __init__(
        self,
        sockets: list[socket.socket],
        factory: AcceptedFactory,
        *,
        tls: ServerTls | None = None,
        gate: AcceptGate = OPEN_GATE,
        retry_seconds: float = ACCEPT_RETRY_SECONDS,
    ) -> None:
        self._sockets = sockets
        self._gate = gate
        self._tls = tls
        self._factory = factory
        self._retry_seconds = retry_seconds
        self._loop = asyncio.get_running_loop()
        self._connecting: set[asyncio.Task[None]] = set()
        self._refused: dict[socket.socket, asyncio.TimerHandle] = {}
        self._retries: dict[socket.socket, asyncio.TimerHandle] = {}
        self._next_log = self._next_handshake_log = self._loop.time()
        for listening in sockets:
            self._resume(listening)

    @property
    def port(self) -> int:
        return int(self._sockets[0].getsockname()[1])

    async def close(self) -> None:
        """Close the port, and connections whose handshake does not end at once.

        Others that were accepted get their protocols first.
        """
        for listening in self._sockets:
            self._loop.remove_reader(listening)
        for retry in self._retries.values():
            retry.cancel()
        for refused in list(self._refused):
            self._close_refused(refused)
        if self._connecting:
            _, stalled = await asyncio.wait(self._connecting, timeout=CLOSING_SECONDS)
            for connecting in stalled:
                connecting.cancel()
            await asyncio.gather(*stalled, return_exceptions=True)
        for listening in self._sockets:
            listening.close()

    def _accept(self, listening: socket.socket) -> None:
        try:
            for _ in range(ACCEPTS_PER_TURN):
                seconds = self._gate.wait()
                if seconds > 0:
                    self._pause(listening, seconds)
                    return
                accepted, address = listening.accept()
                self._admit(accepted, address[0])
        except (BlockingIOError, InterruptedError, ConnectionAbortedError):
            return
        except OSError as error:
            # asyncio's own server retries once for each place in the backlog, with a traceback for
            # each: 13,000 of them in seconds.
            self._pause(listening, self._retry_seconds)
            self._warn(error)

    def _admit(self, accepted: socket.socket, host: str) -> None:
        accepted.setblocking(False)
        seconds = self._gate.enter(host)
        if seconds is not None:
            self._refused[accepted] = self._loop.call_later(seconds, self._close_refused, accepted)
            return
        task = self._loop.create_task(self._connect(accepted, host))
        self._connecting.add(task)
        task.add_done_callback(self._connecting.discard)

    def _close_refused(self, accepted: socket.socket) -> None:
        self._refused.pop(accepted).cancel()
        accepted.close()

    async def _connect(self, accepted: socket.socket, host: str) -> None:
        try:
            # asyncio does this only where a socket was made with TCP's number, which a listening
            # one is not. Nagle's algorithm would hold a response back until the client's kernel
            # has acknowledged the one before, which it does up to 40 ms later.
            accepted.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if self._tls is None:
                factory = partial(self._factory, host)
                await self._loop.connect_accepted_socket(factory, accepted)
            else:
                await self._accept_tls(accepted, host, self._tls())
        except BaseException as error:
            accepted.close()
            self._gate.leave(host)
            if not isinstance(error, OSError):
                raise
            self._tell_of_handshake(host, error)

    async def _accept_tls(
        self, accepted: socket.socket, host: str, context: ssl.SSLContext
    ) -> None:
        from pyk.runtime.network.tls_acceptance import accept_tls  # which loads ssl

        await accept_tls(
            self._factory(host),
            accepted,
            context,
            handshake_seconds=TLS_HANDSHAKE_SECONDS,
            shutdown_seconds=TLS_SHUTDOWN_SECONDS,
        )

    def _tell_of_handshake(self, host: str, error: OSError) -> None:
        """Log why TLS failed, now and then: the peer may be no client, but a scanner of ports."""
        reason = getattr(error, "reason", None)  # OpenSSL's; without one the peer is gone
        if reason is not None and self._loop.time() >= self._next_handshake_log:
            self._next_handshake_log = self._loop.time() + HANDSHAKE_LOG_SECONDS
            log.info("TLS handshake of %s on port %d failed: %s", host, self.port, reason)

    def _pause(self, listening: socket.socket, seconds: float) -> None:
        self._loop.remove_reader(listening)
        self._retries[listening] = self._loop.call_later(seconds, self._resume, listening)

    def _warn(self, error: OSError) -> None:
        if self._loop.time() >= self._next_log:
            self._next_log = self._loop.time() + ACCEPT_LOG_SECONDS
            log.warning(
                "Cannot accept connections on port %d: %s; trying again every %.1f s",
                self.port,
                error,
                self._retry_seconds,
            )

    def _resume(self, listening: socket.socket) -> None:
        self._retries.pop(listening, None)
        self._loop.add_reader(listening, self._accept, listening)


class SystemNetwork:
    """TCP by the operating system, on the running event loop.

    With ``ends_silent``, connections end whose peers are silent; see :mod:`.silent_peers`.
    """

    def __init__(self, *, ends_silent: bool = False) -> None:
        self._ends_silent = ends_silent

    async def resolve(self, host: str, port: int) -> list[Address]:
        found = await _look_up(host, port)
        return list(
            dict.fromkeys(Address(str(end[0]), int(end[1]), family) for family, end in found)
        )

    async def canonical_name(self, address: Address) -> str:
        loop, end = asyncio.get_running_loop(), (address.host, address.port)
        try:
            name, _ = await loop.getnameinfo(end, socket.NI_NAMEREQD | socket.NI_NUMERICSERV)
            found = await self.resolve(name, address.port)
        except OSError:
            return address.host
        # Whoever has the address chooses its name: it counts if the name leads back (as in Java).
        return name if address.host in {one.host for one in found} else address.host

    async def connect(
        self,
        factory: ProtocolFactory,
        address: Address,
        tls: ClientTls | None = None,
        tunnel: Tunnel | None = None,
    ) -> asyncio.BufferedProtocol:
        connection = socket.socket(address.family, socket.SOCK_STREAM)
        try:
            connection.setblocking(False)
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            loop = asyncio.get_running_loop()
            await loop.sock_connect(connection, (address.host, address.port))
            if self._ends_silent:
                end_if_silent(connection)
            if tunnel is not None:
                await _take_steps(loop, connection, tunnel)
            protocol = factory()
            if tls is not None:
                await _begin_tls(loop, protocol, connection, tls)
            elif isinstance(protocol, FrameTransport) and _keeps_watching_sockets(loop):
                SocketTransport(connection, protocol).begin()
            else:
                await loop.create_connection(lambda: protocol, sock=connection)
        except BaseException:
            connection.close()
            raise
        return protocol

    async def listen(
        self,
        factory: AcceptedFactory,
        host: str,
        port: int,
        tls: ServerTls | None = None,
        gate: AcceptGate = OPEN_GATE,
    ) -> SystemListener:
        addresses = await _addresses_to_bind(host, port)
        sockets: list[socket.socket] = []
        try:
            for family, address in addresses:
                listening = socket.create_server(address, family=family, backlog=BACKLOG)
                sockets.append(listening)
                listening.setblocking(False)
        except OSError:
            for listening in sockets:
                listening.close()
            raise
        return SystemListener(sockets, factory, tls=tls, gate=gate)


async def _take_steps(
    loop: asyncio.AbstractEventLoop, connection: socket.socket, tunnel: Tunnel
) -> None:
    """Send and receive what a proxy needs, until the connection leads to the server."""
    try:
        step = next(tunnel)
        while True:
            if isinstance(step, int):
                step = tunnel.send(await loop.sock_recv(connection, step))
            else:
                await loop.sock_sendall(connection, step)
                step = next(tunnel)
    except StopIteration:
        return


async def _begin_tls(
    loop: asyncio.AbstractEventLoop,
    protocol: asyncio.BufferedProtocol,
    connection: socket.socket,
    tls: ClientTls,
) -> None:
    """Make the handshake, and give the protocol a transport that encrypts.

    It is asyncio's: what costs is the cipher (docs/decisions/0011).
    """
    tls.begun()
    await loop.create_connection(
        lambda: protocol,
        sock=connection,
        ssl=_alerting(tls.context, connection),
        server_hostname=tls.server_name,
        ssl_shutdown_timeout=TLS_SHUTDOWN_SECONDS,
    )


def _alerting(context: ssl.SSLContext, connection: socket.socket) -> Any:
    """Return the same context for one connection, whose peer learns why its handshake fails."""
    from pyk.runtime.network.tls_alerts import AlertingContext  # which loads ssl

    return AlertingContext(context, connection.send)


def _keeps_watching_sockets(loop: asyncio.AbstractEventLoop) -> bool:
    """Return whether a loop reports a readable socket again until all of it was read.

    asyncio's own loops do, but for the one that is Windows' default. uvloop does not: where a peer
    has reset the connection, it calls a reader once more and then never again, so what the kernel
    still holds is not read, and the end goes unnoticed. Other loops' own transports know how.
    """
    return sys.platform != "win32" and isinstance(loop, asyncio.SelectorEventLoop)


async def _addresses_to_bind(host: str, port: int) -> list[tuple[int, Any]]:
    """Return the families and addresses of a host, which may be empty for all of this machine."""
    return list(dict.fromkeys(await _look_up(host or None, port, socket.AI_PASSIVE)))


async def _look_up(host: str | None, port: int, flags: int = 0) -> list[tuple[int, Any]]:
    """Return the families and addresses of a host, without a thread where it is a number."""
    # As bytes, where it can be: for a str Python loads the codec of internationalized names.
    name = host.encode() if host is not None and host.isascii() else host
    stream = socket.SOCK_STREAM
    try:
        found = socket.getaddrinfo(name, port, type=stream, flags=flags | socket.AI_NUMERICHOST)
    except socket.gaierror:
        loop = asyncio.get_running_loop()
        found = await loop.getaddrinfo(name, port, type=stream, flags=flags)
    return [(int(each[0]), each[4]) for each in found]
