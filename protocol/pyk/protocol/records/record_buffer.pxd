cimport cython
from libc.stdint cimport int64_t, uint8_t


@cython.no_gc
cdef class RecordBuffer:
    cdef bytearray _buffer
    cdef uint8_t *_data
    cdef Py_ssize_t _capacity
    cdef Py_ssize_t _max_bytes
    cdef bint _has_base_timestamp
    cdef readonly long long base_timestamp
    cdef readonly long long max_timestamp
    cdef readonly Py_ssize_t next_offset_delta
    cdef readonly Py_ssize_t count
    cdef readonly Py_ssize_t size
    cdef _start(self, Py_ssize_t max_bytes, bint has_base, long long base_timestamp)
    cpdef Py_ssize_t append(self, long long timestamp_ms, key, value, headers=*) except -2
    cpdef Py_ssize_t extend_values(self, long long timestamp_ms, values, Py_ssize_t start=*) except -1
    cpdef Py_ssize_t extend_pairs(self, long long timestamp_ms, pairs, Py_ssize_t start=*) except -1
    cpdef bytearray close(self)
    cdef Py_ssize_t _append(
        self, Py_ssize_t offset_delta, long long timestamp_ms, key, value, headers
    ) except -2
    cdef Py_ssize_t _put(
        self,
        Py_ssize_t offset_delta,
        long long timestamp_ms,
        const uint8_t *key,
        Py_ssize_t key_length,
        const uint8_t *value,
        Py_ssize_t value_length,
        headers,
    ) except -2
    cdef int _reserve(self, Py_ssize_t size) except -1
