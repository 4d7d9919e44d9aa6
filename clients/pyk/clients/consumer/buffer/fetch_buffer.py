"""The fetch buffer, as the event loop uses it to hand fetched batches to the application.

Two threads meet here, and each has a side of its own. The **loop** appends what fetches brought,
partition by partition, and changes the state of a partition: another position, paused, held,
removed. That is :class:`FetchBuffer`. The **application** takes the batches, a fair turn for each
partition, and decodes their records in its own thread. That is :class:`~.fetch_reader.FetchReader`.

The two sides share the queue of partitions that have something, and the fields of each
:class:`~.partition_buffer.PartitionBuffer`. All of that is changed under ``lock`` only. The lock is
never held while bytes are read or other code is called.

Three things are shared without it, each of them one machine word:

* ``attention``: reasons for the application to leave the fast path. It looks before each record.
* ``in_hand`` of the open span: the record that the application works on. It writes, the loop reads.
* ``is_waiting``: the application writes it before it looks for records, the loop
  reads it after it has added some, so that one of them sees the other.

Every change that discards fetched records, or makes them wait, goes through
:meth:`FetchBuffer._interrupt`: the application then leaves its open span before the next record. A
partition whose position is set, or that is removed, also gets a new ``version``; the application
discards what it had begun to read of the old one. Versions are never used twice, so a response for
an earlier assignment of the same partition does not match the present one.

Methods take the partition's buffer and not its name: for a removed partition they change an object
that is not used any more.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from threading import Lock

from pyk.clients.consumer.buffer.partition_buffer import UNKNOWN, PartitionBuffer
from pyk.clients.topic_partition import TopicPartition
from pyk.protocol.records.cursor import FetchedRecords

# Reasons to leave the fast path. CLOSED and FORKED never go away.
EVENT, WAKEUP, CLOSED, FORKED = 1, 2, 4, 8


class FetchBuffer:
    """The assigned partitions and what is fetched of them, for the event loop.

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
        self.partitions: dict[TopicPartition, PartitionBuffer] = {}
        self.attention = 0
        self.is_waiting = False
        self.wants_room = False
        self.lock = Lock()
        self.queue: deque[PartitionBuffer] = deque()
        self.on_room = on_room
        self._on_data = on_data
        self._on_records = on_records
        self._last_version = 0

    # -- assignment and positions ------------------------------------------------------------------

    def add_partition(self, topic_partition: TopicPartition) -> PartitionBuffer:
        """Add an assigned partition."""
        with self.lock:
            partition = PartitionBuffer(topic_partition, self._next_version())
            self.partitions[topic_partition] = partition
        return partition

    def remove_partition(self, partition: PartitionBuffer) -> None:
        """Drop a partition and its fetched records."""
        with self.lock:
            self._void(partition)
            if self.partitions.get(partition.topic_partition) is partition:
                del self.partitions[partition.topic_partition]

    def set_position(self, partition: PartitionBuffer, offset: int, epoch: int) -> None:
        """Set the position to ``offset`` and drop what is fetched.

        -1 means unknown: then there is no offset to commit either.
        """
        with self.lock:
            self._void(partition)
            partition.fetch_offset = offset
            partition.begun = partition.next_offset = partition.finished = offset
            partition.position_epoch = partition.finished_epoch = epoch

    def finished(self, partition: PartitionBuffer) -> tuple[int, int]:
        """Return the offset at which another member would go on, and its leader epoch; -1 if
        unknown."""
        with self.lock:
            span = partition.open_span
            in_hand = span.in_hand if span is not None else UNKNOWN
            if in_hand != UNKNOWN:
                return in_hand, partition.position_epoch
            return partition.finished, partition.finished_epoch

    # -- what is fetched ---------------------------------------------------------------------------

    def append(
        self, partition: PartitionBuffer, fetched: FetchedRecords, size: int, next_offset: int
    ) -> bool:
        """Append the data of a fetch; return whether it begins where the buffered data ends.

        Data that begins elsewhere was requested before the application went back, or from a former
        leader. If it were taken, the next fetch would begin after it, and be useless too.
        ``next_offset`` is where to fetch next, -1 if only reading all of it can tell.
        """
        fetched.owner = partition.assignment
        with self.lock:
            if fetched.next_offset != partition.fetch_offset:
                return False
            partition.fetches.append((fetched, size))
            partition.buffered_bytes += size
            partition.fetch_offset = next_offset
            self.enqueue(partition)
        return True

    def tell_of_records(self, fetch: Callable[[], None]) -> None:
        """Wake the application if it waits, now that all of a response is appended.

        ``fetch`` sends the next fetch. If the application waits, ``on_records`` calls it, or lets
        it be called once the application has the records.
        """
        if self.is_waiting and self.queue:
            self._on_records(fetch)
        else:
            fetch()

    def tell_if_waiting(self) -> None:
        """Wake the application if it waits and there is something for it."""
        if self.is_waiting and self.queue:
            self._on_data()

    def fetch_after_reading(self, partition: PartitionBuffer) -> None:
        """Fetch nothing more of a partition until all that is fetched of it is read."""
        with self.lock:
            if not partition.is_read:
                partition.fetch_offset = UNKNOWN

    def fail(
        self, partition: PartitionBuffer, error: BaseException, *, lasts: bool = False
    ) -> None:
        """Raise ``error`` to the application once the fetched records are read.

        If it ``lasts``, until another position is set; otherwise once, or never after :meth:`heal`.
        """
        self._set_error(partition, error, lasts)

    def _set_error(self, partition: PartitionBuffer, error: BaseException, lasts: bool) -> None:
        with self.lock:
            partition.error = error
            partition.error_lasts = lasts
            self.enqueue(partition)
        self.tell_if_waiting()

    def heal(self, partition: PartitionBuffer) -> None:
        """Withdraw the error of :meth:`fail`."""
        with self.lock:
            partition.error = None

    @property
    def buffered_bytes(self) -> int:
        """The bytes that wait to be read, without those of paused partitions."""
        with self.lock:
            return sum(p.buffered_bytes for p in self.partitions.values() if not p.is_paused)

    # -- what waits --------------------------------------------------------------------------------

    def pause(self, partition: PartitionBuffer) -> None:
        """Hand out nothing of a partition; what is fetched of it stays."""
        with self.lock:
            partition.is_paused = True
            self._interrupt(partition)

    def resume(self, partition: PartitionBuffer) -> None:
        """Hand out a partition's records again."""
        with self.lock:
            partition.is_paused = False
            self.enqueue(partition)
        self.tell_if_waiting()

    def hold(self, partition: PartitionBuffer) -> None:
        """Hand out nothing until :meth:`release`; unlike a pause, the application does not see
        it."""
        with self.lock:
            partition.is_held = True
            self._interrupt(partition)

    def release(self, partition: PartitionBuffer) -> None:
        """End a :meth:`hold`."""
        with self.lock:
            partition.is_held = False
            self.enqueue(partition)
        self.tell_if_waiting()

    # -- attention ---------------------------------------------------------------------------------

    @property
    def has_work(self) -> bool:
        """Return whether the application may have something to do: records, an error, an event."""
        return bool(self.queue) or self.attention != 0

    def call_attention(self, reason: int) -> None:
        """Make the application look for something other than records, and wake it if it waits.

        It takes no lock, so that a signal handler may call it at any point.
        """
        self.attention |= reason
        if self.is_waiting:
            self._on_data()

    def clear_attention(self, reason: int) -> None:
        self.attention &= ~reason

    # -- inside, under the lock --------------------------------------------------------------------

    def enqueue(self, partition: PartitionBuffer) -> None:
        """Queue a partition that has something, after the others."""
        if not partition.is_queued and partition.has_something():
            # In this order: the handler of a signal may raise in between.
            self.queue.append(partition)
            partition.is_queued = True

    def _void(self, partition: PartitionBuffer) -> None:
        self._interrupt(partition)
        partition.clear(self._next_version())

    def _interrupt(self, partition: PartitionBuffer) -> None:
        """Make the application leave its open span, if it is one of this partition."""
        if partition.open_span is not None:
            self.attention |= EVENT

    def _next_version(self) -> int:
        self._last_version += 1
        return self._last_version
