cimport cython

from pyk.protocol.records.batch_header cimport BatchHeader, checksum
from pyk.protocol.records.reader cimport RecordBlock


@cython.final
@cython.no_gc
cdef class RecordBatch(BatchHeader):
    cdef readonly object data
    cdef readonly object max_decompressed_bytes
    @cython.locals(computed="unsigned long", highest="long long")
    cpdef check(self)
    @cython.locals(start=Py_ssize_t)
    cpdef RecordBlock open(self)
    cdef _decompressed(self)


cdef object _sum(object first, object delta)
@cython.locals(batch=RecordBatch, end="long long")
cpdef RecordBatch parse_batch(object data, Py_ssize_t position=*, object max_decompressed_bytes=*)
