"""A proxy for SOCKS5 and HTTP's CONNECT, in a thread of its own."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import ipaddress
import threading
from collections.abc import Mapping


class ForwardProxy:
    """Leads to the ports of this machine, for those who know ``login`` if there is one.

    It resolves ``names`` alone, beside addresses, and notes in ``asked`` what it was asked for.
    """

    def __init__(
        self,
        names: Mapping[str, str] | None = None,
        login: tuple[str, str] | None = None,
    ) -> None:
        self._names = {"localhost": "127.0.0.1"} if names is None else dict(names)
        self._login = login
        self.asked: list[tuple[str, int]] = []
        self.port = 0
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)

    def url(self, scheme: str, login: str = "") -> str:
        """Return the value of ``proxy``."""
        return f"{scheme}://{login}127.0.0.1:{self.port}"

    def __enter__(self) -> ForwardProxy:
        self._thread.start()
        asyncio.run_coroutine_threadsafe(self._listen(), self._loop).result(10)
        return self

    def __exit__(self, *_: object) -> None:
        asyncio.run_coroutine_threadsafe(self._close(), self._loop).result(10)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)
        self._loop.close()

    async def _listen(self) -> None:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]

    async def _close(self) -> None:
        self._server.close()
        tasks = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await asyncio.sleep(0)  # for transports to close

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError, asyncio.IncompleteReadError), contextlib.closing(writer):
            first = await reader.readexactly(1)
            negotiate = self._socks if first == b"\x05" else self._http
            far = await negotiate(reader, writer)
            if far is not None:
                with contextlib.closing(far[1]):
                    await _pump_both(reader, writer, *far)

    async def _socks(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> tuple[asyncio.StreamReader, asyncio.StreamWriter] | None:
        methods = await reader.readexactly((await reader.readexactly(1))[0])
        method = 0 if self._login is None else 2
        if method not in methods:
            writer.write(b"\x05\xff")
            return None
        writer.write(bytes([5, method]))
        if self._login is not None:
            await reader.readexactly(1)
            given = [(await _counted(reader)).decode(), (await _counted(reader)).decode()]
            writer.write(b"\x01\0" if given == [*self._login] else b"\x01\x01")
            if given != [*self._login]:
                return None
        kind = (await reader.readexactly(4))[3]
        if kind == 3:
            host = (await _counted(reader)).decode()
        else:
            host = str(ipaddress.ip_address(await reader.readexactly(4 if kind == 1 else 16)))
        far = await self._connect(host, int.from_bytes(await reader.readexactly(2), "big"))
        code = 0 if far is not None else 4 if self._address(host) is None else 5
        writer.write(bytes([5, code]) + b"\0\x01\0\0\0\0\0\0")
        return far

    async def _http(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> tuple[asyncio.StreamReader, asyncio.StreamWriter] | None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        if self._login is not None:
            pair = base64.b64encode(":".join(self._login).encode()).decode()
            if f"Proxy-Authorization: Basic {pair}\r\n" not in head:
                writer.write(b"HTTP/1.1 407 Proxy Authentication Required\r\n\r\n")
                return None
        host, _, port = head.split()[1].rpartition(":")
        far = await self._connect(host.strip("[]"), int(port))
        status = b"200 Connection established" if far is not None else b"502 Bad Gateway"
        writer.write(b"HTTP/1.1 " + status + b"\r\n\r\n")
        return far

    async def _connect(
        self, host: str, port: int
    ) -> tuple[asyncio.StreamReader, asyncio.StreamWriter] | None:
        self.asked.append((host, port))
        address = self._address(host)
        if address is None:
            return None
        try:
            return await asyncio.open_connection(address, port)
        except OSError:
            return None

    def _address(self, host: str) -> str | None:
        with contextlib.suppress(ValueError):
            return str(ipaddress.ip_address(host))
        return self._names.get(host)


async def _counted(reader: asyncio.StreamReader) -> bytes:
    return await reader.readexactly((await reader.readexactly(1))[0])


async def _pump_both(
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
    far_reader: asyncio.StreamReader,
    far_writer: asyncio.StreamWriter,
) -> None:
    pumps = [_pump(reader, far_writer), _pump(far_reader, writer)]
    tasks = [asyncio.create_task(one) for one in pumps]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()


async def _pump(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):
        while data := await source.read(65536):
            target.write(data)
            await target.drain()
