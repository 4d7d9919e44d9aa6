"""Wait for room in the buffer, and for all that it holds to be settled: by callbacks."""

from __future__ import annotations

from collections.abc import Callable

from pyk.clients.producer.batching.budget import BufferBudget, RoomRequest
from pyk.clients.producer.batching.flushes import FlushRequest, Wake
from pyk.clients.producer.batching.mutex import Mutex
from pyk.clients.producer.batching.open_batches import OpenBatches


class BufferWaits:
    """The line for room, and the flushes. Any thread may call.

    ``mutex`` is the accumulator's, which guards ``batches`` and their budget; ``wake_sender`` wakes
    the sender if it has to learn of something.
    """

    def __init__(
        self, batches: OpenBatches, mutex: Mutex, wake_sender: Callable[[], object]
    ) -> None:
        self.mutex = mutex
        self._batches = batches
        self._budget: BufferBudget = batches.budget
        self._wake_sender = wake_sender

    def request_room(self, request: RoomRequest, wake: Wake) -> None:
        """Get in line for room; ``wake`` is called once it is granted or refused.

        Call :meth:`cancel_room` in the end, also after an exception.
        """
        self.mutex.check()
        try:
            self.mutex.acquire()
            self._budget.request(request, wake)
            wakes = self._budget.grant()
            self._batches.hurry()
        finally:
            self.mutex.release()
        call_all(wakes)
        self._wake_sender()  # nothing lingers while a caller waits for room

    def cancel_room(self, request: RoomRequest) -> None:
        """Leave the line, or release room that was granted and not used."""
        self.mutex.check()
        try:
            self.mutex.acquire()
            self._budget.cancel(request)
            wakes = self._budget.grant()
        finally:
            self.mutex.release()
        call_all(wakes)

    def begin_flush(self, wake: Wake) -> FlushRequest:
        """Let nothing linger until :meth:`end_flush`; call ``wake`` when all current batches are
        settled.

        If there is nothing to wait for, ``remaining`` is empty and ``wake`` is not called.
        """
        self.mutex.check()
        try:
            self.mutex.acquire()
            request = self._batches.flushes.begin(self._batches.unfinished, wake)
            self._batches.hurry()
        finally:
            self.mutex.release()
        self._wake_sender()
        return request

    def end_flush(self, request: FlushRequest) -> None:
        self.mutex.check()
        try:
            self.mutex.acquire()
            self._batches.flushes.end(request)
        finally:
            self.mutex.release()


def call_all(wakes: list[Wake]) -> None:
    """Call the functions that wake waiters. Without the lock."""
    for wake in wakes:
        wake()
