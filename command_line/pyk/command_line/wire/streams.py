"""One direction of a TCP connection: segments in any order become bytes in order.

What was sent twice is taken once. What comes too early waits, until what is missing has come or is
known not to come: the other end acknowledged it, so it was sent and not captured; or too much
waits. The hole is then reported as a gap, because the reader of the bytes has lost its place.
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
        self._position: int | None = None  # counted on beyond 2**32; where the next byte belongs
        self._waiting: list[tuple[int, bytes, int]] = []  # a heap of (start, payload, missing)
        self.waiting_bytes = 0
        """How much has come too early."""

    def begin(self, sequence: int) -> None:
        """Take the number of the first byte from the SYN."""
        if self._position is None:
            self._position = sequence + 1

    def push(self, sequence: int, payload: bytes, missing: int = 0) -> list[bytes | Gap]:
        """Return the bytes that are next, in order, once this segment is there.

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
        """Return what is next now that the other end has all bytes below ``number``."""
        ready: list[bytes | Gap] = []
        while self._waiting and self._place(number) >= self._waiting[0][0]:
            ready += self.give_up()
        return ready

    def give_up(self) -> list[bytes | Gap]:
        """Return the first hole and what follows it; nothing if nothing waits."""
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
        """Return the number without its wrapping: the one nearest to where the stream is."""
        assert self._position is not None
        half = _MODULUS // 2
        return self._position + (sequence - self._position + half) % _MODULUS - half
