"""The records of one batch, decompressed: checked as a whole, then read where they lie.

A batch is delivered whole or not at all, so a ``RecordBlock`` checks every record before the
first one is handed out. Spans are stretches of a block: what a fetch hands to the application,
not yet made into objects.

This is the plain form; ``compiled/reader.pyx`` is the compiled one, which keeps positions
where this one keeps decoded fields.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from pyk.protocol.records.errors import (
    HEADER_COUNT,
    HEADER_KEY_LENGTH,
    HEADER_KEY_TEXT,
    HEADER_VALUE_LENGTH,
    KEY_LENGTH,
    MISSING_RECORDS,
    OFFSET_DELTA,
    OFFSETS,
    PROBLEMS,
    RECORD_BODY,
    RECORD_LENGTH,
    TIMESTAMP_DELTA,
    TRAILING_BYTES,
    VALUE_LENGTH,
    CorruptRecordError,
)
from pyk.protocol.records.layout import MAX_INT64, MIN_INT64
from pyk.protocol.records.record import (
    ConsumerRecord,
    Fields,
    Headers,
    Record,
    RecordOrigin,
    consumer_record,
)
from pyk.protocol.records.varint import decode_varint, decode_varlong

MIN_RECORD_BYTES = 7  # a byte each: length, attributes, two deltas, two lengths, header count
_MIN_HEADER_BYTES = 2
_NULL = 1  # the varint of a length of -1

Deserializer = Callable[[bytes], Any]


class RecordBlock:
    """All records of one batch, checked. Iterating gives ``Record`` objects, one at a time.

    ``data`` holds ``count`` records from byte ``start`` on. Their offsets lie in ``base_offset`` …
    ``base_offset + last_offset_delta``, their timestamps count from ``base_timestamp``, unless
    ``append_timestamp`` (LogAppendTime) stands for all of them. Raises ``CorruptRecordError`` for
    the first thing that is wrong.

    Where there is a record for every offset, record number i has offset ``base_offset + i``,
    whatever its offset delta is: Apache Kafka gives out one offset for each record and stores
    uncompressed batches with the deltas that the producer wrote, even if all of them are 0.
    ``are_offsets_dense`` is false for such deltas, as it is where compaction left gaps.
    """

    __slots__ = (
        "_records",
        "are_offsets_dense",
        "base_offset",
        "count",
        "last_offset_delta",
        "max_timestamp",
        "max_timestamp_offset",
        "null_key_count",
        "size",
    )

    def __init__(
        self,
        data: bytes | bytearray | memoryview,
        count: int,
        base_offset: int,
        last_offset_delta: int,
        *,
        base_timestamp: int,
        append_timestamp: int | None = None,
        start: int = 0,
    ) -> None:
        self.count = count
        self.size = len(data) - start
        self.base_offset = base_offset
        self.last_offset_delta = last_offset_delta
        self._records = self._decode(bytes(data[start:]), base_timestamp, append_timestamp)
        self._summarize()

    def _decode(
        self, data: bytes, base_timestamp: int, append_timestamp: int | None
    ) -> list[Fields]:
        if not 0 <= self.base_offset < MAX_INT64 - max(0, self.last_offset_delta):
            raise CorruptRecordError(PROBLEMS[OFFSETS])
        if self.count > len(data) // MIN_RECORD_BYTES:
            raise CorruptRecordError(PROBLEMS[MISSING_RECORDS])
        records: list[Fields] = []
        position, delta = 0, -1
        are_offsets_counted = self.count == self.last_offset_delta + 1
        self.are_offsets_dense = True
        for index in range(self.count):
            previous = delta
            try:
                position, timestamp, delta, key, value, headers = _decode_record(
                    data, position, len(data)
                )
                self.are_offsets_dense &= delta == index
                if are_offsets_counted:
                    delta = index
                elif not previous < delta <= self.last_offset_delta:
                    raise CorruptRecordError(PROBLEMS[OFFSET_DELTA])
                timestamp += base_timestamp
                if not MIN_INT64 <= timestamp <= MAX_INT64:
                    raise CorruptRecordError(PROBLEMS[TIMESTAMP_DELTA])
            except CorruptRecordError as error:
                raise CorruptRecordError.in_record(error.reason, index, self.count) from None
            if append_timestamp is not None:
                timestamp = append_timestamp
            records.append((self.base_offset + delta, timestamp, key, value, headers))
        if position != len(data):
            raise CorruptRecordError(PROBLEMS[TRAILING_BYTES])
        return records

    def _summarize(self) -> None:
        records = self._records
        self.null_key_count = sum(record[2] is None for record in records)
        self.max_timestamp, self.max_timestamp_offset = -1, -1
        if records:
            latest = max(records, key=lambda record: record[1])
            self.max_timestamp_offset, self.max_timestamp = latest[0], latest[1]

    def __len__(self) -> int:
        return self.count

    def __iter__(self) -> Iterator[Record]:
        return (Record(*fields) for fields in self._records)

    def span(self, origin: RecordOrigin, from_offset: int = 0) -> RecordSpan:
        """Return the records at and after ``from_offset``, as what was read from ``origin``."""
        start = bisect_left(self._records, from_offset, key=lambda record: record[0])
        return RecordSpan(self, origin, start, self.count - start)


class RecordSpan:
    """Records that stand together in one batch, not yet made into objects. Iterating gives
    ``ConsumerRecord`` s.

    ``next_offset`` is where reading goes on after them: after the batch if the span reaches its
    end, whatever records compaction left there.
    """

    __slots__ = ("_block", "_start", "count", "origin")

    def __init__(self, block: RecordBlock, origin: RecordOrigin, start: int, count: int) -> None:
        self._block = block
        self._start = start
        self.origin = origin
        self.count = count

    def __len__(self) -> int:
        return self.count

    def __iter__(self) -> Iterator[ConsumerRecord]:
        return RecordIterator((self,))

    @property
    def first_offset(self) -> int:
        return self._fields()[0][0] if self.count else self.next_offset

    @property
    def next_offset(self) -> int:
        end = self._start + self.count
        if end < self._block.count:
            return self._block._records[end - 1][0] + 1
        return self._block.base_offset + self._block.last_offset_delta + 1

    def split(self, count: int) -> tuple[RecordSpan, RecordSpan | None]:
        """Return the first ``count`` records and the rest, None when there is no rest."""
        if count < 1:
            raise ValueError(f"count={count}: a span has at least one record")
        if count >= self.count:
            return self, None
        head = RecordSpan(self._block, self.origin, self._start, count)
        return head, RecordSpan(self._block, self.origin, self._start + count, self.count - count)

    def cut(
        self, origin: RecordOrigin, first_offset: int, last_offset: int
    ) -> tuple[RecordSpan | None, RecordSpan | None]:
        """Return the records from ``first_offset`` to ``last_offset``, as what was read from
        ``origin``, and those after them; None where there are none."""
        fields = self._fields()
        start = bisect_left(fields, first_offset, key=lambda record: record[0])
        end = max(start, bisect_right(fields, last_offset, key=lambda record: record[0]))
        part = rest = None
        if end > start:
            part = RecordSpan(self._block, origin, self._start + start, end - start)
        if end < self.count:
            rest = RecordSpan(self._block, self.origin, self._start + end, self.count - end)
        return part, rest

    def _fields(self) -> list[Fields]:
        return self._block._records[self._start : self._start + self.count]


class RecordIterator:
    """Makes the records of several spans, one at a time.

    A deserializer is called with the bytes of each key or value that is not null. When one
    raises, the error passes through and the iterator stays before that record: ``next_offset``
    names it, ``peek`` gives it with the bytes of key and value, ``skip`` passes over it.
    """

    __slots__ = (
        "_deserializes",
        "_key_deserializer",
        "_next",
        "_span",
        "_span_fields",
        "_spans",
        "_value_deserializer",
    )

    def __init__(
        self,
        spans: Iterable[RecordSpan],
        key_deserializer: Deserializer | None = None,
        value_deserializer: Deserializer | None = None,
    ) -> None:
        self._spans = iter(tuple(spans))
        self._key_deserializer = key_deserializer
        self._value_deserializer = value_deserializer
        self._deserializes = key_deserializer is not None or value_deserializer is not None
        self._span: RecordSpan
        self._span_fields: list[Fields] = []
        self._next = 0

    def __iter__(self) -> Iterator[ConsumerRecord]:
        return self

    def __next__(self) -> ConsumerRecord:
        record = self.next_record()
        if record is None:
            raise StopIteration
        return record

    def next_record(self) -> ConsumerRecord | None:
        """Return the next record, None after the last."""
        if self._next >= len(self._span_fields) and not self._advance():
            return None
        fields = self._span_fields[self._next]
        if self._deserializes:
            fields = self._deserialized(fields)
        record = consumer_record(self._span.origin, fields)
        self._next += 1  # now, because the handler of a signal may have raised before
        return record

    def _deserialized(self, fields: Fields) -> Fields:
        span, position = self._span, self._next
        offset, timestamp, key, value, headers = fields
        if self._key_deserializer is not None and key is not None:
            key = self._key_deserializer(key)
        if self._value_deserializer is not None and value is not None:
            value = self._value_deserializer(value)
        # A deserializer is foreign code: it may have used this iterator, or let a thread do so.
        if span is not self._span or position != self._next:
            raise RuntimeError("a record iterator was used by two threads, or by a deserializer")
        return offset, timestamp, key, value, headers

    def peek(self) -> ConsumerRecord | None:
        """Return the next record as it was fetched and stay before it; None after the last."""
        if not self._advance():
            return None
        return consumer_record(self._span.origin, self._span_fields[self._next])

    def skip(self) -> None:
        """Pass over the next record."""
        if self._advance():
            self._next += 1

    @property
    def next_offset(self) -> int | None:
        """The offset of the next record, None after the last."""
        return self._span_fields[self._next][0] if self._advance() else None

    @property
    def origin(self) -> RecordOrigin | None:
        """The origin of the next record, None after the last."""
        return self._span.origin if self._advance() else None

    def _advance(self) -> bool:
        while self._next >= len(self._span_fields):
            span = next(self._spans, None)
            if span is None:
                return False
            self._span, self._span_fields, self._next = span, span._fields(), 0
        return True


def _short_varints() -> dict[int, int]:
    """Return the values of varints of one byte, and of two: the first plus 256 times the second."""
    values = {}
    for number in range(1 << 14):
        written = number if number < 0x80 else number & 0x7F | 0x80 | number >> 7 << 8
        values[written] = (number >> 1) ^ -(number & 1)
    return values


_VARINTS = _short_varints()
_LENGTHS = {written: length for written, length in _VARINTS.items() if length >= 0}


def _decode_record(
    data: bytes, position: int, end: int
) -> tuple[int, int, int, bytes | None, bytes | None, Headers]:
    """Return the end of the record, its timestamp and offset deltas, key, value, headers.

    Read it as if its varints were short, as most are, and redo it with care if one is not.
    """
    start = position
    try:
        if (number := data[position]) > 0x7F:
            position += 1
            number |= data[position] << 8
        stop = position + 1 + _LENGTHS[number]
        position += 2  # the attributes have no meaning
        if (number := data[position]) > 0x7F:
            position += 1
            number |= data[position] << 8
        timestamp_delta = _VARINTS[number]
        position += 1
        if (number := data[position]) > 0x7F:
            position += 1
            number |= data[position] << 8
        offset_delta = _VARINTS[number]
        key, position = _short_bytes(data, position + 1)
        value, position = _short_bytes(data, position)
        if not position < stop <= end:
            return _decode_any_record(data, start, end)
    except LookupError:
        return _decode_any_record(data, start, end)
    headers = () if data[position] == 0 and position == stop - 1 else _headers(data, position, stop)
    return stop, timestamp_delta, offset_delta, key, value, headers


def _short_bytes(data: bytes, position: int) -> tuple[bytes | None, int]:
    if (number := data[position]) == _NULL:
        return None, position + 1
    if number > 0x7F:
        position += 1
        number |= data[position] << 8
    position += 1
    stop = position + _LENGTHS[number]
    return data[position:stop], stop


def _decode_any_record(
    data: bytes, position: int, end: int
) -> tuple[int, int, int, bytes | None, bytes | None, Headers]:
    length, position = decode_varint(data, position, end)
    if not MIN_RECORD_BYTES - 1 <= length <= end - position:
        raise CorruptRecordError(PROBLEMS[RECORD_LENGTH])
    end = position + length
    timestamp_delta, position = decode_varlong(data, position + 1, end)
    offset_delta, position = decode_varint(data, position, end)
    key, position = _decode_bytes(data, position, end, KEY_LENGTH)
    value, position = _decode_bytes(data, position, end, VALUE_LENGTH)
    return end, timestamp_delta, offset_delta, key, value, _headers(data, position, end)


def _headers(data: bytes, position: int, end: int) -> Headers:
    """Return the headers, with which a record ends."""
    header_count, position = decode_varint(data, position, end)
    if not 0 <= header_count <= (end - position) // _MIN_HEADER_BYTES:
        raise CorruptRecordError(PROBLEMS[HEADER_COUNT])
    headers, position = _decode_headers(data, position, end, header_count)
    if position != end:
        raise CorruptRecordError(PROBLEMS[RECORD_BODY])
    return headers


def _decode_headers(data: bytes, position: int, end: int, count: int) -> tuple[Headers, int]:
    headers: list[tuple[str, bytes | None]] = []
    for _ in range(count):
        name, position = _decode_header_key(data, position, end)
        value, position = _decode_bytes(data, position, end, HEADER_VALUE_LENGTH)
        headers.append((name, value))
    return tuple(headers), position


def _decode_bytes(data: bytes, position: int, end: int, problem: int) -> tuple[bytes | None, int]:
    if position < end and data[position] == _NULL:
        return None, position + 1
    length, position = decode_varint(data, position, end)
    stop = position + length
    if not position <= stop <= end:
        raise CorruptRecordError(PROBLEMS[problem])
    return data[position:stop], stop


def _decode_header_key(data: bytes, position: int, end: int) -> tuple[str, int]:
    length, position = decode_varint(data, position, end)
    if not 0 <= length <= end - position:
        raise CorruptRecordError(PROBLEMS[HEADER_KEY_LENGTH])
    try:
        return str(data[position : position + length], "utf-8"), position + length
    except UnicodeDecodeError:
        raise CorruptRecordError(PROBLEMS[HEADER_KEY_TEXT]) from None
