"""Received bytes: the sizes of frames, and memory for one that is about to arrive.

This is the plain form; ``compiled/frame_buffer.pyx`` is the compiled one, which does not clear
memory first.
"""

from __future__ import annotations

LENGTH_BYTES = 4

_ZEROS = memoryview(bytes(64 * 1024))


def new_buffer(size: int) -> bytearray:
    """Return ``size`` bytes to receive into; what they hold until then is not defined."""
    return bytearray(size)


def grow(buffer: bytearray, size: int) -> None:
    """Make ``buffer`` ``size`` bytes long and keep what it has; the rest is not defined."""
    while len(buffer) < size:
        buffer += _ZEROS[: size - len(buffer)]


def frame_size(scratch: memoryview, start: int) -> int:
    """Return the size that the four bytes from ``start`` on tell, which are within ``scratch``."""
    return int.from_bytes(scratch[start : start + LENGTH_BYTES], "big", signed=True)


def cut(scratch: memoryview, start: int, end: int) -> bytes:
    """Return a copy of the bytes from ``start`` to ``end``, which are within ``scratch``."""
    return bytes(scratch[start:end])
