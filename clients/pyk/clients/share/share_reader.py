"""Take acquired records out of the buffer, and acknowledge them: the application's side.

With implicit acknowledgement the records that the application got last are accepted when it comes
back for more. With explicit acknowledgement each of them is *held* until it is acknowledged by a
call, and only then the application may come back.

**Interrupts.** As for other consumers: what is taken stays ``is_under_way`` until the application
has it. The next call that finds it so gives it back.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pyk.clients.consumer.buffer.record_reader import RecordReader
from pyk.clients.consumer.records.deserializers import Deserializers
from pyk.clients.consumer.records.unreadable import deserialization_error, unreadable_records_error
from pyk.clients.share.acknowledge_type import AcknowledgeType
from pyk.clients.share.acquired_records import ALL, AcquiredRecords, Part
from pyk.clients.share.held_records import HeldRecords
from pyk.clients.share.share_buffer import ShareBuffer
from pyk.protocol.records.errors import RecordBatchError
from pyk.protocol.records.reader import RecordIterator, RecordSpan
from pyk.protocol.records.record import ConsumerRecord, owner_of

NOTHING = -1
ACCEPT, RELEASE = int(AcknowledgeType.ACCEPT), int(AcknowledgeType.RELEASE)
GAP = 0


class OpenPart:
    """The part that is being iterated."""

    def __init__(self, part: Part | None, iterator: RecordIterator, taken_before: int) -> None:
        self.part = part
        self.iterator = iterator
        self.taken_before = taken_before
        """How many records iteration had given before it came here."""
        self.first = NOTHING if part is None else part.first
        """The first offset that is not acknowledged, or held, yet."""
        self.in_hand = NOTHING
        """The offset of the record that the application works on."""


class ShareReader(RecordReader):
    """Hands out acquired records, one at a time or many at once."""

    def __init__(
        self,
        buffer: ShareBuffer,
        deserializers: Deserializers,
        now: Callable[[], float],
        *,
        is_explicit: bool,
    ) -> None:
        super().__init__()
        self.held: HeldRecords | None = HeldRecords(buffer.outbox) if is_explicit else None
        self.leaves_to_handlers = False
        """Whether handlers acknowledge what is handed out: neither the next poll nor a call."""
        self._is_explicit = is_explicit
        self._buffer = buffer
        self._now = now
        self._deserializers = deserializers or None
        self._deserializes = self._deserializers is not None
        self._nothing = OpenPart(None, RecordIterator(()), 0)
        self._open = self._nothing
        self._iterator = self._nothing.iterator
        # The parts that the last poll has handed out, and that are neither acknowledged nor held.
        self._handed: list[Part] = []

    def deserialize(self, is_wanted: bool) -> None:
        """Set whether the deserializers are called; otherwise :meth:`take` leaves that to its
        caller."""
        self._deserializes = is_wanted and self._deserializers is not None

    # -- one record at a time ----------------------------------------------------------------------

    def next_record(self) -> Any | None:
        """Return the next record of the open part, None if it has ended or attention is called
        for."""
        if self._buffer.attention:
            return None
        if self._is_explicit or self._deserializes:
            return self._next_with_care()
        record = self._iterator.next_record()
        if record is None:
            return None
        self._open.in_hand = record.offset
        self.taken += 1
        return record

    def _next_with_care(self) -> Any | None:
        held, opened = self.held, self._open
        if held is not None:
            held.check()
        try:
            record = self._iterator.next_record()
        except Exception as cause:
            raise self._refused(cause) from cause
        if record is None or opened.part is None:
            return None
        if held is not None:
            held.hold_one(opened.part, opened.first, record.offset)
            opened.first = record.offset + 1
        opened.in_hand = record.offset
        self.taken += 1
        return record

    def _refused(self, cause: Exception) -> Exception:
        """Release the record that a deserializer refuses, go on after it, and return the error."""
        opened = self._open
        assert opened.part is not None
        self._accept_open(opened)
        record = self._iterator.peek()
        assert record is not None
        self._release(opened.part, opened.first, record.offset)
        opened.first = record.offset + 1
        self._iterator.skip()
        opened.taken_before -= 1
        return deserialization_error(record, cause, is_released=True)

    def open_span(self) -> bool:
        """Open the next part, and return whether there is one."""
        self.calls += 1
        self.come_back()
        self.is_under_way = True
        part = self._next_part(ALL, self._now())
        if part is None:
            self._ask(1)
            return False
        self._handed.append(part)
        opened = OpenPart(part, self._iterate(part.span), self.taken)
        self._open = opened
        self._iterator = opened.iterator
        self._handed.clear()
        self.is_under_way = False
        self._ask(0)
        return True

    # -- many records ------------------------------------------------------------------------------

    def take(self, max_records: int) -> tuple[list[RecordSpan], list[Any] | None]:
        """Return at most ``max_records`` in spans, and also as records if deserializers had to make
        them.

        Raises the error of a record or batch that cannot be read, unless other records were found
        first; what cannot be read is released.
        """
        self.calls += 1
        self.come_back()
        self.is_under_way = True
        records: list[Any] | None = [] if self._deserializes else None
        left, now, handed = max_records, self._now(), self._handed
        while left > 0:
            part = self._next_part(left, now, is_first=not handed)
            if part is None:
                break
            handed.append(part)
            left -= part.span.count
            if records is not None:
                refused = self._deserialize(part, records)
                left += refused
                if refused:
                    break
        spans = [part.span for part in handed]
        self.polled += max_records - left
        self._ask(0 if spans else max_records)
        return spans, records

    def _deserialize(self, part: Part, made: list[Any]) -> int:
        """Decode the records of the last part that was taken; return how many of them cannot be
        handed out now, because a deserializer refuses the first of them.

        Raises if nothing before it can be handed out.
        """
        iterator = self._iterate(part.span)
        count = 0
        try:
            # Not a for loop: a StopIteration of a deserializer would look like the end of the span.
            while (record := iterator.next_record()) is not None:
                made.append(record)
                count += 1
        except Exception as cause:
            refused = iterator.peek()
            assert refused is not None
            self._handed.pop()
            if count:
                last = part.span.split(count)[0].next_offset - 1
                self._handed.append(part.before(count, last))
                self._return(part.after(count, last))
            elif self._handed:
                self._return(part)
            else:
                self._return_after(part, refused.offset)
                raise deserialization_error(refused, cause, is_released=True) from cause
            return part.span.count - count
        return 0

    def _return_after(self, part: Part, refused: int) -> None:
        """Release the first record of a part, and hand out the others next."""
        self._release(part, part.first, refused)
        if part.span.count > 1:
            self._return(part.after(1, refused))
        self.is_under_way = False
        self._buffer.on_room()

    # -- what is taken and what comes of it --------------------------------------------------------

    def come_back(self) -> None:
        """Leave the open part, because the application asks for more than its next record.

        Accepts all that it got. With explicit acknowledgement, raises :class:`StateError` if
        something of it is not acknowledged.
        """
        self.go_back()
        self._leave_open()
        self.finish()
        if self.held is not None:
            self.held.check()

    def finish(self) -> None:
        """Accept everything that the application got, or all that it has acknowledged."""
        self.go_back()
        held, outbox = self.held, self._buffer.outbox
        if self.leaves_to_handlers:
            self._handed.clear()
            return
        if held is not None:
            self.hold_handed()
            held.send_decided()
            return
        self._accept_open(self._open)
        for part in self._handed:
            outbox.append((part.acquired, part.first, part.last, ACCEPT))
        self._handed.clear()

    def take_handed(self) -> list[Part]:
        """Return the parts of the last poll, which are the caller's to acknowledge."""
        handed = self._handed.copy()
        self._handed.clear()
        return handed

    def hold_handed(self) -> None:
        """Hold what the last poll has handed out until it is acknowledged."""
        if self.held is not None and not self.is_under_way:
            for part in self._handed:
                self.held.hold(part)
            self._handed.clear()

    def acknowledge(self, record: object, kind: object) -> bool:
        """Acknowledge a record that is held; return False if there is more to look at first.

        Then the caller does, and raises if the record cannot be acknowledged.
        """
        held = self.held
        if held is None or self._buffer.attention:
            return False
        if type(record) is not ConsumerRecord or type(kind) is not AcknowledgeType:
            return False
        if self._handed:
            self.hold_handed()
        acquired = owner_of(record)
        return type(acquired) is AcquiredRecords and held.decide(acquired, record.offset, kind)

    def go_back(self) -> None:
        """Take back what was taken and never reached the application."""
        if not self.is_under_way:
            return
        for part in reversed(self._handed):
            self._return(part)
        self._handed.clear()
        self._open = self._nothing
        self._iterator = self._nothing.iterator
        self.is_under_way = False

    def _accept_open(self, opened: OpenPart) -> None:
        """Accept the records of the open part that the application got."""
        if self.held is None and opened.part is not None and opened.in_hand != NOTHING:
            self._buffer.outbox.append((opened.part.acquired, opened.first, opened.in_hand, ACCEPT))
            opened.first = opened.in_hand + 1
            opened.in_hand = NOTHING

    def _leave_open(self) -> None:
        opened, part = self._open, self._open.part
        if part is None:
            return
        self._accept_open(opened)
        taken = self.taken - opened.taken_before
        self._open = self._nothing
        self._iterator = self._nothing.iterator
        if taken < part.span.count:
            self._return(part.after(taken, opened.first - 1))
        elif opened.first <= part.last:
            self._buffer.outbox.append((part.acquired, opened.first, part.last, GAP))

    def _return(self, part: Part) -> None:
        part.acquired.give_back(part)
        self._buffer.put_back(part.acquired)

    def _release(self, part: Part, first: int, last: int) -> None:
        """Release a record that cannot be handed out; it may still be acknowledged otherwise."""
        if self.held is not None:
            self.held.release(part, first, last)
        else:
            self._buffer.outbox.append((part.acquired, first, last, RELEASE))

    def _next_part(self, max_records: int, now: float, *, is_first: bool = True) -> Part | None:
        """Return the next part, None if there is none.

        Raises the error of a batch that cannot be read if it is the first thing to be handed out.
        """
        while (acquired := self._buffer.first()) is not None:
            try:
                part = acquired.next_part(max_records, now)
            except RecordBatchError as error:
                if not is_first:
                    return None
                raise self._unreadable(acquired, error) from error
            self._account(acquired)
            self._buffer.drained(acquired)
            if part is not None:
                return part
        return None

    def _account(self, acquired: AcquiredRecords) -> None:
        outbox = self._buffer.outbox
        for first, last in acquired.take_gaps():
            outbox.append((acquired, first, last, GAP))
        for first, last in acquired.take_unread():
            outbox.append((acquired, first, last, RELEASE))

    def _unreadable(self, acquired: AcquiredRecords, error: RecordBatchError) -> Exception:
        """Release all that is left, for another attempt, and return the error."""
        left = acquired.give_up()
        for first, last in left:
            self._buffer.outbox.append((acquired, first, last, RELEASE))
        self._buffer.drained(acquired)
        self.is_under_way = False
        self._buffer.on_room()
        offset = min((first for first, _ in left), default=0)
        return unreadable_records_error(acquired.topic_partition, offset, error, is_released=True)

    def _ask(self, wanted: int) -> None:
        """Report how the application goes on: with records, or waiting for so many."""
        if wanted:
            self.is_under_way = False
        self._buffer.wanted = wanted
        self._buffer.on_room()

    def _iterate(self, span: RecordSpan) -> RecordIterator:
        if not self._deserializes or self._deserializers is None:
            return RecordIterator((span,))
        key_deserializer, value_deserializer = self._deserializers.of(span.origin.topic)
        return RecordIterator((span,), key_deserializer, value_deserializer)
