"""The producer's buffer as an account of bytes (``buffer.memory``), with a line of those who wait.

Room that comes free is granted to the first in line, and to nobody else before: a large record is
not starved by small ones. The accumulator's lock guards it; what it returns is called outside of
the lock.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

Wake = Callable[[], object]


class RoomRequest:
    """A record that waits in line for room; ``wake`` says that its turn has come."""

    __slots__ = ("is_granted", "size", "wake")

    def __init__(self, size: int, wake: Wake) -> None:
        self.size = size
        self.wake = wake
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

    @property
    def is_contended(self) -> bool:
        """Somebody waits for room."""
        return bool(self._requests)

    def request(self, size: int, wake: Wake) -> RoomRequest:
        """Join the line; :meth:`grant` says when it is one's turn."""
        request = RoomRequest(size, wake)
        self._requests.append(request)
        return request

    def cancel(self, request: RoomRequest) -> None:
        """Leave the line, or give back what was granted and not used."""
        if request.is_granted:
            self.available += request.size
        elif request in self._requests:
            self._requests.remove(request)

    def grant(self) -> list[Wake]:
        """Hand free room to the front of the line and return whom to wake."""
        wakes = []
        while self._requests and self._requests[0].size <= self.available:
            request = self._requests.popleft()
            self.available -= request.size
            request.is_granted = True
            wakes.append(request.wake)
        return wakes

    def dismiss(self) -> list[Wake]:
        """Send everybody in line away ungranted and return whom to wake."""
        wakes = [request.wake for request in self._requests]
        self._requests.clear()
        return wakes
