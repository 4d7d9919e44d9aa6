from pyk.protocol.records.record cimport ConsumerRecord


cdef class RecordReader:
    cdef readonly long long calls
    cdef readonly long long taken
    cdef readonly long long polled
    cdef public bint is_under_way
    cpdef ConsumerRecord next_record(self)
    cpdef come_back(self)
    cpdef finish(self)
    cpdef go_back(self)
