"""The producer's buffer as an account of bytes (``buffer.memory``), with a line of waiters.

Room that comes free is granted to the first in line, and to nobody else before: a large record is
not starved by small ones. The accumulator's lock guards it; what it returns is called outside of
the lock.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from pyk.clients.producer.arguments import Headers

RECORD_OVERHEAD_BYTES = 48  # length prefixes in the batch, and the delivery

Wake = Callable[[], object]


class RoomRequest:
    """Room that somebody needs, and may have been granted; ``wake`` tells while it is in line.

    Whoever makes one cancels it in the end, whatever happens: that gives back what was granted and
    not used, and is nothing otherwise.
    """

    __slots__ = ("is_granted", "size", "wake")

    def __init__(self, size: int) -> None:
        self.size = size
        self.wake: Wake | None = None
        self.is_granted = False


class BufferBudget:
    """``available`` of ``total`` bytes are free. Nothing here blocks."""

    __slots__ = ("_requests", "available", "total")

    def __init__(self, total: int) -> None:
        self.total = total
        self.available = total
        self._requests: deque[RoomRequest] = deque()

    def has_room(self, size: int) -> bool:
        """Return whether ``size`` bytes are free for somebody who did not stand in line."""
        return size <= self.available and not self._requests

    def is_contended(self) -> bool:
        """Return whether somebody waits for room."""
        return bool(self._requests)

    def request(self, request: RoomRequest, wake: Wake) -> None:
        """Join the line; ``wake`` is for :meth:`grant` and :meth:`dismiss` to return."""
        request.wake = wake
        self._requests.append(request)

    def cancel(self, request: RoomRequest) -> None:
        """Leave the line, or give back what was granted and not used; a second time is nothing."""
        if request.is_granted:
            request.is_granted = False
            self.available += request.size
        elif request in self._requests:
            self._requests.remove(request)

    def grant(self) -> list[Wake]:
        """Hand free room to the front of the line and return whom to wake."""
        wakes: list[Wake] = []
        while self._requests:
            request: RoomRequest = self._requests[0]
            if request.size > self.available:
                break
            self._requests.popleft()
            self.available -= request.size
            request.is_granted = True
            assert request.wake is not None
            wakes.append(request.wake)
        return wakes

    def dismiss(self) -> list[Wake]:
        """Send everybody in line away ungranted and return whom to wake."""
        wakes = [request.wake for request in self._requests if request.wake is not None]
        self._requests.clear()
        return wakes


def record_size(key: bytes | None, value: bytes | None, headers: Headers) -> int:
    """Return what a record takes of the buffer's budget, in bytes."""
    size = RECORD_OVERHEAD_BYTES
    if key is not None:
        size += len(key)
    if value is not None:
        size += len(value)
    for name, header in headers:
        size += 2 * RECORD_OVERHEAD_BYTES + len(name) + (len(header) if header is not None else 0)
    return size
