"""The sender's side of the accumulator: take batches to send, and settle them."""

from __future__ import annotations

from collections.abc import Sequence

from pyk.clients.producer.batching.batch import ProducerBatch
from pyk.clients.producer.batching.buffer_waits import call_all
from pyk.clients.producer.batching.mutex import Mutex
from pyk.clients.producer.batching.open_batches import OpenBatches


class BatchDrain:
    """Hands batches to the sender, and takes back the room of those that are settled.

    On the event loop only; ``mutex`` is the accumulator's, which guards ``batches``.
    """

    def __init__(self, batches: OpenBatches, mutex: Mutex) -> None:
        self.mutex = mutex
        self._batches = batches

    def take(self, now: float) -> tuple[list[ProducerBatch], list[ProducerBatch]]:
        """Return the batches that became full, and those that are open and due, to be closed when
        they can be sent. Each is returned once.

        From here to the next ``take``, the sender is woken for changes;
        :meth:`next_linger_end` is when it should look by itself.
        """
        self.mutex.check()
        try:
            self.mutex.acquire()
            return self._batches.take(now)
        finally:
            self.mutex.release()

    def next_linger_end(self) -> float:
        """Return when the oldest batch that still lingers becomes due."""
        return self._batches.next_linger_end()

    def close(self, batch: ProducerBatch) -> bool:
        """Close a batch to send it; False if it became full meanwhile and comes with ``take``."""
        self.mutex.check()
        try:
            self.mutex.acquire()
            return self._batches.close(batch)
        finally:
            self.mutex.release()

    def replace(self, batch: ProducerBatch, pieces: Sequence[ProducerBatch]) -> None:
        """Replace a batch that was split by its ``pieces``."""
        self.mutex.check()
        try:
            self.mutex.acquire()
            self._batches.replace(batch, pieces)
        finally:
            self.mutex.release()

    def release(self, batch: ProducerBatch) -> None:
        """Release the room of a batch whose result is known."""
        self.mutex.check()
        try:
            self.mutex.acquire()
            wakes = self._batches.release(batch)
        finally:
            self.mutex.release()
        call_all(wakes)

    def has_full_batches(self) -> bool:
        """Return whether batches became full that the sender has not taken yet."""
        return self._batches.has_full()

    def has_unfinished(self) -> bool:
        """Return whether records are not settled yet."""
        return bool(self._batches.unfinished)

    @property
    def unfinished_batches(self) -> int:
        return len(self._batches.unfinished)

    @property
    def unfinished_records(self) -> int:
        """How many records are not settled yet."""
        return sum(batch.count for batch in list(self._batches.unfinished))
