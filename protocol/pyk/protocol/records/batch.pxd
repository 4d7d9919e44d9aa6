cimport cython

from pyk.protocol.records.reader cimport RecordBlock


# The header's numbers stay Python's own: sums of hostile ones do not overflow.
@cython.final
cdef class RecordBatch:
    cdef readonly object data
    cdef readonly object max_decompressed_bytes
    cdef readonly object base_offset
    cdef readonly object partition_leader_epoch
    cdef readonly object crc
    cdef readonly object attributes
    cdef readonly object last_offset_delta
    cdef readonly object base_timestamp
    cdef readonly object max_timestamp
    cdef readonly object producer_id
    cdef readonly object producer_epoch
    cdef readonly object base_sequence
    cdef readonly object count
    cpdef check(self)
    cpdef RecordBlock open(self)
    cdef _records(self)


@cython.locals(left=Py_ssize_t, end="long long")
cpdef RecordBatch parse_batch(object data, Py_ssize_t position=*, object max_decompressed_bytes=*)
