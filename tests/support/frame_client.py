"""One connection to a broker in virtual time, request by request."""

from __future__ import annotations

import asyncio
from typing import Any, Self

from pyk.protocol.connection import ClientConnection
from pyk.protocol.schema import Message
from pyk.runtime.network import Address, FrameTransport
from pyk.runtime.simulation import Host


class FrameClient:
    """Speaks in messages over a network in memory."""

    def __init__(self, client_id: str) -> None:
        self.transport = FrameTransport(self, max_frame_bytes=1 << 30)
        self._connection = ClientConnection(client_id)
        self._responses: asyncio.Queue[Any] = asyncio.Queue()
        self._lost = asyncio.Event()

    @classmethod
    async def connect(cls, host: Host, bootstrap: str) -> Self:
        client = cls(host.name)
        name, port = bootstrap.rsplit(":", 1)
        await host.network.connect(lambda: client.transport, Address(name, int(port)))
        return client

    def send(self, request: Message, version: int | None = None) -> None:
        """Send a request in its highest version, or the one given."""
        version = request.versions.highest if version is None else version
        _, parts = self._connection.send(request, version)
        self.transport.write(parts)

    async def ask(self, request: Message, version: int | None = None) -> Any:
        """Send a request and return its response."""
        self.send(request, version)
        return await self._responses.get()

    async def answered_or_lost(self) -> None:
        """Wait for the response to the only request, or for the end of the connection."""
        waits = [asyncio.ensure_future(each) for each in (self._responses.get(), self.lost())]
        _, pending = await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        for each in pending:
            each.cancel()

    async def lost(self) -> None:
        """Wait until the broker has closed the connection."""
        await self._lost.wait()

    def frame_received(self, frame: memoryview) -> None:
        self._responses.put_nowait(self._connection.receive(frame).response)

    def connection_lost(self, error: Exception | None) -> None:
        self._lost.set()
