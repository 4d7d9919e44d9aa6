"""One connection to a broker, request by request: what tests of a broker speak through."""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from typing import Any, Self

from pyk.protocol.connection import ClientConnection
from pyk.protocol.records import RecordBatchBuilder
from pyk.protocol.schema import Message
from support.real_time import IN_TIME


class RawClient:
    """A TCP connection that speaks in messages; ``client.reader`` and ``writer`` speak in bytes.

    It connects to the first address and looks for no leader and no coordinator.
    """

    def __init__(
        self, bootstrap: str, client_id: str | None = "raw", tls: ssl.SSLContext | None = None
    ) -> None:
        self._address = bootstrap.split(",", maxsplit=1)[0].rsplit(":", 1)
        self.connection = ClientConnection(client_id)
        self._tls = tls

    async def __aenter__(self) -> Self:
        host, port = self._address
        self.reader, self.writer = await asyncio.open_connection(host, int(port), ssl=self._tls)
        return self

    async def __aexit__(self, *_: object) -> None:
        self.writer.close()
        with contextlib.suppress(OSError):
            await self.writer.wait_closed()

    def send(self, request: Message, version: int | None = None) -> None:
        """Send a request in its highest version, or the one given."""
        version = request.versions.highest if version is None else version
        _, parts = self.connection.send(request, version)
        self.writer.write(b"".join(bytes(part) for part in parts))

    async def receive(self, timeout: float = IN_TIME) -> Any:
        """Return the response to the oldest request."""
        frame = await asyncio.wait_for(self.receive_frame(), timeout)
        return self.connection.receive(frame).response

    async def receive_frame(self) -> bytes:
        """Return the next frame, without its length."""
        size = int.from_bytes(await self.reader.readexactly(4), "big")
        return await self.reader.readexactly(size)

    async def is_cut_off(self) -> bool:
        """Wait for the broker to close the connection, however it does."""
        try:
            async with asyncio.timeout(5):
                return await self.reader.read() == b""
        except ConnectionResetError:
            return True

    async def ask(self, request: Message, version: int | None = None) -> Any:
        """Send a request and return its response."""
        self.send(request, version)
        return await self.receive()


def batch(*values: bytes | None, key: bytes | None = None, **seal: Any) -> bytes:
    """Return a record batch with one record for each value."""
    builder = RecordBatchBuilder(max_bytes=1 << 30)
    for value in values:
        builder.append(1_700_000_000_000, key, value)
    return bytes(builder.seal(**seal))
