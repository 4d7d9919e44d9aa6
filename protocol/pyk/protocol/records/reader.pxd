cimport cython
from libc.stdint cimport int64_t, uint8_t

from pyk.protocol.records.record cimport ConsumerRecord, RecordOrigin
from pyk.protocol.records.compiled.record_decoder cimport RecordFields, RecordSizes


@cython.final
@cython.no_gc
cdef class RecordBlock:
    cdef Py_buffer _view
    cdef const uint8_t *_data
    cdef const uint8_t *_end
    cdef RecordSizes _sizes
    cdef bint _is_append_time
    cdef int64_t _append_timestamp
    cdef int64_t _base_timestamp
    cdef readonly long long base_offset
    cdef readonly long last_offset_delta
    cdef readonly long count
    cdef readonly Py_ssize_t size
    cdef readonly bint are_offsets_dense
    cdef readonly long long max_timestamp
    cdef readonly long long max_timestamp_offset
    cdef readonly long null_key_count
    cdef int _count_offsets(self) except -1
    cdef int64_t timestamp_of(self, RecordFields *fields) noexcept nogil
    cdef int _check(self, Py_ssize_t *index) noexcept nogil
    cpdef RecordSpan span(self, RecordOrigin origin, long long from_offset=*)


@cython.final
@cython.no_gc
cdef class RecordSpan:
    cdef RecordBlock _block
    cdef const uint8_t *_start
    cdef readonly RecordOrigin origin
    cdef readonly Py_ssize_t count
    cdef readonly long long next_offset
    cpdef tuple split(self, Py_ssize_t count)
    cpdef tuple cut(self, RecordOrigin origin, long long first_offset, long long last_offset)


# Not kept from the cyclic collector: a deserializer may lead back to its iterator.
@cython.final
cdef class RecordIterator:
    cdef tuple _spans
    cdef Py_ssize_t _next_span
    cdef RecordSpan _span
    cdef const uint8_t *_position
    cdef Py_ssize_t _left
    cdef object _key_deserializer
    cdef object _value_deserializer
    cdef bint _advance(self) except -1
    cpdef ConsumerRecord next_record(self)
