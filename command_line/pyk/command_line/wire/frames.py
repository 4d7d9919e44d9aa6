"""Cut the bytes of one direction into frames, and find the next frame after bytes were lost.

Only its length marks a frame, so a reader that starts in the middle can only guess where a frame
begins: at the start of a segment that looks like one. Programs write a frame at a time, so the
guess is soon right.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from struct import Struct

SIZE = Struct(">i")
DEFAULT_MAX_FRAME_BYTES = 100 << 20
"""``socket.request.max.bytes``; a response may be larger, if a consumer asks for more."""


class NoFrameError(Exception):
    """A length that no frame has; the reader no longer knows where frames begin."""


class FrameReader:
    """The frames of one direction."""

    def __init__(
        self, looks_like_frame: Callable[[bytes], bool], *, max_frame_bytes: int, in_step: bool
    ) -> None:
        self._looks_like_frame = looks_like_frame
        self._max_frame_bytes = max_frame_bytes
        self._in_step = in_step
        self._buffer = bytearray()

    @property
    def waiting_bytes(self) -> int:
        """The number of bytes of an unfinished frame."""
        return len(self._buffer)

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Yield the frames, without their lengths, that ``data`` completes.

        Bytes that belong to no frame are dropped. Raises NoFrameError when a length is
        invalid; the reader then looks for the next frame.
        """
        if not self._in_step and not self._looks_like_frame(data):
            return
        self._in_step = True
        self._buffer += data
        while len(self._buffer) >= SIZE.size:
            [size] = SIZE.unpack_from(self._buffer)
            if not 0 <= size <= self._max_frame_bytes:
                self.lose()
                raise NoFrameError(f"{size} is not a valid length of a frame")
            end = SIZE.size + size
            if end > len(self._buffer):
                break
            frame = bytes(self._buffer[SIZE.size : end])
            del self._buffer[:end]
            yield frame

    def lose(self) -> None:
        """Drop the unfinished frame and search the next one: bytes are missing."""
        self._buffer.clear()
        self._in_step = False
