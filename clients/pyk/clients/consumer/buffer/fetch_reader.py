"""Take records out of the fetch buffer: the application's side.

The application is one thread at a time. It begins a :class:`Reading` of the partition whose turn it
is, reads without the lock, and ends it: only then, and only if the partition still has the version
that it began with, does the buffer learn how far the application came. Otherwise nothing that it
read is handed out.

Iteration keeps a span open, record by record without a lock, until the span ends or the loop calls
for attention. The rest of the span then goes back to its partition, unless that has another
position.

**Interrupts.** A signal handler may raise in the middle of all this, and nothing is lost or
repeated. No code has to run at that moment, when another signal could come: what is taken stays
``is_under_way`` until the application has it, and the next call that finds it so goes back to the
last finished record, and lets the rest be fetched again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pyk.clients.consumer.buffer.partition_buffer import UNKNOWN, OpenSpan, PartitionBuffer
from pyk.clients.consumer.buffer.record_reader import RecordReader
from pyk.clients.consumer.records.deserializers import Deserializers
from pyk.clients.consumer.records.unreadable import deserialization_error, unreadable_records_error
from pyk.protocol.records.errors import RecordBatchError
from pyk.protocol.records.reader import RecordIterator, RecordSpan

if TYPE_CHECKING:
    from pyk.clients.consumer.buffer.fetch_buffer import FetchBuffer


class FetchReader(RecordReader):
    """Hands out the records of a fetch buffer, one at a time or many at once.

    Spans that are iterated have at most ``max_span`` records, so that partitions take turns.
    """

    def __init__(
        self, buffer: FetchBuffer, deserializers: Deserializers | None = None, max_span: int = 500
    ) -> None:
        super().__init__()
        self._buffer = buffer
        self._deserializers = deserializers or None
        self._deserializes = self._deserializers is not None
        self._max_span = max_span
        self._nothing = OpenSpan(None, None, RecordIterator(()))
        self._open = self._nothing
        self._iterator = self._nothing.iterator
        # The partitions that the last poll read.
        self._handed: list[PartitionBuffer] = []

    def deserialize(self, is_wanted: bool) -> None:
        """Set whether the deserializers are called; otherwise :meth:`take` leaves that to its
        caller."""
        self._deserializes = is_wanted and self._deserializers is not None

    # -- one record at a time ----------------------------------------------------------------------

    def next_record(self) -> Any | None:
        """Return the next record of the open span, None if the span has ended or attention is
        called for.

        Taking a record finishes the one before.
        """
        if self._buffer.attention:
            return None
        if self._deserializes:
            return self._next_deserialized()
        record = self._iterator.next_record()
        if record is None:
            return None
        self._open.in_hand = record.offset
        self.taken += 1
        return record

    def _next_deserialized(self) -> Any | None:
        try:
            record = self._iterator.next_record()
        except Exception as cause:
            self.finish()
            raise deserialization_error(self._iterator.peek(), cause) from cause
        if record is not None:
            self._open.in_hand = record.offset
            self.taken += 1
        return record

    def open_span(self) -> bool:
        """Open the next span, and return whether there is one.

        Raises the error of a partition whose next batch cannot be read.
        """
        self.calls += 1
        self.come_back()
        self.is_under_way = True
        for _ in range(len(self._buffer.queue)):
            reading = self._begin_next()
            if reading is None:
                break
            if self._open_span_of(reading):
                return True
        self.is_under_way = False
        return False

    def _open_span_of(self, reading: Reading | None) -> bool:
        while reading is not None:
            opened: OpenSpan | None = None
            span = reading.next_span(self._max_span)
            if span is not None:
                opened = OpenSpan(reading.partition, span, self._iterate(span))
                opened.whole = reading.whole
                opened.taken_before = self.taken
            is_valid = self._end(reading, opened)
            if is_valid and reading.failure is not None:
                self._raise(reading)
            if is_valid and opened is not None:
                self._open = opened
                self.is_under_way = False
                self._iterator = opened.iterator
                return True
            reading = self._begin(reading.partition) if reading.is_drained else None
        return False

    def come_back(self) -> None:
        """Leave the open span, because the application asks for more than its next record.

        All that it got is finished, and the rest of the span is handed out next.
        """
        self.go_back()
        opened = self._open
        if not self._handed and opened.partition is None:
            return
        with self._buffer.lock:
            self._finish_handed()
            if opened.partition is not None:
                self._finish_open(opened)
                self._close(opened)

    def finish(self) -> None:
        """Mark everything that the application got as finished, because it says so."""
        self.go_back()
        opened = self._open
        if not self._handed and opened.in_hand == UNKNOWN:
            return
        with self._buffer.lock:
            self._finish_handed()
            self._finish_open(opened)

    def go_back(self) -> None:
        """Let records that were taken and never reached the application be fetched again."""
        if not self.is_under_way:
            return
        has_room = False
        with self._buffer.lock:
            self._open = self._nothing
            self._iterator = self._nothing.iterator
            self._handed.clear()
            self._buffer.queue.clear()
            for partition in self._buffer.partitions.values():
                partition.is_queued = False
                is_taken = partition.is_opened or partition.open_span is not None
                partition.open_span = None
                if is_taken or partition.next_offset != partition.finished:
                    partition.rewind()
                has_room |= self._uses_room(partition)
                self._buffer.enqueue(partition)
        self.is_under_way = False
        if has_room:
            self._buffer.on_room()

    def _finish_handed(self) -> None:
        for partition in self._handed:
            partition.finish()
        self._handed.clear()

    def _finish_open(self, opened: OpenSpan) -> None:
        partition = opened.partition
        if opened.in_hand != UNKNOWN and partition is not None:
            if partition.open_span is opened:
                partition.next_offset = _upcoming(opened)
                partition.finish()
            opened.in_hand = UNKNOWN

    def _close(self, opened: OpenSpan) -> None:
        partition, whole = opened.partition, opened.whole
        if partition is not None and partition.open_span is opened:
            taken = self.taken - opened.taken_before
            partition.next_offset = _upcoming(opened)
            if taken and whole is not None:
                whole = whole.split(taken)[1] if taken < whole.count else None
            partition.unread = whole
            partition.open_span = None
            partition.fetch_on_if_read()
            self._buffer.enqueue(partition)
        self._open = self._nothing
        self._iterator = self._nothing.iterator

    # -- many records ------------------------------------------------------------------------------

    def take(self, max_records: int) -> tuple[list[RecordSpan], list[Any] | None]:
        """Return at most ``max_records`` in spans, and also as records if deserializers had to make
        them.

        The call finishes what was taken before. Raises the error of a partition
        whose next record cannot be read, unless other records were found first. What it returns is
        under way until ``is_under_way`` is set to False.
        """
        self.calls += 1
        self.come_back()
        self.is_under_way = True
        taken = PollResult(max_records, [] if self._deserializes else None)
        for _ in range(len(self._buffer.queue)):
            reading = self._begin_next()
            if reading is None:
                break
            failed = self._take_from(reading, taken)
            if failed is not None and not taken.spans:
                self._raise(failed)
            if failed is not None or not taken.left:
                break  # an error is raised by the next poll
        self.polled += max_records - taken.left
        self.is_under_way = len(taken.spans) > 0
        return taken.spans, taken.records

    def _take_from(self, reading: Reading | None, taken: PollResult) -> Reading | None:
        """Take spans of one partition; return the reading that failed, if one did."""
        while reading is not None:
            partition = reading.partition
            self._handed.append(partition)
            part = PollResult(taken.left, None if taken.records is None else [])
            self._read(reading, part)
            if not self._end(reading, None):
                return None
            taken.add(part)
            if reading.failure is not None:
                return reading
            has_more = reading.is_drained and taken.left > 0
            reading = self._begin(partition) if has_more else None
        return None

    def _raise(self, reading: Reading) -> None:
        """Raise the error that keeps a partition from being read; forget it unless it lasts."""
        failure, partition = reading.failure, reading.partition
        assert failure is not None
        with self._buffer.lock:
            if failure is partition.error and not partition.error_lasts:
                partition.error = None
        self.is_under_way = False
        reading.failure = None
        try:
            raise failure
        finally:
            del failure  # its traceback leads here

    def _read(self, reading: Reading, part: PollResult) -> None:
        while part.left > 0:
            span = reading.next_span(part.left)
            if span is not None and part.records is not None:
                span = self._deserialized(reading, span, part.records)
            if span is None:
                return
            part.spans.append(span)
            part.left -= span.count
            if reading.failure is not None:
                return

    def _deserialized(
        self, reading: Reading, span: RecordSpan, made: list[Any]
    ) -> RecordSpan | None:
        """Decode the records of a span; return those before the first one that a deserializer
        refuses."""
        iterator = self._iterate(span)
        count = 0
        try:
            # Not a for loop: a StopIteration of a deserializer would look like the end of the span.
            while (record := iterator.next_record()) is not None:
                made.append(record)
                count += 1
        except Exception as cause:
            offset = iterator.next_offset
            assert offset is not None
            reading.give_back(count, offset)
            reading.failure = deserialization_error(iterator.peek(), cause)
            reading.failure.__cause__ = cause
            return span.split(count)[0] if count else None
        return span

    def _iterate(self, span: RecordSpan) -> RecordIterator:
        if self._deserializers is None:
            return RecordIterator((span,))
        key_deserializer, value_deserializer = self._deserializers.of(span.origin.topic)
        return RecordIterator((span,), key_deserializer, value_deserializer)

    # -- where the sides meet ----------------------------------------------------------------------

    def _begin_next(self) -> Reading | None:
        """Begin to read the partition that is next in the queue."""
        partition: PartitionBuffer
        with self._buffer.lock:
            while self._buffer.queue:
                partition = self._buffer.queue.popleft()
                partition.is_queued = False
                if partition.has_something():
                    reading = Reading(partition)
                    has_room = self._uses_room(partition)
                    break
            else:
                return None
        if has_room:
            self._buffer.on_room()
        return reading

    def _begin(self, partition: PartitionBuffer) -> Reading | None:
        """Begin to read the first fetch of a partition, if it has one."""
        with self._buffer.lock:
            if not partition.has_something():
                return None
            reading = Reading(partition)
            has_room = self._uses_room(partition)
        if has_room:
            self._buffer.on_room()
        return reading

    def _end(self, reading: Reading, opened: OpenSpan | None) -> bool:
        """Report how far a reading came; return whether its records may be handed out."""
        partition = reading.partition
        with self._buffer.lock:
            is_valid = partition.version == reading.version
            if is_valid:
                reading.publish()
                if opened is not None and opened.span is not None:
                    partition.next_offset = opened.span.first_offset
                    partition.open_span = opened
            has_room = self._uses_room(partition)
            self._buffer.enqueue(partition)
        if has_room:
            self._buffer.on_room()
        return is_valid

    def _uses_room(self, partition: PartitionBuffer) -> bool:
        """Return whether to tell the loop now that a partition has room."""
        if not self._buffer.wants_room or not partition.has_room:
            return False
        self._buffer.wants_room = False
        return True


class PollResult:
    """The spans and records that one poll has found so far. ``records`` is None without
    deserializers."""

    def __init__(self, left: int, records: list[Any] | None) -> None:
        self.left = left
        self.spans: list[RecordSpan] = []
        self.records = records

    def add(self, part: PollResult) -> None:
        """Add what was found in one partition; ``left`` is the rest of the limit."""
        self.left = part.left
        self.spans += part.spans
        if self.records is not None and part.records is not None:
            self.records += part.records


class Reading:
    """The records of one partition that the application reads without taking the lock.

    It is created and published under the lock; in between it touches nothing that the loop knows.
    """

    def __init__(self, partition: PartitionBuffer) -> None:
        self.partition = partition
        self.version = self.partition.version
        self.is_drained = False
        """Whether all of this is read; there may be more in another reading."""
        self.whole: RecordSpan | None = None
        """The rest of which the last span is the beginning."""
        self.failure: BaseException | None = None
        """Why the next record cannot be read."""
        self._position = self.partition.next_offset
        self._epoch = self.partition.position_epoch
        self._unread = self.partition.unread
        self._fetched = self.partition.open_fetch() if self._unread is None else None
        self._error = self.partition.error
        self._has_given = False
        self._is_unreadable = False
        self._was_misled = False

    def next_span(self, max_records: int) -> RecordSpan | None:
        """Return the next span, None after the last and where there is a ``failure``."""
        span: RecordSpan | None
        if self._unread is not None:
            self.whole = self._unread
            span, self._unread = self._unread.split(max_records)
            self.is_drained = self._unread is None and self._fetched is None
        else:
            span = self.whole = self._next_fetched(max_records)
        if span is not None:
            self._has_given = True
            self._position = span.next_offset
            self._epoch = span.origin.leader_epoch
        return span

    def _next_fetched(self, max_records: int) -> RecordSpan | None:
        fetched = self._fetched
        if fetched is None:
            if self._error is not None:
                self.failure = self._error.with_traceback(None)
            return None
        if fetched.next_offset != self._position:
            self._was_misled = True  # a batch header lied about its offsets
            return None
        try:
            span = fetched.next_span(max_records)
        except RecordBatchError as error:
            self._is_unreadable = True
            self.failure = unreadable_records_error(
                self.partition.topic_partition, self._position, error
            )
            self.failure.__cause__ = error
            return None
        if span is None:
            self._position = fetched.next_offset
        self.is_drained = span is None or fetched.is_at_end()
        return span

    def give_back(self, count: int, offset: int) -> None:
        """Take back the last span except for its first ``count`` records; the next one has
        ``offset``."""
        assert self.whole is not None
        self._unread = self.whole.split(count)[1] if count else self.whole
        self._position = offset
        self.is_drained = False

    def publish(self) -> None:
        """Record in the partition's buffer how far the application came."""
        partition = self.partition
        has_passed_gaps = not self._has_given and partition.finished == partition.next_offset
        partition.next_offset = self._position
        partition.position_epoch = self._epoch
        partition.unread = self._unread
        partition.is_unreadable = self._is_unreadable
        if has_passed_gaps:
            partition.finished = self._position
        if self._was_misled:
            partition.drop_fetches()
        elif self.is_drained and self._fetched is not None:
            partition.drop_fetch()
        partition.fetch_on_if_read()


def _upcoming(opened: OpenSpan) -> int:
    """Return the offset at which reading goes on after an open span, as far as it was taken."""
    assert opened.span is not None
    upcoming = opened.iterator.next_offset
    return opened.span.next_offset if upcoming is None else upcoming
