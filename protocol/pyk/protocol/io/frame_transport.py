"""Whole frames in, parts out: the one place where bytes of a connection are received and sent.

A frame is an int32 size and that many bytes. Between frames, all connections of a loop receive
into one scratch buffer, so an idle connection holds no memory. A frame that has not arrived whole
gets a buffer of its own, into which the event loop then receives directly; it grows as its bytes
arrive, to ``GROWTH`` times as many, so a peer that *declares* 100 MiB costs little until it sends
them.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterable
from typing import BinaryIO, Protocol, cast
from weakref import WeakKeyDictionary

from pyk.protocol import slotted
from pyk.protocol.errors import ProtocolError
from pyk.protocol.io.frame_buffer import cut, grow, new_buffer
from pyk.protocol.wire_numbers import get_int32

SCRATCH_BYTES = 64 * 1024
FIRST_FRAME_BUFFER_BYTES = 256 * 1024
SMALLEST_FRAME_BUFFER_BYTES = 4 * 1024
JOIN_BELOW_BYTES = 16 * 1024
GROWTH = 4
LENGTH_BYTES = 4


@slotted.frozen
class FileRegion:
    """Bytes of an open file that are sent from the page cache without passing through Python."""

    file: BinaryIO
    offset: int
    size: int

    def __len__(self) -> int:
        return self.size


Part = bytes | bytearray | memoryview | FileRegion


class FrameSizeError(ProtocolError):
    """A length prefix that no frame may have: not Kafka, or not within our limit.

    ``first_bytes`` are the first bytes of the alleged frame, length prefix included: enough to
    recognise a peer that speaks something else.
    """

    def __init__(self, size: int, limit: int, first_bytes: bytes) -> None:
        super().__init__(size, limit, first_bytes)
        self.size, self.limit, self.first_bytes = size, limit, first_bytes

    def __str__(self) -> str:
        return (
            f"frame of {self.size} bytes refused: sizes are from 1 to {self.limit} "
            f"(begins with {self.first_bytes[:16]!r})"
        )


class FrameReceiver(Protocol):
    """The driver behind a connection."""

    def frame_received(self, frame: memoryview) -> None:
        """Take a whole frame, without its length prefix. Its memory is the receiver's now."""

    def connection_lost(self, error: Exception | None) -> None:
        """Learn, once, that nothing more will come; ``error`` is None after an orderly end."""


class FrameReader:
    """Cut what is received into whole frames for ``receiver``."""

    def __init__(self, receiver: FrameReceiver, max_frame_bytes: int) -> None:
        self._receiver = receiver
        self._max_frame_bytes = max_frame_bytes
        self._scratch = _NO_SCRATCH
        self._prefix = b""
        self._frame: bytearray | None = None
        self._frame_size = 0
        self._frame_filled = 0

    @property
    def receiving_bytes(self) -> int:
        """The size of the frame that has begun to arrive, 0 between frames."""
        return self._frame_size if self._frame is not None else len(self._prefix)

    @property
    def held_bytes(self) -> int:
        """The memory that the frame takes which has begun to arrive."""
        return len(self._frame) if self._frame is not None else 0

    def get_buffer(self, sizehint: int) -> memoryview:
        if self._frame is None:
            kept = len(self._prefix)
            if not kept:
                return self._scratch
            self._scratch[:kept] = self._prefix
            return self._scratch[kept:]
        if self._frame_filled == len(self._frame):
            # Not in buffer_updated(), during which the event loop still holds a view.
            grow(self._frame, min(GROWTH * len(self._frame), self._frame_size))
        return memoryview(self._frame)[self._frame_filled :]

    def buffer_updated(self, nbytes: int) -> None:
        if self._frame is None:
            self._cut_frames(len(self._prefix) + nbytes)
            return
        self._frame_filled += nbytes
        if self._frame_filled == self._frame_size:
            frame, self._frame = self._frame, None
            self._receiver.frame_received(memoryview(frame))

    def _cut_frames(self, filled: int) -> None:
        """Hand on every whole frame in the scratch buffer; begin a buffer for one that is not."""
        start, self._prefix = 0, b""
        scratch = self._scratch
        while filled - start >= LENGTH_BYTES:
            size = get_int32(scratch, start)
            if not 0 < size <= self._max_frame_bytes:
                first_bytes = bytes(scratch[start : min(filled, start + 64)])
                self.abort(FrameSizeError(size, self._max_frame_bytes, first_bytes))
                return
            body, end = start + LENGTH_BYTES, start + LENGTH_BYTES + size
            if end > filled:
                self._begin_frame(scratch[body:filled], size)
                return
            self._receiver.frame_received(memoryview(cut(scratch, body, end)))
            start = end
        if start < filled:
            self._prefix = bytes(scratch[start:filled])

    def _begin_frame(self, arrived: memoryview, size: int) -> None:
        # A peer that sends in bulk has filled the scratch buffer; one that trickles gets little.
        expected = max(SMALLEST_FRAME_BUFFER_BYTES, GROWTH * len(arrived))
        self._frame = new_buffer(min(size, expected, FIRST_FRAME_BUFFER_BYTES))
        self._frame[: len(arrived)] = arrived
        self._frame_size, self._frame_filled = size, len(arrived)

    def abort(self, error: Exception | None = None) -> None:
        """Close at once; ``error`` is what the receiver is told."""
        raise NotImplementedError


class FrameTransport(FrameReader, asyncio.BufferedProtocol):
    """Receive whole frames for ``receiver``, and send the parts of frames with back-pressure."""

    def __init__(self, receiver: FrameReceiver, *, max_frame_bytes: int) -> None:
        super().__init__(receiver, max_frame_bytes)
        self._transport: asyncio.Transport | None = None
        self._peer = "nobody"
        self._error: Exception | None = None
        self._writable: asyncio.Future[None] | None = None

    # -- what the event loop calls -----------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._scratch = _scratch_of(asyncio.get_running_loop())
        name = transport.get_extra_info("peername")
        self._peer = f"{name[0]}:{name[1]}" if isinstance(name, tuple) else str(name)

    def connection_lost(self, exc: Exception | None) -> None:
        self._transport = None
        self.resume_writing()
        self._receiver.connection_lost(self._error or exc)

    def pause_writing(self) -> None:
        if self._writable is None:
            self._writable = asyncio.get_running_loop().create_future()

    def resume_writing(self) -> None:
        if self._writable is not None and not self._writable.done():
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
        """The address at which the peer reached us, empty where there is none."""
        name = self._transport.get_extra_info("sockname") if self._transport else None
        return str(name[0]) if isinstance(name, tuple) else ""

    @property
    def unsent_bytes(self) -> int:
        return self._transport.get_write_buffer_size() if self._transport else 0

    def write(self, parts: Iterable[bytes | bytearray | memoryview]) -> None:
        """Send a frame's parts, length prefix included, without waiting; nothing once closed."""
        transport = self._transport
        for part in _join_small(parts):
            if transport is None or transport.is_closing():  # or asyncio logs each lost write
                return
            transport.write(part)

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
        """Return when the peer has taken enough of what was written, or is gone."""
        if self._writable is not None:
            await asyncio.shield(self._writable)  # one who gives up must not cancel it for others

    def pause_reading(self) -> None:
        """Let the peer wait: it has sent more than its requests in flight may hold."""
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
        if self._transport is None or self._transport.is_closing():
            # Half a frame is written. Were this part left out, the next would stand in its place.
            raise ConnectionResetError(f"{self._peer} has left")
        loop, file = asyncio.get_running_loop(), region.file
        try:
            await loop.sendfile(self._transport, file, region.offset, region.size, fallback=False)
        except asyncio.SendfileNotAvailableError:
            # No sendfile for this file, or, which the event loop tells no better, no peer any more.
            self.write([os.pread(file.fileno(), region.size, region.offset)])


def _scratch_of(loop: asyncio.AbstractEventLoop) -> memoryview:
    """Return the receive buffer of a loop.

    Between get_buffer() and buffer_updated() nothing else runs on an event loop. Of a thread that
    cannot be said: it may drive one loop while another one, that it drove before, is elsewhere.
    """
    scratch = _scratches.get(loop)
    if scratch is None:
        scratch = _scratches[loop] = memoryview(bytearray(SCRATCH_BYTES))
    return scratch


_NO_SCRATCH = memoryview(bytearray())
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
