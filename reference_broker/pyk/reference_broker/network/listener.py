"""Accepts connections within limits, and closes those that are idle or make no progress."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from functools import partial

from pyk.protocol.connection import ServerConnection
from pyk.reference_broker.address import format_address
from pyk.runtime.clock import Clock
from pyk.runtime.network import FrameTransport, Listener, Network

from .connection import Connection, RequestHandler
from .connection_limits import ConnectionCounts
from .limits import ByteBudget, ListenerLimits, LogLimiter
from .listener_settings import ListenerSettings

log = logging.getLogger(__name__)

SWEEP_SECONDS = 5.0
SHORTEST_SWEEP_SECONDS = 0.05
PLAIN_LISTENER = ListenerSettings()


class BrokerListener:
    """The open ports of a broker, one for each listener, and all connections of them.

    ``rate_of_ip`` returns how many connections a second an address may open, None for any number.
    """

    def __init__(
        self,
        clock: Clock,
        handler: RequestHandler,
        new_protocol: Callable[[], ServerConnection],
        limits: ListenerLimits,
        rate_of_ip: Callable[[str], float | None] = lambda _: None,
    ) -> None:
        self._clock = clock
        self._handler = handler
        self._new_protocol = new_protocol
        self._limits = limits
        self._counts = ConnectionCounts(limits.connections, rate_of_ip)
        self._budget = ByteBudget(limits.budget_bytes)
        self._log_limiter = LogLimiter(log, clock.now)
        self._connections: dict[int, Connection] = {}
        self._last_id = 0
        self._open_ports: list[Listener] = []
        self._sweep: asyncio.TimerHandle | None = None
        self._is_closed = False

    @property
    def limits(self) -> ListenerLimits:
        """May be replaced while it is open; connections that are open stay."""
        return self._limits

    @limits.setter
    def limits(self, limits: ListenerLimits) -> None:
        self._limits = limits
        self._counts.limits = limits.connections

    @property
    def connection_count(self) -> int:
        return len(self._connections)

    async def open(
        self, network: Network, host: str, port: int, settings: ListenerSettings = PLAIN_LISTENER
    ) -> int:
        """Begin to accept connections of a listener, and return the port.

        Raises ``OSError`` if the port cannot be opened.
        """
        gate = _Gate(self._counts, settings.name, self._clock)
        accept = partial(self._accept, settings)
        try:
            opened = await network.listen(accept, host, port, settings.tls, gate)
        except OSError as error:
            error.add_note(
                f"listener {settings.name} cannot listen on {format_address(host, port)}"
            )
            raise
        self._open_ports.append(opened)
        if self._sweep is None:
            self._sweep_later()
        return opened.port

    async def stop_accepting(self) -> None:
        """Close the ports; open connections live on."""
        for opened in self._open_ports:
            await opened.close()

    async def close(self) -> None:
        """Close the ports and all connections at once."""
        self._is_closed = True
        await self.stop_accepting()
        if self._sweep is not None:
            self._sweep.cancel()
        for connection in list(self._connections.values()):
            connection.transport.abort()
        await asyncio.sleep(0)  # aborted transports say so in the next turn of the loop

    def _accept(self, settings: ListenerSettings, host: str) -> FrameTransport:
        self._last_id += 1
        return Connection(
            self._last_id,
            self._handler,
            self._new_protocol(),
            host=host,
            settings=settings,
            max_frame_bytes=self.limits.max_request_bytes,
            budget=self._budget,
            log_limiter=self._log_limiter,
            clock=self._clock,
            on_made=self._made,
            on_lost=self._lost,
        ).transport

    def _made(self, connection: Connection) -> None:
        self._connections[connection.connection_id] = connection
        if self._is_closed:
            connection.transport.abort()
        elif self._counts.is_exceeded:
            self._make_room()

    def _make_room(self) -> None:
        """Close the connection that was used least recently, but not one between brokers."""
        protected = self.limits.connections.protected
        others = [each for each in self._connections.values() if each.listener != protected]
        if others:
            oldest = min(others, key=lambda each: each.progress.last_active)
            self._log_limiter.warning("Closed connection of %s: brokers need it", oldest.host)
            oldest.transport.abort()

    def _lost(self, connection: Connection) -> None:
        del self._connections[connection.connection_id]
        self._counts.leave(connection.listener, connection.host)

    # -- deadlines -------------------------------------------------------------------------------

    def _sweep_later(self) -> None:
        seconds = max(SHORTEST_SWEEP_SECONDS, min(SWEEP_SECONDS, self.limits.max_idle / 2))
        self._sweep = asyncio.get_running_loop().call_later(seconds, self._close_overdue)

    def _close_overdue(self) -> None:
        now = self._clock.now()
        for connection in list(self._connections.values()):
            reason = connection.is_overdue(now, self.limits.max_idle)
            if reason is not None:
                self._log_limiter.warning("Closed connection of %s: %s", connection.host, reason)
                connection.transport.abort()
        self._sweep_later()


class _Gate:
    """The gate of one listener; implements :class:`~pyk.runtime.network.AcceptGate`."""

    def __init__(self, counts: ConnectionCounts, listener: str, clock: Clock) -> None:
        self._counts = counts
        self._listener = listener
        self._clock = clock

    def wait(self) -> float:
        return self._counts.wait_ms(self._listener, self._now_ms()) / 1000

    def enter(self, host: str) -> float | None:
        close_after_ms = self._counts.enter(self._listener, host, self._now_ms())
        return None if close_after_ms is None else close_after_ms / 1000

    def leave(self, host: str) -> None:
        self._counts.leave(self._listener, host)

    def _now_ms(self) -> int:
        return int(self._clock.now() * 1000)
