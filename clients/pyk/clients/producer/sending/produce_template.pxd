cimport cython

from pyk.clients.producer.batching.batch cimport ProducerBatch
from pyk.protocol.wire_numbers cimport append_int32, append_varint, get_int64, has_bytes


@cython.final
cdef class ProduceTerms:
    cdef readonly object acks
    cdef readonly object timeout_ms
    cdef readonly object transactional_id
    cdef readonly int transaction_version
    cdef readonly object versions
    cdef readonly object versions_with_names


@cython.final
cdef class ProduceTemplate:
    cdef readonly int version
    cdef readonly object topic_id
    cdef bint _is_compact
    cdef bytes _prefix
    cdef bytes _suffix
    cdef bytes _answer_prefix
    cdef bytes _answer_suffix
    cdef Py_ssize_t _offsets_end
    cdef bint _has_append_time

    cpdef bint fits(self, version, ProducerBatch batch) except -1
    @cython.locals(size=Py_ssize_t)
    cpdef list fill(self, bytearray records, bytearray out)
    @cython.locals(first=Py_ssize_t, end=Py_ssize_t)
    cpdef bint read_written(self, ProducerBatch batch, frame, Py_ssize_t start) except -1
