from pyk.protocol.records.record cimport ConsumerRecord


cdef class RecordReader:
    cdef public long long calls
    cdef public long long taken
    cdef public long long polled
    cdef public bint is_under_way
    cpdef ConsumerRecord next_record(self)
    cpdef come_back(self)
    cpdef finish(self)
    cpdef go_back(self)
