"""Records of one batch, encoded one after the other into a buffer that grows.

The compiled form of ``record_buffer.py``, which says what each method promises.
"""

cimport cython
from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_CheckBuffer, PyObject_GetBuffer
from cpython.bytearray cimport (
    PyByteArray_AS_STRING,
    PyByteArray_FromStringAndSize,
    PyByteArray_Resize,
)
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_Check, PyBytes_GET_SIZE
from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from libc.string cimport memcpy

from pyk.protocol.records.compiled.column_view cimport ColumnView, NumbersView
from pyk.protocol.records.compiled.varints cimport (
    size_of_varint,
    write_varint,
    zigzag32,
    zigzag64,
)

from pyk.protocol.records.layout import (
    HEADER_BYTES,
    MAX_BATCH_BYTES,
    MAX_INT32,
    MAX_RECORD_BYTES,
)

cdef extern from "Python.h":
    const char *PyUnicode_AsUTF8AndSize(object text, Py_ssize_t *size) except NULL

cdef enum:
    _FIRST_CAPACITY = 4096

cdef Py_ssize_t _HEADER_BYTES = HEADER_BYTES
cdef Py_ssize_t _MAX_BATCH_BYTES = MAX_BATCH_BYTES
cdef Py_ssize_t _MAX_RECORD_BYTES = MAX_RECORD_BYTES
cdef Py_ssize_t _MAX_INT32 = MAX_INT32
cdef tuple _NO_HEADERS = ()


cdef class RecordBuffer:
    """The records of a batch, ``count`` of them in ``size`` bytes, the header's room included."""

    def __init__(self, Py_ssize_t max_bytes, base_timestamp=None):
        self._start(
            max_bytes, base_timestamp is not None, -1 if base_timestamp is None else base_timestamp
        )

    cdef _start(self, Py_ssize_t max_bytes, bint has_base, long long base_timestamp):
        self._max_bytes = min(max_bytes, _MAX_BATCH_BYTES)
        self._has_base_timestamp = has_base
        self.base_timestamp = base_timestamp
        self.max_timestamp = -1
        self.next_offset_delta = 0
        self.count = 0
        self.size = _HEADER_BYTES
        self._capacity = max(_HEADER_BYTES, min(self._max_bytes, _FIRST_CAPACITY))
        self._buffer = PyByteArray_FromStringAndSize(NULL, self._capacity)
        self._data = <uint8_t *>PyByteArray_AS_STRING(self._buffer)

    cpdef Py_ssize_t append(self, long long timestamp_ms, key, value, headers=()) except -2:
        """Append a record and return its offset delta, -1 if it does not fit after others."""
        return self._append(self.next_offset_delta, timestamp_ms, key, value, headers)

    def append_at(self, offset_delta, long long timestamp_ms, key, value, *, headers=()):
        """Append a record that keeps its offset, as compaction does: with gaps, but rising."""
        if offset_delta < self.next_offset_delta:
            raise ValueError(
                f"offset delta {offset_delta} is below the next, {self.next_offset_delta}"
            )
        # Larger than an int32 is refused below, however large.
        return self._append(min(offset_delta, _MAX_INT32 + 1), timestamp_ms, key, value, headers)

    cpdef Py_ssize_t extend_values(
        self, long long timestamp_ms, values, Py_ssize_t start=0
    ) except -1:
        """Append ``values[start:]``, without keys, as many as fit; return how many that is."""
        cdef Py_ssize_t index
        _check_start(start)
        for index in range(start, len(values)):
            if self._append(
                self.next_offset_delta, timestamp_ms, None, values[index], _NO_HEADERS
            ) < 0:
                return index - start
        return max(0, len(values) - start)

    cpdef Py_ssize_t extend_pairs(
        self, long long timestamp_ms, pairs, Py_ssize_t start=0
    ) except -1:
        """Append the (key, value) ``pairs[start:]``, as many as fit; return how many that is."""
        cdef Py_ssize_t index
        _check_start(start)
        for index in range(start, len(pairs)):
            key, value = pairs[index]
            if self._append(self.next_offset_delta, timestamp_ms, key, value, _NO_HEADERS) < 0:
                return index - start
        return max(0, len(pairs) - start)

    def extend_columns(
        self, timestamps_ms, values, keys=None, headers=None, *, rows=None, Py_ssize_t start=0
    ):
        """Append rows of Arrow columns, as many as fit; return how many that is."""
        cdef ColumnView value_view = ColumnView(values)
        cdef ColumnView key_view = None if keys is None else ColumnView(keys)
        cdef NumbersView row_numbers = None if rows is None else NumbersView(rows, 4)
        cdef NumbersView timestamps = None
        cdef const uint8_t *key = NULL
        cdef const uint8_t *value = NULL
        cdef Py_ssize_t key_length = -1, value_length, index, row, end
        cdef long long timestamp_ms = 0
        _check_start(start)
        if isinstance(timestamps_ms, int):
            timestamp_ms = timestamps_ms
        else:
            timestamps = NumbersView(timestamps_ms, 8)
        end = value_view.count if row_numbers is None else row_numbers.count
        for index in range(start, end):
            row = index if row_numbers is None else row_numbers.at(index)
            if timestamps is not None:
                if not 0 <= row < timestamps.count:
                    raise IndexError(f"row {row} of {timestamps.count}")
                timestamp_ms = timestamps.at(row)
            if key_view is not None:
                key_length = key_view.find(row, &key)
            value_length = value_view.find(row, &value)
            if self._put(
                self.next_offset_delta, timestamp_ms, key, key_length, value, value_length,
                _NO_HEADERS if headers is None else headers[row],
            ) < 0:
                return index - start
        return max(0, end - start)

    cpdef bytearray close(self):
        """Return the buffer; nothing can be appended any more."""
        cdef bytearray buffer = self._buffer
        if buffer is None:
            raise _sealed()
        self._buffer = None
        self._data = NULL
        PyByteArray_Resize(buffer, self.size)
        return buffer

    cdef Py_ssize_t _append(
        self, Py_ssize_t offset_delta, long long timestamp_ms, key, value, headers
    ) except -2:
        cdef const uint8_t *key_data = NULL
        cdef const uint8_t *value_data = NULL
        cdef Py_ssize_t key_length = -1, value_length = -1
        cdef _BytesView key_view, value_view
        if PyBytes_Check(key):
            key_data, key_length = <const uint8_t *>PyBytes_AS_STRING(key), PyBytes_GET_SIZE(key)
        elif key is not None:
            key_view = _BytesView("key", key)
            key_data, key_length = <const uint8_t *>key_view.view.buf, key_view.view.len
        if PyBytes_Check(value):
            value_data = <const uint8_t *>PyBytes_AS_STRING(value)
            value_length = PyBytes_GET_SIZE(value)
        elif value is not None:
            value_view = _BytesView("value", value)
            value_data, value_length = <const uint8_t *>value_view.view.buf, value_view.view.len
        return self._put(
            offset_delta, timestamp_ms, key_data, key_length, value_data, value_length, headers
        )

    cdef Py_ssize_t _put(
        self,
        Py_ssize_t offset_delta,
        long long timestamp_ms,
        const uint8_t *key,
        Py_ssize_t key_length,
        const uint8_t *value,
        Py_ssize_t value_length,
        headers,
    ) except -2:
        cdef int64_t timestamp_delta
        cdef Py_ssize_t length, size
        cdef uint8_t *at
        # First of all: iterating a caller's headers may run code that uses this very buffer.
        headers = _checked_headers(headers)
        _refuse(self, offset_delta, key_length, value_length)
        timestamp_delta = _timestamp_delta(self, timestamp_ms)
        length = (
            1
            + size_of_varint(zigzag64(timestamp_delta))
            + size_of_varint(zigzag32(<int32_t>offset_delta))
            + _size_of_bytes(key_length)
            + _size_of_bytes(value_length)
            + _size_of_headers(<tuple>headers)
        )
        if length > _MAX_RECORD_BYTES:
            raise _too_large("record", length)
        size = size_of_varint(zigzag32(<int32_t>length)) + length
        if self.size + size > self._max_bytes and self.count:
            return -1
        if self.size + size > self._capacity:
            self._reserve(self.size + size)

        at = write_varint(self._data + self.size, zigzag32(<int32_t>length))
        at[0] = 0  # attributes
        at = write_varint(at + 1, zigzag64(timestamp_delta))
        at = write_varint(at, zigzag32(<int32_t>offset_delta))
        at = _write_bytes(at, key, key_length)
        at = _write_bytes(at, value, value_length)
        _write_headers(at, <tuple>headers)
        _count_in(self, offset_delta, timestamp_ms, size)
        return offset_delta

    cdef int _reserve(self, Py_ssize_t size) except -1:
        """Make room for ``size`` bytes in all, growing fast at first and never beyond need."""
        cdef Py_ssize_t capacity = max(size, min(self._capacity * 4, self._max_bytes))
        PyByteArray_Resize(self._buffer, capacity)
        self._data = <uint8_t *>PyByteArray_AS_STRING(self._buffer)
        self._capacity = capacity
        return 0


@cython.final
@cython.no_gc
cdef class _BytesView:
    """The memory of a key or value that is not ``bytes``, held while it is copied."""

    cdef Py_buffer view

    def __cinit__(self, str name, value):
        if not PyObject_CheckBuffer(value):
            raise TypeError(f"a {name} is bytes-like or None, not {type(value).__name__}")
        PyObject_GetBuffer(value, &self.view, PyBUF_SIMPLE)

    def __dealloc__(self):
        PyBuffer_Release(&self.view)


cdef inline int _refuse(
    RecordBuffer buffer, Py_ssize_t offset_delta, Py_ssize_t key_length, Py_ssize_t value_length
) except -1:
    """Raise for what no batch, or not this one, can hold."""
    if buffer._data is NULL:
        raise _sealed()
    if offset_delta > _MAX_INT32:
        raise ValueError(f"offset delta {offset_delta} does not fit an int32")
    if key_length > _MAX_RECORD_BYTES:
        raise _too_large("key", key_length)
    if value_length > _MAX_RECORD_BYTES:
        raise _too_large("value", value_length)
    return 0


cdef inline int64_t _timestamp_delta(RecordBuffer buffer, int64_t timestamp_ms) except? -1:
    """Return how far the timestamp is from the base, which the first record may set."""
    cdef int64_t base = buffer.base_timestamp, delta
    if buffer.count == 0 and not buffer._has_base_timestamp:
        return 0
    delta = <int64_t>(<uint64_t>timestamp_ms - <uint64_t>base)
    # A difference overflows if its operands differ in sign, and it from the first of them.
    if (timestamp_ms ^ base) & (timestamp_ms ^ delta) < 0:
        raise ValueError(f"timestamp {timestamp_ms} is too far from the first, {base}")
    return delta


cdef inline void _count_in(
    RecordBuffer buffer, Py_ssize_t offset_delta, int64_t timestamp_ms, Py_ssize_t size
) noexcept:
    if buffer.count == 0 and not buffer._has_base_timestamp:
        buffer.base_timestamp = timestamp_ms
    if buffer.count == 0 or timestamp_ms > buffer.max_timestamp:
        buffer.max_timestamp = timestamp_ms
    buffer.size += size
    buffer.next_offset_delta = offset_delta + 1
    buffer.count += 1


cdef inline Py_ssize_t _size_of_bytes(Py_ssize_t length) noexcept nogil:
    return 1 if length < 0 else size_of_varint(zigzag32(<int32_t>length)) + length


cdef inline uint8_t *_write_bytes(
    uint8_t *at, const uint8_t *data, Py_ssize_t length
) noexcept nogil:
    at = write_varint(at, zigzag32(<int32_t>length))
    if length > 0:
        memcpy(at, data, length)
        at += length
    return at


cdef tuple _checked_headers(headers):
    """Return ``headers`` as pairs of ``str`` and ``bytes`` or None, which no one else can change."""
    cdef tuple checked = headers if type(headers) is tuple else tuple(headers)
    for header in checked:
        if not _is_plain(header):
            return tuple([_plain_header(name, value) for name, value in checked])
    return checked


cdef inline bint _is_plain(header):
    if type(header) is not tuple or len(<tuple>header) != 2:
        return False
    name, value = <tuple>header
    return type(name) is str and (value is None or type(value) is bytes)


cdef tuple _plain_header(name, value):
    if not isinstance(name, str):
        raise TypeError(f"a header key is text, not {type(name).__name__}")
    if value is None:
        return name, None
    if not PyObject_CheckBuffer(value):
        raise TypeError(f"a header value is bytes-like or None, not {type(value).__name__}")
    return name, bytes(value)


cdef Py_ssize_t _size_of_headers(tuple headers) except -1:
    cdef Py_ssize_t size = size_of_varint(zigzag32(<int32_t>len(headers))), length
    for name, value in headers:
        PyUnicode_AsUTF8AndSize(name, &length)
        if length > _MAX_RECORD_BYTES:
            raise _too_large("header key", length)
        size += _size_of_bytes(length)
        length = -1 if value is None else PyBytes_GET_SIZE(value)
        if length > _MAX_RECORD_BYTES:
            raise _too_large("header value", length)
        size += _size_of_bytes(length)
    return size


cdef int _write_headers(uint8_t *at, tuple headers) except -1:
    cdef Py_ssize_t length
    cdef const char *text
    at = write_varint(at, zigzag32(<int32_t>len(headers)))
    for name, value in headers:
        text = PyUnicode_AsUTF8AndSize(name, &length)
        at = _write_bytes(at, <const uint8_t *>text, length)
        if value is None:
            at = _write_bytes(at, NULL, -1)
        else:
            at = _write_bytes(at, <const uint8_t *>PyBytes_AS_STRING(value), PyBytes_GET_SIZE(value))
    return 0


cdef int _check_start(Py_ssize_t start) except -1:
    if start < 0:
        raise ValueError(f"start={start}: records are counted from 0")
    return 0


cdef object _too_large(str name, Py_ssize_t size):
    return ValueError(f"a {name} of {size} bytes fits no batch: {_MAX_RECORD_BYTES} is the most")


cdef object _sealed():
    return ValueError("the batch is sealed: nothing can be added, and it is sealed once")
