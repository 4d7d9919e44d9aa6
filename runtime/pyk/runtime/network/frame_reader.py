"""Cut what a connection receives into frames.

A frame is an int32 size and that many bytes. Between frames, all connections of a loop receive
into one scratch buffer, so an idle connection holds no memory. A frame that has not arrived whole
gets a buffer of its own, into which the event loop then receives directly; it grows as its bytes
arrive, to ``GROWTH`` times as many, so a peer that *declares* 100 MiB costs little until it sends
them.
"""

from __future__ import annotations

from typing import Protocol

from pyk.runtime.network.frame_buffer import LENGTH_BYTES, cut, frame_size, grow, new_buffer

FIRST_FRAME_BUFFER_BYTES = 256 * 1024
SMALLEST_FRAME_BUFFER_BYTES = 4 * 1024
GROWTH = 4

_NO_SCRATCH = memoryview(bytearray())


class FrameSizeError(Exception):
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

    def get_buffer(self, sizehint: int) -> memoryview:
        """Return :meth:`room`, under the name that asyncio calls."""
        return self.room()

    def buffer_updated(self, nbytes: int) -> None:
        """Call :meth:`arrived`, under the name that asyncio calls."""
        self.arrived(nbytes)

    def limit_frames(self, max_frame_bytes: int) -> None:
        """Refuse larger frames than this from now on."""
        self._max_frame_bytes = max_frame_bytes

    @property
    def receiving_bytes(self) -> int:
        """The size of the frame that has begun to arrive, 0 between frames."""
        return self._frame_size if self._frame is not None else len(self._prefix)

    @property
    def held_bytes(self) -> int:
        """The memory that the frame takes which has begun to arrive."""
        return len(self._frame) if self._frame is not None else 0

    def room(self) -> memoryview:
        """Return where to put what is received next."""
        if self._frame is None:
            kept = len(self._prefix)
            if not kept:
                return self._scratch
            self._scratch[:kept] = self._prefix
            return self._scratch[kept:]
        if self._frame_filled == len(self._frame):
            # Not in arrived(), during which the event loop still holds a view.
            grow(self._frame, min(GROWTH * len(self._frame), self._frame_size))
        return memoryview(self._frame)[self._frame_filled :]

    def arrived(self, count: int) -> None:
        """Take note of ``count`` bytes in the room, and hand on the frames that are whole now."""
        if self._frame is None:
            self._cut_frames(len(self._prefix) + count)
            return
        self._frame_filled += count
        if self._frame_filled == self._frame_size:
            frame, self._frame = self._frame, None
            self._receiver.frame_received(memoryview(frame))

    def _cut_frames(self, filled: int) -> None:
        """Hand on every whole frame in the scratch buffer; begin a buffer for one that is not."""
        start, self._prefix = 0, b""
        scratch = self._scratch
        while filled - start >= LENGTH_BYTES:
            size = frame_size(scratch, start)
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
