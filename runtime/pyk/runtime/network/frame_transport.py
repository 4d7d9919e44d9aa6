"""Receive whole frames and send parts: the only place that receives and sends bytes.

Below is a transport: :class:`~pyk.runtime.network.socket_transport.SocketTransport` where a client
connects by the operating system on a loop of asyncio's, the loop's own elsewhere.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterable
from typing import Any
from weakref import WeakKeyDictionary

from pyk.runtime.network.file_region import FileRegion, Part
from pyk.runtime.network.frame_reader import FrameReader, FrameReceiver
from pyk.runtime.network.socket_transport import SocketTransport

SCRATCH_BYTES = 64 * 1024
JOIN_BELOW_BYTES = 16 * 1024
TLS_PIECE_BYTES = 256 * 1024


class FrameStream(FrameReader):
    """Frames in both directions over a transport: what is done for each of them."""

    def __init__(self, receiver: FrameReceiver, max_frame_bytes: int) -> None:
        super().__init__(receiver, max_frame_bytes)
        self._transport: Any = None
        self._socket: SocketTransport | None = None
        """The transport, if it is one that takes many parts."""

    def set_transport(self, transport: Any) -> None:
        """Send by a transport from now on; None where the connection has ended."""
        self._transport = transport
        self._socket = transport if isinstance(transport, SocketTransport) else None

    def write(self, parts: list[bytes | bytearray | memoryview]) -> None:
        """Send a frame's parts, length prefix included, without waiting; nothing once closed."""
        if self._socket is not None:
            self._socket.write_parts(parts)
            return
        transport = self._transport
        for part in _join_small(parts):
            if transport is None or transport.is_closing():  # or asyncio logs each lost write
                return
            transport.write(part)


class FrameTransport(FrameStream, asyncio.BufferedProtocol):
    """Receive whole frames for ``receiver``, and send the parts of frames with back-pressure."""

    def __init__(self, receiver: FrameReceiver, *, max_frame_bytes: int) -> None:
        super().__init__(receiver, max_frame_bytes)
        self._peer = "nobody"
        self._error: Exception | None = None
        self._writable: asyncio.Future[None] | None = None

    # -- what the event loop calls -----------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.set_transport(transport)
        self._scratch = _scratch_of(asyncio.get_running_loop())
        name = transport.get_extra_info("peername")
        self._peer = f"{name[0]}:{name[1]}" if isinstance(name, tuple) else str(name)

    def connection_lost(self, exc: Exception | None) -> None:
        self.set_transport(None)
        self.resume_writing()
        self._receiver.connection_lost(self._error or exc)

    def pause_writing(self) -> None:
        if self._writable is None:
            self._writable = asyncio.get_running_loop().create_future()

    def resume_writing(self) -> None:
        if self._writable is not None:
            self._writable.set_result(None)
            self._writable = None

    # -- what the driver calls ---------------------------------------------------------------------

    @property
    def is_closing(self) -> bool:
        return self._transport is None or self._transport.is_closing()

    @property
    def peer(self) -> str:
        """Return the peer's address as text, for messages and logs."""
        return self._peer

    @property
    def local_host(self) -> str:
        """The local address of the connection, empty if it has none."""
        name = self._transport.get_extra_info("sockname") if self._transport else None
        return str(name[0]) if isinstance(name, tuple) else ""

    @property
    def unsent_bytes(self) -> int:
        return self._transport.get_write_buffer_size() if self._transport else 0

    @property
    def peer_certificate(self) -> dict[str, Any] | None:
        """The certificate of the peer as ``ssl`` shows it; None without TLS, or if it has none."""
        found = self._transport.get_extra_info("peercert") if self._transport else None
        return found or None

    async def send(self, parts: Iterable[Part]) -> None:
        """Send a frame's parts, file regions from the page cache; return when there is room again.

        Calls must not overlap: a driver sends from one task. Raises OSError when the peer is gone
        before a file region is sent.
        """
        waiting: list[bytes | bytearray | memoryview] = []
        for part in parts:
            if not isinstance(part, FileRegion):
                waiting.append(part)
                continue
            self.write(waiting)
            waiting = []
            await self._send_file(part)
        self.write(waiting)
        await self.drain()

    async def drain(self) -> None:
        """Wait until the peer has taken enough of what was written, or is gone."""
        if self._writable is not None:
            await asyncio.shield(self._writable)  # a cancelled waiter must not cancel it for others

    def pause_reading(self) -> None:
        """Stop reading: the peer has sent more than its requests in flight may hold."""
        if self._transport is not None:
            self._transport.pause_reading()

    def resume_reading(self) -> None:
        if self._transport is not None:
            self._transport.resume_reading()

    def close(self) -> None:
        """Send what was written, then close."""
        if self._transport is not None:
            self._transport.close()

    def abort(self, error: Exception | None = None) -> None:
        """Close at once; ``error`` is what the receiver is told."""
        self._error = self._error or error
        if self._transport is not None:
            self._transport.abort()

    async def _send_file(self, region: FileRegion) -> None:
        if not region.size:
            return
        self._raise_if_closing()
        loop, file = asyncio.get_running_loop(), region.file
        if self._transport.get_extra_info("sslcontext") is not None:
            await self._encrypt_file(region)
            return
        try:
            await loop.sendfile(self._transport, file, region.offset, region.size, fallback=False)
        except asyncio.SendfileNotAvailableError:
            # No sendfile for this file, or the peer is gone: the event loop does not tell them
            # apart.
            self.write([os.pread(file.fileno(), region.size, region.offset)])

    async def _encrypt_file(self, region: FileRegion) -> None:
        """Read and send a region in pieces: a peer that takes them slowly holds no more memory."""
        end = region.offset + region.size
        for offset in range(region.offset, end, TLS_PIECE_BYTES):
            self._raise_if_closing()
            size = min(TLS_PIECE_BYTES, end - offset)
            self.write([os.pread(region.file.fileno(), size, offset)])
            await self.drain()

    def _raise_if_closing(self) -> None:
        if self.is_closing:
            # Half a frame is written. Without this part, the next one would be taken for the rest.
            raise ConnectionResetError(f"{self._peer} has left")


def _scratch_of(loop: asyncio.AbstractEventLoop) -> memoryview:
    """Return the receive buffer of a loop.

    Between get_buffer() and buffer_updated() nothing else runs on an event loop. That is not true
    of a thread, which may drive one loop while another one is in the middle of a receive.
    """
    scratch = _scratches.get(loop)
    if scratch is None:
        scratch = _scratches[loop] = memoryview(bytearray(SCRATCH_BYTES))
    return scratch


_scratches: WeakKeyDictionary[asyncio.AbstractEventLoop, memoryview] = WeakKeyDictionary()


def _join_small(
    parts: Iterable[bytes | bytearray | memoryview],
) -> list[bytes | bytearray | memoryview]:
    """Join neighbours that are cheaper to copy than to send one by one."""
    joined: list[bytes | bytearray | memoryview] = []
    small: list[bytes | bytearray | memoryview] = []
    for part in parts:
        if len(part) < JOIN_BELOW_BYTES:
            small.append(part)
            continue
        if small:
            joined.append(b"".join(small))
            small = []
        joined.append(part)
    if small:
        joined.append(b"".join(small))
    return joined
