"""The event loop's side of the fetch buffer: append what is fetched, and stop partitions.

Every change that discards fetched records, or makes them wait, goes through
:meth:`FetchBuffer.interrupt`: the application then leaves its open span before the next record. A
partition whose position is set, or that is removed, also gets a new ``version``; the application
discards what it had begun to read of the old one. Versions are never used twice, so a response for
an earlier assignment of the same partition does not match the present one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyk.clients.consumer.buffer.partition_buffer import UNKNOWN, PartitionBuffer
from pyk.clients.consumer.records.assignment import Assignment
from pyk.clients.topic_partition import TopicPartition
from pyk.protocol.records.cursor import FetchedRecords

if TYPE_CHECKING:
    from pyk.clients.consumer.buffer.fetch_buffer import FetchBuffer


class FetchWriter:
    """Changes the assigned partitions of a fetch buffer; used on the event loop only."""

    def __init__(self, buffer: FetchBuffer) -> None:
        self.buffer = buffer
        self._last_version = 0

    # -- assignment and positions ------------------------------------------------------------------

    def add_partition(self, topic_partition: TopicPartition) -> PartitionBuffer:
        """Add an assigned partition."""
        with self.buffer.lock:
            partition = PartitionBuffer(topic_partition, self._next_version())
            self.buffer.partitions[topic_partition] = partition
        return partition

    def remove_partition(self, partition: PartitionBuffer) -> None:
        """Drop a partition and its fetched records."""
        with self.buffer.lock:
            self._void(partition)
            if self.buffer.partitions.get(partition.topic_partition) is partition:
                del self.buffer.partitions[partition.topic_partition]

    def reassign(self, partition: PartitionBuffer, assignment: Assignment) -> None:
        """Hand out what comes from now on under another assignment."""
        with self.buffer.lock:
            partition.assignment = assignment

    def set_position(self, partition: PartitionBuffer, offset: int, epoch: int) -> None:
        """Set the position to ``offset`` and drop what is fetched.

        -1 means unknown: then there is no offset to commit either.
        """
        with self.buffer.lock:
            self._void(partition)
            partition.fetch_offset = offset
            partition.begun = partition.next_offset = partition.finished = offset
            partition.position_epoch = partition.finished_epoch = epoch

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
        with self.buffer.lock:
            if fetched.next_offset != partition.fetch_offset:
                return False
            partition.fetches.append((fetched, size))
            partition.buffered_bytes += size
            partition.fetch_offset = next_offset
            self.buffer.enqueue(partition)
        return True

    def fetch_after_reading(self, partition: PartitionBuffer) -> None:
        """Fetch nothing more of a partition until all that is fetched of it is read."""
        with self.buffer.lock:
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
        with self.buffer.lock:
            partition.error = error
            partition.error_lasts = lasts
            self.buffer.enqueue(partition)
        self.buffer.tell_if_waiting()

    def heal(self, partition: PartitionBuffer) -> None:
        """Withdraw the error of :meth:`fail`."""
        with self.buffer.lock:
            partition.error = None

    # -- what waits --------------------------------------------------------------------------------

    def pause(self, partition: PartitionBuffer) -> None:
        """Hand out nothing of a partition; what is fetched of it stays."""
        with self.buffer.lock:
            partition.is_paused = True
            self.buffer.interrupt(partition)

    def resume(self, partition: PartitionBuffer) -> None:
        """Hand out a partition's records again."""
        with self.buffer.lock:
            partition.is_paused = False
            self.buffer.enqueue(partition)
        self.buffer.tell_if_waiting()

    def hold(self, partition: PartitionBuffer) -> None:
        """Hand out nothing until :meth:`release`; unlike a pause, the application does not see
        it."""
        with self.buffer.lock:
            partition.is_held = True
            self.buffer.interrupt(partition)

    def release(self, partition: PartitionBuffer) -> None:
        """End a :meth:`hold`."""
        with self.buffer.lock:
            partition.is_held = False
            self.buffer.enqueue(partition)
        self.buffer.tell_if_waiting()

    # -- inside, under the lock --------------------------------------------------------------------

    def _void(self, partition: PartitionBuffer) -> None:
        self.buffer.interrupt(partition)
        partition.clear(self._next_version())

    def _next_version(self) -> int:
        self._last_version += 1
        return self._last_version
