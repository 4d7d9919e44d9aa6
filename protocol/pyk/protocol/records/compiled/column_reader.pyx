"""Read spans of batches into columns.

The compiled form of ``column_reader.py``. Buffers are made to measure, then filled with the GIL
released; every write is checked against the end of its buffer, because the memory that is read may
change between the two.
"""

from cpython.bytearray cimport PyByteArray_AS_STRING, PyByteArray_FromStringAndSize
from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.string cimport memcpy, memset

from pyk.protocol.records.reader cimport RecordBlock, RecordSpan
from pyk.protocol.records.record cimport RecordOrigin
from pyk.protocol.records.compiled.record_decoder cimport (
    RecordFields,
    RecordSizes,
    decode_record,
    measure_record,
)
from pyk.protocol.records.compiled.varints cimport read_varint

from pyk.protocol.records.columns import (
    ALL_FIELDS,
    MAX_CHUNK_BYTES,
    BinaryColumn,
    HeadersColumn,
    RecordColumns,
    check_fields,
)

cdef enum:
    # Below this the columns are filled with the GIL held: to get it back beside a busy thread
    # costs more than the work.
    _NOGIL_BYTES = 65536

cdef int _CHANGED = -1


def read_columns(spans, fields=ALL_FIELDS, *, max_chunk_bytes=MAX_CHUNK_BYTES):
    cdef _Chunk chunk
    cdef RecordSpan span, head
    cdef Py_ssize_t count
    cdef list chunks = []
    check_fields(fields, max_chunk_bytes)
    chunk = _Chunk(fields, max_chunk_bytes)
    for span in spans:
        while span is not None and span.count:
            count = chunk.room_for(span)
            if count == 0:
                chunks.append(chunk.read())
                chunk = _Chunk(fields, max_chunk_bytes)
                continue
            head, span = span.split(count)
            chunk.add(head)
    if chunk.count:
        chunks.append(chunk.read())
    return chunks


# A column of bytes while it is filled. Null where the column is not wanted.
cdef struct _Bytes:
    int32_t *offsets
    uint8_t *data
    uint8_t *validity
    int64_t size
    int64_t capacity


cdef struct _Target:
    int64_t *offsets
    int64_t *timestamps
    _Bytes keys
    _Bytes values
    int32_t *header_offsets
    uint8_t *headers_validity
    _Bytes header_names
    _Bytes header_values
    int64_t row
    int64_t header
    int64_t rows
    int64_t headers


cdef class _Chunk:
    """Spans that become one set of columns, and what these will take."""

    cdef bint wants_offset, wants_timestamp, wants_key, wants_value, wants_headers
    cdef int64_t max_bytes
    cdef RecordSizes sizes
    cdef readonly int64_t count
    cdef int64_t source_bytes
    cdef list spans

    def __cinit__(self, fields, int64_t max_bytes):
        self.wants_offset = "offset" in fields
        self.wants_timestamp = "timestamp" in fields
        self.wants_key = "key" in fields
        self.wants_value = "value" in fields
        self.wants_headers = "headers" in fields
        self.max_bytes = max_bytes
        self.spans = []

    cdef Py_ssize_t room_for(self, RecordSpan span) except -1:
        """Return how many records of ``span`` fit; at least one if the chunk is empty."""
        cdef RecordSizes sizes = self.sizes
        cdef const uint8_t *position = span._start
        cdef RecordFields fields
        cdef Py_ssize_t index
        if self._fits(&sizes, &span._block._sizes):
            return span.count
        for index in range(span.count):
            if decode_record(position, span._block._end, &fields) or measure_record(&fields, &sizes):
                raise _changed()
            if self._exceeds(&sizes) and (index or self.count):
                return index
            position = fields.end
        return span.count

    cdef bint _fits(self, RecordSizes *sizes, RecordSizes *more):
        cdef RecordSizes both
        memset(&both, 0, sizeof(both))
        both.key_bytes = sizes.key_bytes + more.key_bytes
        both.value_bytes = sizes.value_bytes + more.value_bytes
        both.headers = sizes.headers + more.headers
        both.header_key_bytes = sizes.header_key_bytes + more.header_key_bytes
        both.header_value_bytes = sizes.header_value_bytes + more.header_value_bytes
        return not self._exceeds(&both)

    cdef bint _exceeds(self, RecordSizes *sizes):
        if self.wants_key and sizes.key_bytes > self.max_bytes:
            return True
        if self.wants_value and sizes.value_bytes > self.max_bytes:
            return True
        return self.wants_headers and (
            sizes.headers > self.max_bytes
            or sizes.header_key_bytes > self.max_bytes
            or sizes.header_value_bytes > self.max_bytes
        )

    cdef int add(self, RecordSpan span) except -1:
        cdef RecordSizes *sizes = &self.sizes
        cdef RecordSizes *more = &span._block._sizes
        cdef RecordFields fields
        cdef const uint8_t *position = span._start
        cdef Py_ssize_t index
        self.spans.append(span)
        self.count += span.count
        if span.count < span._block.count:
            for index in range(span.count):
                if decode_record(position, span._block._end, &fields) or measure_record(&fields, sizes):
                    raise _changed()
                position = fields.end
            self.source_bytes += position - span._start
            return 0
        self.source_bytes += span._block.size
        sizes.key_bytes += more.key_bytes
        sizes.value_bytes += more.value_bytes
        sizes.headers += more.headers
        sizes.header_key_bytes += more.header_key_bytes
        sizes.header_value_bytes += more.header_value_bytes
        sizes.null_keys += more.null_keys
        sizes.null_values += more.null_values
        sizes.null_header_values += more.null_header_values
        sizes.without_headers += more.without_headers
        return 0

    cdef object read(self):
        """Return the spans as one ``RecordColumns``."""
        cdef _Target target
        cdef RecordSizes *sizes = &self.sizes
        cdef Py_ssize_t count = self.count
        cdef tuple keys = None, values = None, headers = None
        memset(&target, 0, sizeof(target))
        target.rows = count
        offsets = _int64_buffer(&target.offsets, count) if self.wants_offset else None
        timestamps = _int64_buffer(&target.timestamps, count) if self.wants_timestamp else None
        if self.wants_key:
            keys = _bytes_buffers(&target.keys, count, sizes.key_bytes, sizes.null_keys)
        if self.wants_value:
            values = _bytes_buffers(&target.values, count, sizes.value_bytes, sizes.null_values)
        if self.wants_headers:
            headers = self._header_buffers(&target)
        self._fill(&target)
        return RecordColumns(
            count=count,
            origins=self._origins(),
            offsets=offsets,
            timestamps=timestamps,
            keys=BinaryColumn(count, *keys) if self.wants_key else None,
            values=BinaryColumn(count, *values) if self.wants_value else None,
            headers=self._headers_column(*headers) if self.wants_headers else None,
        )

    cdef tuple _header_buffers(self, _Target *target):
        cdef RecordSizes *sizes = &self.sizes
        cdef bytearray offsets = _buffer((self.count + 1) * 4), validity = None
        target.headers = sizes.headers
        target.header_offsets = <int32_t *>PyByteArray_AS_STRING(offsets)
        target.header_offsets[0] = 0
        if sizes.without_headers:
            validity = _bitmap(self.count)
            target.headers_validity = <uint8_t *>PyByteArray_AS_STRING(validity)
        names = _bytes_buffers(&target.header_names, sizes.headers, sizes.header_key_bytes, 0)
        values = _bytes_buffers(
            &target.header_values,
            sizes.headers,
            sizes.header_value_bytes,
            sizes.null_header_values,
        )
        return offsets, names, values, validity

    def _headers_column(self, offsets, names, values, validity):
        count = self.sizes.headers
        return HeadersColumn(
            self.count, offsets, BinaryColumn(count, *names), BinaryColumn(count, *values), validity
        )

    cdef tuple _origins(self):
        cdef list origins = []
        cdef RecordSpan span
        cdef RecordOrigin last = None
        cdef Py_ssize_t count = 0
        for span in self.spans:
            if last is not None and span.origin is not last:
                origins.append((last, count))
                count = 0
            last = span.origin
            count += span.count
        origins.append((last, count))
        return tuple(origins)

    cdef int _fill(self, _Target *target) except -1:
        cdef RecordSpan span
        cdef const uint8_t *start
        cdef Py_ssize_t count
        cdef RecordBlock block
        cdef int problem
        cdef bint release = self.source_bytes >= _NOGIL_BYTES
        for span in self.spans:
            block, start, count = span._block, span._start, span.count
            if release:
                with nogil:
                    problem = _fill_span(target, block, start, count)
            else:
                problem = _fill_span(target, block, start, count)
            if problem:
                raise _changed()
        if target.row != target.rows or target.header != target.headers:
            raise _changed()
        return 0


cdef int _fill_span(
    _Target *target, RecordBlock block, const uint8_t *position, Py_ssize_t count
) noexcept nogil:
    cdef RecordFields fields
    cdef const uint8_t *end = block._end
    cdef Py_ssize_t index
    cdef int64_t row = target.row
    for index in range(count):
        if row >= target.rows or decode_record(position, end, &fields):
            return _CHANGED
        position = fields.end
        if target.offsets is not NULL:
            target.offsets[row] = block.base_offset + fields.offset_delta
        if target.timestamps is not NULL:
            target.timestamps[row] = block.timestamp_of(&fields)
        if target.keys.offsets is not NULL:
            if _add_bytes(&target.keys, row, fields.key, fields.key_length):
                return _CHANGED
        if target.values.offsets is not NULL:
            if _add_bytes(&target.values, row, fields.value, fields.value_length):
                return _CHANGED
        if target.header_offsets is not NULL:
            if _add_headers(target, row, &fields):
                return _CHANGED
        row += 1
    target.row = row
    return 0


cdef inline int _add_bytes(
    _Bytes *column, int64_t row, const uint8_t *data, int32_t length
) noexcept nogil:
    if length < 0:
        if column.validity is NULL:
            return _CHANGED
        column.validity[row >> 3] &= <uint8_t>~(1 << (row & 7))
    else:
        if length > column.capacity - column.size:
            return _CHANGED
        memcpy(column.data + column.size, data, length)
        column.size += length
    column.offsets[row + 1] = <int32_t>column.size
    return 0


cdef int _add_headers(_Target *target, int64_t row, RecordFields *fields) noexcept nogil:
    cdef const uint8_t *position = fields.headers
    cdef int32_t index, length = 0
    if fields.header_count > target.headers - target.header:
        return _CHANGED
    if fields.header_count == 0:
        if target.headers_validity is NULL:
            return _CHANGED
        target.headers_validity[row >> 3] &= <uint8_t>~(1 << (row & 7))
    for index in range(fields.header_count):
        if read_varint(&position, fields.end, &length) or length < 0 or length > fields.end - position:
            return _CHANGED
        if _add_bytes(&target.header_names, target.header, position, length):
            return _CHANGED
        position += length
        if read_varint(&position, fields.end, &length) or length < -1 or length > fields.end - position:
            return _CHANGED
        if _add_bytes(&target.header_values, target.header, position, length):
            return _CHANGED
        if length > 0:
            position += length
        target.header += 1
    target.header_offsets[row + 1] = <int32_t>target.header
    return 0


cdef bytearray _buffer(Py_ssize_t size):
    """Return memory that is not cleared: every byte of it is written, or the read fails."""
    return PyByteArray_FromStringAndSize(NULL, size)


cdef bytearray _int64_buffer(int64_t **numbers, Py_ssize_t count):
    """Return the buffer of ``count`` numbers that ``numbers`` is set to."""
    cdef bytearray buffer = _buffer(count * 8)
    numbers[0] = <int64_t *>PyByteArray_AS_STRING(buffer)
    return buffer


cdef bytearray _bitmap(Py_ssize_t count):
    """Return a bitmap with every row valid, and the bits after the last one clear."""
    cdef bytearray validity = _buffer((count + 7) // 8)
    memset(PyByteArray_AS_STRING(validity), 0xFF, len(validity))
    if count & 7:
        validity[len(validity) - 1] = (1 << (count & 7)) - 1
    return validity


cdef tuple _bytes_buffers(_Bytes *column, Py_ssize_t count, Py_ssize_t size, Py_ssize_t nulls):
    """Return the offsets, data and validity of a column that ``column`` is set to fill."""
    cdef bytearray offsets = _buffer((count + 1) * 4), data = _buffer(size), validity = None
    column.offsets = <int32_t *>PyByteArray_AS_STRING(offsets)
    column.offsets[0] = 0
    column.data = <uint8_t *>PyByteArray_AS_STRING(data)
    column.capacity = size
    if nulls:
        validity = _bitmap(count)
        column.validity = <uint8_t *>PyByteArray_AS_STRING(validity)
    return offsets, data, validity


cdef object _changed():
    return RuntimeError("the bytes of a record batch changed while they were being read")
