"""The producer's buffer as an account of bytes (``buffer.memory``), with a line of waiters.

Room that becomes free is granted to the first in line before any other: small records do not starve
a large one. The accumulator's lock guards it; what it returns is called outside of the lock.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from pyk.clients.producer.arguments import Headers

RECORD_OVERHEAD_BYTES = 48  # length prefixes in the batch, and the delivery

Wake = Callable[[], object]


class RoomRequest:
    """A request for room, which may have been granted; ``wake`` is set while it is in line.

    Its owner always cancels it in the end: that releases room that was granted and not used, and
    has no effect otherwise.
    """

    __slots__ = ("is_granted", "size", "term", "wake")

    def __init__(self, size: int, term: int = 0) -> None:
        self.size = size
        self.term = term  # in which its records are sent, see Admission
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
        """Return whether ``size`` bytes are free for a caller that is not in line."""
        return size <= self.available and not self._requests

    def is_contended(self) -> bool:
        """Return whether a caller waits for room."""
        return bool(self._requests)

    def request(self, request: RoomRequest, wake: Wake) -> None:
        """Join the line; ``wake`` is for :meth:`grant` and :meth:`dismiss` to return."""
        request.wake = wake
        self._requests.append(request)

    def cancel(self, request: RoomRequest) -> None:
        """Leave the line, or release room that was granted and not used; idempotent."""
        if request.is_granted:
            request.is_granted = False
            self.available += request.size
        elif request in self._requests:
            self._requests.remove(request)

    def grant(self) -> list[Wake]:
        """Grant free room to the front of the line and return the callbacks to run."""
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
        """Dismiss the whole line without room and return the callbacks to run."""
        wakes = [request.wake for request in self._requests if request.wake is not None]
        self._requests.clear()
        return wakes


def record_size(key: bytes | None, value: bytes | None, headers: Headers) -> int:
    """Return how many bytes of the budget a record takes."""
    size = RECORD_OVERHEAD_BYTES
    if key is not None:
        size += len(key)
    if value is not None:
        size += len(value)
    for name, header in headers:
        size += 2 * RECORD_OVERHEAD_BYTES + len(name) + (len(header) if header is not None else 0)
    return size
