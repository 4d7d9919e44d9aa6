"""Connections to brokers: one for each node, opened by the first request, given up by an error."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from pyk.protocol.api_keys import ApiKey
from pyk.protocol.connection import ClientConnection
from pyk.protocol.errors import ErrorCode, ProtocolError
from pyk.protocol.schema import Message
from pyk.runtime.clock import Clock
from pyk.runtime.network import ClientTls, FrameTransport, Network
from pyk.runtime.supervisor import Supervisor

from .awaiting import value_of
from .deferred import Deferred
from .handlers.table import SERVED

if TYPE_CHECKING:
    from .security.broker_login import BrokerLogin

log = logging.getLogger(__name__)

MAX_RESPONSE_BYTES = 64 << 20
REQUEST_TIMEOUT_SECONDS = 30.0
SHARE_OF_LIFETIME = 0.8
"""Of a login: after this part of it, a connection is replaced by one with a new login."""

AddressOf = Callable[[int], tuple[str, int] | None]
"""Returns host and port of a node, None if there is no such node."""


class TcpChannels:
    """Implements :class:`~.broker_channels.BrokerChannels` over a network.

    Belongs to the event loop of its broker. ``new_login`` returns the login for a new connection,
    None where brokers do not authenticate; ``new_tls`` its encryption to a host, if it has one.
    """

    def __init__(
        self,
        network: Network,
        clock: Clock,
        address_of: AddressOf,
        client_id: str,
        *,
        new_login: Callable[[], BrokerLogin | None] = lambda: None,
        new_tls: Callable[[str], ClientTls | None] = lambda _: None,
    ) -> None:
        self._network = network
        self._clock = clock
        self._address_of = address_of
        self._client_id = client_id
        self._new_login = new_login
        self._new_tls = new_tls
        self._supervisor = Supervisor(clock)
        self._channels: dict[tuple[str, int], _Channel] = {}
        self._is_closed = False

    def send(self, node_id: int, request: Message) -> Deferred[Any]:
        """See :class:`~.broker_channels.BrokerChannels`."""
        response: Deferred[Any] = Deferred()
        address = self._address_of(node_id)
        versions = SERVED.get(ApiKey(request.api_key))
        if address is None or self._is_closed:
            response.complete(ErrorCode.BROKER_NOT_AVAILABLE)
        elif versions is None:
            response.complete(ErrorCode.UNSUPPORTED_VERSION)
        else:
            self._channel(address).send(request, versions.highest, response)
        return response

    def _channel(self, address: tuple[str, int]) -> _Channel:
        channel = self._channels.get(address)
        if channel is not None and self._clock.now() >= channel.log_in_again_at:
            channel.retire()  # its requests are answered, and the next one goes to another
            channel = None
        if channel is None or channel.is_lost:
            channel = _Channel(self._client_id)
            self._channels[address] = channel
            self._supervisor.spawn(f"connect to {address}", self._connect(channel, address))
        return channel

    async def _connect(self, channel: _Channel, address: tuple[str, int]) -> None:
        try:
            async with asyncio.timeout(REQUEST_TIMEOUT_SECONDS):
                resolved = await self._network.resolve(*address)
                tls = self._new_tls(address[0])
                await self._network.connect(lambda: channel.transport, resolved[0], tls)
                await self._log_in(channel)
        except (OSError, TimeoutError) as error:
            log.warning("Could not connect to the broker at %s:%d: %s", *address, error)
            channel.connection_lost(error)
        else:
            channel.connected()

    async def _log_in(self, channel: _Channel) -> None:
        login = self._new_login()
        if login is None:
            return
        from .security.broker_login import BrokerLoginError

        try:
            request: Message = next(login)
            while True:
                response = await value_of(channel.ask(request))
                if isinstance(response, ErrorCode):
                    raise ConnectionError(f"{response.name} during the login")
                request = login.send(response)
        except StopIteration as done:
            if done.value:
                lifetime = done.value / 1000 * SHARE_OF_LIFETIME
                channel.log_in_again_at = self._clock.now() + lifetime
        except BrokerLoginError as error:
            raise ConnectionError(str(error)) from error

    async def close(self) -> None:
        """Close all connections; what waits is answered with NETWORK_EXCEPTION."""
        self._is_closed = True
        for channel in self._channels.values():
            channel.transport.abort()
            channel.connection_lost(None)
        await self._supervisor.close(self._clock.now())


class _Channel:
    """One connection: requests in flight are answered in order, all of them fail with it."""

    def __init__(self, client_id: str) -> None:
        self.transport = FrameTransport(self, max_frame_bytes=MAX_RESPONSE_BYTES)
        self.is_lost = False
        self.log_in_again_at = float("inf")
        self._is_retired = False
        self._connection = ClientConnection(client_id)
        self._unsent: list[tuple[Message, int, Deferred[Any]]] = []
        self._is_connected = False
        self._timeout: asyncio.TimerHandle | None = None

    def send(self, request: Message, version: int, response: Deferred[Any]) -> None:
        if not self._is_connected:
            self._unsent.append((request, version, response))
            return
        self._write(request, version, response)

    def ask(self, request: Message) -> Deferred[Any]:
        """Send a request of a login, before all others."""
        response: Deferred[Any] = Deferred()
        self._write(request, request.versions.highest, response)
        return response

    def _write(self, request: Message, version: int, response: Deferred[Any]) -> None:
        _, parts = self._connection.send(request, version, context=response)
        self.transport.write(parts)
        if self._timeout is None:  # otherwise an older request waits: later ones put off nothing
            self._watch()

    def retire(self) -> None:
        """Close once all requests are answered."""
        self._is_retired = True
        if not self._connection.in_flight_count and not self._unsent:
            self.transport.close()

    def connected(self) -> None:
        self._is_connected = True
        unsent, self._unsent = self._unsent, []
        for each in unsent:
            self.send(*each)

    def frame_received(self, frame: memoryview) -> None:
        try:
            reply = self._connection.receive(frame)
        except ProtocolError as error:
            self.transport.abort(error)
            return
        self._watch()
        reply.context.complete(reply.response)
        if self._is_retired:
            self.retire()

    def connection_lost(self, error: Exception | None) -> None:
        if self.is_lost:
            return
        self.is_lost = True
        if self._timeout is not None:
            self._timeout.cancel()
        waiting = [*self._connection.abandon(), *(each for _, _, each in self._unsent)]
        self._unsent.clear()
        for response in waiting:
            response.complete(ErrorCode.NETWORK_EXCEPTION)

    def _watch(self) -> None:
        """Give up the connection unless an answer comes in time; call again for each answer."""
        if self._timeout is not None:
            self._timeout.cancel()
            self._timeout = None
        if self._connection.in_flight_count:
            loop = asyncio.get_running_loop()
            self._timeout = loop.call_later(REQUEST_TIMEOUT_SECONDS, self.transport.abort)
