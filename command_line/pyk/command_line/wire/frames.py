"""From the bytes of one direction to frames, and back into step after bytes were lost.

Nothing but its length marks a frame, so a reader that starts in the middle can only guess where one
begins: at the start of a segment that looks like it. Programs write a frame at a time, so the guess
is soon right.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from struct import Struct

SIZE = Struct(">i")
DEFAULT_MAX_FRAME_BYTES = 100 << 20
"""``socket.request.max.bytes``; a response may be larger, by what consumers ask for."""


class NoFrameError(Exception):
    """A length that no frame has; the reader has lost its place."""


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
        """How many bytes of an unfinished frame there are."""
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
                raise NoFrameError(f"{size} is no length of a frame")
            end = SIZE.size + size
            if end > len(self._buffer):
                break
            frame = bytes(self._buffer[SIZE.size : end])
            del self._buffer[:end]
            yield frame

    def lose(self) -> None:
        """Forget the unfinished frame and look for the next: bytes are missing."""
        self._buffer.clear()
        self._in_step = False
