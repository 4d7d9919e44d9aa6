cimport cython

from pyk.protocol.records.batch cimport RecordBatch, parse_batch
from pyk.protocol.records.reader cimport RecordSpan


@cython.final
cdef class FetchedRecords:
    cdef readonly object topic
    cdef readonly long partition
    cdef readonly long long next_offset
    cdef public object owner
    cdef readonly long unknown_control_batches
    cdef object _data
    cdef Py_ssize_t _position
    cdef Py_ssize_t _size
    cdef RecordSpan _unread
    cdef object _max_decompressed_bytes
    cdef bint _reads_committed
    cdef set _aborted_producer_ids
    cdef list _aborted_transactions
    cpdef bint is_at_end(self)
    @cython.locals(batch=RecordBatch, span=RecordSpan)
    cpdef RecordSpan next_span(self, Py_ssize_t max_records)
    @cython.locals(last_offset="long long", span=RecordSpan)
    cdef RecordSpan _read(self, RecordBatch batch)
    cdef bint _read_legacy(self) except -1
    cdef bint _is_visible(self, RecordBatch batch) except -1
