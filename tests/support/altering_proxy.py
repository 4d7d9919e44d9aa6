"""A proxy that changes the responses of a broker on their way to a client."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable, Mapping
from typing import Any, Self

from pyk.protocol.api_keys import ApiKey
from pyk.protocol.messages.headers import ResponseHeader
from pyk.protocol.negotiation import response_header_version
from pyk.protocol.registry import response_class

Alter = Callable[[Any], object]
"""Changes a response in place."""


class AlteringProxy:
    """Forward connections from a free port of loopback to ``target``, in a thread of its own.

    ``alter`` has a function for each API whose responses are changed. Brokers that a metadata
    response names are then at this proxy, so that clients ask them through it, too.
    """

    def __init__(self, target: str, alter: Mapping[ApiKey, Alter]) -> None:
        self._target = target.rsplit(":", 1)
        self._alter = {ApiKey.METADATA: lambda _: None, **alter}
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="proxy", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        asyncio.run_coroutine_threadsafe(self._listen(), self._loop).result(10)
        return self

    def __exit__(self, *_: object) -> None:
        asyncio.run_coroutine_threadsafe(self._close(), self._loop).result(10)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)
        self._loop.close()

    @property
    def bootstrap(self) -> str:
        return f"127.0.0.1:{self.port}"

    async def _listen(self) -> None:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.port: int = self._server.sockets[0].getsockname()[1]

    async def _close(self) -> None:
        self._server.close()
        tasks = asyncio.all_tasks() - {asyncio.current_task()}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        host, port = self._target
        upstream, to_upstream = await asyncio.open_connection(host, int(port))
        asked: dict[int, tuple[ApiKey, int]] = {}
        both = [
            asyncio.create_task(self._requests(reader, to_upstream, asked)),
            asyncio.create_task(self._responses(upstream, writer, asked)),
        ]
        try:
            await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
        finally:
            writer.close()
            to_upstream.close()

    async def _requests(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        asked: dict[int, tuple[ApiKey, int]],
    ) -> None:
        with contextlib.suppress(OSError, asyncio.IncompleteReadError):
            while True:
                frame = await _read_frame(reader)
                number = int.from_bytes(frame[4:8], "big")
                version = int.from_bytes(frame[2:4], "big")
                asked[number] = ApiKey(int.from_bytes(frame[:2], "big")), version
                _write_frame(writer, frame)

    async def _responses(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        asked: dict[int, tuple[ApiKey, int]],
    ) -> None:
        with contextlib.suppress(OSError, asyncio.IncompleteReadError):
            while True:
                frame = await _read_frame(reader)
                api_key, version = asked.pop(int.from_bytes(frame[:4], "big"))
                if api_key in self._alter:
                    frame = self._altered(frame, api_key, version)
                _write_frame(writer, frame)

    def _altered(self, frame: bytes, api_key: ApiKey, version: int) -> bytes:
        header_version = response_header_version(api_key, version)
        _, start = ResponseHeader.decode_prefix(frame, header_version)
        response = response_class(api_key).decode(frame, version, start)
        if api_key is ApiKey.METADATA:
            for broker in response.brokers:
                broker.host, broker.port = "127.0.0.1", self.port
        self._alter[api_key](response)
        return frame[:start] + response.encode(version)


async def _read_frame(reader: asyncio.StreamReader) -> bytes:
    return await reader.readexactly(int.from_bytes(await reader.readexactly(4), "big"))


def _write_frame(writer: asyncio.StreamWriter, frame: bytes) -> None:
    writer.write(len(frame).to_bytes(4, "big") + frame)
