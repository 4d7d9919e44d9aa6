"""Hold the records that a share consumer has acquired and not handed out.

The loop appends what was acquired; the application takes it, and leaves how it is acknowledged in
``outbox``, which the loop empties. ``lock`` guards the queue; ``outbox`` is a deque that one side
appends to and the other takes from.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from threading import RLock

from pyk.clients.consumer.buffer.read_buffer import ReadBuffer
from pyk.clients.share.acknowledgements import EXPIRED
from pyk.clients.share.acquired_records import AcquiredRecords, Outgoing


class ShareBuffer(ReadBuffer):
    """Acquired records, for both sides."""

    def __init__(self, on_data: Callable[[], object], on_room: Callable[[], object]) -> None:
        super().__init__(on_data, on_room)
        self.lock = RLock()  # the handler of a signal may close while its thread holds it
        self.outbox: deque[Outgoing] = deque()
        self.wanted = 0
        """How many records the application has asked for in vain; 0 once it got some."""
        self.expired = 0
        """How many offsets were not handed out because their lock was over."""

    # -- the loop's side ---------------------------------------------------------------------------

    def append(self, acquired: AcquiredRecords) -> None:
        """Add what a response brought; :meth:`tell_if_waiting` comes after all of it."""
        with self.lock:
            self.queue.append(acquired)

    def hand_out_again(
        self, acquired: AcquiredRecords, first: int, last: int, locked_until: float
    ) -> None:
        """Let records whose locks were renewed be handed out again, before others."""
        with self.lock:
            acquired.renewed.append((first, last, locked_until))
            if acquired not in self.queue:
                self.queue.appendleft(acquired)

    def remove(self, is_unwanted: Callable[[AcquiredRecords], bool]) -> list[AcquiredRecords]:
        """Remove what is not to be handed out, and return it."""
        with self.lock:
            unwanted = [acquired for acquired in self.queue if is_unwanted(acquired)]
            for acquired in unwanted:
                self.queue.remove(acquired)
        return unwanted

    # -- the application's side --------------------------------------------------------------------

    def first(self) -> AcquiredRecords | None:
        """Return what is to be handed out next, None if there is nothing."""
        with self.lock:
            return self.queue[0] if self.queue else None

    def drained(self, acquired: AcquiredRecords) -> None:
        """Remove what was handed out completely."""
        with self.lock:
            if acquired in self.queue and not acquired.has_more:
                self.queue.remove(acquired)
        expired, acquired.expired = acquired.expired, []
        for first, last in expired:
            self.expired += last - first + 1
            self.outbox.append((acquired, first, last, EXPIRED))

    def put_back(self, acquired: AcquiredRecords) -> None:
        """Hand out next what is left of something."""
        with self.lock:
            if acquired not in self.queue:
                self.queue.appendleft(acquired)
