cimport cython

from pyk.protocol.records.batch_header cimport write_header
from pyk.protocol.records.record_buffer cimport RecordBuffer


@cython.final
@cython.no_gc
cdef class RecordBatchBuilder(RecordBuffer):
    cdef object _compression
    cdef object _level
    cdef object _delete_horizon_ms
    @cython.locals(data=bytearray)
    cpdef seal(
        self,
        long long producer_id=*,
        short producer_epoch=*,
        int base_sequence=*,
        bint is_transactional=*,
        bint is_control=*,
        last_offset_delta=*,
    )
    cdef bytearray _compressed(self, bytearray data)
    cdef long _attributes(self, bint is_transactional, bint is_control) except -1
