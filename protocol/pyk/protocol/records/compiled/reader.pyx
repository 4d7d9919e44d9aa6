"""The records of one batch, decompressed: checked as a whole, then read where they lie.

The compiled form of ``reader.py``, which says what each class promises. Every length is checked
against the end of what it points into each time it is used: what the first check found is not
trusted, because the memory behind a buffer may change.
"""

cimport cython
from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from cpython.unicode cimport PyUnicode_DecodeUTF8
from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from libc.string cimport memcpy, memset

from pyk.protocol.records.record cimport ConsumerRecord, Record, RecordOrigin
from pyk.protocol.records.compiled.record_decoder cimport (
    HEADER_VALUE_LENGTH,
    MISSING_RECORDS,
    OFFSET_DELTA,
    OFFSETS,
    TIMESTAMP_DELTA,
    TRAILING_BYTES,
    RecordFields,
    RecordSizes,
    decode_record,
    measure_record,
    read_bytes,
)
from pyk.protocol.records.compiled.record_decoder cimport MIN_RECORD_BYTES as _MIN_RECORD_BYTES
from pyk.protocol.records.compiled.varints cimport (
    read_varint,
    read_varlong,
    size_of_varint,
    write_varint,
    zigzag32,
)

from pyk.protocol.records.errors import PROBLEMS, CorruptRecordError

MIN_RECORD_BYTES = _MIN_RECORD_BYTES

cdef int64_t _MAX_INT64 = 0x7FFFFFFFFFFFFFFF

cdef enum:
    _MAX_VARINT_BYTES = 5
    _MAX_GROWTH_BYTES = 2 * _MAX_VARINT_BYTES
    # Below this the records are checked with the GIL held: to give it up and get it back beside a
    # busy thread costs more than the check.
    _NOGIL_BYTES = 262144


cdef inline object _make_bytes(const uint8_t *data, int32_t length):
    return None if length < 0 else PyBytes_FromStringAndSize(<const char *>data, length)


cdef tuple _make_headers(RecordFields *fields):
    cdef const uint8_t *position = fields.headers
    cdef const uint8_t *data
    cdef int32_t length = 0, index
    cdef list headers
    if fields.header_count == 0:
        return ()
    headers = []
    for index in range(fields.header_count):
        if read_varint(&position, fields.end, &length) or not 0 <= length <= fields.end - position:
            raise _changed()
        name = PyUnicode_DecodeUTF8(<const char *>position, length, NULL)
        position += length
        if read_bytes(&position, fields.end, &data, &length, HEADER_VALUE_LENGTH):
            raise _changed()
        headers.append((name, _make_bytes(data, length)))
    return tuple(headers)


cdef const uint8_t *write_counted(
    uint8_t *target, const uint8_t *position, const uint8_t *end, long count
) noexcept nogil:
    """Write records with offset deltas 0, 1, 2 …; return the end, NULL if they are not readable."""
    cdef const uint8_t *start
    cdef const uint8_t *rest
    cdef const uint8_t *next_record
    cdef int32_t length = 0, delta = 0
    cdef int64_t timestamp_delta = 0
    cdef long number
    for number in range(count):
        if read_varint(&position, end, &length) or not 1 <= length <= end - position:
            return NULL
        start, next_record = position, position + length
        position += 1
        if read_varlong(&position, next_record, &timestamp_delta):
            return NULL
        rest = position
        if read_varint(&rest, next_record, &delta):
            return NULL
        length += <int32_t>(size_of_varint(zigzag32(<int32_t>number)) - (rest - position))
        target = write_varint(target, zigzag32(length))
        memcpy(target, start, position - start)
        target = write_varint(target + (position - start), zigzag32(<int32_t>number))
        memcpy(target, rest, next_record - rest)
        target += next_record - rest
        position = next_record
    return target


cdef object _changed():
    return RuntimeError("the bytes of a record batch changed while they were being read")


@cython.final
cdef class RecordBlock:
    def __cinit__(
        self,
        data,
        long count,
        long long base_offset,
        long last_offset_delta,
        *,
        long long base_timestamp,
        append_timestamp=None,
        Py_ssize_t start=0,
    ):
        cdef Py_ssize_t index = -1
        cdef int problem
        PyObject_GetBuffer(data, &self._view, PyBUF_SIMPLE)
        if not 0 <= start <= self._view.len:
            raise ValueError(f"records cannot begin at byte {start} of {self._view.len}")
        self._data = <const uint8_t *>self._view.buf + start
        self.size = self._view.len - start
        self._end = self._data + self.size
        self.count = count
        self.base_offset = base_offset
        self.last_offset_delta = last_offset_delta
        self._base_timestamp = base_timestamp
        self._is_append_time = append_timestamp is not None
        self._append_timestamp = append_timestamp if append_timestamp is not None else -1
        if self.size < _NOGIL_BYTES:
            problem = self._check(&index)
        else:
            with nogil:
                problem = self._check(&index)
        if problem:
            if index < 0:
                raise CorruptRecordError(PROBLEMS[problem])
            raise CorruptRecordError.in_record(PROBLEMS[problem], index, count)
        self.null_key_count = self._sizes.null_keys
        if not self.are_offsets_dense and count == last_offset_delta + 1:
            self._count_offsets()

    def __dealloc__(self):
        PyBuffer_Release(&self._view)

    cdef int _check(self, Py_ssize_t *index) noexcept nogil:
        """Check every record; return 0, or the problem and in ``index`` the record that has it."""
        cdef RecordFields fields
        cdef RecordSizes sizes
        cdef const uint8_t *position = self._data
        cdef int64_t timestamp = -1, max_timestamp = -1
        cdef int32_t max_timestamp_delta = 0
        cdef long previous = -1, count = self.count, number
        cdef bint dense = True, are_offsets_counted = count == self.last_offset_delta + 1
        cdef int problem
        memset(&sizes, 0, sizeof(sizes))
        if self.base_offset < 0 or self.base_offset > _MAX_INT64 - 1 - max(0, self.last_offset_delta):
            return OFFSETS
        if count > self.size // _MIN_RECORD_BYTES:
            return MISSING_RECORDS
        for number in range(count):
            problem = decode_record(position, self._end, &fields)
            if not problem:
                problem = measure_record(&fields, &sizes)
            if (
                not problem
                and not are_offsets_counted
                and not previous < fields.offset_delta <= self.last_offset_delta
            ):
                problem = OFFSET_DELTA
            if not problem and _overflows(self._base_timestamp, fields.timestamp_delta):
                problem = TIMESTAMP_DELTA
            if problem:
                index[0] = number
                return problem
            timestamp = self.timestamp_of(&fields)
            if number == 0 or timestamp > max_timestamp:
                max_timestamp = timestamp
                max_timestamp_delta = number if are_offsets_counted else fields.offset_delta
            dense = dense and fields.offset_delta == number
            previous = fields.offset_delta
            position = fields.end
        if position != self._end:
            return TRAILING_BYTES
        self._sizes = sizes
        self.are_offsets_dense = dense
        self.max_timestamp = max_timestamp
        self.max_timestamp_offset = self.base_offset + max_timestamp_delta if count else -1
        return 0

    cdef int _count_offsets(self) except -1:
        """Read from a copy of the records in which each has its number as its offset delta."""
        # A delta and a length never grow by more than their longest forms.
        cdef Py_ssize_t capacity = self.size + self.count * _MAX_GROWTH_BYTES
        cdef bytes counted = PyBytes_FromStringAndSize(NULL, capacity)
        cdef const uint8_t *end = write_counted(
            <uint8_t *>PyBytes_AS_STRING(counted), self._data, self._end, self.count
        )
        if end == NULL:
            raise _changed()
        PyBuffer_Release(&self._view)
        PyObject_GetBuffer(counted, &self._view, PyBUF_SIMPLE)
        self._data = <const uint8_t *>self._view.buf
        self._end = end
        return 0

    cdef int64_t timestamp_of(self, RecordFields *fields) noexcept nogil:
        if self._is_append_time:
            return self._append_timestamp
        return <int64_t>(<uint64_t>self._base_timestamp + <uint64_t>fields.timestamp_delta)

    def __len__(self):
        return self.count

    def __iter__(self):
        return _BlockIterator(self)

    def __reduce__(self):
        return _restored_block, (
            PyBytes_FromStringAndSize(<const char *>self._data, self._end - self._data),
            self.count,
            self.base_offset,
            self.last_offset_delta,
            self._base_timestamp,
            self._append_timestamp if self._is_append_time else None,
        )

    cpdef RecordSpan span(self, RecordOrigin origin, long long from_offset=0):
        cdef RecordFields fields
        cdef const uint8_t *position = self._data
        cdef Py_ssize_t count = self.count
        while count and from_offset > self.base_offset:
            if decode_record(position, self._end, &fields):
                raise _changed()
            if self.base_offset + fields.offset_delta >= from_offset:
                break
            position = fields.end
            count -= 1
        return _make_span(self, origin, position, count, self.base_offset + self.last_offset_delta + 1)


def _restored_block(data, count, base_offset, last_offset_delta, base_timestamp, append_timestamp):
    """Return a block that was pickled; its bytes are checked again."""
    return RecordBlock(
        data,
        count,
        base_offset,
        last_offset_delta,
        base_timestamp=base_timestamp,
        append_timestamp=append_timestamp,
    )


def _restored_span(
    RecordBlock block, RecordOrigin origin, Py_ssize_t place, Py_ssize_t count, long long next_offset
):
    """Return a span that was pickled: ``count`` records from the byte ``place`` of its block on."""
    if not 0 <= place <= block._end - block._data:
        raise ValueError(f"a span cannot begin at byte {place} of its block")
    return _make_span(block, origin, block._data + place, count, next_offset)


cdef inline bint _overflows(int64_t base, int64_t delta) noexcept nogil:
    cdef int64_t total = <int64_t>(<uint64_t>base + <uint64_t>delta)
    return (base ^ total) & (delta ^ total) < 0


cdef RecordSpan _make_span(
    RecordBlock block,
    RecordOrigin origin,
    const uint8_t *start,
    Py_ssize_t count,
    long long next_offset,
):
    cdef RecordSpan span = RecordSpan.__new__(RecordSpan)
    span._block = block
    span.origin = origin
    span._start = start
    span.count = count
    span.next_offset = next_offset
    return span


@cython.final
cdef class RecordSpan:
    def __init__(self):
        raise TypeError("spans are made by RecordBlock.span")

    def __len__(self):
        return self.count

    def __iter__(self):
        return RecordIterator((self,))

    @property
    def first_offset(self):
        """The offset of the first record; ``next_offset`` if there is none."""
        cdef RecordFields fields
        if self.count == 0:
            return self.next_offset
        if decode_record(self._start, self._block._end, &fields):
            raise _changed()
        return self._block.base_offset + fields.offset_delta

    def __reduce__(self):
        return _restored_span, (
            self._block,
            self.origin,
            self._start - self._block._data,
            self.count,
            self.next_offset,
        )

    cpdef tuple split(self, Py_ssize_t count):
        cdef RecordFields fields
        cdef const uint8_t *position = self._start
        cdef Py_ssize_t index
        cdef RecordSpan head, rest
        if count < 1:
            raise ValueError(f"count={count}: a span has at least one record")
        if count >= self.count:
            return self, None
        for index in range(count):
            if decode_record(position, self._block._end, &fields):
                raise _changed()
            position = fields.end
        head = _make_span(
            self._block, self.origin, self._start, count,
            self._block.base_offset + fields.offset_delta + 1,
        )
        rest = _make_span(
            self._block, self.origin, position, self.count - count, self.next_offset
        )
        return head, rest

    cpdef tuple cut(self, RecordOrigin origin, long long first_offset, long long last_offset):
        cdef RecordFields fields
        cdef RecordBlock block = self._block
        cdef const uint8_t *position = self._start
        cdef const uint8_t *start
        cdef Py_ssize_t skipped = 0, count
        cdef long long offset, end
        while skipped < self.count:
            if decode_record(position, block._end, &fields):
                raise _changed()
            if block.base_offset + fields.offset_delta >= first_offset:
                break
            position = fields.end
            skipped += 1
        start, count, end = position, 0, self.next_offset
        if last_offset >= self.next_offset - 1:  # the rest of the span, which need not be read
            count = self.count - skipped
        while skipped + count < self.count:
            if decode_record(position, block._end, &fields):
                raise _changed()
            offset = block.base_offset + fields.offset_delta
            if offset > last_offset:
                break
            position, end = fields.end, offset + 1
            count += 1
        part = rest = None
        if count:
            if skipped + count == self.count:
                end = self.next_offset
            part = _make_span(block, origin, start, count, end)
        if skipped + count < self.count:
            rest = _make_span(
                block, self.origin, position, self.count - skipped - count, self.next_offset
            )
        return part, rest


cdef inline ConsumerRecord _make_record(RecordSpan span, RecordFields *fields):
    cdef RecordBlock block = span._block
    cdef ConsumerRecord record = ConsumerRecord.__new__(ConsumerRecord)
    record._origin = span.origin
    record.offset = block.base_offset + fields.offset_delta
    record.timestamp = block.timestamp_of(fields)
    record.headers = _make_headers(fields)
    record.key = _make_bytes(fields.key, fields.key_length)
    record.value = _make_bytes(fields.value, fields.value_length)
    return record


@cython.final
cdef class RecordIterator:
    def __cinit__(self, spans, key_deserializer=None, value_deserializer=None):
        cdef RecordSpan span
        self._spans = tuple(spans)
        for span in self._spans:  # a type check: what follows takes it for granted
            pass
        self._key_deserializer = key_deserializer
        self._value_deserializer = value_deserializer
        self._left = 0

    def __iter__(self):
        return self

    def __next__(self):
        cdef ConsumerRecord record = self.next_record()
        if record is None:
            raise StopIteration
        return record

    cpdef ConsumerRecord next_record(self):
        """Return the next record, None after the last."""
        cdef RecordFields fields
        cdef RecordSpan span
        cdef ConsumerRecord record
        cdef const uint8_t *position
        if self._left == 0 and not self._advance():
            return None
        span, position = self._span, self._position
        if decode_record(position, span._block._end, &fields):
            raise _changed()
        record = _make_record(span, &fields)
        if self._key_deserializer is not None and record.key is not None:
            record.key = self._key_deserializer(record.key)
        if self._value_deserializer is not None and record.value is not None:
            record.value = self._value_deserializer(record.value)
        # A deserializer is foreign code: it may have used this iterator, or let another thread do so.
        if position != self._position:
            raise RuntimeError("a record iterator was used by two threads, or by a deserializer")
        self._position = fields.end
        self._left -= 1
        return record

    def peek(self):
        """Return the next record as it was fetched and stay before it; None after the last."""
        cdef RecordFields fields
        if self._left == 0 and not self._advance():
            return None
        if decode_record(self._position, self._span._block._end, &fields):
            raise _changed()
        return _make_record(self._span, &fields)

    def skip(self):
        """Pass over the next record."""
        cdef RecordFields fields
        if self._left == 0 and not self._advance():
            return
        if decode_record(self._position, self._span._block._end, &fields):
            raise _changed()
        self._position = fields.end
        self._left -= 1

    @property
    def next_offset(self):
        """The offset of the next record, None after the last."""
        cdef RecordFields fields
        if self._left == 0 and not self._advance():
            return None
        if decode_record(self._position, self._span._block._end, &fields):
            raise _changed()
        return self._span._block.base_offset + fields.offset_delta

    @property
    def origin(self):
        """The origin of the next record, None after the last."""
        if self._left == 0 and not self._advance():
            return None
        return self._span.origin

    cdef bint _advance(self) except -1:
        cdef RecordSpan span
        while self._next_span < len(self._spans):
            span = <RecordSpan>self._spans[self._next_span]
            self._next_span += 1
            if span.count:
                self._span, self._position, self._left = span, span._start, span.count
                return True
        return False


@cython.final
@cython.no_gc
cdef class _BlockIterator:
    cdef RecordBlock _block
    cdef const uint8_t *_position
    cdef long _left

    def __cinit__(self, RecordBlock block not None):
        self._block = block
        self._position = block._data
        self._left = block.count

    def __iter__(self):
        return self

    def __next__(self):
        cdef RecordFields fields
        cdef RecordBlock block = self._block
        cdef Record record
        if self._left == 0:
            raise StopIteration
        if decode_record(self._position, block._end, &fields):
            raise _changed()
        record = Record.__new__(Record)
        record.offset = block.base_offset + fields.offset_delta
        record.timestamp = block.timestamp_of(&fields)
        record.key = _make_bytes(fields.key, fields.key_length)
        record.value = _make_bytes(fields.value, fields.value_length)
        record.headers = _make_headers(&fields)
        self._position = fields.end
        self._left -= 1
        return record
