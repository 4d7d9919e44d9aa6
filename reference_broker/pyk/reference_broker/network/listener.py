"""Accepts connections, counts them, and closes those that are idle or make no progress."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Callable
from functools import partial

from pyk.protocol.connection import ServerConnection
from pyk.runtime import slotted
from pyk.runtime.clock import Clock
from pyk.runtime.network import FrameTransport, Listener, Network

from .connection import Connection, RequestHandler
from .limits import ByteBudget, LogLimiter
from .listener_settings import ListenerSettings

log = logging.getLogger(__name__)

SWEEP_SECONDS = 5.0
SHORTEST_SWEEP_SECONDS = 0.05
PLAIN_LISTENER = ListenerSettings()


@slotted.frozen(kw_only=True)
class ListenerLimits:
    """The limits of connections; sizes in bytes, times in seconds."""

    max_request_bytes: int = 104_857_600
    max_idle: float = 600.0
    max_connections: int = 2_147_483_647
    max_connections_per_ip: int = 2_147_483_647
    budget_bytes: int = 512 * 1024 * 1024
    """For all requests that wait or are being handled."""


class BrokerListener:
    """The open ports of a broker, one for each listener, and all connections of them.

    ``limits`` may be replaced while it is open; connections that are open stay.
    """

    def __init__(
        self,
        clock: Clock,
        handler: RequestHandler,
        new_protocol: Callable[[], ServerConnection],
        limits: ListenerLimits,
    ) -> None:
        self._clock = clock
        self._handler = handler
        self._new_protocol = new_protocol
        self.limits = limits
        self._budget = ByteBudget(limits.budget_bytes)
        self._log_limiter = LogLimiter(log, clock.now)
        self._connections: dict[int, Connection] = {}
        self._per_host: Counter[str] = Counter()
        self._last_id = 0
        self._open_ports: list[Listener] = []
        self._sweep: asyncio.TimerHandle | None = None
        self._is_closed = False

    @property
    def connection_count(self) -> int:
        return len(self._connections)

    async def open(
        self, network: Network, host: str, port: int, settings: ListenerSettings = PLAIN_LISTENER
    ) -> int:
        """Begin to accept connections of a listener, and return the port.

        Raises ``OSError`` if the port cannot be opened.
        """
        opened = await network.listen(partial(self._accept, settings), host, port, settings.tls)
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

    def _accept(self, settings: ListenerSettings) -> FrameTransport:
        self._last_id += 1
        return Connection(
            self._last_id,
            self._handler,
            self._new_protocol(),
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
        self._per_host[connection.host] += 1
        if self._is_closed:
            connection.transport.abort()
        is_too_many = len(self._connections) > self.limits.max_connections
        if is_too_many or self._per_host[connection.host] > self.limits.max_connections_per_ip:
            self._log_limiter.warning("Refused %s: too many connections", connection.host)
            connection.transport.abort()

    def _lost(self, connection: Connection) -> None:
        del self._connections[connection.connection_id]
        self._per_host[connection.host] -= 1
        if not self._per_host[connection.host]:
            del self._per_host[connection.host]

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
