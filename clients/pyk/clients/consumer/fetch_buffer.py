"""What was fetched and not read yet: where the event loop hands records over to the application.

The loop appends what fetches brought, partition by partition. The application takes spans of it, a
fair turn for each partition, and makes records of them in its own thread. It crosses to the loop
only when something other than the next record is due (``attention``), and when a partition has
room again.

Two threads meet here. The lock guards the queue of partitions and the sizes; it is never held while
records are read. Each change that the loop makes to a partition's place counts its ``version`` up,
so that the application notices when what it was about to hand out is void.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from threading import Lock
from typing import Any

from pyk.clients.consumer.deserializers import Deserializers
from pyk.clients.consumer.partition_buffer import UNKNOWN, PartitionBuffer
from pyk.clients.consumer.unreadable import deserialization_error, unreadable_records_error
from pyk.clients.topic_partition import TopicPartition
from pyk.protocol.records.cursor import FetchedRecords
from pyk.protocol.records.errors import RecordBatchError
from pyk.protocol.records.reader import RecordIterator, RecordSpan

# Reasons to leave the fast path. CLOSED and FORKED never go away.
EVENT, WAKEUP, CLOSED, FORKED = 1, 2, 4, 8


class FetchBuffer:
    """The assigned partitions and what is fetched of them.

    ``on_data`` is called on the loop when the application waits and there is something for it,
    ``on_room`` in the application's thread when there is room for which ``wants_room`` was set.
    """

    def __init__(
        self,
        on_data: Callable[[], object],
        on_room: Callable[[], object],
        deserializers: Deserializers | None = None,
        max_span: int = 500,
    ) -> None:
        self.partitions: dict[TopicPartition, PartitionBuffer] = {}
        self.attention = 0
        self.calls = 0
        self.taken = 0
        self.polled = 0
        self.is_waiting = False
        self.wants_room = False
        self._on_data = on_data
        self._on_room = on_room
        self._deserializers = deserializers
        self._deserializes = bool(deserializers)
        self._max_span = max_span
        self._queue: deque[PartitionBuffer] = deque()
        self._queue_lock = Lock()
        # The span that iteration is in.
        self._iterator = RecordIterator(())
        self._span: RecordSpan | None = None
        self._current: PartitionBuffer | None = None
        self._current_version = 0
        self._taken_before = 0
        self._in_hand = UNKNOWN
        # What the last poll handed out.
        self._handed: list[PartitionBuffer] = []

    # -- for the loop ------------------------------------------------------------------------------

    def add_partition(self, topic_partition: TopicPartition) -> PartitionBuffer:
        """Make room for a partition that is assigned."""
        partition = self.partitions[topic_partition] = PartitionBuffer(topic_partition)
        return partition

    def remove_partition(self, topic_partition: TopicPartition) -> None:
        """Drop a partition and what is fetched of it."""
        self._clear(self.partitions.pop(topic_partition))

    def set_position(self, topic_partition: TopicPartition, offset: int, epoch: int) -> None:
        """Have the application go on at ``offset``; what is fetched is dropped.

        With -1 nothing is known: there is no offset to commit either.
        """
        partition = self.partitions[topic_partition]
        self._clear(partition)
        partition.fetch_offset = offset
        partition.position = partition.finished = offset
        partition.position_epoch = partition.finished_epoch = epoch

    def append(
        self, topic_partition: TopicPartition, fetched: FetchedRecords, size: int, next_offset: int
    ) -> None:
        """Add what a fetch brought, after what is there.

        ``next_offset`` is where to fetch next, -1 if only reading all of it can tell.
        """
        partition = self.partitions[topic_partition]
        with self._queue_lock:
            partition.fetches.append((fetched, size))
            partition.buffered_bytes += size
            partition.fetch_offset = next_offset
        self._enqueue(partition)

    def heal(self, topic_partition: TopicPartition) -> None:
        """Take back what :meth:`fail` said."""
        self.partitions[topic_partition].error = None

    def fail(
        self, topic_partition: TopicPartition, error: BaseException, *, lasts: bool = False
    ) -> None:
        """Have the application get ``error`` once what is fetched is read.

        If it ``lasts``, until another position is set; else once, or never after :meth:`heal`.
        """
        partition = self.partitions[topic_partition]
        partition.error = error
        partition.error_lasts = lasts
        self._enqueue(partition)

    def pause(self, topic_partition: TopicPartition) -> None:
        """Hand out nothing of a partition; what is fetched of it stays."""
        self.partitions[topic_partition].is_paused = True

    def resume(self, topic_partition: TopicPartition) -> None:
        """Hand out a partition's records again."""
        partition = self.partitions[topic_partition]
        partition.is_paused = False
        self._enqueue(partition)

    def hold(self, topic_partition: TopicPartition) -> None:
        """Hand out nothing until :meth:`release`; unlike a pause, nobody else sees it."""
        self.partitions[topic_partition].is_held = True

    def release(self, topic_partition: TopicPartition) -> None:
        """End a :meth:`hold`."""
        partition = self.partitions[topic_partition]
        partition.is_held = False
        self._enqueue(partition)

    @property
    def has_work(self) -> bool:
        """Tell whether the application may have something to do: records, an error, an event."""
        return bool(self._queue) or self.attention != 0

    def call_attention(self, reason: int) -> None:
        """Have the application look for something other than records, and wake it if it waits."""
        self.attention |= reason
        if self.is_waiting:
            self._on_data()

    def clear_attention(self, reason: int) -> None:
        self.attention &= ~reason

    def _clear(self, partition: PartitionBuffer) -> None:
        partition.clear()
        if partition is self._current:
            self.call_attention(EVENT)  # the open span is void

    @property
    def buffered_bytes(self) -> int:
        """The bytes that wait to be read, without those of paused partitions."""
        return sum(p.buffered_bytes for p in self.partitions.values() if not p.is_paused)

    def _enqueue(self, partition: PartitionBuffer) -> None:
        with self._queue_lock:
            if partition.is_queued or not partition.has_something():
                return
            partition.is_queued = True
            self._queue.append(partition)
        if self.is_waiting:
            self._on_data()

    # -- places ------------------------------------------------------------------------------------

    def position(self, topic_partition: TopicPartition) -> int:
        """Return the offset of the next record that the application gets, -1 while unknown."""
        partition = self.partitions[topic_partition]
        if self._is_current(partition):
            upcoming = self._iterator.next_offset
            if upcoming is not None:
                return upcoming
        return partition.position

    def finished(self, topic_partition: TopicPartition) -> tuple[int, int]:
        """Return where another member would go on, and the leader epoch there; -1 if unknown.

        The one thing here that any thread may ask at any time.
        """
        partition = self.partitions[topic_partition]
        in_hand = self._in_hand
        if in_hand != UNKNOWN and self._is_current(partition):
            return in_hand, partition.position_epoch
        return partition.finished, partition.finished_epoch

    def settle(self) -> None:
        """Take everything the application got for finished: it comes for more, or says so."""
        for partition in self._handed:
            partition.finished = partition.position
            partition.finished_epoch = partition.position_epoch
        self._handed.clear()
        current = self._current
        if self._in_hand != UNKNOWN and current is not None and self._is_current(current):
            current.finished = self.position(current.topic_partition)
            current.finished_epoch = current.position_epoch
        self._in_hand = UNKNOWN

    def _is_current(self, partition: PartitionBuffer) -> bool:
        return partition is self._current and partition.version == self._current_version

    # -- one record at a time ----------------------------------------------------------------------

    def next_record(self) -> Any | None:
        """Return the next record of the span that is open; None when more than that is needed.

        Taking a record says that the one before is finished.
        """
        if self.attention:
            return None
        if self._deserializes:
            return self._next_deserialized()
        record = self._iterator.next_record()
        if record is None:
            return None
        self._in_hand = record.offset
        self.taken += 1
        return record

    def _next_deserialized(self) -> Any | None:
        try:
            record = self._iterator.next_record()
        except Exception as cause:
            self.settle()
            assert self._current is not None
            offset = self._iterator.next_offset
            raise deserialization_error(self._current.topic_partition, offset, cause) from cause
        if record is not None:
            self._in_hand = record.offset
            self.taken += 1
        return record

    def open_span(self) -> bool:
        """Go on with the next span that there is, and tell whether there is one.

        Raises the error of a partition whose next batch cannot be read.
        """
        self.calls += 1
        self.settle()
        self._close_span()
        for _ in range(len(self._queue)):
            partition = self._dequeue()
            if partition is None:
                return False
            version = partition.version
            try:
                span = self._next_span(partition, self._max_span)
            except Exception as error:
                self._was_told(partition, error)
                raise
            finally:
                self._enqueue(partition)
            if span is not None and partition.version == version:
                self._current, self._current_version = partition, version
                self._span = span
                self._taken_before = self.taken
                self._iterator = self._iterate(span)
                return True
        return False

    def drop_void_span(self) -> None:
        """Forget the open span if its partition has got another place, or is gone."""
        if self._current is not None and self._current.version != self._current_version:
            self._forget_span()

    def _close_span(self) -> None:
        """Give back what is left of the open span, to be handed out next."""
        partition, span = self._current, self._span
        if partition is None or span is None or not self._is_current(partition):
            self._forget_span()
            return
        upcoming = self._iterator.next_offset
        if upcoming is not None:
            taken = self.taken - self._taken_before
            partition.unread = span.split(taken)[1] if taken else span
            partition.position = upcoming
            self._enqueue(partition)
        self._forget_span()

    def _forget_span(self) -> None:
        self._current = self._span = None
        self._in_hand = UNKNOWN
        self._iterator = RecordIterator(())

    # -- many records ------------------------------------------------------------------------------

    def take(self, max_records: int) -> tuple[list[RecordSpan], list[Any] | None]:
        """Return at most ``max_records`` in spans, none if there are none; and as records if they
        had to be made because there are deserializers.

        Coming for more says that what was taken before is finished. Raises the error of a partition
        whose next record cannot be read, unless other records were found first.
        """
        self.calls += 1
        self.settle()
        self._close_span()
        spans: list[RecordSpan] = []
        records: list[Any] | None = [] if self._deserializes else None
        for _ in range(len(self._queue)):
            partition = self._dequeue() if max_records > 0 else None
            if partition is None:
                break
            try:
                max_records -= self._take_from(partition, max_records, spans, records)
            except Exception as error:
                if not spans:
                    self._was_told(partition, error)
                    raise
                break  # it is raised by the next poll
            finally:
                self._enqueue(partition)
        return spans, records

    def _take_from(
        self,
        partition: PartitionBuffer,
        max_records: int,
        spans: list[RecordSpan],
        records: list[Any] | None,
    ) -> int:
        """Take spans of one partition; return how many records they have."""
        left = max_records
        version = partition.version
        taken: list[RecordSpan] = []
        made: list[Any] = []
        try:
            while left > 0:
                span = self._next_span(partition, left)
                if span is None:
                    break
                if records is not None:
                    span = self._deserialized(partition, span, made)
                taken.append(span)
                left -= span.count
        finally:
            if taken and partition.version == version:
                spans += taken
                self.polled += max_records - left
                if records is not None:
                    records += made
                self._handed.append(partition)
        return max_records - left

    def _deserialized(
        self, partition: PartitionBuffer, span: RecordSpan, made: list[Any]
    ) -> RecordSpan:
        """Make records of a span; return the part before the first one that is refused."""
        iterator = self._iterate(span)
        count = 0
        try:
            for record in iterator:
                made.append(record)
                count += 1
        except Exception as cause:
            offset = iterator.next_offset
            assert offset is not None
            head, rest = span.split(count) if count else (None, span)
            partition.unread = rest
            partition.position = offset
            if head is not None:
                return head
            raise deserialization_error(partition.topic_partition, offset, cause) from cause
        return span

    def _iterate(self, span: RecordSpan) -> RecordIterator:
        if self._deserializers is None:
            return RecordIterator((span,))
        key_deserializer, value_deserializer = self._deserializers.of(span.origin.topic)
        return RecordIterator((span,), key_deserializer, value_deserializer)

    # -- one partition -----------------------------------------------------------------------------

    def _dequeue(self) -> PartitionBuffer | None:
        """Return the partition whose turn it is."""
        with self._queue_lock:
            while self._queue:
                partition = self._queue.popleft()
                partition.is_queued = False
                if partition.has_something():
                    return partition
        return None

    def _next_span(self, partition: PartitionBuffer, max_records: int) -> RecordSpan | None:
        """Return the partition's next span, and move its position behind it."""
        if partition.unread is not None:
            left, partition.unread = partition.unread.split(max_records)
            partition.position = left.next_offset
            return left
        while partition.fetches:
            version, fetched = partition.version, self._open_fetch(partition)
            if fetched.next_offset != partition.position:
                self._drop_fetches(partition)  # a batch header lied about its offsets
                return None
            try:
                span = fetched.next_span(max_records)
            except RecordBatchError as error:
                partition.is_unreadable = True
                raise unreadable_records_error(
                    partition.topic_partition, partition.position, error
                ) from error
            if partition.version != version:
                return None
            has_advanced = partition.position != fetched.next_offset
            is_finished = partition.finished == partition.position
            partition.position = fetched.next_offset
            if span is not None:
                partition.position_epoch = span.origin.leader_epoch
                return span
            if has_advanced and is_finished:
                partition.finished = partition.position
            self._drop_fetch(partition)
        if partition.error is not None:
            raise partition.error.with_traceback(None)
        return None

    def _was_told(self, partition: PartitionBuffer, error: Exception) -> None:
        """Forget an error that the application is getting, unless it lasts."""
        if error is partition.error and not partition.error_lasts:
            partition.error = None

    def _open_fetch(self, partition: PartitionBuffer) -> FetchedRecords:
        if not partition.is_opened:
            partition.is_opened = True
            self._make_room(partition)
        return partition.fetches[0][0]

    def _drop_fetch(self, partition: PartitionBuffer) -> None:
        with self._queue_lock:
            _, size = partition.fetches.popleft()
            partition.buffered_bytes -= size
            if partition.fetch_offset == UNKNOWN and not partition.fetches:
                partition.fetch_offset = partition.position
        partition.is_opened = False
        self._make_room(partition)

    def _drop_fetches(self, partition: PartitionBuffer) -> None:
        """Have everything from the position on fetched again."""
        with self._queue_lock:
            partition.fetches.clear()
            partition.buffered_bytes = 0
            partition.fetch_offset = partition.position
        partition.is_opened = False
        self._make_room(partition)

    def _make_room(self, partition: PartitionBuffer) -> None:
        if self.wants_room and partition.has_room:
            self.wants_room = False
            self._on_room()
