"""A proxy between client and broker, which loses responses and delivers requests late."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Iterator

from pyk.protocol import ApiKey


class Proxy:
    """Forward connections from ``port`` to ``target_port`` of loopback, in a thread of its own.

    Proxies that share ``to_lose`` lose one reply together, whichever of them sees it first. A
    request that is named in ``to_delay`` with seconds reaches the broker so much later, on another
    connection, as if it had been in a buffer; its own connection is closed.
    """

    def __init__(
        self,
        port: int,
        target_port: int,
        to_lose: list[ApiKey] | None = None,
        to_delay: dict[ApiKey, float] | None = None,
    ) -> None:
        self._port, self._target_port = port, target_port
        self._to_lose: list[ApiKey] = [] if to_lose is None else to_lose
        self._to_delay: dict[ApiKey, float] = {} if to_delay is None else to_delay
        self._late: set[asyncio.Task[None]] = set()
        self.lost = 0
        self._writers: set[asyncio.StreamWriter] = set()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="proxy", daemon=True)

    def __enter__(self) -> Proxy:
        self._thread.start()
        asyncio.run_coroutine_threadsafe(self._listen(), self._loop).result(10)
        return self

    def __exit__(self, *_: object) -> None:
        asyncio.run_coroutine_threadsafe(self._close(), self._loop).result(10)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)
        self._loop.close()

    @contextlib.contextmanager
    def losing_reply(self, api_key: ApiKey) -> Iterator[None]:
        """Let the next request of that kind be applied, and close the connection on its reply."""
        self._to_lose.append(api_key)
        yield

    def cut(self) -> None:
        """Close all connections."""
        self._loop.call_soon_threadsafe(self._cut)

    def _cut(self) -> None:
        for writer in self._writers:
            writer.close()

    async def _listen(self) -> None:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", self._port)

    async def _close(self) -> None:
        self._server.close()
        tasks = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            upstream_reader, upstream_writer = await asyncio.open_connection(
                "127.0.0.1", self._target_port
            )
        except OSError:  # the broker is down
            writer.close()
            return
        doomed: set[int] = set()
        self._writers |= {writer, upstream_writer}
        both = (
            self._requests(reader, upstream_writer, doomed),
            self._replies(upstream_reader, writer, doomed),
        )
        try:
            await asyncio.wait(
                [asyncio.create_task(c) for c in both], return_when="FIRST_COMPLETED"
            )
        finally:
            self._writers -= {writer, upstream_writer}
            writer.close()
            upstream_writer.close()

    async def _requests(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, doomed: set[int]
    ) -> None:
        with contextlib.suppress(OSError, asyncio.IncompleteReadError):
            while True:
                frame = await _read_frame(reader)
                api_key = int.from_bytes(frame[4:6], "big")
                if api_key in self._to_lose:
                    self._to_lose.remove(ApiKey(api_key))
                    doomed.add(int.from_bytes(frame[8:12], "big"))
                elif (seconds := self._to_delay.pop(ApiKey(api_key), None)) is not None:
                    late = asyncio.create_task(self._deliver_late(frame, seconds))
                    self._late.add(late)
                    late.add_done_callback(self._late.discard)
                    return
                writer.write(frame)
                await writer.drain()

    async def _deliver_late(self, frame: bytes, seconds: float) -> None:
        await asyncio.sleep(seconds)
        with contextlib.suppress(OSError, asyncio.IncompleteReadError):
            reader, writer = await asyncio.open_connection("127.0.0.1", self._target_port)
            writer.write(frame)
            await _read_frame(reader)
            writer.close()

    async def _replies(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, doomed: set[int]
    ) -> None:
        with contextlib.suppress(OSError, asyncio.IncompleteReadError):
            while True:
                frame = await _read_frame(reader)
                if int.from_bytes(frame[4:8], "big") in doomed:
                    self.lost += 1
                    return
                writer.write(frame)
                await writer.drain()


async def _read_frame(reader: asyncio.StreamReader) -> bytes:
    prefix = await reader.readexactly(4)
    return prefix + await reader.readexactly(int.from_bytes(prefix, "big"))
