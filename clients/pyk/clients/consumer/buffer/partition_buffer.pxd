cimport cython

from pyk.protocol.records.cursor cimport FetchedRecords
from pyk.protocol.records.reader cimport RecordIterator, RecordSpan


@cython.final
cdef class OpenSpan:
    cdef PartitionBuffer partition
    cdef RecordSpan span
    cdef RecordSpan whole
    cdef long long taken_before
    cdef RecordIterator iterator
    cdef readonly long long in_hand


@cython.final
cdef class PartitionBuffer:
    cdef readonly object topic_partition
    cdef readonly object assignment
    cdef readonly long long version
    cdef readonly long long next_offset
    cdef public long position_epoch
    cdef readonly long long begun
    cdef readonly long long finished
    cdef readonly long finished_epoch
    cdef public long long fetch_offset
    cdef readonly bint is_paused
    cdef readonly bint is_held
    cdef bint is_queued
    cdef public bint is_unreadable
    cdef readonly object error
    cdef bint error_lasts
    cdef readonly long long buffered_bytes
    cdef readonly object fetches
    cdef readonly bint is_opened
    cdef RecordSpan unread
    cdef OpenSpan open_span
    cdef clear(self, long long version)
    cdef bint has_something(self)
    cdef finish(self)
    cdef rewind(self)
    cdef FetchedRecords open_fetch(self)
    cdef drop_fetch(self)
    cdef fetch_on_if_read(self)
    cdef drop_fetches(self)
