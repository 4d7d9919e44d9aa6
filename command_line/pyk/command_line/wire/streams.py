"""Put the TCP segments of one direction of a connection in order.

Bytes that were sent twice are taken once. A segment that comes early waits for the bytes before it.
These are reported as a gap if the other end acknowledged them (they were sent and not captured), or
if too much waits. After a gap the reader of the bytes must find the next frame.
"""

from __future__ import annotations

from heapq import heappop, heappush
from typing import NamedTuple

MOST_WAITING_BYTES = 4 << 20
MOST_WAITING = 4096  # segments

_MODULUS = 1 << 32


class Gap(NamedTuple):
    """Bytes that were sent and are not in the capture."""

    size: int


class ByteStream:
    """The bytes that one end sends."""

    def __init__(self) -> None:
        self._position: int | None = None  # of the next byte; does not wrap at 2**32
        self._waiting: list[tuple[int, bytes, int]] = []  # a heap of (start, payload, missing)
        self.waiting_bytes = 0
        """Bytes of segments that came early."""

    def begin(self, sequence: int) -> None:
        """Set the sequence number of the first byte, from that of the SYN."""
        if self._position is None:
            self._position = sequence + 1

    def push(self, sequence: int, payload: bytes, missing: int = 0) -> list[bytes | Gap]:
        """Add a segment; return the bytes that are now in order.

        ``missing`` bytes follow ``payload`` in the segment and were not captured.
        """
        if self._position is None:
            self._position = sequence
        heappush(self._waiting, (self._place(sequence), payload, missing))
        self.waiting_bytes += len(payload)
        ready = self._ready()
        while self.waiting_bytes > MOST_WAITING_BYTES or len(self._waiting) > MOST_WAITING:
            ready += self.give_up()
        return ready

    def acknowledge(self, number: int) -> list[bytes | Gap]:
        """Return the bytes and gaps below ``number``, all of which the other end has."""
        ready: list[bytes | Gap] = []
        while self._waiting and self._place(number) >= self._waiting[0][0]:
            ready += self.give_up()
        return ready

    def give_up(self) -> list[bytes | Gap]:
        """Return the first gap and the bytes after it; nothing if no segment waits."""
        if not self._waiting or self._position is None:
            return []
        gap = Gap(self._waiting[0][0] - self._position)
        self._position += gap.size
        return [gap, *self._ready()]

    def _ready(self) -> list[bytes | Gap]:
        ready: list[bytes | Gap] = []
        assert self._position is not None
        while self._waiting and self._waiting[0][0] <= self._position:
            start, payload, missing = heappop(self._waiting)
            self.waiting_bytes -= len(payload)
            if new := payload[self._position - start :]:
                ready.append(new)
                self._position += len(new)
            if (lost := start + len(payload) + missing - self._position) > 0 and missing:
                ready.append(Gap(lost))
                self._position += lost
        return ready

    def _place(self, sequence: int) -> int:
        """Return the sequence number unwrapped: the candidate nearest to the position."""
        assert self._position is not None
        half = _MODULUS // 2
        return self._position + (sequence - self._position + half) % _MODULUS - half
