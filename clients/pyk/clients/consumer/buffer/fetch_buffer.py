"""The fetch buffer: fetched batches, and what the event loop and the application share of them.

Two threads meet here, and each has a side of its own. The **loop** appends what fetches brought,
partition by partition, and changes the state of a partition: another position, paused, held,
removed. That is :class:`~.fetch_writer.FetchWriter`. The **application** takes the batches, a fair
turn for each partition, and decodes their records in its own thread. That is
:class:`~.fetch_reader.FetchReader`. Neither calls the other: both use :class:`FetchBuffer`.

The two sides share the queue of partitions that have something, and the fields of each
:class:`~.partition_buffer.PartitionBuffer`. All of that is changed under ``lock`` only. The lock is
never held while bytes are read or other code is called.

Four things are shared without it, each of them one machine word:

* ``attention`` and ``is_waiting``: see :mod:`.read_buffer`.
* ``in_hand`` of the open span: the record that the application works on. It writes, the loop reads.
* ``wants_room``: the loop sets it before it looks for room a second time. The application makes
  room before it looks at the word; it clears it under the lock, and then calls ``on_room``.

Methods take the partition's buffer and not its name: for a removed partition they change an object
that is not used any more.
"""

from __future__ import annotations

from collections.abc import Callable
from threading import RLock

from pyk.clients.consumer.buffer.partition_buffer import UNKNOWN, PartitionBuffer
from pyk.clients.consumer.buffer.read_buffer import EVENT, ReadBuffer


class FetchBuffer(ReadBuffer):
    """The assigned partitions and what is fetched of them, for both sides.

    Both are called on the loop when the application waits: ``on_records`` by
    :meth:`tell_of_records`, with what sends the next fetch, and ``on_data`` for anything else.
    ``on_room`` is called in the application's thread when there is room for which ``wants_room``
    was set.
    """

    def __init__(
        self,
        on_data: Callable[[], object],
        on_room: Callable[[], object],
        on_records: Callable[[Callable[[], None]], object],
    ) -> None:
        super().__init__(on_data, on_room)
        self.wants_room = False
        self.lock = RLock()  # the handler of a signal may look while its thread holds it
        self._on_records = on_records

    # -- how it stands -----------------------------------------------------------------------------

    def finished(self, partition: PartitionBuffer) -> tuple[int, int]:
        """Return the offset at which another member would go on, and its leader epoch; -1 if
        unknown."""
        with self.lock:
            span = partition.open_span
            in_hand = span.in_hand if span is not None else UNKNOWN
            if in_hand != UNKNOWN:
                return in_hand, partition.position_epoch
            return partition.finished, partition.finished_epoch

    @property
    def buffered_bytes(self) -> int:
        """The bytes that wait to be read, without those of paused partitions."""
        with self.lock:
            return sum(p.buffered_bytes for p in self.partitions.values() if not p.is_paused)

    # -- what the loop tells an application that waits ---------------------------------------------

    def tell_of_records(self, fetch: Callable[[], None]) -> None:
        """Wake the application if it waits, now that all of a response is appended.

        ``fetch`` sends the next fetch. If the application waits, ``on_records`` calls it, or lets
        it be called once the application has the records.
        """
        if self.is_waiting and self.queue:
            self._on_records(fetch)
        else:
            fetch()

    # -- under the lock, for both sides ------------------------------------------------------------

    def enqueue(self, partition: PartitionBuffer) -> None:
        """Queue a partition that has something, after the others."""
        if not partition.is_queued and partition.has_something():
            # In this order: the handler of a signal may raise in between.
            self.queue.append(partition)
            partition.is_queued = True

    def interrupt(self, partition: PartitionBuffer) -> None:
        """Make the application leave its open span, if it is one of this partition."""
        if partition.open_span is not None:
            self.attention |= EVENT
