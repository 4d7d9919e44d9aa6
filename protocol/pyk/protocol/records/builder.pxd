cimport cython

from pyk.protocol.records.batch_header cimport write_header
from pyk.protocol.records.record_buffer cimport RecordBuffer


@cython.final
@cython.no_gc
cdef class RecordBatchBuilder(RecordBuffer):
    cdef object _compression
    cdef object _level
    cdef object _delete_horizon_ms
    cdef bint _is_transactional
    cdef _take_format(self, compression, level, delete_horizon_ms, bint is_transactional)
    cpdef seal(
        self,
        long long producer_id=*,
        short producer_epoch=*,
        int base_sequence=*,
        bint is_transactional=*,
        bint is_control=*,
        last_offset_delta=*,
    )
    cpdef bytearray sealed(self, long long producer_id, short producer_epoch, int base_sequence)
    @cython.locals(data=bytearray)
    cdef bytearray _seal(
        self,
        long long producer_id,
        short producer_epoch,
        int base_sequence,
        long attributes,
        int last_offset_delta,
    )
    cdef bytearray _compressed(self, bytearray data)
    cdef long _attributes(self, bint is_transactional, bint is_control) except -1


@cython.final
cdef class BatchFormat:
    cdef object _compression
    cdef object _level
    cdef bint _is_transactional

    @cython.locals(builder=RecordBatchBuilder)
    cpdef RecordBatchBuilder new_builder(self, Py_ssize_t max_bytes)
