from pyk.protocol.records.reader cimport RecordSpan


cdef class PartitionBuffer:
    cdef readonly object topic_partition
    cdef public long long position
    cdef public long position_epoch
    cdef public long long finished
    cdef public long finished_epoch
    cdef public long long fetch_offset
    cdef public long version
    cdef public bint is_paused
    cdef public bint is_held
    cdef public bint is_queued
    cdef public bint is_unreadable
    cdef public object error
    cdef public bint error_lasts
    cdef public long long buffered_bytes
    cdef public object fetches
    cdef public bint is_opened
    cdef public RecordSpan unread
    cpdef clear(self)
    cpdef bint has_something(self)
